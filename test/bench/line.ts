/**
 * Line: a saga that asks for thousands of children at once, of which 64 run and the others stand in line.
 *
 * Method: a fresh server, two hosts in processes of their own with the product's flags. A small line first, so that nothing
 * is compiled for the first time. Then, from the start of the saga to its end: processor time of the hosts and the server, what
 * was resident in the host that had the parent, and its beats, the processor time of its thread from one beat of 5 ms to the next.
 * A child is a saga of one no-op step.
 *
 * It does not measure: children that do something, inputs of more than a few bytes, budgets.
 */
import { type ChildProcess, fork } from "node:child_process";
import { mintSagaId } from "../../protocol/ids.ts";
import { openServer, startSaga, until } from "./bench-mesh.ts";
import { cpuMsOf } from "./cpu-of.ts";
import { type Report, rounded } from "./figures.ts";
import type { Spent } from "./line-host.ts";
import { lineName } from "./line-saga.ts";

const hostsMax = 2;
const warm = 200;
const givenUpAfterMs = 600_000;

interface Told {
  readonly serves?: string;
  readonly ended?: string;
  readonly spent?: Spent;
}
interface HostProcess {
  readonly child: ChildProcess;
  readonly told: Told[];
}

export async function measureLines(sizes: readonly number[]): Promise<Report> {
  const rows = [];
  for (const size of sizes) rows.push(await measureOne(size));
  return {
    title: `A saga with so many children at once, 64 of which run, on ${hostsMax} hosts`,
    rows,
    notes: ["Beats: processor time of the thread of the parent's host from one beat of 5 ms to the next."],
  };
}

async function measureOne(size: number) {
  const bench = await openServer("default");
  const hosts = Array.from({ length: hostsMax }, () => startHostProcess(bench.server.url));
  try {
    for (const { told } of hosts)
      await until("a host serves", () => told.some(({ serves }) => serves !== undefined));
    await new Promise((resolve) => setTimeout(resolve, 3_000)); // Each has its share.
    await run(bench.ports, hosts, warm);
    const [before, server] = [await spentBy(hosts), cpuMsOf(bench.server.pid)];
    const tookMs = await run(bench.ports, hosts, size);
    const [after, serverAfter] = [await spentBy(hosts), cpuMsOf(bench.server.pid)];
    const turns = after.map((one, k) => one.parentTurns - (before[k]?.parentTurns ?? 0));
    const own = turns.indexOf(Math.max(...turns));
    const cpu = after.map((one, k) => one.cpuMs - (before[k]?.cpuMs ?? 0));
    return {
      children: size,
      "end after, s": rounded(tookMs / 1_000),
      "parent's host, s of processor": rounded((cpu[own] ?? 0) / 1_000),
      "other host": rounded((cpu.find((_, k) => k !== own) ?? 0) / 1_000),
      server: rounded((serverAfter - server) / 1_000),
      "parent's turns": turns[own] ?? 0,
      "its host, MB at most": rounded(after[own]?.residentMax ?? 0),
      "beat p99, ms": rounded(after[own]?.beat.p99 ?? 0),
      most: rounded(after[own]?.beat.max ?? 0),
    };
  } finally {
    for (const { child } of hosts) if (child.connected) child.disconnect();
    await bench.close();
  }
}

async function run(
  ports: Parameters<typeof startSaga>[0],
  hosts: readonly HostProcess[],
  children: number,
): Promise<number> {
  const ends = () => hosts.flatMap(({ told }) => told.flatMap(({ ended }) => ended ?? []));
  const before = ends().length;
  const beganAt = performance.now();
  await startSaga(ports, mintSagaId(lineName, Date.now(), Math.random()), lineName, { children });
  await until("the line ends", () => ends().length > before, givenUpAfterMs);
  if (ends().at(-1) !== "completed") throw new Error(`the line ended ${ends().at(-1)}`);
  return performance.now() - beganAt;
}

function startHostProcess(url: string): HostProcess {
  const child = fork(new URL("line-host.ts", import.meta.url), [url], {
    execArgv: [
      "--conditions=sagamesh-source",
      "--max-semi-space-size=16",
      "--no-allocation-site-pretenuring",
    ],
    env: { ...process.env, MALLOC_ARENA_MAX: "2" },
  });
  const told: Told[] = [];
  child.on("message", (message) => told.push(message as Told));
  return { child, told };
}

async function spentBy(hosts: readonly HostProcess[]): Promise<Spent[]> {
  const known = hosts.map(({ told }) => told.filter(({ spent }) => spent !== undefined).length);
  for (const { child } of hosts) child.send("spent");
  const all = () => hosts.map(({ told }) => told.flatMap(({ spent }) => spent ?? []));
  await until("what they spent", () => all().every((one, k) => one.length > (known[k] ?? 0)));
  return all().map((one) => one.at(-1) as Spent); // Proof: there is one more than before.
}
