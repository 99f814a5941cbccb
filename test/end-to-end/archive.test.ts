/**
 * Archiving on a real server: the commands as people run them, and archivers that are killed by SIGKILL or run at the
 * same time. Whatever happens, each saga's turns are whole in its ledger or in a file, and none is started again.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../actors/contract/tool.ts";
import { ArchiveDocument } from "../../protocol/documents/archive.ts";
import { InspectDocument } from "../../protocol/documents/inspect.ts";
import { PromptDocument } from "../../protocol/documents/prompt.ts";
import { SagaRow } from "../../protocol/documents/saga.ts";
import { VerifyDocument } from "../../protocol/documents/verify.ts";
import { ReplayDocument } from "../../protocol/documents/replay.ts";
import { parseSagaId } from "../../protocol/ids.ts";
import { defineApp } from "../../services/app/app.ts";
import { openArchives, readSaga } from "../../services/archive/folder.ts";
import { verifyLedger } from "../../services/views/verify.ts";
import { findTombstone } from "../../services/ledger/reader.ts";
import { fileOfSaga, readArchived } from "../support/archiving.ts";
import { type Ended, runCli, runHere, type RunningCli, startCli } from "../support/cli.ts";
import { startTestServer, type TestServer } from "../support/nats-server.ts";
import {
  type AccountServer,
  openRealMesh,
  type RealMesh,
  startAccountServer,
  until,
} from "../support/real-mesh.ts";
import { spawnProcess } from "../support/spawn-process.ts";
import { calling, Of } from "../support/workbench.ts";

const app = "test/apps/desk.ts";
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-archive-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the commands", () => {
  let server: TestServer;
  let up: RunningCli;
  beforeAll(async () => {
    server = await startTestServer();
    up = startCli(["up", "--app", app, "--server", server.url, "--json"]);
    await up.says('"role":"up"');
  });
  afterAll(async () => {
    up.process.kill("SIGTERM");
    await up.ended;
    await server.stop();
  });
  const cli = (...args: string[]): Promise<Ended> =>
    runHere([...args, "--server", server.url, "--data", join(folder, "data")]);
  /** No server is there: what these read, they read in a file. */
  const offline = (...args: string[]): Promise<Ended> => runHere([...args, "--server", "nats://127.0.0.1:1"]);
  const start = (id: string, errand: string, ...more: string[]): Promise<Ended> =>
    cli("start", "desk", "--input", JSON.stringify({ errand, to: "rome" }), "--id", id, ...more);
  const lines = <S extends z.ZodType>(schema: S, { stdout }: Ended): z.infer<S>[] =>
    stdout
      .trim()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => schema.parse(JSON.parse(line)));
  const archiveDir = () => join(folder, "data", "archive");
  const file = (id: string) => fileOfSaga(archiveDir(), parseSagaId(id));

  test("a saga that ended just now is not due, and --after under the horizon is refused without --force", async () => {
    expect((await start("young", "book", "--wait")).code).toBe(0);
    const all = await cli("archive", "--json");
    expect([all.code, lines(ArchiveDocument, all)]).toEqual([0, []]);
    const named = await cli("archive", "young", "--json");
    expect([named.code, lines(ArchiveDocument, named)[0]?.outcome]).toEqual([1, "kept"]);
    for (const after of ["6d", "soon"]) {
      const ended = await cli("archive", "--after", after);
      expect(ended.stderr).toMatch(/^error: \[USAGE\] .+\nremedy: .+\n$/);
      expect(ended.code).toBe(2);
    }
    expect((await cli("archive", "nobody")).stdout).toContain("SAGA_UNKNOWN");
  });

  test("an archived saga reads the same by its id, by its file and by its folder", async () => {
    expect((await start("book-1", "book", "--wait")).code).toBe(0);
    expect((await start("wait-1", "wait")).code).toBe(0);
    const [before] = lines(InspectDocument, await cli("inspect", "book-1", "--json"));
    const dry = await cli("archive", "book-1", "wait-1", "--after", "0s", "--force", "--dry-run", "--json");
    expect(
      lines(ArchiveDocument, dry)
        .map(({ outcome }) => outcome)
        .sort(),
    ).toEqual(["due", "kept"]);
    const [done] = lines(
      ArchiveDocument,
      await cli("archive", "book-1", "--after", "0s", "--force", "--json"),
    );
    expect(done).toMatchObject({
      outcome: "archived",
      file: basename(await file("book-1")),
      turns: before?.turns,
    });
    expect((await cli("archive", "book-1", "--after", "0s", "--force")).code).toBe(0);

    const rows = lines(SagaRow, await cli("ls", "--archived", "--json"));
    expect(rows.find(({ saga }) => saga === "book-1")).toMatchObject({
      status: "completed",
      archived: basename(await file("book-1")),
      turns: before?.turns,
      startedAt: before?.startedAt,
    });
    expect(rows.find(({ saga }) => saga === "wait-1")?.archived).toBeUndefined();
    expect((await cli("ls", "--archived")).stdout).toMatch(/book-1 .* completed, archived/);
    const others = lines(SagaRow, await cli("ls", "--json"));
    expect(others.some(({ saga }) => saga === "book-1")).toBe(false);
    expect(others.some(({ saga }) => saga === "wait-1")).toBe(true);

    for (const ended of [
      await cli("inspect", "book-1", "--json"),
      await offline("inspect", await file("book-1"), "--json"),
      await offline("inspect", "book-1", "--archive", join(folder, "data", "archive"), "--json"),
    ])
      expect(lines(InspectDocument, ended)).toEqual([before]);
    const verified = lines(
      VerifyDocument,
      await offline("verify", await file("book-1"), "--app", app, "--json"),
    );
    expect(verified).toMatchObject([{ saga: "book-1", ok: true, folded: true, turns: before?.turns }]);
    const replayed = lines(
      ReplayDocument,
      await offline("replay", await file("book-1"), "--app", app, "--json"),
    );
    expect(replayed).toMatchObject([{ saga: "book-1", same: 2, different: 0, failed: 0 }]);
    expect((await cli("tail", "book-1")).stdout).toContain("completed");
    const elsewhere = await runCli([
      "inspect",
      "book-1",
      "--server",
      server.url,
      "--data",
      join(folder, "other"),
    ]);
    expect(elsewhere.stderr).toMatch(
      /^error: \[SAGA_ARCHIVED\] .+archived-[\w-]+\.jsonl\.gz.+\nremedy: .+--archive.+\n$/,
    );
    expect((await offline("inspect", join(folder, "no-such.jsonl.gz"))).stderr).toContain("[ARCHIVE_BROKEN]");
  });

  test("what a model of an archived saga was sent is shown with its proof", async () => {
    expect((await start("asked", "book", "--wait")).code).toBe(0);
    expect((await cli("archive", "asked", "--after", "0s", "--force")).code).toBe(0);
    const shown = await offline("inspect", await file("asked"), "--prompt", "--app", app, "--json");
    expect(lines(PromptDocument, shown)).toMatchObject([{ saga: "asked", about: "decision", proved: true }]);
  });

  test("an archived id is not started again: the same start is the same saga, another one is refused", async () => {
    const again = await start("book-1", "book", "--wait");
    expect(again.stdout).toBe('book-1 completed {"done":"after 2"}\n');
    expect((await start("book-1", "pay")).stderr).toContain("[SAGA_ID_TAKEN]");
    expect((await cli("signal", "book-1", "note", '{"text":"late"}')).stderr).toContain("[SAGA_ARCHIVED]");
    const row = lines(SagaRow, await cli("ls", "--archived", "--json")).find(({ saga }) => saga === "book-1");
    expect(row?.archived).toBe(basename(await file("book-1")));
  });
});

