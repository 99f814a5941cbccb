/**
 * Goal: conversations recorded elsewhere are an evaluation set. Any model of an application is asked what they were, one
 * by one and many by a query and a sample of a folder, by the definitions that their files hold, at the application's
 * prices, without a mesh; and one file that cannot be read is told and hides none.
 *
 * Method: the fixtures' recordings, imported and replayed by the commands, where no server is.
 */
import { mkdtemp, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ImportDocument } from "../../../../protocol/documents/recording.ts";
import { ReplayDocument, ReplayRunDocument } from "../../../../protocol/documents/replay.ts";
import { type Ended, runCli } from "../../../support/cli.ts";

const fixtures = join(import.meta.dirname, "../../../fixtures/recordings");
const recordings = ["garden-shop.json", "library-runs.json"].map((name) => join(fixtures, name));
const asked = ["--app", "test/apps/other-desks.ts", "--model", "terse"];
let folder: string;
let out: string;
let bundles: ImportDocument[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-evaluation-"));
  out = join(folder, "out");
  const { code, stdout, stderr } = await cli("import", ...recordings, "--out", out);
  expect(code, stderr).toBe(0);
  bundles = stdout
    .trim()
    .split("\n")
    .map((line) => ImportDocument.parse(JSON.parse(line)))
    .filter(({ bundle }) => bundle !== undefined);
}, 60_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

const cli = (...args: string[]) =>
  runCli([...args, "--json"], {
    env: { NATS_URL: "nats://127.0.0.1:1", SAGAMESH_DATA: join(folder, "data") },
  });
const runOf = ({ stdout }: Ended) => ReplayRunDocument.parse(JSON.parse(stdout));

test("any model of an application is asked what a recording was, at the application's prices", async () => {
  const [one] = bundles;
  const ended = await cli("replay", join(out, one?.bundle ?? ""), ...asked);
  expect(ended.code, ended.stderr).toBe(0);
  const { model, same, different, failed, cost } = ReplayDocument.parse(JSON.parse(ended.stdout));
  expect({ model, failed }).toEqual({ model: "terse", failed: 0 });
  expect(different).toBeGreaterThan(0);
  // 1,000 tokens at 2 dollars a million and 100 at 10, for each decision.
  expect(cost.got.usd).toBeCloseTo((same + different) * 0.003, 9);
});

test("a folder of recordings is sampled and replayed as one run, which goes on by its name", async () => {
  const words = ["--query", "status=completed", "--archive", out, "--sample", "1", "--free", ...asked];
  const first = await cli("replay", ...words);
  expect(first.code, first.stderr).toBe(0);
  const run = runOf(first);
  expect(run).toMatchObject({ model: "terse", meant: 2, sampled: 1, done: 1, missing: 0, faults: [] });
  const again = await cli("replay", "--resume", run.run);
  expect([again.code, again.stderr]).toEqual([0, expect.stringContaining("going on")]);
  expect(runOf(again)).toEqual(run);
}, 60_000);

test("without an application the recordings' own definitions decide, and what they lack is refused at once", async () => {
  const all = ["replay", "--query", "turns>0", "--archive", out];
  const [recorded, unknown, elsewhere] = await Promise.all([
    cli(...all),
    cli(...all, "--model", "terse"),
    cli("replay", "--query", "turns>0", "--archive", join(folder, "nowhere")),
  ]);
  expect(recorded.code, recorded.stderr).toBe(0);
  expect(runOf(recorded)).toMatchObject({ sampled: bundles.length, done: bundles.length, faults: [] });
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("MODEL_UNKNOWN")]);
  expect([elsewhere.code, elsewhere.stderr]).toEqual([1, expect.stringContaining("ARCHIVE_BROKEN")]);
}, 60_000);

test("a file that cannot be read is named with its reason, and the others are replayed", async () => {
  const [cut, ...whole] = bundles;
  await truncate(join(out, cut?.bundle ?? ""), 200);
  const ended = await cli("replay", "--query", "turns>0", "--archive", out, ...asked);
  expect(ended.code).toBe(1);
  const { done, unreadable } = runOf(ended);
  expect(done).toBe(whole.length);
  expect(unreadable).toMatchObject([{ code: "ARCHIVE_BROKEN" }]);
}, 60_000);
