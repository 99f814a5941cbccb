/**
 * The command line against a real server: what each command says, on which stream, and its exit code.
 *
 * One server and one `up` serve the whole file; each test has sagas of its own. Commands run in the test's process, as
 * words of a command line (support/cli.ts); cli.e2e.test.ts runs processes. What is wrong is typed wrong here for real,
 * and every answer must be one coded line, its remedy and an exit code.
 */
import { connect } from "@nats-io/transport-node";
import { createServer, type Server } from "node:net";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { encodeMsgpack } from "../../../protocol/codec.ts";
import { DoctorDocument } from "../../../protocol/documents/doctor.ts";
import { EndDocument, SagaRow } from "../../../protocol/documents/saga.ts";
import { ErrorDocument, ProgressDocument } from "../../../protocol/documents/stderr.ts";
import { InspectDocument } from "../../../protocol/documents/inspect.ts";
import { LetterDocument, LetterDoneDocument } from "../../../protocol/documents/letter.ts";
import { PromptDocument } from "../../../protocol/documents/prompt.ts";
import { SettledRow } from "../../../protocol/documents/settle.ts";
import { SentDocument } from "../../../protocol/documents/stored.ts";
import { ServingDocument, VersionDocument } from "../../../protocol/documents/process.ts";
import { StatesDocument } from "../../../protocol/documents/states.ts";
import { ThrottledDocument } from "../../../protocol/documents/throttle.ts";
import { VerifyDocument } from "../../../protocol/documents/verify.ts";
import { ReplayDocument } from "../../../protocol/documents/replay.ts";
import { type IntentId, parseSagaId } from "../../../protocol/ids.ts";
import { GraphDocument } from "../../../protocol/documents/graph.ts";
import { TaskDetailDocument, TaskDocument } from "../../../protocol/documents/task.ts";
import { Turn } from "../../../protocol/turn.ts";
import { WhyDocument } from "../../../protocol/documents/why.ts";
import { settleIntent } from "../../../services/client/send.ts";
import { openMesh } from "../../../services/runtime/mesh.ts";
import { systemChance, systemClock } from "../../../services/runtime/system.ts";
import {
  type CliOptions,
  type Ended,
  runCli,
  runHere,
  type RunningCli,
  startCli,
} from "../../support/cli.ts";
import { document, documents, expectError, until } from "../../support/cli-said.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";

const app = "test/apps/desk.ts";
let server: TestServer;
let up: RunningCli;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-cli-"));
  server = await startTestServer();
  up = startCli(["up", "--app", app, "--server", server.url, "--json"]);
  await up.says('"role":"up"');
});

