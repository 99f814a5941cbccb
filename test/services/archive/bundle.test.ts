/**
 * Goal: in a bundle each saga is found and read as it was, without the others; what is damaged or cut is found, and costs no more
 * than its block; and files of one saga each, as former versions wrote them, are read beside bundles.
 * Method: the examples' ledgers, recorded on the test mesh, each many times over, in a real file of several blocks.
 */
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { BundleIndex } from "../../../protocol/documents/archive.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import { openBundle, readIndex } from "../../../services/archive/bundle.ts";
import { blobLines, ownLines, writeArchive } from "../../../services/archive/file.ts";
import { openArchives, readSaga } from "../../../services/archive/folder.ts";
import { manifestOf } from "../../../services/archive/manifest.ts";
import { withReplaySource } from "../../../services/cli/commands/replay-sources.ts";
import { verifyArchive, verifySaga } from "../../../services/archive/verify.ts";
import type { LedgerSource } from "../../../services/ledger/reader.ts";
import { codeOf } from "../../contract/mesh-under-test.ts";
import { type RecordedLedger, recordExamples, sourceOf } from "../../support/recorded.ts";

const registered = { definitions: [], tools: [] };
const name = "archived-2026-03-01T09-00-00-000-x.jsonl.gz";
let ledgers: RecordedLedger[];
let folder: string;
let path: string;
let index: BundleIndex;

const sectionOf = async (ledger: RecordedLedger, saga: SagaId) => {
  const source = sourceOf(ledger);
  const { seq } = (await source.ledger.last(saga))!;
  const messages = await source.ledger.read(saga, 0, seq);
  const manifest = {
    ...(await manifestOf(source, saga, messages, { at: 5, registered })),
    bundled: true as const,
  };
  return { manifest, messages, blobs: source.blobs };
};

