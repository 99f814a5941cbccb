/**
 * Goal: an exported saga is whole without the place it comes from, running or ended, with its children if that is asked;
 * and a file is there only whole, and in nobody's place.
 * Method: the examples' ledgers, recorded on the test mesh, are exported to real files and read back from those alone.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MeshError } from "../../../protocol/errors.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import { exportSaga } from "../../../services/archive/export.ts";
import { readArchive } from "../../../services/archive/file.ts";
import { verifyArchive } from "../../../services/archive/verify.ts";
import { verifyLedger } from "../../../services/views/verify.ts";
import { readView } from "../../../services/views/view.ts";
import { systemChance } from "../../../services/runtime/system.ts";
import { codeOf } from "../../contract/mesh-under-test.ts";
import { type RecordedLedger, recordExamples, sourceOf } from "../../support/recorded.ts";

let ledgers: RecordedLedger[];
let folder: string;
beforeAll(async () => {
  ledgers = await recordExamples();
  folder = await mkdtemp(join(tmpdir(), "sagamesh-export-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const ledgerOf = (saga: string) => ledgers.find((one) => one.saga === saga)!;
const registered = { definitions: [], tools: [] };
const depsWith = (change: (ledger: RecordedLedger) => RecordedLedger = (ledger) => ledger) => ({
  chance: systemChance,
  now: 5,
  find: async (saga: SagaId) => {
    const ledger = ledgerOf(saga);
    if ((ledger as unknown) === undefined) throw new MeshError("SAGA_ARCHIVED", `${saga} is elsewhere`);
    return { source: sourceOf(change(ledger)), registered };
  },
});
const fileOf = (name: string) => join(folder, `${name}.jsonl.gz`);
const id = (saga: string) => saga as SagaId;

test("a lead is exported alone, or with the sagas below it, and each reads there as it did", async () => {
  const [alone, all] = [fileOf("alone"), fileOf("all")];
  const one = await exportSaga(depsWith(), id("team"), { path: alone, withChildren: false });
  expect(one).toMatchObject({ saga: "team", status: "completed", sagas: 1, missing: [] });
  const three = await exportSaga(depsWith(), id("team"), { path: all, withChildren: true });
  expect(three).toMatchObject({ sagas: 3, bytes: (await readFile(all)).length });
  const { manifests, manifest, source } = await readArchive(all);
  expect(manifest.saga).toBe("team");
  for (const { saga } of manifests) {
    const { app } = ledgerOf(saga);
    expect(await verifyLedger(source, saga, app)).toMatchObject({ ok: true, folded: true });
    expect(await readView(source, saga)).toEqual(await readView(sourceOf(ledgerOf(saga)), saga));
  }
  expect(await codeOf(readView((await readArchive(alone)).source, manifests[1]!.saga))).toBe("SAGA_UNKNOWN");
});

test("one bit of a child that was turned in a bundle is named with the child and the turn", async () => {
  const path = fileOf("bundle");
  await exportSaga(depsWith(), id("team"), { path, withChildren: true });
  const lines = gunzipSync(await readFile(path))
    .toString()
    .split("\n");
  const second = lines.findIndex((line, index) => index > 0 && line.startsWith('{"format"'));
  await writeFile(
    path,
    gzipSync(lines.with(second + 3, lines[second + 3]!.replace("host", "hosT")).join("\n")),
  );
  const documents = await verifyArchive(path, {});
  expect(documents.map(({ ok }) => ok)).toEqual([true, false, true]);
  expect(documents[1]!.findings[0]?.turn).toBe(3);
});

test("one that runs is exported as it stands, and one with large values holds them", async () => {
  const running = (ledger: RecordedLedger) => ({ ...ledger, messages: ledger.messages.slice(0, 3) });
  const path = fileOf("running");
  const document = await exportSaga(depsWith(running), id("bought"), { path, withChildren: true });
  expect(document).toMatchObject({ status: "running", turns: 3 });
  expect(await verifyArchive(path, { app: ledgerOf("bought").app })).toMatchObject([
    { ok: true, folded: true },
  ]);
  await exportSaga(depsWith(), id("large"), { path: fileOf("large"), withChildren: false });
  const view = await readView((await readArchive(fileOf("large"))).source, id("large"));
  expect(JSON.stringify(view.end).length).toBeGreaterThan(150_000);
});

test("a child that cannot be had is named and left out", async () => {
  const deps = depsWith();
  const find = async (saga: SagaId) => deps.find(saga === "team" ? saga : id("nowhere"));
  const document = await exportSaga({ ...deps, find }, id("team"), {
    path: fileOf("few"),
    withChildren: true,
  });
  expect(document).toMatchObject({ sagas: 1 });
  expect(document.missing.map(({ reason }) => reason)).toEqual([
    expect.stringContaining("SAGA_ARCHIVED"),
    expect.stringContaining("SAGA_ARCHIVED"),
  ]);
});

test("a ledger that is not whole is refused, and so is another's file; both leave what was there", async () => {
  const broken = (ledger: RecordedLedger) => ({ ...ledger, messages: ledger.messages.toSpliced(1, 1) });
  const path = fileOf("refused");
  expect(await codeOf(exportSaga(depsWith(broken), id("hire"), { path, withChildren: false }))).toBe(
    "LEDGER_BROKEN",
  );
  const unsound = (ledger: RecordedLedger) => {
    const message = ledger.messages[1]!;
    const headers = { ...message.headers, "Saga-Event": "failed" };
    return { ...ledger, messages: ledger.messages.with(1, { ...message, headers }) };
  };
  expect(await codeOf(exportSaga(depsWith(unsound), id("hire"), { path, withChildren: false }))).toBe(
    "ARCHIVE_BROKEN",
  );
  expect((await readdir(folder)).filter((name) => name.includes("refused"))).toEqual([]);
  for (const theirs of ["a letter", gzipSync("a letter")]) {
    await writeFile(path, theirs);
    expect(await codeOf(exportSaga(depsWith(), id("hire"), { path, withChildren: false }))).toBe("USAGE");
    expect(await readFile(path)).toEqual(Buffer.from(theirs));
  }
  await exportSaga(depsWith(), id("team"), { path: fileOf("team"), withChildren: false });
  expect(
    await codeOf(exportSaga(depsWith(), id("hire"), { path: fileOf("team"), withChildren: false })),
  ).toBe("USAGE");
  const nowhere = join(folder, "no-such-folder", "x.jsonl.gz");
  expect(await codeOf(exportSaga(depsWith(), id("hire"), { path: nowhere, withChildren: false }))).toBe(
    "ARCHIVE_UNWRITABLE",
  );
});
