/**
 * Left: what archiving takes, and what archived sagas leave on their server.
 *
 * Method: so many sagas of one `once` call each run to their end on a host in this process. Then they are archived in one run, looked at by
 * another, and forgotten by a third. So that weeks need not go by, archivers are told a time that lies ahead; all else is a real
 * server's, with the default sync. The server is started again before its resident size is taken: what its engine has had it keeps.
 *
 * It does not measure: long ledgers, blobs, replicas, archivers beside hosts at work.
 */
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { defineTool } from "../../actors/contract/tool.ts";
import { defineApp } from "../../services/app/app.ts";
import { archiveAll } from "../../services/archive/all.ts";
import { openFolder } from "../../services/archive/archive.ts";
import { readRegistry } from "../../services/client/registry.ts";
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import { startEmbeddedServer } from "../../services/nats/server/embedded.ts";
import { systemChance, systemClock } from "../../services/runtime/system.ts";
import type { Ports } from "../../services/wire/ports.ts";
import { callingSaga } from "../support/calling-saga.ts";
import { startTestServer } from "../support/nats-server.ts";
import { hostOn, startSaga, until } from "./bench-mesh.ts";
import { type Report, rounded } from "./figures.ts";

const nothing = z.object({});
const once = defineTool({
  ...{
    name: "once",
    description: "Does nothing, once.",
    effect: "once",
    placement: "host",
    onDoubt: "model",
  },
  ...{ input: nothing, output: nothing, compensation: "point_of_no_return", perform: async () => ({}) },
});
const app = defineApp({ sagas: [callingSaga("calls", once)] });
const day = 86_400_000;
const atOnce = 200;

export async function measureLeft(sagas: number): Promise<Report> {
  const begun = await startTestServer();
  const { dataDir } = begun;
  const folder = await mkdtemp(join(tmpdir(), "sagamesh-left-"));
  let server: { readonly pid: number } = begun;
  let { ports, close } = await connect(begun.url);
  const rows: Report["rows"][number][] = [];
  const restart = async () => {
    await close();
    process.kill(server.pid, "SIGTERM");
    await systemClock.sleep(3_000);
    const again = await startEmbeddedServer({ dataDir, report: () => undefined });
    server = again;
    ({ ports, close } = await connect(again.url));
    await systemClock.sleep(8_000); // It reads its store.
  };
  const sample = async (of: string, took: Record<string, number> = {}) => {
    await restart();
    const [resident, disk] = [await residentMB(server.pid), await diskMB(dataDir)];
    rows.push({
      of,
      ...took,
      "server, MB": resident,
      "its disk, MB": disk,
      "files, MB": await diskMB(folder),
    });
  };
  try {
    await runAll(ports, sagas);
    await sample("ended");
    for (const [of, days, forgetAfterMs] of [
      ["archived", 8, undefined],
      ["looked at again", 16, undefined],
      ["forgotten", 60, 30 * day],
    ] as const)
      await sample(of, await archive(ports, folder, { aheadMs: days * day, forgetAfterMs }, sagas));
    return {
      title: `${sagas} sagas of one \`once\` call each, archived; load ${rounded(loadavg()[0] ?? 0)}`,
      rows,
      notes: [
        "What is ended is there with its turns and claims; archived, with its tombstone; forgotten, not at all.",
      ],
    };
  } finally {
    await close();
    process.kill(server.pid, "SIGKILL");
    await begun.stop().catch(() => undefined); // The one that it began with is gone.
    await rm(folder, { recursive: true, force: true });
  }
}

async function connect(url: string): Promise<{ ports: Ports; close: () => Promise<void> }> {
  const nc = await connectNats({ servers: url, name: "bench" });
  const ports = await openNatsPorts(nc, {});
  const close = async () => {
    await ports.close();
    await nc.close();
  };
  return { ports, close };
}

/** All of them to their ends, some hundreds at a time. */
async function runAll(ports: Ports, sagas: number): Promise<void> {
  let ended = 0;
  const host = await hostOn(ports, app, {
    turn: ({ state }) => {
      if (state.phase.kind === "ended") ended += 1;
    },
  });
  for (let from = 0; from < sagas; from += atOnce) {
    const some = Array.from({ length: Math.min(atOnce, sagas - from) }, (_, k) => `left-${from + k}`);
    await Promise.all(some.map((saga) => startSaga(ports, saga, "calls", {})));
    await until("most have ended", () => ended >= from - atOnce, 600_000);
  }
  await until("all have ended", () => ended >= sagas, 600_000);
  await host.stop(1_000);
}

/** One run over all, at a time that lies ahead. */
async function archive(
  ports: Ports,
  folder: string,
  { aheadMs, forgetAfterMs }: { readonly aheadMs: number; readonly forgetAfterMs: number | undefined },
  sagas: number,
): Promise<Record<string, number>> {
  const ahead = { ...ports.claims, now: async () => (await ports.claims.now()) + aheadMs };
  const deps = { ports: { ...ports, claims: ahead }, clock: systemClock, chance: systemChance };
  const registered = await readRegistry(ports.registry);
  await openFolder(folder, Date.now());
  const [began, used] = [performance.now(), process.cpuUsage()];
  const options = { afterMs: 7 * day, isForced: false, isDryRun: false, forgetAfterMs };
  const all = (await ports.ledger.list()).map(({ saga }) => saga);
  let failed = 0;
  await archiveAll(
    { ...deps, by: "bench", folder, registered },
    all,
    { ...options, signal: new AbortController().signal },
    ({ outcome }) => (failed += Number(outcome === "failed" || outcome === "kept")),
  );
  if (failed > 0) throw new Error(`${failed} sagas were not archived`);
  const { user, system } = process.cpuUsage(used);
  return {
    "run, s": rounded((performance.now() - began) / 1_000),
    "ms a saga": rounded((performance.now() - began) / sagas),
    "of it processor": rounded((user + system) / 1_000 / sagas),
  };
}

const residentMB = async (pid: number): Promise<number> => {
  const [, kb = "0"] = /VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
  return rounded(Number(kb) / 1_024);
};

/** By the blocks that its files have. */
async function diskMB(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true });
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).blocks * 512));
  return rounded(sizes.reduce((sum, size) => sum + size, 0) / 2 ** 20);
}