beforeAll(async () => {
  ledgers = await recordExamples();
  folder = await mkdtemp(join(tmpdir(), "sagamesh-bundle-"));
  path = join(folder, name);
  const bundle = await openBundle(path, { blockBytes: 20_000 });
  for (const ledger of ledgers) {
    const section = await sectionOf(ledger, ledger.saga);
    const named = new Map<string, LedgerSource["blobs"]>();
    const lines = [...ownLines(section, named)].map((line) => Buffer.from(line));
    const blobs = new Map<string, Buffer>();
    for await (const [digest, line] of blobLines(named)) blobs.set(digest, Buffer.from(line));
    await bundle.add(section.manifest.saga, { lines, blobs });
  }
  index = await bundle.end();
  await bundle.close();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("each saga of a bundle is read as its ledger has it, from its own block, and the whole is lines of JSON (BN1)", async () => {
  expect(index.blocks.length).toBeGreaterThan(1);
  expect(await readIndex(path)).toMatchObject({ blocks: index.blocks });
  const archives = openArchives(folder);
  for (const ledger of ledgers) {
    const saga = ledger.saga;
    expect(await archives.find(saga)).toBe(path);
    const archive = await readSaga(archives, path, saga);
    expect(archive.manifests.map((one) => one.saga)).toEqual([saga]);
    expect(archive.messages.map(({ data }) => Buffer.from(data))).toEqual(
      (await sectionOf(ledger, saga)).messages.map(({ data }) => Buffer.from(data)),
    );
    expect(await verifySaga(archives, path, saga, {})).toMatchObject({ saga, ok: true });
  }
  expect((await verifyArchive(path, {})).map(({ saga, ok }) => [saga, ok])).toEqual(
    ledgers.map(({ saga }) => [saga, true]),
  );
  const text = gunzipSync(await readFile(path)).toString();
  for (const line of text.trimEnd().split("\n")) expect(typeof JSON.parse(line)).toBe("object");
});

test("a bundle that is cut is found to be, wherever that is (BN2)", async () => {
  const whole = await readFile(path);
  const short = join(folder, "short.jsonl.gz");
  const ends = index.blocks.flatMap(({ at, length }) => [at + length, at + (length >> 1)]);
  for (const end of [...ends, whole.length - 1, whole.length - 40, 0]) {
    await writeFile(short, whole.subarray(0, end));
    const documents = await verifyArchive(short, {});
    expect([end, documents.every(({ ok }) => ok)]).toEqual([end, false]);
  }
});

test("a block that is damaged costs the sagas in it, and no other", async () => {
  const bytes = Buffer.from(await readFile(path));
  const [first, ...others] = index.blocks;
  bytes[first!.at + (first!.length >> 1)]! ^= 0xff;
  const damaged = join(folder, "damaged.jsonl.gz");
  await writeFile(damaged, bytes);
  const archives = openArchives(damaged);
  for (const { sagas } of others)
    for (const saga of sagas) expect((await verifySaga(archives, damaged, saga, {})).ok).toBe(true);
  const found = await verifyArchive(damaged, {});
  expect(
    found.filter(({ saga }) => others.some(({ sagas }) => sagas.includes(saga))).every(({ ok }) => ok),
  ).toBe(true);
  expect(first!.sagas.map((saga) => found.filter((one) => one.saga === saga).length)).toEqual(
    first!.sagas.map(() => 1),
  );
  expect(found.some(({ ok }) => !ok)).toBe(true);
});

test("a file of one saga, as former versions wrote it, is found by its tombstone's name and without it", async () => {
  const place = await mkdtemp(join(folder, "former-"));
  const [ledger, other] = ledgers;
  const saga = ledger!.saga;
  const { manifest, ...section } = await sectionOf(ledger!, saga);
  const { bundled: _, ...former } = manifest;
  await writeArchive(join(place, `${saga}.jsonl.gz`), [{ ...section, manifest: former }]);
  for (const named of [`${saga}.jsonl.gz`, undefined]) {
    const archives = openArchives(place);
    const found = await archives.find(saga, named);
    expect(found).toBe(join(place, `${saga}.jsonl.gz`));
    expect(await verifySaga(archives, found!, saga, {})).toMatchObject({ ok: true });
  }
  await copyFile(path, join(place, name));
  expect(await openArchives(place).find(saga, name)).toBe(join(place, name));
  expect(await openArchives(place).find(other!.saga)).toBe(join(place, name));
  await writeFile(join(place, "archived-2027-a.jsonl.gz"), "no bundle");
  expect(await openArchives(place).find(other!.saga)).toBe(join(place, name));
  expect(await codeOf(readSaga(openArchives(path), path, "nobody" as SagaId))).toBe("ARCHIVE_BROKEN");
});

test("a run over a folder takes a saga that is in two bundles from the newer, which has more of it (FE1)", async () => {
  const own = await mkdtemp(join(tmpdir(), "sagamesh-twice-"));
  try {
    const ledger = ledgers.find(({ messages }) => messages.length > 2)!;
    const whole = await sectionOf(ledger, ledger.saga);
    for (const [at, turns] of [
      ["2026-03-01", whole.messages.length - 1],
      ["2026-03-02", whole.messages.length],
    ] as const) {
      const bundle = await openBundle(join(own, `archived-${at}T09-00-00-000-x.jsonl.gz`));
      const messages = whole.messages.slice(0, turns);
      const section = { ...whole, messages, manifest: { ...whole.manifest, turns } };
      const named = new Map<string, LedgerSource["blobs"]>();
      const lines = [...ownLines(section, named)].map((line) => Buffer.from(line));
      const blobs = new Map<string, Buffer>();
      for await (const [digest, line] of blobLines(named)) blobs.set(digest, Buffer.from(line));
      await bundle.add(ledger.saga, { lines, blobs });
      await bundle.end();
      await bundle.close();
    }
    const context = undefined as never; // Files alone are read.
    const read = await withReplaySource(context, own, async (source) => {
      const rows = await source.meant("turns>0");
      let turns = 0;
      for await (const page of (await source.read(ledger.saga)).ledger()) turns += page.length;
      return { rows: rows.map((row) => row.turns), turns };
    });
    expect(read).toEqual({ rows: [whole.messages.length], turns: whole.messages.length });
  } finally {
    await rm(own, { recursive: true, force: true });
  }
});