describe("on a real server", () => {
  let server: AccountServer;
  beforeAll(async () => {
    server = await startAccountServer();
  });
  afterAll(() => server.stop());

  const placed: string[] = [];
  const place = defineTool({
    name: "place",
    description: "Places what it is told, once.",
    effect: "once",
    placement: "host",
    compensation: "point_of_no_return",
    input: Of,
    output: z.object({ text: z.string() }),
    perform: async ({ of }, { key }) => {
      placed.push(key);
      return { text: of.repeat(50_000) };
    },
  });
  const placing = calling(place);
  const ids = Array.from({ length: 6 }, (_, n) => parseSagaId(`s${n}`));
  const served = defineApp({ sagas: [placing] });

  /** Six sagas with large values, ended; their ledgers' messages; and a folder. */
  async function withSagas(work: (mesh: RealMesh, files: string) => Promise<void>): Promise<void> {
    const mesh = await openRealMesh(server.nextUrl());
    placed.length = 0;
    try {
      const host = await mesh.host(served);
      for (const id of ids) {
        const saga = await mesh.client.start(placing, { of: id }, { id });
        expect((await saga.result()).status).toBe("completed");
      }
      await work(mesh, await mkdtemp(join(folder, "files-")));
      await host.stop(0);
    } finally {
      await mesh.close();
    }
  }
  const messagesOf = async (mesh: RealMesh) =>
    new Map(
      await Promise.all(
        ids.map(async (id) => [id, await mesh.ports.ledger.read(id, 0, await mesh.head(id))] as const),
      ),
    );
  const dataOf = (messages: readonly { data: Uint8Array }[]) =>
    messages.map(({ data }) => Buffer.from(data).toString());

  /** Everything is in files, whole; only tombstones are left; a late duplicate of each start changes nothing. */
  async function assertArchived(
    mesh: RealMesh,
    files: string,
    before: Awaited<ReturnType<typeof messagesOf>>,
  ) {
    const archives = openArchives(files);
    for (const id of ids) {
      const named = (await findTombstone(mesh.ports, id))?.file;
      const { messages, manifest, source } = await readSaga(archives, await fileOfSaga(files, id, named), id);
      expect(dataOf(messages)).toEqual(dataOf(before.get(id) ?? []));
      expect((await verifyLedger(source, id, served)).findings).toEqual([]);
      expect(await findTombstone(mesh.ports, id)).toMatchObject({ prev: manifest.head.hash });
      expect(await mesh.ports.ledger.read(id, 0, await mesh.head(id))).toHaveLength(1);
      const body = JSON.stringify({ name: "calling", input: { of: id } });
      await mesh.ports.inbox.publish({ subject: `saga.${id}.start`, data: Buffer.from(body), headers: {} });
    }
    await until("the duplicates are taken", async () => (await mesh.unacked()).inbox === 0);
    expect(placed).toHaveLength(ids.length);
    expect(await mesh.letters()).toEqual([]);
    expect((await mesh.ports.ledger.list()).map(({ turns }) => turns)).toEqual(ids.map(() => 1));
  }

  test.each([
    ["while it reads", "ledger.read:after:1"],
    ["while it writes a file", "blobs.get:before:7"],
    ["with a bundle and no tombstone", "ledger.append:before:1"],
    ["with a bundle and some tombstones", "ledger.append:before:4"],
    ["with a tombstone that it never heard of", "ledger.append:after:1"],
    ["before a purge", "ledger.purgeBefore:before:2"],
    ["after a purge", "ledger.purgeBefore:after:3"],
    ["after a snapshot was dropped", "snapshots.drop:after:1"],
  ])("an archiver that is killed %s (%s) has lost nothing, and another ends it", (_, point) =>
    withSagas(async (mesh, files) => {
      const before = await messagesOf(mesh);
      const env = { MESH_URL: mesh.url, MESH_FOLDER: files };
      const doomed = spawnProcess("archive-process", { ...env, MESH_KILL: point });
      expect(await doomed.ended).toBe("SIGKILL");
      for (const id of ids) {
        const left = await mesh.ports.ledger.read(id, 0, await mesh.head(id));
        const held = dataOf(left).slice(0, before.get(id)?.length);
        if (left.length > 1) expect(held).toEqual(dataOf(before.get(id) ?? []));
        else expect((await readArchived(files, id)).messages).toHaveLength(before.get(id)?.length ?? 0);
      }
      expect(await spawnProcess("archive-process", env).ended).toBe("0");
      await assertArchived(mesh, files, before);
    }),
  );

  test("two archivers at once archive each saga once, and nothing is lost", () =>
    withSagas(async (mesh, files) => {
      const before = await messagesOf(mesh);
      const env = { MESH_URL: mesh.url, MESH_FOLDER: files };
      const both = [spawnProcess("archive-process", env), spawnProcess("archive-process", env)];
      expect(await Promise.all(both.map(({ ended }) => ended))).toEqual(["0", "0"]);
      await assertArchived(mesh, files, before);
    }));
});
