/**
 * Cost: the processor time that a step takes of each process: the host, with the worker where it goes through WORK, and each server that
 * stores it.
 *
 * Method: a host in this process, with a worker beside it where steps go through WORK, warmed up over some 20,000 steps, and so many sagas of no-op steps, on one server, on one with four
 * shards, and on three servers that each keep every ledger. Processor time is counted over some seconds in which nothing else begins or
 * ends; of three servers the one that leads has most. It is what `How far it goes` in ARCHITECTURE.md is reckoned with.
 *
 * It does not measure: servers on machines of their own, whose network takes processor time too; large steps.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLocalCluster } from "../../deploy/local-cluster.ts";
import { mintSagaId } from "../../protocol/ids.ts";
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import { systemClock } from "../../services/runtime/system.ts";
import type { Ports } from "../../services/wire/ports.ts";
import { hostOn, openServer, startSaga, type Sync, until, workerOn } from "./bench-mesh.ts";
import { type Report, rounded } from "./figures.ts";
import { noopApp, noopName, type Placement } from "./noop-saga.ts";
import { workOf } from "./peers/processes.ts";

interface Measured {
  readonly ports: Ports;
  readonly pids: readonly number[];
  close(): Promise<void>;
}

interface Setting {
  readonly servers: 1 | 3;
  readonly shards: number;
  readonly effect: Placement;
}

const settings: readonly Setting[] = [
  { servers: 1, shards: 1, effect: "host" },
  { servers: 1, shards: 4, effect: "host" },
  { servers: 3, shards: 1, effect: "host" },
  { servers: 3, shards: 4, effect: "host" },
  { servers: 1, shards: 1, effect: "worker" },
  { servers: 3, shards: 1, effect: "worker" },
];
const warmUpSteps = 20_000;
const windowMs = 8_000;

export async function measureCost(options: { sagas: number; syncs: readonly Sync[] }): Promise<Report> {
  const rows: Report["rows"][number][] = [];
  for (const sync of options.syncs)
    for (const setting of settings) {
      const measured = await open(sync, setting);
      try {
        rows.push({ sync, ...setting, ...(await measure(measured, setting.effect, options.sagas)) });
      } finally {
        await measured.close();
      }
    }
  return {
    title: `Processor time of a no-op step, ${options.sagas} sagas at once`,
    rows,
    notes: [
      "servers: each server's, the one with most first. All processes share this machine's processors.",
    ],
  };
}

async function open(sync: Sync, { servers, shards }: Omit<Setting, "effect">): Promise<Measured> {
  if (servers === 1) {
    const bench = await openServer(sync, { shards });
    return { ...bench, pids: [bench.server.pid] };
  }
  const dataDir = await mkdtemp(join(tmpdir(), "sagamesh-cost-"));
  const cluster = await startLocalCluster({ dataDir, report: () => {}, syncAlways: sync === "always" });
  const nc = await connectNats({ servers: cluster.url, name: "bench" });
  const ports = await openNatsPorts(nc, { shards, replicas: 3 });
  const close = async () => {
    await ports.close();
    await nc.close();
    await cluster.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  return { ports, pids: cluster.servers.map((server) => server.pid() ?? 0), close };
}

async function measure(
  { ports, pids }: Measured,
  effect: Placement,
  sagas: number,
): Promise<Record<string, string | number>> {
  let turns = 0;
  const app = noopApp({ effect: "read" });
  const host = await hostOn(ports, app, { turn: () => (turns += 1) });
  const worker = effect === "worker" ? await workerOn(ports, app) : undefined;
  const ids = Array.from({ length: sagas }, () => mintSagaId("noop", Date.now(), Math.random()));
  await Promise.all(ids.map((id) => startSaga(ports, id, noopName(effect), { steps: 10_000_000 })));
  await until("the host is warm", () => turns > warmUpSteps, 240_000);
  const work = async () => ({
    host: process.cpuUsage(),
    servers: await Promise.all(pids.map((pid) => workOf([pid]))),
    turns,
    at: performance.now(),
  });
  const before = await work();
  await systemClock.sleep(windowMs);
  const after = await work();
  await Promise.all([host.stop(1_000), worker?.stop(1_000)]);
  const steps = after.turns - before.turns;
  const ofHost = after.host.user + after.host.system - before.host.user - before.host.system;
  const ofServers = after.servers.map((used, k) => (used - (before.servers[k] ?? 0)) / steps);
  return {
    "steps/s": rounded((1_000 * steps) / (after.at - before.at)),
    "host, µs": rounded(ofHost / steps),
    "servers, µs": ofServers
      .sort((a, b) => b - a)
      .map(rounded)
      .join(", "),
  };
}
