/**
 * Answers from outside, with everything real: a server, a host, a worker and two gateways as processes of the command
 * line, and an outside that is told a URL over HTTP and answers it with one.
 *
 * Method: processes are killed and stopped where it hurts. What was taken is read from the ledger by the command line.
 */
import { readFile, mkdtemp, rm, stat } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ErrorDocument } from "../../protocol/documents/stderr.ts";
import { InspectDocument } from "../../protocol/documents/inspect.ts";
import { LinkDocument } from "../../protocol/documents/stored.ts";
import { ServingDocument } from "../../protocol/documents/process.ts";
import { runCli, type RunningCli, startCli } from "../support/cli.ts";
import { startTestServer, type TestServer } from "../support/nats-server.ts";
import { parsePrometheus } from "../support/prometheus.ts";

const secret = "the secret that all of the mesh has and shares";
const app = "test/apps/recruiter.ts";
const slot = { slot: "2026-01-06T10:00:00Z" };
const running: RunningCli[] = [];
let nats: TestServer;
let outside: Server;
let env: Record<string, string>;
const given: string[] = [];

beforeAll(async () => {
  nats = await startTestServer();
  outside = createServer((request, response) => {
    let body = "";
    request.on("data", (data) => (body += String(data)));
    request.on("end", () => {
      given.push(body);
      response.end();
    });
  });
  await new Promise<void>((resolve) => outside.listen(0, "127.0.0.1", resolve));
  const { port } = outside.address() as AddressInfo;
  env = { NATS_URL: nats.url, SAGAMESH_GATEWAY_SECRET: secret, OUTSIDE_URL: `http://127.0.0.1:${port}` };
});
afterEach(async () => {
  for (const cli of running.splice(0)) {
    cli.process.kill("SIGKILL");
    await cli.ended;
  }
  given.length = 0;
});
afterAll(async () => {
  outside.close();
  await nats.stop();
});

async function serve(args: readonly string[], more: Record<string, string> = {}) {
  const cli = startCli([...args, "--json"], { env: { ...env, ...more } });
  running.push(cli);
  const said = (await cli.says(/"role":.*\n/)).split("\n").find((line) => line.includes('"role"')) ?? "";
  return { cli, said: ServingDocument.parse(JSON.parse(said)) };
}
const gateway = (...args: string[]) => serve(["gateway", "--port", "0", ...args]);

async function until<T>(read: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  for (const giveUpAt = Date.now() + 20_000; ;) {
    const value = await read();
    if (holds(value)) return value;
    if (Date.now() > giveUpAt) throw new Error(`it never held: ${JSON.stringify(value)}`);
    await sleep(50);
  }
}
const asked = async (): Promise<string> =>
  (
    await until(
      async () => given,
      (urls) => urls.length > 0,
    )
  )[0] ?? "";
const inspect = async (saga: string) =>
  InspectDocument.parse(JSON.parse((await runCli(["inspect", saga, "--json"], { env })).stdout));
const isDeferred = (saga: string) =>
  until(
    () => inspect(saga),
    ({ intents }) => intents.some((one) => one.deferred),
  );
const outputOf = async (saga: string): Promise<unknown> =>
  (
    await until(
      () => inspect(saga),
      ({ status }) => status !== "running",
    )
  ).end?.output;
const start = (saga: string) => runCli(["start", "recruit", "--id", saga, "--input", "{}"], { env });

const post = (url: string, body: unknown): Promise<Response> =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
const told = async (response: Response): Promise<[number, string]> => {
  const said: unknown = await response.json();
  return [response.status, response.ok ? "taken" : ErrorDocument.parse(said).error.code];
};

