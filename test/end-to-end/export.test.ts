/**
 * Goal: what is exported from a mesh verifies and reads on a machine without one, signatures included.
 * Method: the command line as people run it. A host with a key serves on a real server; a person with a key approves;
 * the file is then read by processes whose NATS_URL leads nowhere, after the server is gone.
 */
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { nkeys } from "@nats-io/nats-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { ExportDocument } from "../../protocol/documents/archive.ts";
import { InspectDocument } from "../../protocol/documents/inspect.ts";
import { VerifyDocument } from "../../protocol/documents/verify.ts";
import { ReplayDocument } from "../../protocol/documents/replay.ts";
import { type Ended, runCli, type RunningCli, startCli } from "../support/cli.ts";
import { startTestServer, type TestServer } from "../support/nats-server.ts";

const app = "test/apps/desk.ts";
let folder: string;
let server: TestServer;
let up: RunningCli;
const pairs = { host: nkeys.createUser(), voter: nkeys.createUser() };
const seedFile = (name: string) => join(folder, `${name}.nk`);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-export-"));
  for (const [name, pair] of Object.entries(pairs)) await writeFile(seedFile(name), pair.getSeed());
  server = await startTestServer();
  const env = { SAGAMESH_HOST_NKEY: seedFile("host") };
  up = startCli(["up", "--app", app, "--server", server.url, "--json"], { env });
  await up.says('"role":"up"');
});
afterAll(async () => {
  up.process.kill("SIGTERM");
  await up.ended;
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const cli = (...args: string[]): Promise<Ended> =>
  runCli([...args, "--server", server.url, "--data", join(folder, "data")]);
/** On a machine without a server. */
const elsewhere = (...args: string[]): Promise<Ended> =>
  runCli(args, { env: { NATS_URL: "nats://127.0.0.1:1", SAGAMESH_DATA: join(folder, "none") } });
const lines = <S extends z.ZodType>(schema: S, { stdout }: Ended): z.infer<S>[] =>
  stdout
    .trim()
    .split("\n")
    .map((line) => schema.parse(JSON.parse(line)));

test("a saga that was signed and approved is exported, and proves itself where there is no server", async () => {
  const { host, voter } = pairs;
  const start = await cli("start", "desk", "--input", '{"errand":"upgrade","to":"rome"}', "--id", "up-1");
  expect(start.code, start.stderr).toBe(0);
  const waiting = await untilTask("up-1");
  const [early, late] = [join(folder, "early.jsonl.gz"), join(folder, "late.jsonl.gz")];
  expect(lines(ExportDocument, await cli("export", "up-1", "--out", early, "--json"))).toMatchObject([
    { saga: "up-1", status: "running" },
  ]);
  expect((await cli("approve", waiting, "--by", "ana", "--nkey", seedFile("none"))).code).toBe(1);
  const approved = await cli("approve", waiting, "--by", "ana", "--nkey", seedFile("voter"));
  expect(approved.code, approved.stderr).toBe(0);
  expect((await cli("tail", "up-1")).code).toBe(0);
  const [inspected, exported, all] = await Promise.all([
    cli("inspect", "up-1", "--json"),
    cli("export", "up-1", "--out", late),
    cli("verify", "--all", "--app", app, "--json"),
  ]);
  const [before] = lines(InspectDocument, inspected);
  expect(exported.code, exported.stderr).toBe(0);
  expect(lines(VerifyDocument, all)).toMatchObject([{ saga: "up-1", ok: true, folded: true }]);

  const [proof, shown, replayed, told, running] = await Promise.all([
    elsewhere("verify", late, "--trust", host.getPublicKey(), "--app", app, "--json"),
    elsewhere("inspect", late, "--json"),
    elsewhere("replay", late, "--app", app, "--json"),
    elsewhere("tail", late),
    elsewhere("tail", early),
  ]);
  expect(lines(VerifyDocument, proof)).toMatchObject([
    {
      ok: true,
      folded: true,
      signed: {
        turns: { [host.getPublicKey()]: before!.turns },
        votes: { [voter.getPublicKey()]: 1 },
        votesUnsigned: 0,
      },
    },
  ]);
  expect(lines(InspectDocument, shown)).toEqual([before]);
  expect(lines(ReplayDocument, replayed)).toMatchObject([{ different: 0, failed: 0, skipped: 0 }]);
  expect([told.code, told.stdout]).toEqual([0, expect.stringContaining("up-1 completed")]);
  expect([running.code, running.stderr]).toEqual([0, expect.stringContaining("was running still")]);

  // A folder of them, one of which somebody has changed.
  const files = join(folder, "files");
  await mkdir(files);
  await rename(early, join(files, "early.jsonl.gz"));
  const text = gunzipSync(await readFile(late)).toString();
  await writeFile(join(files, "late.jsonl.gz"), gzipSync(text.replace(/"by\\":\\"ana/, '"by\\":\\"eve')));
  const checked = await elsewhere("verify", "--all", "--archive", files);
  expect(checked.code).toBe(1);
  expect(checked.stdout).toMatch(/up-1 turn \d+: \[SIGNATURE_INVALID\]/);
  expect(checked.stdout).toContain("2 sagas");
}, 90_000);

async function untilTask(saga: string): Promise<string> {
  for (let looks = 0; looks < 50; looks++) {
    const { stdout } = await cli("tasks", "--json");
    const task = z
      .object({ task: z.string() })
      .safeParse(stdout === "" ? {} : JSON.parse(stdout.split("\n")[0]!));
    if (task.success && task.data.task.startsWith(saga)) return task.data.task;
  }
  throw new Error("nobody was asked");
}