afterAll(async () => {
  up.process.kill("SIGTERM");
  await up.ended;
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const cli = (...args: string[]): Promise<Ended> => runHere([...args, "--server", server.url]);
const input = (errand: string, to = "rome"): string => JSON.stringify({ errand, to });
const start = (id: string, errand: string, ...more: string[]): Promise<Ended> =>
  cli("start", "desk", "--input", input(errand), "--id", id, ...more);

/** Started, and a host has begun it. */
async function begin(id: string, errand: string, ...more: string[]): Promise<void> {
  await start(id, errand, ...more);
  await until(
    () => cli("inspect", id),
    ({ code }) => code === 0,
  );
}

const openTasks = async (saga: string) =>
  documents(TaskDocument, await cli("tasks", "--json")).filter((task) => task.saga === saga);

describe("help", () => {
  test("the overall help lists every command and the exit codes", async () => {
    const { stdout, code } = await runHere(["--help"]);
    expect(code).toBe(0);
    for (const name of [
      "demo",
      "up",
      "host",
      "worker",
      "start",
      "signal",
      "cancel",
      "settle",
      "ls",
      "inspect",
      "tail",
      "why",
      "trace",
      "verify",
      "replay",
      "tasks",
      "approve",
      "deny",
      "edit",
      "answer",
      "archive",
      "doctor",
      "pause",
      "resume",
      "dead",
      "decode",
    ])
      expect(stdout).toMatch(new RegExp(`^  ${name} +\\w`, "m"));
    expect(stdout).toContain("Exit codes");
  });

  test("each command's help has its usage and an example", async () => {
    for (const name of ["demo", "up", "start", "replay", "tasks", "decode"]) {
      const { stdout, code } = await runHere([name, "--help"]);
      expect(code).toBe(0);
      expect(stdout).toContain(`Usage: sagamesh ${name}`);
      expect(stdout).toMatch(/^Example: .*sagamesh /m);
    }
  });

  test("the version is package.json's", async () => {
    expect(document(VersionDocument, await runHere(["--version", "--json"])).version).toMatch(
      /^\d+\.\d+\.\d+$/,
    );
  });

  test("no command at all is bad usage, with the help", async () => {
    const { code, stdout } = await runHere([]);
    expect(code).toBe(2);
    expect(stdout).toContain("Usage: sagamesh COMMAND");
  });
});

describe("P8: what is typed wrong", () => {
  test("an unknown command is refused", async () => expectError(await runHere(["strat"]), "USAGE", 2));
  test("an unknown option is refused instead of being dropped", async () => {
    const ended = await cli("start", "desk", "--input", input("book"), "--it", "x");
    expectError(ended, "USAGE", 2);
    expect(ended.stderr).toContain("--it");
  });
  test("a missing argument is named", async () => {
    const ended = await cli("inspect");
    expectError(ended, "USAGE", 2);
    expect(ended.stderr).toContain("SAGA is missing");
  });
  test("one word too many is refused", async () => expectError(await cli("inspect", "a", "b"), "USAGE", 2));
  test("bad JSON is refused before a server is looked for", async () =>
    expectError(
      await runHere(["start", "desk", "--input", "{role:dev}", "--server", "nats://127.0.0.1:1"]),
      "BAD_JSON",
      2,
    ));
  test("a saga id with a dot is refused", async () => expectError(await cli("inspect", "a.b"), "BAD_ID", 2));
  test("an unknown saga is refused", async () =>
    expectError(await cli("inspect", "nobody"), "SAGA_UNKNOWN", 1));
  test.each([["signal", "note", '{"text":"x"}'], ["cancel"], ["tail"], ["why"]])(
    "an id that was never started is refused at once by %s",
    async (command, ...words) => expectError(await cli(command, "nobody", ...words), "SAGA_UNKNOWN", 1),
  );
  test("with --early a signal to an id that was not started yet is stored, and taken by the later start", async () => {
    const early = await cli("signal", "early-1", "note", '{"text":"Tuesday"}', "--early");
    expect([early.code, early.stdout]).toEqual([0, "signal note is stored for early-1\n"]);
    expect((await cli("start", "desk", "--input", input("wait"), "--id", "early-1", "--wait")).code).toBe(0);
  });
  test("a task without its intent is refused", async () =>
    expectError(await cli("approve", "nobody"), "BAD_ID", 2));
  test("an address that is none is refused with the option's name", async () => {
    const ended = await runHere(["ls", "--server", "http://localhost"]);
    expectError(ended, "USAGE", 2);
    expect(ended.stderr).toContain("--server");
  });
  test("a weight out of range is refused, and told what is in range", async () => {
    for (const wrong of ["0", "1e3"]) {
      const ended = await runHere(["host", "--app", "test/apps/marathon.ts", `--weight=${wrong}`]);
      expectError(ended, "USAGE", 2);
      expect(ended.stderr).toContain("--weight: expected 0.1 to 100");
    }
  });
  test("every wrong variable is told at once", async () => {
    const ended = await runCli(["ls"], {
      env: { LOG_LEVEL: "loud", NATS_URL: "ftp://x", SAGAMESH_CALLBACK_URL: "nowhere" },
    });
    expectError(ended, "USAGE", 2);
    for (const name of ["LOG_LEVEL", "NATS_URL", "SAGAMESH_CALLBACK_URL"])
      expect(ended.stderr).toContain(name);
  });
  test("an unknown agent is refused, and what is served is named", async () => {
    const ended = await cli("start", "dsk", "--input", "{}");
    expectError(ended, "AGENT_UNKNOWN", 1);
    expect(ended.stderr).toContain("desk");
  });
  test("an input that fails the schema is refused before anything is sent", async () => {
    const ended = await cli("start", "desk", "--input", '{"errand":"fly","to":3}', "--id", "wrong-input");
    expectError(ended, "INPUT_INVALID", 2);
    expect(ended.stderr).toContain("errand");
    expectError(await cli("tail", "wrong-input"), "SAGA_UNKNOWN", 1);
    expect(document(DoctorDocument, await cli("doctor", "--json")).deadLetters).toBe(0);
  });
  test("with --json an error is one JSON document on stderr", async () => {
    const { stderr, code } = await cli("inspect", "nobody", "--json");
    expect(ErrorDocument.parse(JSON.parse(stderr)).error.code).toBe("SAGA_UNKNOWN");
    expect(code).toBe(1);
  });
});

describe("servers that cannot be used", () => {
  const listen = (greeting: string): Promise<{ url: string; server: Server }> =>
    new Promise((resolve) => {
      const fake = createServer((socket) => {
        socket.on("error", () => undefined);
        socket.write(greeting);
      });
      fake.listen(0, "127.0.0.1", () =>
        resolve({ url: `nats://127.0.0.1:${(fake.address() as { port: number }).port}`, server: fake }),
      );
    });

  test("a server that is not there is said so in one line", async () =>
    expectError(await runHere(["ls", "--server", "nats://127.0.0.1:1"]), "UNAVAILABLE", 1));

  test("a password in the address is not printed", async () => {
    const { stderr } = await runHere(["ls", "--server", "nats://ana:hunter2@127.0.0.1:1"]);
    expect(stderr).toContain("UNAVAILABLE");
    expect(stderr).not.toContain("hunter2");
  });

  test("a server that is too old is refused with its version", async () => {
    const old = {
      server_id: "old",
      server_name: "old",
      version: "2.9.1",
      proto: 1,
      max_payload: 1_048_576,
      headers: true,
      jetstream: true,
      host: "127.0.0.1",
      port: 0,
      client_id: 1,
    };
    // It answers the client's first PING as every server does, and is judged by its INFO.
    const fake = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.on("data", (data) => data.toString().includes("PING") && socket.write("PONG\r\n"));
      socket.write(`INFO ${JSON.stringify(old)}\r\n`);
    });
    await new Promise<void>((resolve) => fake.listen(0, "127.0.0.1", resolve));
    const ended = await runHere([
      "ls",
      "--server",
      `nats://127.0.0.1:${(fake.address() as { port: number }).port}`,
    ]);
    fake.close();
    expectError(ended, "SERVER_TOO_OLD", 1);
    expect(ended.stderr).toContain("2.9.1");
  });

  test("something that is no NATS server is told as unavailable", async () => {
    const { url, server: fake } = await listen("HTTP/1.1 400 Bad Request\r\n\r\n");
    const ended = await runHere(["ls", "--server", url]);
    fake.close();
    expect(ended.stderr).toMatch(/^error: \[(UNAVAILABLE|SERVER_REFUSED)\] .+\nremedy: .+\n$/);
    expect(ended.code).toBe(1);
  });

  test("reading where nothing was ever started starts nothing and says so", async () => {
    const ended = await runHere(["ls", "--data", join(folder, "empty")]);
    expectError(ended, "UNAVAILABLE", 1);
    expect(ended.stderr).toContain("nothing was ever started");
    expect(ended.stderr).toContain("sagamesh up");
  });

  test("an application file that does not exist or holds none is one line", async () => {
    expectError(await runHere(["host", "--app", "nowhere.ts", "--server", server.url]), "APP_INVALID", 1);
    const file = join(folder, "no-app.mjs");
    await writeFile(file, "export default { hello: 1 };\n");
    expectError(await runHere(["worker", "--app", file, "--server", server.url]), "APP_INVALID", 1);
  });

  test("an application with faults starts no server", async () => {
    for (const role of ["up", "host"]) {
      const data = join(folder, `faulty-${role}`);
      const ended = await runHere([role, "--app", "test/apps/desk-unserved.ts", "--data", data]);
      expectError(ended, "APP_INVALID", 1);
      expect(ended.stderr).toContain('no model port is named "clerk"');
      expect(existsSync(data)).toBe(false);
    }
  });

  test("a worker for a tool that the file has no body for does not start", async () =>
    expectError(
      await runCli(["worker", "--app", app, "--tool", "fly", "--server", server.url], {
        env: { LOG_LEVEL: "error" },
      }),
      "TOOL_UNSERVED",
      1,
    ));
});

