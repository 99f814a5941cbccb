/**
 * Goal: a host that is told where metrics go pushes there what it shows, without a port of its own, and whatever is wrong with that
 * place changes nothing of what it does.
 * Method: real processes on a real server, a receiver over HTTP that answers, hangs, or is none.
 */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { runCli, type RunningCli, startCli } from "../../support/cli.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../../support/otlp-receiver.ts";
import { parsePrometheus } from "../../support/prometheus.ts";
import { type MetricsBody, pushedValues } from "../../support/pushed-values.ts";

let server: TestServer;
let running: RunningCli[] = [];
beforeAll(async () => {
  server = await startTestServer();
});
afterEach(async () => {
  for (const one of running) one.process.kill("SIGKILL");
  await Promise.all(running.map(({ ended }) => ended));
  running = [];
});
afterAll(() => server.stop());

type Env = Readonly<Record<string, string>>;
const start = (role: string, env: Env, ...more: string[]): RunningCli => {
  const cli = startCli([role, "--app", "test/apps/desk.ts", "--json", ...more], {
    env: { NATS_URL: server.url, ...env },
  });
  running.push(cli);
  return cli;
};
const doErrand = async (id: string) => {
  const input = '{"errand":"book","to":"rome"}';
  const ended = await runCli(["start", "desk", "--input", input, "--id", id, "--wait"], {
    env: { NATS_URL: server.url },
  });
  expect(ended.code, ended.stderr).toBe(0);
};
const pushedTo = ({ requests }: OtlpReceiver, k: number) =>
  pushedValues(JSON.parse(requests.at(k)?.body ?? "{}") as MetricsBody);

test("a host pushes what it shows, the last of it as it ends; two are two", async () => {
  await using receiver = await startOtlpReceiver();
  const to = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_METRIC_EXPORT_INTERVAL: "300" };
  const host = start("host", { ...to, OTEL_SERVICE_NAME: "desk" }, "--health-port", "0");
  const worker = start("worker", { ...to, OTEL_SERVICE_NAME: "desk" });
  const said = await host.says(/"role":.*\n/);
  const { health } = JSON.parse(said.split("\n")[0] ?? "") as { health: string };
  await worker.says(/"role":.*\n/);
  await doErrand("pushed");
  const { values } = parsePrometheus(await (await fetch(`${health}/metrics`)).text());
  const turns = values.get("sagamesh_turns_total");
  expect(turns).toBeGreaterThan(2);
  worker.process.kill("SIGTERM");
  await worker.ended;
  host.process.kill("SIGTERM");
  const { code, stderr } = await host.ended;
  expect({ code, warned: /metrics not/.test(stderr) }).toEqual({ code: 0, warned: false });
  const last = pushedTo(receiver, -1);
  expect(last.get("sagamesh_turns_total")).toBe(turns);
  expect(last.get("sagamesh_ready")).toBe(0); // It drained.
  expect(last.get("sagamesh_mesh_read")).toBe(1);
  // All that it shows, but for what comes and goes.
  const passing = /^sagamesh_(work|inbox|storage|stream|sagas_waiting|attempts_in_flight)/;
  expect([...values.keys()].filter((key) => !passing.test(key) && !last.has(key))).toEqual([]);
  const instances = receiver.requests.map(
    ({ body }) => /"service\.instance\.id","value":\{"stringValue":"([^"]+)"/.exec(body)?.[1],
  );
  expect(new Set(instances).size).toBe(2);
  expect(receiver.requests[0]?.body).toContain('"stringValue":"desk"');
});

test.each<readonly [string, Env]>([
  ["hangs", {}],
  ["is not there", { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" }],
  ["cannot be, by variables that are another program's", { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }],
])("a receiver that %s changes nothing of what a host does, and is told of once", async (_, env) => {
  await using receiver = await startOtlpReceiver(() => ({ status: 200, hang: true }));
  const to = {
    ...{ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_METRIC_EXPORT_INTERVAL: "100" },
    OTEL_EXPORTER_OTLP_TIMEOUT: "200",
    ...env,
  };
  const host = start("host", to);
  start("worker", {});
  await host.says(/"role":.*\n/);
  await host.says(/metrics not (taken|sent)/, "stderr");
  await doErrand(`held-${Object.keys(env).join("").length}`);
  host.process.kill("SIGTERM");
  const { code, stderr } = await host.ended;
  expect(code).toBe(0);
  expect(stderr.match(/metrics not (taken|sent)/g)).toHaveLength(1);
});
