/**
 * Goal: a run over many sagas that is killed goes on where it was, asks no model twice for what is done, keeps its
 * limits, and leaves the mesh it reads as it was.
 *
 * Method: twelve ended sagas on a real server; `replay --query` as a process of its own, killed by SIGKILL while it is at
 * work. The outside's account is the model's own: a line for each time it is asked.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ReplayDocument, ReplayRunDocument } from "../../protocol/documents/replay.ts";
import slow, { slowDesk } from "../apps/slow-desk.ts";
import { type Ended, runCli, startCli } from "../support/cli.ts";
import {
  type AccountServer,
  openRealMesh,
  type RealMesh,
  startAccountServer,
  until,
} from "../support/real-mesh.ts";

let server: AccountServer;
let mesh: RealMesh;
let folder: string;

beforeAll(async () => {
  server = await startAccountServer(1);
  mesh = await openRealMesh(server.nextUrl());
  folder = await mkdtemp(join(tmpdir(), "sagamesh-replays-"));
  await mesh.host(slow);
  const sagas = Array.from({ length: 12 }, (_, k) => mesh.client.start(slowDesk, {}, { id: `desk-${k}` }));
  for (const saga of await Promise.all(sagas)) await saga.result();
}, 60_000);
afterAll(async () => {
  await mesh.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const words = [
  "--query",
  "agent=slow_desk and status=completed",
  "--sample",
  "10",
  "--parallel",
  "2",
  "--seed",
  "s",
];
const what = ["--app", "test/apps/slow-desk-again.ts", "--model", "sleepy", "--free"];
const at = () => ["--server", mesh.url, "--data", folder];
const env = (ms: number) => ({ REPLAY_ASKED: join(folder, "asked"), REPLAY_MS: String(ms) });
const cli = (...args: string[]) => runCli(["replay", ...args, ...at()], { env: env(0) });
const asked = async () =>
  (await readFile(join(folder, "asked"), "utf8").catch(() => "")).trim().split("\n").filter(Boolean);
const documentOf = ({ stdout }: Ended) => ReplayRunDocument.parse(JSON.parse(stdout));

test("a run that is killed goes on by the same words and by its name, and the mesh knows nothing of it", async () => {
  const before = (await mesh.ports.ledger.list()).map(({ saga }) => saga).sort();
  const first = startCli(["replay", ...words, ...what, ...at()], { env: env(300) });
  await until("some are asked", async () => (await asked()).length >= 5, 30_000);
  first.process.kill("SIGKILL");
  await first.ended;
  const then = (await asked()).length;
  expect(then).toBeLessThan(10);

  const ended = await cli(...words, ...what, "--json");
  expect(ended.stderr).toContain("going on");
  const document = documentOf(ended);
  expect(document).toMatchObject({ meant: 12, sampled: 10, done: 10, missing: 0, faults: [], seed: "s" });
  const all = await asked();
  expect(new Set(all).size).toBe(10);
  expect(all.length).toBeLessThanOrEqual(12); // Those under way when it died.
  const different = document.sagas.filter(({ different: n }) => n > 0);
  expect(different.map(({ saga }) => saga)).toEqual(all.includes("desk-7") ? ["desk-7"] : []);
  expect(document.rates.find((rate) => rate.what === "sagas with an equal outcome")).toMatchObject({
    of: 10,
    hit: 10 - different.length,
  });
  expect(document.means.find((mean) => mean.what === "USD a saga, got")).toMatchObject({ n: 10, mean: 0.25 });
  const one = JSON.parse(
    await readFile(join(document.folder, `${document.sagas[0]?.saga ?? ""}.json`), "utf8"),
  ) as unknown;
  expect(ReplayDocument.parse(one).mode).toBe("free-run");

  const again = await cli("--resume", document.run, "--json");
  expect(documentOf(again)).toEqual(document);
  expect((await asked()).length).toBe(all.length);
  expect((await mesh.ports.ledger.list()).map(({ saga }) => saga).sort()).toEqual(before);
}, 90_000);

test("a run ends by its limit, says what is missing, and goes on from there with a higher one", async () => {
  const few = [...words.slice(0, -1), "t", ...what];
  const before = (await asked()).length;
  const stopped = await cli(...few, "--usd", "0.70", "--fail-on", "different>90%");
  expect(stopped.code).toBe(1);
  const begun = (await asked()).length - before;
  expect(begun).toBeGreaterThanOrEqual(3);
  expect(begun).toBeLessThanOrEqual(4); // What was under way at the limit goes on.
  expect(stopped.stdout).toMatch(
    new RegExp(`${begun} replayed, 0 with a fault, ${10 - begun} missing: its limit was reached`),
  );
  const more = documentOf(await cli(...few, "--usd", "9", "--json"));
  expect(more).toMatchObject({ done: 10, missing: 0 });
  expect((await asked()).length - before).toBe(10);
}, 60_000);

test.each([
  [["--query", "agent=nobody", ...["--app", "test/apps/slow-desk.ts"]], 1, "means none of 12 sagas"],
  [["--resume", "replay-0"], 1, "there is no run"],
])(
  "%j ends with %i and says what helps",
  async (args, code, says) => {
    const ended = await cli(...args);
    expect(ended.code).toBe(code);
    expect(ended.stderr).toContain(says);
  },
  30_000,
);
