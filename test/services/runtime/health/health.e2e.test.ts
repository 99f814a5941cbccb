/**
 * Health: what hosts and workers show to those who operate them.
 *
 * Method: real processes, started as people start them, on a real server, asked over HTTP as a probe and a scraper
 * ask. What a process is not ready for is brought about for real: its server stands still, it drains, it starts
 * before its server answers.
 */
import { jetstreamManager } from "@nats-io/jetstream";
import { createServer, type Server } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { InspectDocument } from "../../../../protocol/documents/inspect.ts";
import { ServingDocument } from "../../../../protocol/documents/process.ts";
import { parseSagaId } from "../../../../protocol/ids.ts";
import { streams } from "../../../../protocol/subjects.ts";
import { connectNats } from "../../../../services/nats/connection.ts";
import { openNatsPorts } from "../../../../services/nats/open.ts";
import { runCli, type RunningCli, startCli } from "../../../support/cli.ts";
import { freePort } from "../../../support/free-port.ts";
import { startTestServer, type TestServer } from "../../../support/nats-server.ts";
import { parsePrometheus, type Scrape } from "../../../support/prometheus.ts";

let server: TestServer;
const running: RunningCli[] = [];

beforeAll(async () => {
  server = await startTestServer();
});
afterEach(async () => {
  for (const one of running.splice(0)) {
    one.process.kill("SIGKILL");
    await one.ended;
  }
});
afterAll(async () => {
  await server.stop();
});

interface Shown {
  readonly cli: RunningCli;
  readonly url: string;
}

const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}): RunningCli => {
  const cli = startCli(args, { env: { NATS_URL: server.url, ...env } });
  running.push(cli);
  return cli;
};

