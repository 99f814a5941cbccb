/**
 * Idle: what a mesh costs in which nothing happens, by its partitions and its streams of ledgers.
 *
 * Method: a server of its own for each row and one host, in this process, that holds every partition; after some seconds the
 * processor time of both is counted, what the server was sent and sent, and its resident size. It is what a partition and a stream cost in
 * `How far it goes` of ARCHITECTURE.md.
 *
 * It does not measure: several hosts, each of which has its share of the partitions; replicas, whose servers say to one another that they live.
 */
import { readFile } from "node:fs/promises";
import { systemClock } from "../../services/runtime/system.ts";
import { hostOn, openServer } from "./bench-mesh.ts";
import { type Report, rounded } from "./figures.ts";
import { noopApp } from "./noop-saga.ts";
import { workOf } from "./peers/processes.ts";

const settleMs = 10_000;
const windowMs = 20_000;

interface Setting {
  readonly partitions: number;
  readonly shards: number;
}

export async function measureIdle(settings: readonly Setting[]): Promise<Report> {
  const rows: Report["rows"][number][] = [];
  for (const setting of settings) rows.push({ ...setting, ...(await measure(setting)) });
  return {
    title: "A mesh at rest: one host, one server",
    rows,
    notes: ["Processor time and messages are those of one second; the host is also the benchmark's process."],
  };
}

async function measure(setting: Setting): Promise<Record<string, number>> {
  const began = performance.now();
  const bench = await openServer("default", setting);
  const madeMs = performance.now() - began;
  const host = await hostOn(bench.ports, noopApp({ effect: "read" }));
  const look = async () => {
    const { user, system } = process.cpuUsage();
    const { inMsgs, outMsgs } = bench.nc.stats();
    return { host: user + system, server: await workOf([bench.server.pid]), sent: outMsgs, got: inMsgs };
  };
  try {
    await systemClock.sleep(settleMs);
    const before = await look();
    await systemClock.sleep(windowMs);
    const after = await look();
    const aSecond = (of: keyof typeof before) => rounded(((after[of] - before[of]) * 1_000) / windowMs);
    return {
      "made in, s": rounded(madeMs / 1_000),
      "host, µs": aSecond("host"),
      "server, µs": aSecond("server"),
      "messages to the server": aSecond("sent"),
      "and back": aSecond("got"),
      "server, MB": rounded((await residentKb(bench.server.pid)) / 1_024),
    };
  } finally {
    await host.stop(1_000);
    await bench.close();
  }
}

/** From the process's own account; Linux only. */
async function residentKb(pid: number): Promise<number> {
  return Number(/VmRSS:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1]);
}
