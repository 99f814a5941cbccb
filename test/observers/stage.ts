/**
 * Stage: a mesh of real processes that tells a Collector what it did: a tree of sagas and a fork of its root as spans, and the metrics
 * of a host and a worker. What the processes show themselves is kept beside it, to be compared.
 */
import { SpanDocument } from "../../protocol/documents/trace.ts";
import { runCli, type RunningCli, startCli } from "../support/cli.ts";
import { startTestServer } from "../support/nats-server.ts";
import { parsePrometheus } from "../support/prometheus.ts";
import { openRealMesh } from "../support/real-mesh.ts";
import { tracedApp } from "../support/traced-app.ts";

/** What the processes say themselves. */
export interface Shown {
  readonly spans: readonly SpanDocument[];
  /** Of the host, as it was scraped before it ended. */
  readonly text: string;
  readonly values: ReadonlyMap<string, number>;
}

/** Plays it. What was sent is with the receiver when this resolves. */
export async function play(receiver: string): Promise<Shown> {
  const server = await startTestServer();
  const running: RunningCli[] = [];
  try {
    const on = ["--server", server.url];
    const spans = await tellSpans(server.url, receiver, on);
    const env = {
      ...{ OTEL_EXPORTER_OTLP_ENDPOINT: receiver, OTEL_METRIC_EXPORT_INTERVAL: "1000" },
      OTEL_SERVICE_NAME: "desk",
    };
    const serve = (role: string) => {
      const words = [role, "--app", "test/apps/desk.ts", "--health-port", "0", "--json", ...on];
      const cli = startCli(words, { env });
      running.push(cli);
      return cli;
    };
    const [host, worker] = [serve("host"), serve("worker")];
    const said = await host.says(/"role":.*\n/);
    await worker.says(/"role":.*\n/);
    await mustEnd(
      "start",
      "desk",
      "--input",
      '{"errand":"book","to":"rome"}',
      "--id",
      "booked",
      "--wait",
      ...on,
    );
    const { health } = JSON.parse(said.split("\n")[0] ?? "") as { health: string };
    const text = await (await fetch(`${health}/metrics`)).text();
    for (const one of [worker, host]) {
      one.process.kill("SIGTERM");
      await one.ended;
    }
    return { spans, text, values: parsePrometheus(text).values };
  } finally {
    for (const one of running) one.process.kill("SIGKILL");
    await server.stop();
  }
}

async function tellSpans(url: string, receiver: string, on: readonly string[]): Promise<SpanDocument[]> {
  const { app, lead } = tracedApp();
  const mesh = await openRealMesh(url);
  try {
    await mesh.host(app);
    await mesh.worker(app);
    await (await mesh.client.start(lead, { of: "x" }, { id: "lead-1" })).result();
    await (await mesh.client.fork(lead, "lead-1", { from: 1, id: "lead-2" })).result();
    const spans: SpanDocument[] = [];
    for (const id of ["lead-1", "lead-2"]) {
      await mustEnd("trace", id, "--otlp", receiver, ...on);
      const { stdout } = await mustEnd("trace", id, "--json", ...on);
      const lines = stdout.trim().split("\n").slice(0, -1);
      spans.push(...lines.map((line) => SpanDocument.parse(JSON.parse(line))));
    }
    return spans;
  } finally {
    await mesh.close();
  }
}

async function mustEnd(...words: string[]) {
  const ended = await runCli(words);
  if (ended.code !== 0)
    throw new Error(`sagamesh ${words.join(" ")} ended with ${ended.code}: ${ended.stderr}`);
  return ended;
}
