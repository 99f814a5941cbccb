/**
 * The three examples of test/examples/patterns, each served as its file says, killed by SIGKILL in the middle and
 * served again: a kill costs what the page beside them says.
 *
 * Method: one `up` for each, killed when the outside world's line says that it is in the middle; the lines of both are
 * the outside's account.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { runCli, type RunningCli, startCli } from "../support/cli.ts";
import {
  type AccountServer,
  openRealMesh,
  type RealMesh,
  startAccountServer,
  until,
} from "../support/real-mesh.ts";

let server: AccountServer;
beforeAll(async () => {
  server = await startAccountServer(8);
});
afterAll(() => server.stop());

let mesh: RealMesh;
const served: RunningCli[] = [];
beforeEach(async () => {
  mesh = await openRealMesh(server.nextUrl());
});
afterEach(async () => {
  for (const { process } of served.splice(0)) process.kill("SIGKILL");
  await mesh.close();
});

const said = new Map<RunningCli, string>();
const serve = async (example: string): Promise<RunningCli> => {
  const up = startCli(["up", "--app", `test/examples/patterns/${example}.ts`, "--server", mesh.url]);
  said.set(up, "");
  up.process.stderr?.on("data", (text: string) => said.set(up, `${said.get(up) ?? ""}${text}`));
  served.push(up);
  await up.says("serves complaint@1");
  return up;
};
/** Lines of the outside world that begin so, of every process served in this test. */
const lines = (prefix: string): string[] =>
  served.flatMap((up) => (said.get(up) ?? "").split("\n")).filter((line) => line.startsWith(prefix));
const keysOf = (refunds: readonly string[]) => new Set(refunds.map((line) => line.split(" under ")[1]));

/** Serves the example, kills it when the outside has seen the line so many times, and serves it again. */
async function killAt(example: string, line: string, times = 1): Promise<void> {
  const first = await serve(example);
  const started = await runCli([
    "start",
    "complaint",
    "--input",
    '{"text":"it broke"}',
    "--id",
    "c-1",
    "--server",
    mesh.url,
  ]);
  expect(started.code).toBe(0);
  await until(`the outside says ${line}`, () => lines(line).length >= times, 20_000);
  first.process.kill("SIGKILL");
  await first.ended;
  await serve(example);
}

const tail = () => runCli(["tail", "c-1", "--server", mesh.url]);
const cli = (...args: string[]) => runCli([...args, "--server", mesh.url]);

test.each(["black-box", "visible", "mix"])(
  "%s does the job, with one refund",
  async (example) => {
    await serve(example);
    const ended = await cli("start", "complaint", "--input", '{"text":"it broke"}', "--id", "c-1", "--wait");
    expect(ended.stdout).toContain("completed");
    expect(ended.code).toBe(0);
    expect(lines("bank:")).toHaveLength(1);
  },
  60_000,
);

describe("killed in the middle of the refund", () => {
  test("A is in doubt: it is not run again, and a human says what happened", async () => {
    await killAt("black-box", "bank:");
    const { intents } = await mesh.view("c-1");
    expect(intents.map(({ intent }) => intent.kind)).toEqual(["tool"]); // All that the ledger knows of it.
    await until("a human is asked", async () => (await mesh.client.tasks()).length === 1, 30_000);
    const [task] = await mesh.client.tasks();
    expect(task).toMatchObject({ about: "doubt", saga: "c-1" });
    const answer = { outcome: "happened", output: { letter: "sent by hand" } };
    expect((await cli("answer", `c-1/${task?.intent ?? ""}`, JSON.stringify(answer))).code).toBe(0);
    expect((await tail()).code).toBe(0);
    expect(lines("bank:")).toHaveLength(1);
    expect(lines("shop:")).toHaveLength(2);
  }, 90_000);

  test("B asks for the same refund by its key and completes by itself", async () => {
    await killAt("visible", "bank:");
    expect((await tail()).code).toBe(0);
    expect(keysOf(lines("bank:")).size).toBe(1);
    expect(lines("shop:"), "what was found out before is not asked again").toHaveLength(1);
    const { intents } = await mesh.view("c-1");
    expect(intents.filter(({ intent }) => intent.kind === "model")).toHaveLength(3);
  }, 90_000);
});

test("the mix, killed while its black box looks, looks again and refunds once", async () => {
  await killAt("mix", "shop:");
  expect((await tail()).code).toBe(0);
  expect(lines("shop:")).toHaveLength(2);
  expect(lines("bank:")).toHaveLength(1);
}, 90_000);