describe("pausing", () => {
  test("a paused model is asked nothing until it is resumed", async () => {
    const paused = document(
      ThrottledDocument,
      await cli("pause", "model", "clerk", "--reason", "the bill", "--json"),
    );
    expect(paused).toEqual({ kind: "model", name: "clerk", paused: true, reason: "the bill" });
    expect((await start("pause-1", "book")).code).toBe(0);
    const waiting = await until(
      async () => documents(SagaRow, await cli("ls", "--json")).find(({ saga }) => saga === "pause-1"),
      (row) => row !== undefined,
    );
    expect(waiting?.status).toBe("running");
    const resumed = await cli("resume", "model", "clerk");
    expect([resumed.code, resumed.stdout]).toEqual([0, "clerk goes on\n"]);
    expect((await cli("tail", "pause-1")).code).toBe(0);
  });

  test("a tool's work waits while it is paused", async () => {
    expect((await cli("pause", "tool", "look_up")).stdout).toContain("sagamesh resume tool look_up");
    await start("pause-2", "book");
    expect((await cli("resume", "tool", "look_up")).code).toBe(0);
    expect((await cli("tail", "pause-2")).code).toBe(0);
  });

  test("what nobody served, or is neither tool nor model, is told with what there is", async () => {
    const model = await cli("pause", "model", "slow");
    expectError(model, "MODEL_UNKNOWN", 1);
    expect(model.stderr).toContain("served here: clerk");
    expectError(await cli("pause", "tool", "fly"), "TOOL_UNKNOWN", 1);
    expectError(await cli("pause", "engine", "fly"), "USAGE", 2);
    expectError(await cli("resume", "tool"), "USAGE", 2);
  });
});

describe("serving", () => {
  test("a tool without a body and an application with faults are refused before anything is logged", async () => {
    expectError(await cli("worker", "--app", app, "--tool", "xx"), "TOOL_UNSERVED", 1);
    const faulty = join(folder, "faulty.ts");
    const source = new URL("../../apps/desk-contract.ts", import.meta.url).href;
    await writeFile(
      faulty,
      `import { defineApp } from "sagamesh"; import { desk } from "${source}"; export default defineApp({ sagas: [desk] });`,
    );
    expectError(await cli("host", "--app", faulty), "APP_INVALID", 1);
  });

  test("an option of every command that means nothing to one is refused there, and not in its help", async () => {
    expectError(await cli("decode"), "USAGE", 2);
    expect((await runHere(["decode", "--help"])).stdout).not.toContain("--server");
  });
});

describe("dead letters", () => {
  const lettersOf = async (saga: string) =>
    documents(LetterDocument, await cli("dead", "ls", "--json")).filter((one) => one.saga === saga);

  test("are listed, shown whole, sent again and thrown away", async () => {
    const nc = await connect({ servers: server.url });
    nc.publish("saga.dead-1.result.1-0", "no result at all");
    await nc.drain();
    const [letter] = await until(
      () => lettersOf("dead-1"),
      (letters) => letters.length === 1,
    );
    expect(letter).toMatchObject({ subject: "saga.dead-1.result.1-0", code: "BAD_MESSAGE", source: "inbox" });
    const number = String(letter!.letter);
    expect((await cli("dead", "show", number)).stdout).toContain("no result at all");
    const retried = document(LetterDoneDocument, await cli("dead", "retry", number, "--json"));
    expect(retried).toEqual({ letter: letter!.letter, done: "retried", subject: letter!.subject });
    const [again] = await until(
      () => lettersOf("dead-1"),
      (letters) => letters.some((one) => one.letter > letter!.letter),
    );
    expect((await cli("dead", "drop", "--all", "--code", "BAD_MESSAGE")).code).toBe(0);
    expect(await lettersOf("dead-1")).toEqual([]);
    expectError(await cli("dead", "show", String(again!.letter)), "LETTER_UNKNOWN", 1);
  });

  test("are not touched by bad usage", async () => {
    for (const words of [
      ["burn"],
      ["retry"],
      ["show", "x"],
      ["drop", "1", "--all"],
      ["retry", "1", "--code", "X"],
    ])
      expectError(await cli("dead", ...words), "USAGE", 2);
  });
});