/** Starts it with a health port of its own, which it prints. */
async function serve(
  role: "host" | "worker",
  app: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Shown> {
  const cli = start([role, "--app", `test/apps/${app}.ts`, "--health-port", "0", "--json"], env);
  const said = (await cli.says(/"role":.*\n/)).split("\n")[0] ?? "";
  return { cli, url: ServingDocument.parse(JSON.parse(said)).health ?? "" };
}

const ask = async (url: string, path: string): Promise<{ status: number; text: string }> => {
  const answer = await fetch(`${url}${path}`);
  return { status: answer.status, text: await answer.text() };
};
const scrape = async (url: string): Promise<Scrape> => parsePrometheus((await ask(url, "/metrics")).text);

async function until<T>(read: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  for (const giveUpAt = Date.now() + 20_000; ;) {
    const value = await read();
    if (holds(value)) return value;
    if (Date.now() > giveUpAt) throw new Error(`it never held: ${JSON.stringify(value)}`);
    await sleep(50);
  }
}
const becomes = (url: string, status: number) =>
  until(
    () => ask(url, "/readyz"),
    (answer) => answer.status === status,
  );

const startSaga = (name: string, id: string, input: object, ...more: string[]) =>
  runCli(["start", name, "--input", JSON.stringify(input), "--id", id, ...more], {
    env: { NATS_URL: server.url },
  });

describe("metrics", () => {
  test("what host and worker count is what the saga's ledger holds", async () => {
    const [host, worker] = await Promise.all([serve("host", "desk"), serve("worker", "desk")]);
    expect((await startSaga("desk", "counted", { errand: "book", to: "rome" }, "--wait")).code).toBe(0);
    const inspected = await runCli(["inspect", "counted", "--json"], { env: { NATS_URL: server.url } });
    const { turns, spent, intents } = InspectDocument.parse(JSON.parse(inspected.stdout));
    const [ofHost, ofWorker] = await Promise.all([scrape(host.url), scrape(worker.url)]);
    expect(ofHost.sum("sagamesh_turns_total")).toBe(turns);
    expect(ofHost.sum("sagamesh_appends_total", { outcome: "appended" })).toBe(turns);
    expect(ofHost.sum("sagamesh_tokens_total", { model: "clerk", direction: "input" })).toBe(
      spent.inputTokens,
    );
    expect(ofHost.sum("sagamesh_tokens_total", { direction: "output" })).toBe(spent.outputTokens);
    expect(ofHost.sum("sagamesh_intents_decided_total")).toBe(intents.length);
    expect(ofHost.sum("sagamesh_intents_settled_total", { kind: "tool", outcome: "succeeded" })).toBe(2);
    expect(
      ofHost.sum("sagamesh_attempts_total", { kind: "model", name: "clerk", outcome: "succeeded" }),
    ).toBe(2);
    expect(ofWorker.sum("sagamesh_attempts_total", { kind: "tool", name: "book_seat" })).toBe(1);
    expect(ofWorker.sum("sagamesh_attempt_seconds_count")).toBe(2);
    expect(ofWorker.sum("sagamesh_turns_total")).toBe(0);
    expect(ofHost.sum("sagamesh_partitions")).toBe(8);
    expect(ofHost.sum("sagamesh_stream_messages", { stream: "LEDGER" })).toBeGreaterThanOrEqual(turns);
    expect(ofHost.sum("process_resident_memory_bytes")).toBeGreaterThan(10_000_000);
    expect([...ofHost.values.keys()].filter((key) => key.includes("counted"))).toEqual([]);
  });

  test("an input that is set aside is counted by its code", async () => {
    const host = await serve("host", "desk");
    const nc = await connectNats({ servers: server.url, name: "test" });
    nc.publish("saga.refused.start", "no start");
    await nc.drain();
    const { sum } = await until(
      () => scrape(host.url),
      (one) => one.sum("sagamesh_inputs_refused_total") > 0,
    );
    expect(sum("sagamesh_inputs_refused_total", { source: "inbox", code: "BAD_MESSAGE" })).toBe(1);
  });

  test("a saga that cannot be read is counted by its code and named in the log, and others go on", async () => {
    const former = await serve("host", "desk");
    expect((await startSaga("desk", "headless", { errand: "ask", to: "rome" })).code).toBe(0);
    await until(
      () => scrape(former.url),
      (one) => one.sum("sagamesh_turns_total") >= 2,
    );
    former.cli.process.kill("SIGKILL");
    await former.cli.ended;
    const nc = await connectNats({ servers: server.url, name: "test" });
    const ports = await openNatsPorts(nc);
    const saga = parseSagaId("headless");
    const last = await ports.ledger.last(saga);
    await ports.ledger.purgeBefore(saga, last?.seq ?? 0);
    const [host] = await Promise.all([serve("host", "desk"), serve("worker", "desk")]);
    nc.publish("saga.headless.signal.go", "{}");
    const { sum } = await until(
      () => scrape(host.url),
      (one) => one.sum("sagamesh_sagas_not_taken_total") > 0,
    );
    expect(sum("sagamesh_sagas_not_taken_total", { code: "LEDGER_BROKEN" })).toBeGreaterThan(0);
    expect(await host.cli.says('"sagaId":"headless"', "stderr")).toContain("saga not taken");
    expect((await startSaga("desk", "beside", { errand: "book", to: "rome" }, "--wait")).code).toBe(0);
    await (await jetstreamManager(nc)).streams.purge(streams.inbox); // Else it would be offered to the hosts of other tests.
    await ports.close();
    await nc.close();
  });

  test("a host that takes a killed one's saga over counts the recovery and what the call then cost", async () => {
    const dying = await serve("host", "slow-desk", { SLOW_CLERK: "1" });
    await becomes(dying.url, 200);
    await startSaga("slow_desk", "taken-over", {});
    await until(
      () => scrape(dying.url),
      ({ sum }) => sum("sagamesh_attempts_in_flight", { kind: "model" }) === 1,
    );
    dying.cli.process.kill("SIGKILL");
    const host = await serve("host", "slow-desk");
    const { sum, values } = await until(
      () => scrape(host.url),
      (one) => one.sum("sagamesh_attempts_total", { outcome: "succeeded" }) === 1,
    );
    expect(values.get("sagamesh_recovery_seconds_count")).toBe(1);
    await until(
      () => scrape(host.url),
      (one) => one.sum("sagamesh_spent_usd_total", { model: "slow_clerk" }) === 0.5,
    );
    expect(sum("sagamesh_attempts_in_flight")).toBe(0);
  });
});

describe("readiness", () => {
  test("a process whose server stands still is alive and not ready, and ready again when it goes on", async () => {
    const host = await serve("host", "desk");
    await becomes(host.url, 200);
    process.kill(server.pid, "SIGSTOP");
    try {
      const { text } = await becomes(host.url, 503);
      expect(text).toContain("no answer");
      expect((await ask(host.url, "/healthz")).status).toBe(200);
      await sleep(5_000); // Past the time for which a look at the mesh is kept.
      const { values } = await scrape(host.url);
      expect(values.get("sagamesh_ready")).toBe(0);
      expect(values.get("sagamesh_mesh_read")).toBe(0);
    } finally {
      process.kill(server.pid, "SIGCONT");
    }
    await becomes(host.url, 200);
  });

  test("a worker that lets a call settle before it ends is alive and not ready", async () => {
    const [, worker] = await Promise.all([serve("host", "desk"), serve("worker", "desk")]);
    await startSaga("desk", "dozing", { errand: "doze", to: "rome" });
    await until(
      () => scrape(worker.url),
      ({ sum }) => sum("sagamesh_attempts_in_flight", { name: "doze" }) === 1,
    );
    worker.cli.process.kill("SIGTERM");
    const { text } = await becomes(worker.url, 503);
    expect(text).toContain("draining");
    expect((await ask(worker.url, "/healthz")).status).toBe(200);
  });

  test("while it waits for its server it says that it starts", async () => {
    const silent = await listen();
    const { port } = silent.address() as { port: number };
    const free = await freePort();
    start(["host", "--app", "test/apps/desk.ts", "--health-port", String(free)], {
      NATS_URL: `nats://127.0.0.1:${port}`,
    });
    const url = `http://127.0.0.1:${free}`;
    const answer = await until(
      () => ask(url, "/readyz").catch(() => ({ status: 0, text: "" })),
      ({ status }) => status !== 0,
    );
    expect(answer).toMatchObject({ status: 503, text: expect.stringContaining("starting") as string });
    expect((await ask(url, "/healthz")).status).toBe(200);
    silent.close();
  });
});

describe("the port", () => {
  test("one that is taken ends the process with what to do, before anything is served", async () => {
    const taken = await listen();
    const { port } = taken.address() as { port: number };
    const args = ["host", "--app", "test/apps/desk.ts", "--health-port", String(port)];
    const { code, stderr } = await start(args).ended;
    taken.close();
    expect(stderr).toMatch(/^error: \[USAGE\] cannot listen for health.*\nremedy: .*--health-port/);
    expect(code).toBe(2);
  });

  test("is refused where it is none, whether a flag or the environment names it", async () => {
    const byFlag = await start(["host", "--app", "test/apps/desk.ts", "--health-port", "web"]).ended;
    const byEnv = await start(["worker", "--app", "test/apps/desk.ts"], { SAGAMESH_HEALTH_PORT: "70000" })
      .ended;
    for (const { code, stderr } of [byFlag, byEnv]) {
      expect(stderr).toContain("expected 0 to 65535");
      expect(code).toBe(2);
    }
  });

  test("nothing listens where none was named", async () => {
    const cli = start(["host", "--app", "test/apps/desk.ts", "--json"]);
    const said = (await cli.says(/"role":.*\n/)).split("\n")[0] ?? "";
    expect(ServingDocument.parse(JSON.parse(said)).health).toBeUndefined();
  });

  test("only what it shows is answered, and only to readers", async () => {
    const { url } = await serve("worker", "desk");
    expect((await ask(url, "/etc/passwd")).status).toBe(404);
    expect((await fetch(`${url}/metrics`, { method: "POST", body: "x" })).status).toBe(405);
    const head = await fetch(`${url}/healthz`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });
});

const listen = (): Promise<Server> =>
  new Promise((resolve) => {
    const listening = createServer(() => undefined);
    listening.listen(0, "127.0.0.1", () => resolve(listening));
  });
