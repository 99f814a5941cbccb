/**
 * Pausing sagas and looking at trees from the command line, as people do it: real processes against a real server.
 *
 * One server and one `up` serve the whole file; each test has a saga of its own, whose sub-agent waits.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { InspectDocument, SagaRow, SentDocument } from "../../protocol/documents.ts";
import { type Ended, runCli, type RunningCli, startCli } from "../support/cli.ts";
import { startTestServer, type TestServer } from "../support/nats-server.ts";

let server: TestServer;
let up: RunningCli;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-cli-"));
  server = await startTestServer();
  up = startCli(["up", "--app", "test/apps/office.ts", "--server", server.url, "--json"]);
  await up.says('"role":"up"');
});
afterAll(async () => {
  up.process.kill("SIGTERM");
  await up.ended;
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const cli = (...args: string[]): Promise<Ended> => runCli([...args, "--server", server.url]);
const rowsOf = ({ stdout }: Ended): SagaRow[] =>
  stdout
    .trim()
    .split("\n")
    .map((line) => SagaRow.parse(JSON.parse(line)));
const inspected = async (saga: string): Promise<InspectDocument> =>
  InspectDocument.parse(JSON.parse((await cli("inspect", saga, "--json")).stdout));

async function until<T>(read: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  for (const giveUpAt = Date.now() + 15_000; ;) {
    const value = await read();
    if (holds(value)) return value;
    if (Date.now() > giveUpAt) throw new Error(`it never held: ${JSON.stringify(value)}`);
  }
}

/** Starts an office and gives its porter's id. */
async function startOffice(id: string): Promise<string> {
  expect((await cli("start", "office", "--input", "{}", "--id", id)).code).toBe(0);
  const { children } = await until(
    () => inspected(id),
    (one) => one.children.length === 1,
  );
  const porter = children[0]?.saga ?? "";
  await until(
    async () => rowsOf(await cli("ls", "--json")),
    (rows) => rows.some(({ saga }) => saga === porter),
  );
  return porter;
}

function expectError(ended: Ended, code: string, exitCode: 1 | 2): void {
  expect(ended.stderr).toMatch(new RegExp(`^error: \\[${code}\\] .+\\nremedy: .+\\n$`));
  expect(ended.code).toBe(exitCode);
}

describe("a tree", () => {
  test("stands in ls below its root, indented, and in inspect with what became of each child", async () => {
    const porter = await startOffice("tree-1");
    const { stdout } = await cli("ls");
    const lines = stdout.split("\n");
    const root = lines.findIndex((line) => line.startsWith("tree-1 "));
    expect(lines[root + 1]).toMatch(new RegExp(`^ {2}${porter} `));
    expect((await cli("inspect", "tree-1")).stdout).toMatch(
      new RegExp(`children:\n {2}\\S+ porter ${porter} {2}runs`),
    );
    expect((await cli("signal", porter, "go", "go")).code).toBe(0);
    expect((await cli("tail", "tree-1")).code).toBe(0);
    expect((await inspected("tree-1")).children).toMatchObject([
      { saga: porter, name: "porter", outcome: "succeeded" },
    ]);
  });
});

describe("a saga", () => {
  test("that is paused shows so in ls, inspect and tail, takes nothing, and goes on when resumed", async () => {
    const porter = await startOffice("pause-1");
    const paused = await cli("pause", "saga", porter, "--reason", "let me look", "--json");
    expect(SentDocument.parse(JSON.parse(paused.stdout))).toEqual({
      saga: porter,
      sent: "signal",
      name: "pause",
    });
    await until(
      () => inspected(porter),
      (one) => one.paused !== undefined,
    );
    expect((await inspected(porter)).paused).toMatchObject({ reason: "let me look" });
    expect((await cli("inspect", porter)).stdout).toContain(
      `let me look; \`sagamesh resume saga ${porter}\``,
    );
    const { stdout } = await cli("ls");
    expect(stdout.split("\n").find((line) => line.includes(porter))).toMatch(/running, paused .*resume/);
    expect((await cli("signal", porter, "go", "go")).code).toBe(0);
    await until(
      () => inspected(porter),
      (one) => one.events.at(-1)?.event.type === "signal",
    );
    expect((await inspected(porter)).status).toBe("running");
    expect((await cli("doctor")).stdout).not.toContain("STUCK");
    expect((await cli("resume", "saga", porter)).stdout).toContain(`resume is stored for ${porter}`);
    const tail = await cli("tail", "pause-1");
    expect(tail.code).toBe(0);
    expect((await cli("tail", porter)).stdout).toContain('signal pause {"reason":"let me look"}');
  });

  test("that is paused with its tree pauses its sub-agents, and resumes them", async () => {
    const porter = await startOffice("pause-2");
    await cli("pause", "saga", "pause-2", "--tree");
    await until(
      () => inspected(porter),
      (one) => one.paused !== undefined,
    );
    await cli("resume", "saga", "pause-2", "--tree");
    await until(
      () => inspected(porter),
      (one) => one.paused === undefined,
    );
  });

  test("that is flagged says so; defined to, it is paused until a human resumes it", async () => {
    await startOffice("flag-1");
    expect((await cli("signal", "flag-1", "flagged", '{"reason":"too slow","severity":"high"}')).code).toBe(
      0,
    );
    const flagged = await until(
      () => inspected("flag-1"),
      (one) => one.flags !== undefined,
    );
    expect(flagged).toMatchObject({
      flags: [{ reason: "too slow", severity: "high" }],
      paused: { reason: expect.stringContaining("too slow") as string },
    });
    expect((await cli("ls")).stdout).toMatch(/flag-1 .*running, paused, flagged/);
    await cli("resume", "saga", "flag-1", "--reason", "looked at");
    const resumed = await until(
      () => inspected("flag-1"),
      (one) => one.paused === undefined,
    );
    expect(resumed.flags).toBeUndefined();
  });

  test("that has ended or is none cannot be paused; nor is there more to pause than there is", async () => {
    const porter = await startOffice("over-1");
    await cli("signal", porter, "go", "go");
    expect((await cli("tail", "over-1")).code).toBe(0);
    expectError(await cli("pause", "saga", "over-1"), "SAGA_ENDED", 1);
    expectError(await cli("resume", "saga", "over-1"), "SAGA_ENDED", 1);
    expectError(await cli("pause", "saga", "nobody"), "SAGA_UNKNOWN", 2);
    expectError(await cli("pause", "saga", "a.b"), "BAD_ID", 2);
    expectError(await cli("pause", "model", "office", "--tree"), "USAGE", 2);
    expectError(await cli("pause", "saga", "over-1", "--reason", ""), "SAGA_ENDED", 1);
  });

  test("is instructed by a plain sentence, and a reserved signal of the wrong shape is refused before it is sent", async () => {
    const porter = await startOffice("told-1");
    expect((await cli("signal", porter, "instruct", "Come back at once.")).code).toBe(0);
    expectError(await cli("signal", porter, "instruct", "{}"), "INPUT_INVALID", 2);
    expectError(await cli("signal", porter, "flagged"), "INPUT_INVALID", 2);
    const unknown = await cli("signal", porter, "nonsense");
    expectError(unknown, "SIGNAL_UNKNOWN", 2);
    expect(unknown.stderr).toContain("cancel, pause, resume, instruct, rate_limited, flagged, go");
  });
});