describe("driving and reading a saga", () => {
  test("start --wait shows a line per event and ends with 0 for a saga that completes", async () => {
    const { stdout, stderr, code } = await start("book-1", "book", "--wait");
    expect(stdout).toBe('book-1 completed {"done":"after 2"}\n');
    expect(stderr).toContain("look_up");
    expect(stderr.trim().split("\n").length).toBeGreaterThan(4);
    expect(code).toBe(0);
  });

  test("the same id with the same input is the same saga, with another input it is taken", async () => {
    expect((await start("book-2", "book", "--wait")).code).toBe(0);
    expect((await start("book-2", "book", "--wait")).stdout).toContain("completed");
    expectError(await start("book-2", "pay"), "SAGA_ID_TAKEN", 1);
  });

  test("a start without an input is one with an empty object, which its schema judges", async () => {
    const [without, empty] = [await cli("start", "desk"), await cli("start", "desk", "--input", "{}")];
    expectError(without, "INPUT_INVALID", 2);
    expect(without.stderr).toBe(empty.stderr);
  });

  test("a start names a version as other commands write it, and not two of them", async () => {
    const words = ["--input", input("pay"), "--id", "named-1"];
    expect(JSON.parse((await cli("start", "desk@1", ...words, "--json")).stdout)).toMatchObject({
      name: "desk",
      definition: { version: 1 },
    });
    expectError(await cli("start", "desk@7", ...words), "DEFINITION_UNKNOWN", 1);
    expectError(await cli("start", "desk@1", "--version", "2", ...words), "USAGE", 2);
  });

  test("start --wait and tail end with 1 for a saga that fails", async () => {
    const waited = await start("fail-1", "fail", "--wait", "--json");
    const end = document(EndDocument, waited);
    expect(end).toMatchObject({ saga: "fail-1", status: "failed", code: "MODEL_REPLY_INVALID" });
    for (const line of waited.stderr.trim().split("\n")) ProgressDocument.parse(JSON.parse(line));
    expect(waited.code).toBe(1);
    expect((await cli("tail", "fail-1")).code).toBe(1);
  });

  test("tail prints each turn once and then the end", async () => {
    await start("book-3", "book", "--wait");
    const { stdout, code } = await cli("tail", "book-3", "--json");
    const lines = stdout.trim().split("\n");
    const turns = lines.slice(0, -1).map((line) => Turn.parse(JSON.parse(line)).turn);
    expect(turns).toEqual(turns.map((_, k) => k + 1));
    expect(turns.length).toBeGreaterThan(2);
    expect(EndDocument.parse(JSON.parse(lines.at(-1) ?? "")).status).toBe("completed");
    expect(code).toBe(0);
  });

  test("tail into a reader that goes away is no error", async () => {
    await start("wait-pipe", "wait");
    const tail = startCli(["tail", "wait-pipe", "--server", server.url]);
    await tail.says("start desk");
    tail.process.stdout?.destroy();
    await cli("signal", "wait-pipe", "note", "go on");
    const { code, stderr } = await tail.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test("a plain text is a signal's only member, and wakes the saga that waits for it", async () => {
    await start("wait-1", "wait");
    await until(
      async () => documents(SagaRow, await cli("ls", "--json", "--running")),
      (rows) => rows.some((row) => row.saga === "wait-1" && row.waitsFor.includes("signal note")),
    );
    const sent = await cli("signal", "wait-1", "note", "Tuesday only", "--json");
    expect(document(SentDocument, sent)).toEqual({ saga: "wait-1", sent: "signal", name: "note" });
    expect((await cli("tail", "wait-1")).stdout).toContain('signal note {"text":"Tuesday only"}');
  });

  test("a signal that is not declared, does not fit or comes too late is refused", async () => {
    await start("wait-2", "wait");
    await until(
      () => cli("inspect", "wait-2"),
      ({ code }) => code === 0,
    );
    expectError(await cli("signal", "wait-2", "note2", "x"), "SIGNAL_UNKNOWN", 1);
    expectError(await cli("signal", "wait-2", "hurry", '{"by":"ana"}'), "INPUT_INVALID", 2);
    expectError(await cli("signal", "wait-2", "hurry", '{"by":'), "BAD_JSON", 2);
    expect((await cli("signal", "wait-2", "note", '{"text":"x"}')).code).toBe(0);
    expect((await cli("tail", "wait-2")).code).toBe(0);
    expectError(await cli("signal", "wait-2", "note", "x"), "SAGA_ENDED", 1);
    expectError(await cli("cancel", "wait-2"), "SAGA_ENDED", 1);
  });

  test("cancel undoes what stands and the wait for the end exits with 1", async () => {
    await begin("airline-1", "airline");
    await until(
      async () => document(InspectDocument, await cli("inspect", "airline-1", "--json")),
      ({ intents }) => intents.some((one) => one.deferred),
    );
    expect((await cli("cancel", "airline-1", "--reason", "no budget")).code).toBe(0);
    const tail = await cli("tail", "airline-1");
    expect(tail.stdout).toMatch(/airline-1 cancelled .*no budget/);
    expect(tail.code).toBe(1);
  });

  test("settle answers the present attempt of a deferred call", async () => {
    await begin("airline-2", "airline_twice");
    const inspected = await until(
      async () => document(InspectDocument, await cli("inspect", "airline-2", "--json")),
      ({ intents }) => intents.some((one) => one.deferred && one.attempt === 2),
    );
    const { intent } = inspected.intents.find((one) => one.deferred) ?? {};
    const wrong = await cli("settle", "airline-2", intent?.id ?? "", '{"answer":5}');
    expectError(wrong, "INPUT_INVALID", 2);
    expect(wrong.stderr).toContain("answer");
    expect(
      (await cli("settle", "airline-2", intent?.id ?? "", '{"succeeded":{"answer":"aisle"}}')).code,
    ).toBe(0);
    expect((await cli("tail", "airline-2")).code).toBe(0);
    expectError(
      await cli("settle", "airline-2", intent?.id ?? "", '{"answer":"aisle"}'),
      "INTENT_UNKNOWN",
      1,
    );
    expectError(await cli("settle", "airline-2", "9-9", "{}"), "INTENT_UNKNOWN", 1);
  });

  test("an answer from outside that does not fit is shown as the fold takes it, and the right one still settles it", async () => {
    await begin("airline-3", "airline");
    const found = async () => document(InspectDocument, await cli("inspect", "airline-3", "--json"));
    const { intents } = await until(found, (one) => one.intents.some(({ deferred }) => deferred));
    const id = intents.find((one) => one.deferred)?.intent.id as IntentId;
    const mesh = await openMesh({ servers: server.url, name: "outside", report: () => undefined });
    const outside = { ports: mesh.ports, clock: systemClock, chance: systemChance, from: "outside" };
    const call = { saga: parseSagaId("airline-3"), intent: id, attempt: 1 };
    await settleIntent(outside, call, { succeeded: { answer: 5 } }).finally(mesh.close);
    const tail = await cli("tail", "airline-3");
    expect(tail.stdout).toContain(`${id} succeeded {"answer":5}, which does not fit: `);
    const seen = { outcome: "failed", reason: expect.stringContaining("answer") };
    const byRegistry = await found();
    const byFold = document(InspectDocument, await cli("inspect", "airline-3", "--json", "--app", app));
    for (const view of [byRegistry, byFold]) {
      expect(view.intents.find(({ intent }) => intent.id === id)).toMatchObject(seen);
      expect(view.effects).toMatchObject([{ tool: "ask_airline", outcome: "in_doubt" }]);
      expect(view.end?.standing).toEqual([expect.stringMatching(/^ask_airline /)]);
    }
    expect((await cli("settle", "airline-3", id, '{"succeeded":{"answer":"aisle"}}')).code).toBe(0);
    const corrected = await until(found, (view) =>
      view.effects.every(({ outcome }) => outcome === "succeeded"),
    );
    expect(corrected.intents.find(({ intent }) => intent.id === id)).toMatchObject({ outcome: "succeeded" });
  });

  test("inspect tells what stood at a turn, and with --app the machine's state", async () => {
    await start("book-4", "book", "--wait");
    const whole = document(InspectDocument, await cli("inspect", "book-4", "--json", "--app", app));
    expect(whole).toMatchObject({
      status: "completed",
      phase: "ended",
      open: [],
      spent: { steps: 2, inputTokens: 200, outputTokens: 20 },
      machine: { value: "completed" },
    });
    expect(whole.effects.map((effect) => effect.tool)).toEqual(["book_seat"]);
    const early = document(InspectDocument, await cli("inspect", "book-4", "--at", "2", "--json"));
    expect(early).toMatchObject({ status: "running", turns: 2, effects: [] });
    expect(early.intents.filter((one) => one.outcome === undefined).map((one) => one.input)).toEqual([
      { to: "rome" },
      { to: "rome" },
    ]);
    expectError(await cli("inspect", "book-4", "--at", "99"), "USAGE", 2);
  });

  test("inspect draws a saga's graph, and why tells its story and that of one intent", async () => {
    expect((await start("why-1", "book", "--wait")).code).toBe(0);
    const [svg, mermaid] = [join(folder, "why.svg"), join(folder, "why.mmd")];
    const drawn = await cli("inspect", "why-1", "--json", "--svg", svg, "--mermaid", mermaid);
    const graph = document(GraphDocument, drawn);
    const intent = graph.nodes.find(({ kind }) => kind === "tool")?.intent ?? "";
    expect(graph.edges.filter(({ to }) => to === intent)).toMatchObject([{ reason: "decided by" }]);
    expect(await readFile(svg, "utf8")).toMatch(/^<svg xmlns[\s\S]+<\/svg>\n$/);
    expect(await readFile(mermaid, "utf8")).toMatch(/^flowchart TD\n/);

    const whole = document(WhyDocument, await cli("why", "why-1", "--json", "--app", app));
    expect(whole).toMatchObject({ saga: "why-1", status: "completed", folded: true });
    expect(whole.sentences.map((sentence) => sentence.intent)).toContain(intent);
    const { stdout } = await cli("why", "why-1", intent, "--at", "0s");
    expect(stdout).toMatch(
      /^why-1, intent 2-0: desk@\d+, completed, \d+ turns\n\n#\d+ {2}\S+ \S+\n {2}Decision 1/,
    );
    expect(stdout).toContain("\nin sum:\n  look_up (2-0) succeeded, ");
    expectError(await cli("why", "why-1", "99-0"), "INTENT_UNKNOWN", 1);
  });

  test("graph marks the states of its machine that a saga is in, now and then", async () => {
    await start("drawn-2", "book", "--wait");
    const presentAt = async (...at: string[]) => {
      const said = await cli("graph", "drawn-2", "--app", app, ...at, "--json");
      const { saga, states } = document(StatesDocument, said);
      expect(saga).toBe("drawn-2");
      return states.filter(({ present }) => present === true).map(({ name }) => name);
    };
    expect(await presentAt()).toContain("completed");
    expect(await presentAt("--at", "1")).toContain("deciding");
  });

  test("inspect --prompt prints exactly what was sent for a decision, and proves it", async () => {
    await start("prompt-1", "book", "--wait");
    const shown = await cli("inspect", "prompt-1", "--prompt", "--app", app, "--at", "2", "--json");
    const first = document(PromptDocument, shown);
    expect(shown.code).toBe(0);
    expect(first).toMatchObject({ turn: 1, about: "decision", model: "clerk", proved: true });
    expect(first.digest.recorded).toBe(first.digest.recomputed);
    expect(first.request).toMatchObject({
      saga: "prompt-1",
      step: 1,
      messages: [{ role: "user", parts: [{ type: "text", text: input("book") }, { memory: { seats: [] } }] }],
    });
    const last = document(
      PromptDocument,
      await cli("inspect", "prompt-1", "--prompt", "--app", app, "--json"),
    );
    expect(last.request).toMatchObject({ step: 2 });
    const { stdout } = await cli("inspect", "prompt-1", "--prompt", "--app", app);
    expect(stdout).toContain("Run the errand, then finish.");
    expect(stdout).toContain('"by":"book_seat (call 1.1)","memory":{"seats":["rome-1A"]}');
    expect(stdout).toMatch(/digest {3}[\w-]{43}, proved/);
    expectError(await cli("inspect", "prompt-1", "--prompt"), "USAGE", 2);
  });

  test("inspect --prompt shows what today's code would send otherwise as not proved, and fails", async () => {
    await start("prompt-2", "book", "--wait");
    const ended = await cli(
      ...["inspect", "prompt-2", "--prompt", "--app", "test/apps/desk-reworded.ts", "--json"],
    );
    expect(ended.code).toBe(1);
    expect(document(PromptDocument, ended).proved).toBe(false);
    expect(ErrorDocument.parse(JSON.parse(ended.stderr)).error.code).toBe("FOLD_DIVERGED");
  });

  test("a human edits the memory of an agent that waits, and what does not fit is refused", async () => {
    await begin("memory-1", "wait");
    const memory = async () =>
      document(InspectDocument, await cli("inspect", "memory-1", "--app", app, "--json")).memory;
    expect((await cli("signal", "memory-1", "memory", '{"set":{"wish":"aisle"}}')).code).toBe(0);
    await until(memory, (now) => JSON.stringify(now) === '{"seats":[],"wish":"aisle"}');
    expect((await cli("signal", "memory-1", "memory", '{"set":{"wish":1}}')).code).toBe(0);
    expectError(await cli("signal", "memory-1", "memory", '{"sett":{}}'), "INPUT_INVALID", 2);
    const letter = await until(
      async () => documents(LetterDocument, await cli("dead", "ls", "--json")),
      (all) => all.some(({ saga }) => saga === "memory-1"),
    );
    expect(letter.find(({ saga }) => saga === "memory-1")).toMatchObject({ code: "INPUT_INVALID" });
    expect(await memory()).toEqual({ seats: [], wish: "aisle" });
    await cli("dead", "drop", String(letter.find(({ saga }) => saga === "memory-1")?.letter));
    await cli("signal", "memory-1", "note", "go on");
  });

  test("verify finds a whole ledger whole, folded with its definition too", async () => {
    await start("pay-1", "pay", "--wait");
    const ended = await cli("verify", "pay-1", "--app", app, "--json");
    expect(document(VerifyDocument, ended)).toMatchObject({ ok: true, folded: true, findings: [] });
    expect(ended.code).toBe(0);
  });
});

describe("the human's side", () => {
  test("an approval is listed with the exact arguments, and approve lets the call go", async () => {
    await start("upgrade-1", "upgrade");
    const [task] = await until(
      () => openTasks("upgrade-1"),
      (tasks) => tasks.length === 1,
    );
    expect(task).toMatchObject({ about: "approval", input: { to: "rome" }, to: ["ana"] });
    const name = task?.task ?? "";
    expect(document(TaskDetailDocument, await cli("tasks", "show", name, "--json"))).toMatchObject(
      task ?? {},
    );
    expectError(await cli("answer", name, "yes"), "USAGE", 2);
    expectError(await cli("approve", name, "--by", "mallory"), "VOTER_NOT_ASKED", 1);
    expectError(
      await cli("approve", name, "--by", "ana", "--digest", "0123456789ab"),
      "ARGUMENTS_CHANGED",
      1,
    );
    const ended = await cli("approve", name, "--by", "ana", "--json");
    expect(document(SentDocument, ended).sent).toBe("vote");
    expect((await cli("tail", "upgrade-1")).stdout).toContain("upgrade");
    const late = await cli("approve", name, "--by", "ana");
    expectError(late, "TASK_OVER", 1);
    expect(late.stderr).toMatch(/is over: it was approved by ana at \d{4}-\d\d-\d\dT/);
  });

  test("a simulated fork's task says so wherever a person sees it, and its origin's does not", async () => {
    await start("upgrade-0", "upgrade");
    const [task] = await until(
      () => openTasks("upgrade-0"),
      (tasks) => tasks.length === 1,
    );
    const { turns } = document(InspectDocument, await cli("inspect", "upgrade-0", "--json"));
    expect((await cli("fork", "upgrade-0", "--from", String(turns), "--id", "upgrade-sim")).code).toBe(0);
    const [own] = await until(
      () => openTasks("upgrade-sim"),
      (tasks) => tasks[0]?.simulated !== undefined,
    );
    expect(own?.simulated).toEqual({ saga: "upgrade-0", turn: turns });
    expect(task?.simulated).toBeUndefined();
    const words = `SIMULATED: a fork of upgrade-0 from turn ${turns}; nothing outside is touched`;
    expect((await cli("tasks")).stdout).toMatch(/^upgrade-sim\/\S+ +approval \(simulated\)/m);
    expect((await cli("tasks", "show", own?.task ?? "")).stdout).toContain(words);
    expect((await cli("approve", own?.task ?? "", "--by", "ana")).stdout).toContain(words);
    expect((await cli("tasks", "show", task?.task ?? "")).stdout).not.toContain("SIMULATED");
    const ended = document(SentDocument, await cli("deny", task?.task ?? "", "--by", "ana", "--json"));
    expect(ended.simulated).toBeUndefined();
    expect((await cli("tail", "upgrade-sim")).code).toBe(0);
  });

  test("a denial is told to the agent with its reason", async () => {
    await start("upgrade-2", "upgrade");
    const [task] = await until(
      () => openTasks("upgrade-2"),
      (tasks) => tasks.length === 1,
    );
    expect((await cli("deny", task?.task ?? "", "--by", "ana", "--reason", "too dear")).code).toBe(0);
    expect((await cli("tail", "upgrade-2")).code).toBe(0);
    const { intents } = document(InspectDocument, await cli("inspect", "upgrade-2", "--json"));
    expect(intents.find((one) => one.intent.kind === "task")).toMatchObject({
      outcome: "denied",
      reason: "too dear",
    });
  });

  test("edited arguments are another task, which shows who changed them and needs its own approval", async () => {
    await start("upgrade-3", "upgrade");
    const [first] = await until(
      () => openTasks("upgrade-3"),
      (tasks) => tasks.length === 1,
    );
    const name = first?.task ?? "";
    expectError(await cli("edit", name, "--by", "ana"), "USAGE", 2);
    expectError(await cli("edit", name, "--by", "ana", "--input", "{"), "BAD_JSON", 2);
    expectError(await cli("edit", name, "--by", "ana", "--input", '{"to":7}'), "INPUT_INVALID", 2);
    expectError(await cli("edit", name, "--by", "bo", "--input", '{"to":"oslo"}'), "VOTER_NOT_ASKED", 1);
    const meant = (first?.digest ?? "").slice(0, 16);
    const edited = await cli("edit", name, "--by", "ana", "--digest", meant, "--input", '{"to":"oslo"}');
    expect(edited.code).toBe(0);
    const [second] = await until(
      () => openTasks("upgrade-3"),
      (tasks) => tasks.length === 1 && tasks[0]?.task !== name,
    );
    expect(second).toMatchObject({ input: { to: "oslo" }, tool: "upgrade" });
    const over = document(TaskDetailDocument, await cli("tasks", "show", name, "--json"));
    expect(over).toMatchObject({
      state: "superseded",
      commands: [],
      votes: [{ vote: "edit", by: "ana", digest: first?.digest, input: { to: "oslo" } }],
    });
    const { stdout } = await cli("tasks", "show", second?.task ?? "");
    expect(stdout).toMatch(/^follows .*whose arguments ana changed to these$/m);
    expect(stdout).toMatch(/^undone by +nothing: the tool has no compensation$/m);
    expect(stdout).toContain(
      `sagamesh approve ${second?.task} --by ana --digest ${second?.digest?.slice(0, 16)}`,
    );
    expect((await cli("approve", second?.task ?? "", "--by", "ana")).code).toBe(0);
    expect((await cli("tail", "upgrade-3")).stdout).toContain('ana says edit {"to":"oslo"}');
    const { intents } = document(InspectDocument, await cli("inspect", "upgrade-3", "--json"));
    expect(intents.find((one) => one.intent.kind === "tool")).toMatchObject({
      input: { to: "oslo" },
      output: { seat: "oslo-1F" },
    });
  });

  test("an answer must fit what the agent asked for", async () => {
    await start("ask-1", "ask");
    const [task] = await until(
      () => openTasks("ask-1"),
      (tasks) => tasks.length === 1,
    );
    expect(task).toMatchObject({ about: "question", question: "Window or aisle?" });
    expectError(await cli("approve", task?.task ?? ""), "USAGE", 2);
    expectError(await cli("edit", task?.task ?? "", "--input", "{}"), "USAGE", 2);
    expectError(await cli("answer", task?.task ?? "", '{"seat":"roof"}'), "INPUT_INVALID", 2);
    expect((await cli("answer", task?.task ?? "", '{"seat":"aisle"}')).code).toBe(0);
    expect((await cli("tail", "ask-1")).code).toBe(0);
  });

  test("a doubt is settled by what a human found, and shows corrected", async () => {
    await start("doubt-1", "pay_into_doubt");
    const [task] = await until(
      () => openTasks("doubt-1"),
      (tasks) => tasks.length === 1,
    );
    expect(task).toMatchObject({ about: "doubt", input: { cents: 666 } });
    expectError(await cli("deny", task?.task ?? ""), "USAGE", 2);
    expectError(await cli("answer", task?.task ?? "", "no idea"), "INPUT_INVALID", 2);
    const wrong = await cli("answer", task?.task ?? "", '{"outcome":"happened","output":{"receipt":7}}');
    expectError(wrong, "INPUT_INVALID", 2);
    expect(wrong.stderr).toContain("receipt");
    expect((await cli("answer", task?.task ?? "", '{"outcome":"did_not_happen"}')).code).toBe(0);
    expect((await cli("tail", "doubt-1")).code).toBe(0);
    const { intents, effects } = document(InspectDocument, await cli("inspect", "doubt-1", "--json"));
    expect(intents.find((one) => one.intent.kind === "tool")).toMatchObject({ outcome: "failed" });
    expect(effects).toEqual([]);
  });

  const doubtOf = async (id: string): Promise<TaskDocument> => {
    await start(id, "pay_into_doubt");
    const [task] = await until(
      () => openTasks(id),
      (tasks) => tasks.length === 1,
    );
    return task!;
  };
  const yes = '{"outcome":"happened","output":{"receipt":"r1"}}';

  test.each([
    ["settle", "the call", yes, "succeeded"],
    ["settle", "the task", '{"succeeded":{"receipt":"r1"}}', "succeeded"],
    ["settle", "the call", '{"failed":"no such charge"}', "failed"],
    ["answer", "the call", '{"succeeded":{"receipt":"r1"}}', "succeeded"],
    ["answer", "the task", '{"outcome":"did_not_happen","reason":"no such charge"}', "failed"],
    ["answer", "the task", '{"failed":"no such charge"}', "failed"],
  ])("a doubt is settled by %s of %s with %s", async (command, by, said, outcome) => {
    const id = `doubt-${command}-${by.slice(4)}-${said.length}`;
    const task = await doubtOf(id);
    const intent = by === "the task" ? task.intent : (task.of ?? "");
    const name = command === "settle" ? [id, intent] : [`${id}/${intent}`];
    for (const wrong of ['{"outcome":"happened","output":{"receipt":7}}', '{"succeeded":{"receipt":7}}'])
      expectError(await cli(command, ...name, wrong), "INPUT_INVALID", 2);
    const sent = document(SentDocument, await cli(command, ...name, said, "--json"));
    expect(sent).toMatchObject({ saga: id, sent: "vote", intent: task.intent });
    expect((await cli("tail", id)).code).toBe(0);
    const { intents } = document(InspectDocument, await cli("inspect", id, "--json"));
    expect(intents.find((one) => one.intent.id === task.of)).toMatchObject({
      outcome,
      ...(outcome === "failed" ? { reason: "no such charge" } : { output: { receipt: "r1" } }),
    });
    const late = await cli("answer", task.task, said);
    expectError(late, "TASK_OVER", 1);
    expect(late.stderr).toMatch(/is over: it was answered by \S+ at \d{4}-/);
    const again = await cli("settle", id, task.of ?? "", '{"failed":"no"}');
    expectError(again, "INTENT_UNKNOWN", 1);
    expect(again.stderr).toMatch(new RegExp(`settled already: ${outcome}`));
  });

  test("a query lists the doubts that it means and leaves them; with --yes it settles these and no other", async () => {
    const ids = ["many-1", "many-2", "other-1"];
    const [first, second] = await Promise.all(ids.map(doubtOf));
    const query = "tool=pay and outcome=in_doubt and id=many-*";
    const rows = async (...more: string[]) =>
      documents(SettledRow, await cli("settle", "--query", query, yes, "--json", ...more));
    const meant = [
      { saga: "many-1", intent: first?.of, tool: "pay", outcome: "in_doubt", task: first?.intent },
      { saga: "many-2", intent: second?.of, tool: "pay", outcome: "in_doubt", task: second?.intent },
    ];
    const bySaga = (all: SettledRow[]) => all.toSorted((a, b) => (a.saga < b.saga ? -1 : 1));
    expect(bySaga(await rows())).toEqual(meant.map((one) => ({ ...one, sent: "would" })));
    expect((await cli("settle", "--query", query, yes)).stdout).toContain(
      "2 calls would be settled; --yes does it",
    );
    expect(bySaga(await rows())).toHaveLength(2);
    expect(bySaga(await rows("--yes"))).toEqual(meant.map((one) => ({ ...one, sent: "vote" })));
    for (const id of ["many-1", "many-2"]) expect((await cli("tail", id)).code).toBe(0);
    expect(await rows("--yes")).toEqual([]);
    expect(await openTasks("other-1")).toHaveLength(1);
    const wrong = await cli("settle", "--query", "id=other-*", '{"succeeded":{"receipt":7}}', "--yes");
    expect([wrong.code, wrong.stdout]).toEqual([1, expect.stringContaining("receipt")]);
    expectError(await cli("settle", "--query", "tol=pay", yes), "USAGE", 2);
    expectError(await cli("settle", "--query", "tool=pay", "other-1", yes), "USAGE", 2);
    expectError(await cli("settle", "other-1", "2-0", yes, "--yes"), "USAGE", 2);
  });
});

describe("replay", () => {
  test("the model that decided decides the same again, and so does the ledger", async () => {
    await start("replay-1", "book", "--wait");
    for (const model of ["clerk", "recorded"]) {
      const ended = await cli("replay", "replay-1", "--app", app, "--model", model, "--json");
      expect(document(ReplayDocument, ended)).toMatchObject({ same: 2, different: 0, failed: 0, skipped: 0 });
      expect(ended.code).toBe(0);
    }
  });

  test("another script diverges at the first decision it changes, and that is no failure", async () => {
    await start("replay-2", "book", "--wait");
    const ended = await cli(
      "replay",
      "replay-2",
      "--app",
      "test/apps/desk-changed.ts",
      "--model",
      "clerk",
      "--json",
    );
    const { decisions, firstDivergence } = document(ReplayDocument, ended);
    expect(decisions.map((one) => one.verdict)).toEqual(["same", "different"]);
    expect(firstDivergence).toBe(decisions[1]?.intent);
    expect(decisions[1]?.what).toEqual(["another input for finish (call 0)"]);
    expect(ended.code).toBe(0);
  });

  test("a model nobody knows, or one without its key, is refused", async () => {
    await start("replay-3", "pay", "--wait");
    expectError(await cli("replay", "replay-3", "--app", app, "--model", "oracle"), "MODEL_UNKNOWN", 1);
    expectError(
      await cli("replay", "replay-3", "--app", app, "--model", "claude-sonnet-5"),
      "MODEL_UNKNOWN",
      1,
    );
  });

  test("a ledger of a definition that the file lacks cannot be replayed", async () => {
    await start("replay-4", "pay", "--wait");
    expectError(await cli("replay", "replay-4", "--app", "test/examples/weekend.ts"), "VERSION_UNSERVED", 1);
  });
});

describe("migrate", () => {
  test("without an application file it is bad usage", async () => {
    expectError(await cli("migrate", "--dry-run"), "USAGE", 2);
  });
});

describe("operating", () => {
  test("up says once where things are and what it serves", async () => {
    const line = (await up.says('"role":"up"')).split("\n")[0] ?? "";
    const serving = ServingDocument.parse(JSON.parse(line));
    expect(serving).toMatchObject({ url: server.url, definitions: [{ name: "desk", version: 1 }] });
    expect(serving.tools).toContain("pay");
  });

  test("doctor finds nothing wrong with a mesh that runs, and knows who has which partition", async () => {
    const ended = await until(
      () => cli("doctor", "--json"),
      ({ code }) => code === 0,
    );
    const { ok, hosts, partitions, streams, definitions } = document(DoctorDocument, ended);
    expect(ok).toBe(true);
    expect(hosts).toHaveLength(1);
    expect(partitions.map((one) => one.host)).toEqual(partitions.map(() => hosts[0]?.host));
    expect(streams.map((one) => one.name)).toContain("LEDGER");
    expect(definitions).toContainEqual(expect.objectContaining({ name: "desk", version: 1 }));
  });

  test("doctor on a server without a mesh finds every stream missing and makes none", async () => {
    const bare = await startTestServer();
    try {
      for (let look = 0; look < 2; look++) {
        const ended = await runHere(["doctor", "--server", bare.url, "--json"]);
        const { findings, ok } = document(DoctorDocument, ended);
        expect(ok).toBe(false);
        expect(findings.map((one) => one.what)).toContain("stream LEDGER: it is missing");
        expect(ended.code).toBe(1);
      }
    } finally {
      await bare.stop();
    }
  });

  test("doctor without a server is one finding with its remedy", async () => {
    const ended = await runHere(["doctor", "--server", "nats://127.0.0.1:1", "--json"]);
    expect(document(DoctorDocument, ended).findings).toMatchObject([{ code: "UNAVAILABLE" }]);
    expect(ended.code).toBe(1);
  });

  test("decode prints JSON and MessagePack alike, and text as it is", async () => {
    const value = { turn: 3, steps: [{ event: { type: "adopted" } }] };
    const decode = (stdin: CliOptions["stdin"]) => runCli(["decode", "--json"], { stdin });
    expect(JSON.parse((await decode(JSON.stringify(value))).stdout)).toEqual(value);
    expect(JSON.parse((await decode(encodeMsgpack(value))).stdout)).toEqual(value);
    expect(JSON.parse((await decode("Tuesday only")).stdout)).toBe("Tuesday only");
    expect((await decode(new Uint8Array([0xc1, 0xff, 0x00]))).code).toBe(1);
    expect(await decode("")).toMatchObject({ code: 0, stdout: "" });
  });
});
