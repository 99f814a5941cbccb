/**
 * Goal: `query` and `index` as a person runs them: the first one fills the tables, whatever was there before, and what they say is
 * what the ledgers say.
 * Method: a mesh on a real server with sagas that pay, ask, doubt and fail, and one that cannot be read; the commands beside what
 * the mesh's own client lists.
 */
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IndexDocument, QueryRow } from "../../../protocol/documents/index-of-sagas.ts";
import { CancelledRow } from "../../../protocol/documents/stored.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { subjects } from "../../../protocol/subjects.ts";
import { until } from "../../support/cli-said.ts";
import { type Ended, runHere } from "../../support/cli.ts";
import { openRealMesh, type RealMesh } from "../../support/real-mesh.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";
import app from "../../apps/desk.ts";
import { desk } from "../../apps/desk-contract.ts";

let server: TestServer;
let mesh: RealMesh;
let folder: string;
const cacheBefore = process.env["SAGAMESH_CACHE"];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-query-"));
  server = await startTestServer();
  process.env["SAGAMESH_CACHE"] = join(folder, "cache");
  mesh = await openRealMesh(server.url);
  const host = await mesh.host(app);
  const worker = await mesh.worker(app);
  for (let k = 0; k < 12; k++)
    await mesh.client.start(
      desk,
      { errand: k % 3 === 0 ? "pay_into_doubt" : "ask", to: `rome ${k}` },
      { id: `d-${k}` },
    );
  await until(
    () => mesh.client.tasks(),
    (tasks) => tasks.length === 12,
  );
  await host.stop(0);
  await worker.stop(0);
  mesh.nc.publish(subjects.ledger(parseSagaId("d-1")), "junk");
  mesh.nc.publish("saga.NO-SAGA.ledger", "junk");
  await mesh.nc.flush();
}, 60_000);

afterAll(async () => {
  if (cacheBefore === undefined) delete process.env["SAGAMESH_CACHE"];
  else process.env["SAGAMESH_CACHE"] = cacheBefore;
  await mesh.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const cli = (...words: string[]): Promise<Ended> =>
  runHere([...words, "--server", server.url, "--data", folder]);

async function asked(...words: string[]): Promise<QueryRow[]> {
  const { stdout, stderr, code } = await cli("query", ...words, "--json");
  expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  const lines = stdout.split("\n").filter((line) => line !== "");
  return lines.map((line) => QueryRow.parse(JSON.parse(line)));
}

const indexFolder = () => join(folder, "cache", "index");
const tablesFile = () =>
  join(indexFolder(), readdirSync(indexFolder()).find((name) => name.endsWith(".sqlite")) ?? "");

describe("query", () => {
  test("says of all sagas what the mesh lists of them", async () => {
    const listed = await mesh.client.list();
    const rows = await asked("select saga, agent, status, turns, asks, in_doubt from sagas order by saga");
    expect(rows.map(({ saga, agent, status, turns }) => ({ saga, agent, status, turns }))).toEqual(
      listed
        .map(({ saga, name: agent, status, turns }) => ({ saga: String(saga), agent, status, turns }))
        .sort((a, b) => (a.saga < b.saga ? -1 : 1)),
    );
    expect(rows.filter(({ in_doubt }) => in_doubt === 1).map(({ saga }) => saga)).toEqual([
      "d-0",
      "d-3",
      "d-6",
      "d-9",
    ]);
    expect(rows.every(({ asks }) => asks === 1)).toBe(true);
  });

  test("takes a filter, and finds texts by their words", async () => {
    const doubts = await asked("--filter", "agent=desk and tool=pay and outcome=in_doubt and started>1h");
    expect(doubts.map(({ saga }) => saga).sort()).toEqual(["d-0", "d-3", "d-6", "d-9"]);
    expect((await asked("--filter", 'text~"rome 7"')).map(({ saga }) => saga)).toEqual(["d-7"]);
    expect(await asked("select count(*) as n from tasks where state = 'open'")).toEqual([{ n: 12 }]);
  });

  test("shows a table, or comma-separated values, and says where there are more rows", async () => {
    const { stdout, stderr } = await cli(
      "query",
      "select saga, 'a,\"b' as odd from sagas order by saga",
      "--csv",
      "--rows",
      "2",
    );
    expect(stdout).toBe('saga,odd\nd-0,"a,""b"\nd-1,"a,""b"\n');
    expect(stderr).toContain("more than 2 rows");
    expect((await cli("query", "select count(*) as n from sagas")).stdout).toBe("N\n12\n");
  });

  test.each([
    [["query"], "one of them"],
    [["query", "select 1", "--filter", "id=x"], "one of them"],
    [["query", "drop table sagas"], "may read alone"],
    [["query", "select colour from sagas"], "no such column"],
    [["query", "--filter", "colour=red"], "at character 1"],
    [["query", "select 1", "--csv", "--json"], "--csv or --json"],
    [["index", "--status", "--once"], "stand alone"],
  ])("%j is bad usage", async (words, said) => {
    const { code, stderr } = await cli(...words);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(said) as unknown });
  });

  test("fills the tables anew that were deleted, broken, or are of another version", async () => {
    const count = () => asked("select count(*) as n from sagas");
    for (const spoil of [
      () => rmSync(indexFolder(), { recursive: true }),
      () => writeFileSync(tablesFile(), "broken ".repeat(5_000)),
      () => {
        const db = new DatabaseSync(tablesFile());
        db.exec("pragma user_version = 99; drop table sagas");
        db.close();
      },
    ]) {
      spoil();
      expect(await cli("query", "select 1 as n").then(({ code }) => code)).toBe(0);
      expect(await count()).toEqual([{ n: 12 }]);
    }
  });
});