describe("an outside that was given a callback URL", () => {
  test("answers after its host and its worker are gone and others came, and of 100 answers over two gateways one is taken", async () => {
    const [one, two] = await Promise.all([gateway("--health-port", "0"), gateway()]);
    const at = { SAGAMESH_GATEWAY_URL: one.said.gateway ?? "" };
    const first = await Promise.all(["host", "worker"].map((role) => serve([role, "--app", app], at)));
    expect((await start("three-days")).code).toBe(0);
    const url = await asked();
    expect(url).toMatch(new RegExp(`^${at.SAGAMESH_GATEWAY_URL}/callback/`));
    await isDeferred("three-days");
    for (const { cli } of first) cli.process.kill("SIGKILL");
    await Promise.all(first.map(({ cli }) => cli.ended));

    const elsewhere = url.replace(at.SAGAMESH_GATEWAY_URL, two.said.listens ?? "");
    const answers = Array.from({ length: 100 }, (_, seats) => ({ ...slot, seats }));
    const replies = await Promise.all(
      answers.map((answer, i) => post(i % 2 === 0 ? url : elsewhere, answer)),
    );
    const winners = replies.flatMap(({ status }, i) => (status === 202 ? [answers[i]] : []));
    expect(winners).toHaveLength(1);
    const others = await Promise.all(replies.filter(({ status }) => status !== 202).map(told));
    expect(others).toEqual(Array.from({ length: 99 }, () => [409, "ANSWER_TAKEN"]));

    await serve(["host", "--app", app], at);
    expect(await outputOf("three-days")).toMatchObject({
      outcomes: [{ outcome: "succeeded", output: winners[0] }],
    });
    expect((await post(elsewhere, winners[0])).status).toBe(200);
    expect(await told(await post(url, { ...slot, seats: 100 }))).toEqual([409, "ANSWER_TAKEN"]);

    const metrics = parsePrometheus(await (await fetch(`${one.said.health ?? ""}/metrics`)).text());
    expect(metrics.sum("sagamesh_callbacks_total", { kind: "result" })).toBe(51);
    one.cli.process.kill("SIGTERM");
    const { code, stdout, stderr } = await one.cli.ended;
    expect(code).toBe(0);
    expect(stderr).toContain('"callback answered"');
    const token = url.split("/").at(-1) ?? "";
    for (const part of [token, token.split(".")[2] ?? token, secret, slot.slot])
      expect(stdout + stderr).not.toContain(part);
  });

  test("is told 503 while the server stands still, and the same answer is taken when it goes on", async () => {
    const door = await gateway();
    const at = { SAGAMESH_GATEWAY_URL: door.said.gateway ?? "" };
    await Promise.all(["host", "worker"].map((role) => serve([role, "--app", app], at)));
    await start("standing-still");
    const url = await asked();
    await isDeferred("standing-still");
    process.kill(nats.pid, "SIGSTOP");
    try {
      expect(await told(await post(url, slot))).toEqual([503, "UNAVAILABLE"]);
      expect((await fetch(`${at.SAGAMESH_GATEWAY_URL}/readyz`)).status).toBe(503);
      expect((await fetch(`${at.SAGAMESH_GATEWAY_URL}/healthz`)).status).toBe(200);
    } finally {
      process.kill(nats.pid, "SIGCONT");
    }
    const again = await until(
      () => post(url, slot),
      ({ status }) => status !== 503,
    );
    expect([200, 202]).toContain(again.status);
    expect(await outputOf("standing-still")).toMatchObject({ outcomes: [{ output: slot }] });
  });

  test("is refused after the deadline of the deferral", async () => {
    const door = await gateway();
    const at = { SAGAMESH_GATEWAY_URL: door.said.gateway ?? "", WITHIN_MS: "1000" };
    await Promise.all(["host", "worker"].map((role) => serve([role, "--app", app], at)));
    await start("too-late");
    const url = await asked();
    expect(await outputOf("too-late")).toMatchObject({ outcomes: [{ code: "DEFERRED_TOO_LATE" }] });
    expect(await told(await post(url, slot))).toEqual([410, "CALLBACK_EXPIRED"]);
  });

  test("is refused by a gateway with another secret, and heard by one that has the old one still", async () => {
    const signing = await gateway();
    const at = { SAGAMESH_GATEWAY_URL: signing.said.gateway ?? "" };
    const other = "another secret of more than 32 characters";
    const strange = await serve(["gateway", "--port", "0"], { SAGAMESH_GATEWAY_SECRET: other });
    const rotated = await serve(["gateway", "--port", "0"], {
      SAGAMESH_GATEWAY_SECRET: `${other},${secret}`,
    });
    await Promise.all(["host", "worker"].map((role) => serve([role, "--app", app], at)));
    await start("rotated");
    const url = await asked();
    const by = ({ said }: typeof signing) => url.replace(at.SAGAMESH_GATEWAY_URL, said.listens ?? "");
    expect(await told(await post(by(strange), slot))).toEqual([401, "CALLBACK_REFUSED"]);
    expect((await post(by(rotated), slot)).status).toBe(202);
  });
});

