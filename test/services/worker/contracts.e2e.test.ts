/**
 * Goal: in a deployment whose workers are replaced last, no call is performed by a worker that does not know it.
 * Method: host and workers as processes of the files test/apps/posts.ts and posts-before.ts, and the commands as people
 * type them. The tool says which body performed it; the ledger says what was asked.
 */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { DoctorDocument } from "../../../protocol/documents/doctor.ts";
import { InspectDocument } from "../../../protocol/documents/inspect.ts";
import { type Ended, type RunningCli, runHere, startCli } from "../../support/cli.ts";
import { document, until } from "../../support/cli-said.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";

let server: TestServer;
const running: RunningCli[] = [];
beforeAll(async () => {
  server = await startTestServer();
});
afterEach(async () => {
  const ending = running.splice(0);
  for (const { process } of ending) process.kill("SIGKILL");
  await Promise.all(ending.map(({ ended }) => ended));
});
afterAll(() => server.stop());

const run = (...args: string[]): Promise<Ended> => runHere([...args, "--server", server.url]);
async function serve(role: "host" | "worker", app: string, ...more: string[]): Promise<RunningCli> {
  const args = [role, "--app", `test/apps/${app}.ts`, "--server", server.url, "--json", ...more];
  const cli = startCli(args);
  running.push(cli);
  await cli.says(`"role":"${role}"`);
  return cli;
}
const start = (id: string, version: number) =>
  run("start", "board", "--input", "{}", "--id", id, "--version", String(version));
const inspect = (id: string) =>
  run("inspect", id, "--json").then((ended) => document(InspectDocument, ended));
const doctor = () => run("doctor", "--json").then((ended) => document(DoctorDocument, ended));
const isDone = ({ status }: InspectDocument) => status === "completed";
const outputOf = ({ events }: InspectDocument) =>
  events.flatMap(({ event }) =>
    event.type === "result" && event.result.outcome === "succeeded" ? [event.result.output] : [],
  )[0];

test(
  "a worker of yesterday leaves today's calls to one of today's, and doctor names the contract that waits",
  { timeout: 120_000 },
  async () => {
    await serve("host", "posts");
    const old = await serve("worker", "posts-before");
    for (const [id, version] of [
      ["one", 1],
      ["two", 2],
    ] as const)
      expect((await start(id, version)).code).toBe(0);
    expect(outputOf(await until(() => inspect("one"), isDone))).toEqual({ version: 1, pid: old.process.pid });
    const examined = await until(doctor, ({ findings }) => findings.some(({ code }) => code === "NO_WORKER"));
    const waiting = examined.findings.find(({ code }) => code === "NO_WORKER");
    expect(waiting?.what).toMatch(
      /^1 calls of post@2 #\w{8} wait and no worker serves that contract for .*; workers have post #\w{8}$/,
    );
    expect(waiting?.remedy).toContain("--tool post@2");
    expect(isDone(await inspect("two"))).toBe(false);

    const now = await serve("worker", "posts", "--tool", "post@2");
    expect(outputOf(await until(() => inspect("two"), isDone))).toEqual({ version: 2, pid: now.process.pid });
    old.process.kill("SIGTERM");
    await old.ended;
    await serve("worker", "posts");
    expect((await start("three", 1)).code).toBe(0);
    expect(outputOf(await until(() => inspect("three"), isDone))).toMatchObject({ version: 1 });
    expect((await doctor()).findings.map(({ code }) => code)).not.toContain("NO_WORKER");
  },
);
