/**
 * Goal: one saga that cannot be read blinds no command. Each that reads many tells all others, names that one with a code,
 * and exits with 1.
 * Method: a mesh on a real server with healthy sagas, odd ones that can be read all the same, and one of every kind that is
 * broken: its first turn gone, all turns before its last gone, a blob gone, a turn of a format to come. The table of readers is held against the table of commands and against the source, so
 * that one that is added without a row fails.
 */
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decode } from "../../../protocol/codec.ts";
import { chainHash } from "../../../protocol/digest.ts";
import { RebuildDocument } from "../../../protocol/documents/rebuild.ts";
import { UnreadableDocument, UnreadableSaga } from "../../../protocol/documents/unreadable.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import { headers, subjects } from "../../../protocol/subjects.ts";
import { commands } from "../../../services/cli/commands.ts";
import { systemClock } from "../../../services/runtime/system.ts";
import { until } from "../../support/cli-said.ts";
import { type Ended, runHere } from "../../support/cli.ts";
import { appendOld, nested, oldSignal } from "../../support/old-turns.ts";
import { openRealMesh, type RealMesh } from "../../support/real-mesh.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";
import app from "../../apps/desk.ts";
import { desk } from "../../apps/desk-contract.ts";

type JsonObject = Readonly<Record<string, Json>>;
const file = "test/apps/desk.ts";
/** Garbage as its last message, a value in its last turn that is deeper than any that is taken, and garbage as its snapshot. */
const odd = ["odd-depth", "odd-last", "odd-snapshot"];
const healthy = ["asks-1", "asks-2", "doubts", ...odd];
const broken = ["bad-blob", "bad-gap", "bad-hole", "bad-version"];
let server: TestServer;
let mesh: RealMesh;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-bad-"));
  server = await startTestServer();
  mesh = await openRealMesh(server.url);
  const host = await mesh.host(app);
  const worker = await mesh.worker(app);
  const begin = (id: string, errand: "ask" | "pay_into_doubt", to = "rome") =>
    mesh.client.start(desk, { errand, to }, { id });
  for (const id of ["asks-1", "asks-2", "bad-gap", "bad-hole", "bad-version", ...odd]) await begin(id, "ask");
  await begin("bad-blob", "ask", "r".repeat(70_000));
  await begin("doubts", "pay_into_doubt");
  await until(
    () => mesh.client.tasks(),
    (tasks) => tasks.length === healthy.length + broken.length,
  );
  await host.stop(0);
  await worker.stop(0);
  await breakThem();
}, 60_000);

