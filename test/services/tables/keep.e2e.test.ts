/**
 * Goal: whatever becomes of the processes that fill the tables, they come to what one process makes of the ledgers in peace.
 * Method: real processes of `sagamesh index`, several beside one another, on a mesh of four shards in which sagas run and junk is
 * published; they are killed (SIGKILL) again and again, and once stopped (SIGSTOP), while turns are stored, and what they fill is taken
 * away under them, a file or a schema in a real PostgreSQL; the rows are compared with those that another process fills elsewhere.
 */
import { readdirSync, rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseSagaId } from "../../../protocol/ids.ts";
import { IndexDocument } from "../../../protocol/documents/index-of-sagas.ts";
import { subjects } from "../../../protocol/subjects.ts";
import { systemClock } from "../../../services/runtime/system.ts";
import { writerTtlMs } from "../../../services/tables/store.ts";
import { runCli, type RunningCli, startCli } from "../../support/cli.ts";
import { openRealMesh, type RealMesh } from "../../support/real-mesh.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";
import { postgresBin, startPostgres, type TestPostgres, withPostgres } from "../../support/postgres.ts";
import { rowsOf, rowsOfPostgres, tablesIn, tablesInPostgres } from "../../support/tables-told.ts";
import { until } from "../../support/cli-said.ts";
import app from "../../apps/desk.ts";
import { desk } from "../../apps/desk-contract.ts";

let server: TestServer;
let mesh: RealMesh;
let folder: string;
let postgres: TestPostgres | undefined;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-keep-"));
  server = await startTestServer();
  mesh = await openRealMesh(server.url, { shards: 4 });
  if (postgresBin !== undefined) postgres = await startPostgres();
}, 120_000);
afterAll(async () => {
  await mesh.close();
  await server.stop();
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
});

const cache = (name: string) => join(folder, name);
const tablesOf = (name: string): string => {
  const own = join(cache(name), "index");
  return join(own, readdirSync(own).find((file) => file.endsWith(".sqlite")) ?? "");
};
const env = (name: string): Readonly<Record<string, string>> => ({
  ...{ SAGAMESH_CACHE: cache(name), LOG_LEVEL: "warn" },
  ...(name === "database" ? { SAGAMESH_INDEX_URL: postgres?.url ?? "" } : {}),
});
const words = (...more: string[]) => ["index", ...more, "--server", server.url, "--data", folder];
const keep = (name: string): RunningCli => startCli(words(), { env: env(name) });

async function status(name: string): Promise<IndexDocument> {
  const { stdout } = await runCli(words("--status", "--json"), { env: env(name) });
  return IndexDocument.parse(JSON.parse(stdout));
}

let begun = 0;

describe.each([
  { name: "file", where: "in a file" },
  { name: "database", where: withPostgres },
])("$where", ({ name }) => {
  const place = async () => ({ url: postgres?.url ?? "", schema: (await status(name)).schema ?? "" });
  const takeAway = async () => {
    if (name === "file") return rmSync(tablesOf(name), { force: true });
    const at = await place();
    await rowsOfPostgres(at, `drop schema "${at.schema}" cascade`);
  };
  const tablesNow = async () =>
    name === "file" ? tablesIn(tablesOf(name)) : tablesInPostgres(await place());
  const run = test.skipIf(name === "database" && postgresBin === undefined);

  run(
    "killed at any moment, beside others, and emptied: the rows are those of one left in peace",
    async () => {
      const host = await mesh.host(app);
      const worker = await mesh.worker(app);
      const beginSome = async () => {
        for (let k = 0; k < 20; k++, begun++) {
          const id = `k-${begun}`;
          await mesh.client.start(
            desk,
            { errand: begun % 4 === 0 ? "pay_into_doubt" : "ask", to: "rome" },
            { id },
          );
          // In the first shard, wherever its ledger is: mostly no ledger's subject.
          if (begun % 5 === 0) mesh.nc.publish(subjects.ledger(parseSagaId(id)), `junk ${begun}`);
        }
      };
      const keeping = [keep(name), keep(name)];
      await keeping[0]!.says("Ctrl-C ends it", "stderr");
      let kills = 0;
      for (let round = 0; round < 6; round++) {
        await beginSome();
        const k = round % keeping.length;
        keeping[k]!.process.kill("SIGKILL");
        kills += 1;
        if (round === 3) await takeAway();
        await keeping[k]!.ended;
        keeping[k] = keep(name);
        await keeping[k].says("Ctrl-C ends it", "stderr");
      }
      // Whichever writes: one that stands still for longer than a writer may is replaced, and finds it.
      for (const { process } of keeping) {
        process.kill("SIGSTOP");
        await beginSome();
        await systemClock.sleep(writerTtlMs + 1_000);
        process.kill("SIGCONT");
      }
      await until(
        () => mesh.client.tasks(),
        (tasks) => tasks.length === begun,
      );
      await host.stop(0);
      await worker.stop(0);
      await until(
        () => status(name),
        ({ read, stored, isKept }) => read === stored && isKept,
      );
      for (const { process } of keeping) process.kill("SIGINT");
      for (const { ended } of keeping) expect(await ended).toMatchObject({ code: 0 });
      const { code } = await runCli(words("--once"), { env: env("peace") });
      expect({ code, kills }).toEqual({ code: 0, kills: 6 });
      expect(await tablesNow()).toEqual(tablesIn(tablesOf("peace")));
      const asked = await runCli(
        [...["query", "--filter", "name=desk and outcome=in_doubt", "--json", "--server", server.url]],
        { env: env(name) },
      );
      expect(asked.stdout.trim().split("\n")).toHaveLength(begun / 4);
      expect(rowsOf(tablesOf("peace"), "select count(*) as n, sum(in_doubt) as d from sagas")).toEqual([
        { n: begun, d: begun / 4 },
      ]);
    },
    240_000,
  );
});
