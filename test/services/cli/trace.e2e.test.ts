/**
 * Goal: `trace` shows a tree, sends it, and follows a mesh: what a receiver has in the end is what the ledgers say, also where the
 * following process was killed again and again.
 * Method: a real server, hosts and workers, a receiver over HTTP; the following process is the command itself, killed by SIGKILL.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SpanDocument, TraceDocument } from "../../../protocol/documents/trace.ts";
import { expectError } from "../../support/cli-said.ts";
import { type Ended, runHere, startCli } from "../../support/cli.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";
import { startOtlpReceiver } from "../../support/otlp-receiver.ts";
import { openRealMesh, type RealMesh, until } from "../../support/real-mesh.ts";
import { tracedApp } from "../../support/traced-app.ts";

const { app, lead } = tracedApp();
let server: TestServer;
let mesh: RealMesh;
let folder: string;
beforeAll(async () => {
  server = await startTestServer();
  folder = await mkdtemp(join(tmpdir(), "sagamesh-trace-"));
  mesh = await openRealMesh(server.url);
  await mesh.host(app);
  await mesh.worker(app);
  await (await mesh.client.start(lead, { of: "x" }, { id: "lead-1" })).result();
});
afterAll(async () => {
  await mesh.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});
const on = (): string[] => ["--server", server.url, "--data", folder];
const cli = (...words: string[]): Promise<Ended> => runHere([...words, ...on()]);
const linesOf = ({ stdout }: Ended): unknown[] =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);

describe("trace SAGA", () => {
  test("shows the tree, each span below its own, with how it ended and what it used", async () => {
    const { stdout, code } = await cli("trace", "lead-1");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^invoke_agent lead +lead-1 .* completed +20 \+ 10$/m);
    expect(stdout).toMatch(/^ {2}execute_tool helper +lead-1 +2-2 .* succeeded$/m);
    expect(stdout).toMatch(/^ {4}invoke_agent helper +helper-\w+ .* completed/m);
    expect(stdout).toMatch(/^ {6}chat helping .* 10 \+ 5$/m);
    expect(stdout).toMatch(/^trace [0-9a-f]{32}: 11 spans$/m);
  });

  test("prints a document for each span with --json, and what it was at the end", async () => {
    const lines = linesOf(await cli("trace", "lead-1", "--json"));
    const spans = lines.slice(0, -1).map((line) => SpanDocument.parse(line));
    const { trace } = TraceDocument.parse(lines.at(-1));
    expect(spans).toHaveLength(11);
    expect(trace).toMatchObject({ saga: "lead-1", spans: 11, open: 0, traceId: spans[0]?.traceId });
  });

  test("sends it with --otlp: sent again, it is the same trace", async () => {
    await using receiver = await startOtlpReceiver();
    for (const _ of ["once", "again"]) {
      const { stdout, code } = await cli("trace", "lead-1", "--otlp", receiver.url);
      expect({ code, stdout }).toMatchObject({ code: 0 });
      expect(stdout).toMatch(/^11 spans of trace [0-9a-f]{32} were taken$/m);
    }
    const [first, second] = receiver.requests.map(({ body }) => body);
    expect(first).toBe(second);
    expect(first).not.toContain('"of"'); // An argument's name.
  });

  test("says what a receiver that refuses said, and exits with 1", async () => {
    await using receiver = await startOtlpReceiver(() => ({ status: 401, body: "who are you" }));
    expectError(await cli("trace", "lead-1", "--otlp", receiver.url), "OTLP_REFUSED", 1);
  });

  test.each([
    [["trace"]],
    [["trace", "lead-1", "--follow"]],
    [["trace", "lead-1", "--place", "x"]],
    [["trace", "lead-1", "--otlp", "localhost:4318"]],
    [["trace", "--follow"]],
  ])("refuses %j", async (words) => {
    expectError(await cli(...words), "USAGE", 2);
  });

  test("leaves no span open of a saga that was started by hand in a trace", async () => {
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const words = ["start", "lead", "--input", '{"of":"y"}', "--id", "lead-2"];
    expect((await cli(...words, "--traceparent", traceparent, "--wait")).code).toBe(0);
    const { trace } = TraceDocument.parse(linesOf(await cli("trace", "lead-2", "--json")).at(-1));
    expect(trace).toMatchObject({ traceId: "4bf92f3577b34da6a3ce929d0e0e4736", open: 0, spans: 11 });
    expectError(await cli(...words, "--traceparent", "00-zz"), "USAGE", 2);
  });
});

test("trace --follow, killed again and again, has sent every span in the end, each the same", async () => {
  await using receiver = await startOtlpReceiver();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_SERVICE_NAME: "desk" };
  const follow = () => startCli(["trace", "--follow", ...on()], { env });
  const first = follow();
  await first.says(/sends the spans/, "stderr");
  await systemWait(1_500); // Its place is kept.
  const ids = Array.from({ length: 12 }, (_, k) => `many-${k}`);
  let running = first;
  for (const id of ids) {
    const saga = await mesh.client.start(lead, { of: id }, { id });
    await saga.result();
    if (Number(id.slice(5)) % 3 !== 2) continue;
    running.process.kill("SIGKILL");
    await running.ended;
    running = follow();
  }
  await until(
    "all is exported",
    () => new Set(receiver.spans().map(({ spanId }) => spanId)).size >= ids.length * 11,
    60_000,
  );
  running.process.kill("SIGTERM");
  expect((await running.ended).code).toBe(0);
  const told = new Map<string, string>();
  for (const id of ids)
    for (const line of linesOf(await cli("trace", id, "--json")).slice(0, -1)) {
      const { spanId, traceId, name } = SpanDocument.parse(line);
      told.set(spanId, `${traceId} ${name}`);
    }
  const had = new Map(receiver.spans().map(({ spanId, traceId, name }) => [spanId, `${traceId} ${name}`]));
  expect(had).toEqual(told);
  expect(receiver.requests[0]?.body).toContain('"stringValue":"desk"');
});

test("up sends the spans of what ends where OpenTelemetry's variables say, and ends as ever", async () => {
  await using receiver = await startOtlpReceiver();
  const own = await mkdtemp(join(tmpdir(), "sagamesh-trace-up-"));
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_HEADERS: "x-key=planted" };
  const up = startCli(["up", "--app", "test/examples/weekend.ts", "--data", own, "--no-gateway"], { env });
  try {
    await up.says("weekend");
    const input = '{"guest":"ana","cents":90000}';
    await runHere(["start", "weekend", "--input", input, "--id", "ana-1", "--data", own, "--wait"]);
    const isThere = () => receiver.spans().some(({ name }) => name === "invoke_workflow weekend");
    await until("its span is there", isThere, 30_000);
    expect(receiver.requests[0]?.headers["x-key"]).toBe("planted");
  } finally {
    up.process.kill("SIGTERM");
  }
  const { code, stdout, stderr } = await up.ended;
  expect(code).toBe(0);
  expect(stdout + stderr).not.toContain("planted");
  await rm(own, { recursive: true, force: true });
});

const systemWait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