afterAll(async () => {
  await mesh.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

async function breakThem(): Promise<void> {
  const jsm = await jetstreamManager(mesh.nc);
  const [first] = await mesh.ports.ledger.read(parseSagaId("bad-hole"), 0, await mesh.head("bad-hole"));
  await mesh.ports.ledger.purgeBefore(parseSagaId("bad-hole"), (first?.seq ?? 0) + 1);
  await jsm.streams.purge("OBJ_BLOB");
  const last = await mesh.ports.ledger.last(parseSagaId("bad-version"));
  if (last === undefined) throw new Error("it has begun");
  const turn = decode(last.data, last.headers[headers.contentType]) as JsonObject;
  const next = { ...turn, v: 99, turn: Number(turn["turn"]) + 1, prev: chainHash(last.data) };
  mesh.nc.publish(subjects.ledger(parseSagaId("bad-version")), JSON.stringify(next));
  mesh.nc.publish("saga.NO-SAGA.ledger", "junk"); // No saga has such an id.
  await jsm.streams.purge("LEDGER", { filter: subjects.ledger(parseSagaId("bad-gap")), keep: 1 });
  mesh.nc.publish(subjects.ledger(parseSagaId("odd-last")), Uint8Array.from([0xff, 0, 0xc1, 0x80]));
  const oldHost = { ports: mesh.ports, clock: systemClock, app };
  await appendOld(oldHost, parseSagaId("odd-depth"), () => [
    oldSignal("note", { text: "so", more: nested(97) }, 1),
  ]);
  await mesh.ports.snapshots.put(parseSagaId("odd-snapshot"), Buffer.from("garbage"));
  await mesh.nc.flush();
}

const cli = (...words: string[]): Promise<Ended> =>
  runHere([...words, "--server", server.url, "--data", folder]);

/** What a reader is: its words, and what it still tells of the healthy sagas. */
interface Reader {
  readonly words: readonly string[];
  readonly tells: readonly string[];
}

/** By command. Each of these reads every saga of the mesh. */
const readers: Readonly<Record<string, readonly Reader[]>> = {
  tasks: [{ words: ["tasks"], tells: healthy }],
  ls: [
    { words: ["ls"], tells: healthy },
    { words: ["ls", "--query", "status=running and agent=desk"], tells: healthy },
    { words: ["ls", "--name", "desk", "--running"], tells: healthy },
  ],
  verify: [
    { words: ["verify", "--all"], tells: [] },
    { words: ["verify", "--all", "--app", file], tells: [] },
  ],
  settle: [
    {
      words: ["settle", "--query", "tool=pay", '{"outcome":"did_not_happen"}'],
      tells: ["doubts"],
    },
  ],
  migrate: [{ words: ["migrate", "--dry-run", "--app", "test/apps/desk-other.ts"], tells: [] }],
  deployments: [
    { words: ["deployments"], tells: [] },
    { words: ["deployments", "drain", "desk@1", "--no-wait"], tells: ["6 sagas go on under it (asks-1"] },
    { words: ["deployments", "rehearse", "--app", file], tells: ["6 of 6 sagas"] },
  ],
  replay: [{ words: ["replay", "--query", "agent=desk", "--app", file], tells: ["6 of 6 sagas"] }],
  archive: [{ words: ["archive", "--dry-run", "--after", "0s", "--force"], tells: [] }],
  repair: [{ words: ["repair", "--all"], tells: [] }],
  doctor: [{ words: ["doctor"], tells: [] }],
  restored: [{ words: ["restored"], tells: [] }],
  nudge: [{ words: ["nudge", "--all", "--dry-run"], tells: [] }],
};

/** Commands that read no saga, one saga, or one and those it names; `export` names those below it. */
const readNotMany = [
  ...["new", "demo", "up", "host", "worker", "gateway", "plan", "run", "start", "fork", "signal", "cancel"],
  ...[
    "link",
    "inspect",
    "tail",
    "why",
    "trace",
    "import",
    "export",
    "approve",
    "deny",
    "edit",
    "answer",
    "pause",
  ],
  ...["resume", "dead", "decode", "mcp", "completion", "undo", "trust", "shards", "check", "graph"],
  "partitions",
  ...["index", "query"], // A row says so: test/services/tables/fill.test.ts.
  "schedule", // Schedules alone: test/services/schedules/schedules.test.ts has one that cannot be read.
  "console", // It serves: test/services/console/sagas.test.ts.
  "rebuild", // Only where the claims are gone: the last test of this part.
];

/** What doctor's quick look at last turns cannot find: `verify --all` does. */
const unseenBy: Readonly<Record<string, readonly string[]>> = { doctor: ["bad-blob"] };

describe("a saga that cannot be read", () => {
  const rows = Object.entries(readers).flatMap(([name, all]) =>
    all.map((one) => [one.words.join(" "), name, one] as const),
  );

  test.each(rows)("is named by `%s`, which tells all others and exits with 1", async (_, name, reader) => {
    const ended = await cli(...reader.words);
    expect({ code: ended.code, stderr: ended.stderr }).toMatchObject({ code: 1 });
    const named = broken.filter((saga) => !unseenBy[name]?.includes(saga));
    for (const saga of named)
      expect(ended.stdout).toMatch(new RegExp(`${saga}\\b.*(LEDGER_BROKEN|LEDGER_VERSION)`));
    expect(ended.stdout).toMatch(/could not be read|with findings|cannot be read|failed/);
    for (const saga of reader.tells) expect(ended.stdout).toContain(saga);
  });

  test.each(rows)("is a documented member with --json of `%s`", async (_, name, reader) => {
    const { stdout, code } = await cli(...reader.words, "--json");
    expect(code).toBe(1);
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as JsonObject);
    const named = broken.filter((saga) => !unseenBy[name]?.includes(saga));
    if (name === "verify" || name === "archive") {
      const isWrong = (one: JsonObject) => one["ok"] === false || one["outcome"] === "failed";
      expect(
        lines
          .filter(isWrong)
          .map((one) => one["saga"])
          .sort(),
      ).toEqual(named);
      return;
    }
    const holders = lines.filter((one) => one["unreadable"] !== undefined);
    expect(holders).toHaveLength(1);
    const { unreadable } = UnreadableDocument.parse(holders[0]);
    expect(unreadable.map(({ saga }) => saga)).toEqual(named);
    expect(unreadable.map(({ code: why }) => why)).not.toContain("INTERNAL");
    for (const saga of reader.tells.filter((one) => healthy.includes(one))) expect(stdout).toContain(saga);
  });

  test("is told to a program beside the list, whatever the filter, and is no member of it", async () => {
    const { client } = mesh;
    const lists = [
      await client.tasks(),
      await client.list(),
      await client.list({ query: "agent=desk", running: true }),
      await client.deployments(),
      await client.migrate(app, { dryRun: true }),
    ];
    for (const list of lists) {
      expect(list.unreadable.map(({ saga }) => saga)).toEqual(broken);
      for (const one of list.unreadable) expect(UnreadableSaga.parse(one)).toEqual(one);
      expect(Object.keys(list)).toHaveLength(list.length);
    }
  });
});

test("KZ2 of runtime/rebuild.ts: a saga that cannot be read is named by `rebuild`, and the claims stay closed", async () => {
  const jsm = await jetstreamManager(mesh.nc);
  await jsm.streams.delete("KV_CLAIM");
  for (const [words, outcome] of [
    [[], "due"],
    [["--yes"], "stopped"],
    [["--yes", "--skip-unreadable"], "rebuilt"],
  ] as const) {
    const { code, stdout } = await cli("rebuild", "claims", ...words, "--json");
    const document = RebuildDocument.parse(JSON.parse(stdout));
    expect({ code, outcome: document.outcome }).toEqual({ code: 1, outcome });
    expect(document.unreadable?.map(({ saga }) => saga)).toEqual(broken);
  }
  expect(await cli("rebuild", "claims", "--yes")).toMatchObject({
    code: 0,
    stdout: "Nothing is missing of the claims.\n",
  });
});

describe("the table of readers", () => {
  test("has every command, or says that it reads not many", () => {
    const all = Object.values(commands).flatMap((group) => Object.keys(group));
    expect([...Object.keys(readers), ...readNotMany].sort()).toEqual([...all].sort());
  });

  test("has all: what lists ledgers in the source reads them by readMany, or is known to name them otherwise", () => {
    const otherwise = [
      "services/cli/commands/replay-sources.ts", // Counts them.
      "services/cli/commands/verify.ts", // A document for each: verifying.ts.
      "services/host/living.ts", // In its log.
      "services/listing/find.ts", // Their readers do.
      "services/runtime/evidence.ts", // Only their ids: what one saga started, and whether it is there.
      "services/testing/crash-matrix.ts", // A test's own mesh, in which nothing is broken.
    ];
    const sources = readdirSync("services", { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !/^(nats|memory|wire)\//.test(name))
      .map((name) => join("services", name));
    const listing = sources.filter((path) => /ledger\.list\(/.test(readFileSync(path, "utf8")));
    const without = listing.filter((path) => !/\breadMany\(/.test(readFileSync(path, "utf8")));
    expect(without.sort()).toEqual(otherwise);
  });
});