describe("cancel --query", () => {
  test("lists what it would cancel, and cancels with --yes; those that have ended are left alone", async () => {
    const words = ["cancel", "--query", "agent=desk and tool=pay and outcome=in_doubt and turns>0"];
    const would = await cli(...words, "--json");
    const named = (text: string) =>
      text
        .trim()
        .split("\n")
        .map((line) => CancelledRow.parse(JSON.parse(line)));
    expect(
      named(would.stdout)
        .map(({ saga, sent }) => `${saga} ${sent}`)
        .sort(),
    ).toEqual(["d-0", "d-3", "d-6", "d-9"].map((saga) => `${saga} would`));
    const done = await cli(...words, "--yes", "--json");
    expect(done.code).toBe(0);
    expect(named(done.stdout).every(({ sent }) => sent === "signal")).toBe(true);
    expect((await cli("cancel", "--query", "status=completed")).stdout).toBe("no saga is meant\n");
    for (const wrong of [["cancel"], ["cancel", "d-1", "--query", "id=x"], ["cancel", "d-1", "--yes"]])
      expect(await cli(...wrong)).toMatchObject({ code: 2 });
  });
});

describe("dead retry --query and archive --query", () => {
  test("mean the sagas of the filter alone, do nothing without --yes, and refuse what says two things", async () => {
    expect((await cli("dead", "retry", "--query", "agent=desk")).stdout).toContain("nothing of the sagas");
    const ended = await cli("archive", "--query", "agent=desk", "--after", "0s", "--force");
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("0 archived") as string });
    for (const wrong of [
      ...[
        ["dead", "ls", "--query", "id=x"],
        ["dead", "retry", "1", "--query", "id=x"],
        ["dead", "retry", "1", "--yes"],
      ],
      ...[
        ["dead", "drop", "--query", "id=x"],
        ["dead", "retry", "--all", "--query", "id=x"],
      ],
      ...[
        ["archive", "d-1", "--query", "id=x"],
        ["archive", "--yes"],
        ["archive", "--query", "nothing=1"],
      ],
      ["archive", "--query", "id=x", "--forget-after", "365d"],
    ])
      expect(await cli(...wrong), wrong.join(" ")).toMatchObject({ code: 2 });
  });
});

describe("index", () => {
  test("says how far the tables are, and that they are whole once they are filled", async () => {
    const { stdout, code } = await cli("index", "--once", "--rebuild", "--json");
    const document = IndexDocument.parse(JSON.parse(stdout));
    expect({ code, ...document }).toMatchObject({
      code: 0,
      read: document.stored,
      mesh: expect.any(String) as unknown,
    });
    expect(document.wholeUntil).toBeGreaterThan(0);
    expect(existsSync(document.file ?? "")).toBe(true);
    const status = IndexDocument.parse(JSON.parse((await cli("index", "--status", "--json")).stdout));
    expect(status).toMatchObject({ read: document.stored, isKept: false });
  });

  test("prints its tables", async () => {
    expect((await cli("index", "--schema")).stdout).toContain("create table sagas (");
  });
});