describe("without a gateway", () => {
  test("a worker gives a token for `settle`, and says so once", async () => {
    const [, worker] = await Promise.all(["host", "worker"].map((role) => serve([role, "--app", app])));
    await start("bare-1");
    await start("bare-2");
    await until(
      async () => given.length,
      (count) => count === 2,
    );
    expect(given.toSorted()).toEqual([
      expect.stringMatching(/^sagamesh:bare-1\./),
      expect.stringMatching(/^sagamesh:bare-2\./),
    ]);
    worker?.cli.process.kill("SIGTERM");
    const { stderr } = (await worker?.cli.ended) ?? { stderr: "" };
    expect(stderr.split("callback is a bare token")).toHaveLength(2);
  });
});

describe("`gateway` and `link` as they are typed", () => {
  test.each([
    [["gateway"], { SAGAMESH_GATEWAY_SECRET: "" }, "SAGAMESH_GATEWAY_SECRET"],
    [["gateway"], { SAGAMESH_GATEWAY_SECRET: "short" }, "32 characters"],
    [["gateway", "--port", "high"], {}, "--port"],
    [["gateway", "--public-url", "example.org"], {}, "--public-url"],
    [["gateway", "--port", "0", "--host", "192.0.2.1"], {}, "another port"],
    [["link", "signal", "s1"], { SAGAMESH_GATEWAY_URL: "http://a" }, "NAME is missing"],
    [["link", "signal", "s1", "two words"], { SAGAMESH_GATEWAY_URL: "http://a" }, "BAD_ID"],
    [["link", "approve", "s1/2-0"], { SAGAMESH_GATEWAY_URL: "http://a" }, "--by NAME"],
    [["link", "answer", "s1/2-0"], { SAGAMESH_GATEWAY_URL: "http://a" }, "expected signal, approve or deny"],
    [["link", "signal", "s1", "note"], {}, "SAGAMESH_GATEWAY_URL"],
    [["link", "signal", "s1", "note"], { SAGAMESH_GATEWAY_URL: "not a url" }, "SAGAMESH_GATEWAY_URL"],
  ])("%j with %j is bad usage, and the error names %s", async (args, more, named) => {
    const { code, stderr } = await runCli(args, { env: { ...env, ...more } });
    expect([code, stderr.includes(named)]).toEqual([2, true]);
    expect(stderr).not.toContain("short");
  });
});

describe("up", () => {
  test("has a gateway, whose links lead there again after a restart, and `link` makes some", async () => {
    const data = await mkdtemp(join(tmpdir(), "sagamesh-gateway-"));
    const own = { NATS_URL: "", SAGAMESH_GATEWAY_SECRET: "", SAGAMESH_DATA: data };
    try {
      const first = await serve(["up", "--app", app], own);
      const url = first.said.gateway ?? "";
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      const file = join(data, "gateway", "secret");
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      await runCli(["start", "recruit", "--id", "dev", "--input", "{}"], { env: { ...env, ...own } });
      const callback = await asked();
      expect(callback.startsWith(`${url}/callback/`)).toBe(true);
      first.cli.process.kill("SIGTERM");
      const { stdout, stderr } = await first.cli.ended;
      expect(stdout + stderr).not.toContain((await readFile(file, "utf8")).trim());

      const second = await serve(["up", "--app", app], own);
      expect(second.said.gateway).toBe(url);
      const { stdout: line } = await runCli(["link", "signal", "dev", "note", '{"text":"soon"}', "--json"], {
        env: own,
      });
      const link = LinkDocument.parse(JSON.parse(line));
      expect((await fetch(link.url)).status).toBe(200);
      expect((await fetch(link.url, { method: "POST" })).status).toBe(202);
      await until(
        () => inspectOn(own),
        ({ intents }) => intents.filter(({ intent }) => intent.kind === "model").length >= 2, // It has heard the note.
      );
      expect((await post(callback, slot)).status).toBe(202);
      const { end } = await until(
        () => inspectOn(own),
        ({ status }) => status !== "running",
      );
      expect(end?.output).toMatchObject({ outcomes: [{ output: slot }, { tool: "wait" }], notes: 1 });
    } finally {
      for (const { process: up, ended } of running.splice(0)) {
        up.kill("SIGTERM");
        await ended;
      }
      await rm(data, { recursive: true, force: true });
    }
  });

  const inspectOn = async (own: Record<string, string>) =>
    InspectDocument.parse(
      JSON.parse((await runCli(["inspect", "dev", "--json"], { env: { ...env, ...own } })).stdout),
    );

  test("without a gateway has none", async () => {
    const { said } = await serve(["up", "--app", app, "--no-gateway"]);
    expect(said.gateway).toBeUndefined();
  });
});
