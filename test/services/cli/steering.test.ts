/**
 * Pausing sagas and looking at trees from the command line, as people do it: real processes against a real server.
 *
 * One server and one `up` serve the whole file; each test has a saga of its own, whose sub-agent waits.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { InspectDocument } from "../../../protocol/documents/inspect.ts";
import { SagaRow } from "../../../protocol/documents/saga.ts";
import { SentDocument } from "../../../protocol/documents/stored.ts";
import { childrenOf } from "../../../services/views/children.ts";
import { accountOf } from "../../../services/ledger/account-reader.ts";
import { steeringOf } from "../../../services/views/steering-view.ts";
import { type Ended, runHere, type RunningCli, startCli } from "../../support/cli.ts";
import { openRealMesh, type RealMesh, until } from "../../support/real-mesh.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";

vi.setConfig({ testTimeout: 120_000 }); // Each test runs many commands.

let server: TestServer;
let up: RunningCli;
let mesh: RealMesh;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-cli-"));
  server = await startTestServer();
  up = startCli(["up", "--app", "test/apps/office.ts", "--server", server.url, "--json"]);
  await up.says('"role":"up"');
  mesh = await openRealMesh(server.url);
});
afterAll(async () => {
  await mesh.close();
  up.process.kill("SIGTERM");
  await up.ended;
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const cli = (...args: string[]): Promise<Ended> => runHere([...args, "--server", server.url]);
const inspected = async (saga: string): Promise<InspectDocument> =>
  InspectDocument.parse(JSON.parse((await cli("inspect", saga, "--json")).stdout));

/** What the test waits for is read here: a command takes seconds to start on a busy machine. */
const steered = async (saga: string) => {
  const turns = await mesh.turns(saga);
  return {
    ...steeringOf(accountOf(turns)),
    signals: turns.flatMap(({ steps }) => steps).filter(({ event }) => event.type === "signal").length,
  };
};

/** Starts an office and gives its porter's id, once he waits. */
async function startOffice(id: string): Promise<string> {
  expect((await cli("start", "office", "--input", "{}", "--id", id)).code).toBe(0);
  const children = async () => ((await mesh.head(id)) === 0 ? [] : childrenOf((await mesh.view(id)).intents));
  await until("it has called its porter", async () => (await children()).length === 1, 20_000);
  const porter = (await children())[0]?.saga ?? "";
  await until("the porter has begun", async () => (await mesh.head(porter)) > 0, 20_000);
  return porter;
}

function expectError(ended: Ended, code: string, exitCode: 1 | 2): void {
  expect(ended.stderr).toMatch(new RegExp(`^error: \\[${code}\\] .+\\nremedy: .+\\n$`));
  expect(ended.code).toBe(exitCode);
}

describe("a tree", () => {
  test("stands in ls below its root, indented, and in inspect with what became of each child", async () => {
    const porter = await startOffice("tree-1");
    const rows = (await cli("ls", "--json")).stdout
      .trim()
      .split("\n")
      .map((line) => SagaRow.parse(JSON.parse(line)));
    expect(rows[rows.findIndex(({ saga }) => saga === "tree-1") + 1]).toMatchObject({
      saga: porter,
      parent: { saga: "tree-1" },
    });
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
    await until("it is paused", async () => (await steered(porter)).paused !== undefined, 20_000);
    expect((await inspected(porter)).paused).toMatchObject({ reason: "let me look" });
    expect((await cli("inspect", porter)).stdout).toContain(
      `let me look; \`sagamesh resume saga ${porter}\``,
    );
    const { stdout } = await cli("ls");
    expect(stdout.split("\n").find((line) => line.includes(porter))).toMatch(/running, paused .*resume/);
    expect((await cli("signal", porter, "go", "go")).code).toBe(0);
    await until("both signals are recorded", async () => (await steered(porter)).signals === 2, 20_000);
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
    await until("it is paused", async () => (await steered(porter)).paused !== undefined, 20_000);
    await cli("resume", "saga", "pause-2", "--tree");
    await until("it goes on", async () => (await steered(porter)).paused === undefined, 20_000);
  });

  test("that is flagged says so; defined to, it is paused until a human resumes it", async () => {
    await startOffice("flag-1");
    expect((await cli("signal", "flag-1", "flagged", '{"reason":"too slow","severity":"high"}')).code).toBe(
      0,
    );
    await until("it is flagged", async () => (await steered("flag-1")).flags !== undefined, 20_000);
    const flagged = await inspected("flag-1");
    expect(flagged).toMatchObject({
      flags: [{ reason: "too slow", severity: "high" }],
      paused: { reason: expect.stringContaining("too slow") as string },
    });
    expect((await cli("ls")).stdout).toMatch(/flag-1 .*running, paused, flagged/);
    await cli("resume", "saga", "flag-1", "--reason", "looked at");
    await until("it goes on", async () => (await steered("flag-1")).paused === undefined, 20_000);
    const resumed = await steered("flag-1");
    expect(resumed.flags).toBeUndefined();
  });

  test("that has ended or is none cannot be paused; nor is there more to pause than there is", async () => {
    const porter = await startOffice("over-1");
    await cli("signal", porter, "go", "go");
    expect((await cli("tail", "over-1")).code).toBe(0);
    expectError(await cli("pause", "saga", "over-1"), "SAGA_ENDED", 1);
    expectError(await cli("resume", "saga", "over-1"), "SAGA_ENDED", 1);
    expectError(await cli("pause", "saga", "nobody"), "SAGA_UNKNOWN", 1);
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
    expectError(unknown, "SIGNAL_UNKNOWN", 1);
    expect(unknown.stderr).toMatch(/takes cancel, .*pause, resume, .*flagged.*, go/);
  });
});
