/**
 * Load: how long a saga of n steps takes to be loaded from a real server where its snapshot is gone, and what a small saga
 * of the same host hears of that.
 *
 * Method: one host makes the saga's turns and ends; all snapshots are dropped. A new host in this process is sent one signal for
 * the long saga; the clock runs from before the publish until it has the ack of the turn that holds it. Meanwhile a small saga
 * is sent one signal after the other, and the longest from publish to ack is its figure. `cpu` is this process's.
 *
 * It does not measure: a disk that has to be read, replies of models, more than one long saga at a time.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseSagaId } from "../../protocol/ids.ts";
import type { Observer } from "../../services/host/host-deps.ts";
import { type BenchServer, hostOn, openServer, sendSignal, startSaga, until } from "./bench-mesh.ts";
import { type Report, rounded } from "./figures.ts";
import { noopApp, noopName, noopSignal } from "./noop-saga.ts";

export async function measureLoads(sizes: readonly number[]): Promise<Report> {
  const rows: Report["rows"][number][] = [];
  for (const steps of sizes) {
    const bench = await openServer("default");
    try {
      rows.push(await measureOne(bench, steps));
    } finally {
      await bench.close();
    }
  }
  return {
    title: "Loading a saga of `idempotent` steps from its first turn, on a real server",
    rows,
    notes: ["Goal: 50,000 turns hold up no other saga. `alone`: the small saga's longest without a load."],
  };
}

/** The turn that each saga has reached, as a host tells of it. */
function watched() {
  const latest = new Map<string, number>();
  const observe: Partial<Observer> = { turn: ({ state }) => latest.set(state.saga, state.turn) };
  return { observe, turnOf: (saga: string) => latest.get(saga) ?? 0 };
}

async function measureOne({ ports }: BenchServer, steps: number): Promise<Report["rows"][number]> {
  const [long, small] = ["long", "small"];
  const app = noopApp();
  const first = watched();
  const maker = await hostOn(ports, app, first.observe);
  await startSaga(ports, long, noopName("host"), { steps: steps - 1, stays: true });
  await startSaga(ports, small, noopName("host"), { steps: 1, stays: true });
  await until("all turns", () => first.turnOf(long) >= steps && first.turnOf(small) >= 2, 900_000);
  await until("the host lets go", () => maker.resident() === 0);
  await maker.stop(1_000);
  for (const saga of [long, small]) await ports.snapshots.drop(parseSagaId(saga));
  const turns = { long: first.turnOf(long), small: first.turnOf(small) };

  const then = watched();
  const host = await hostOn(ports, app, then.observe);
  const ring = async (saga: string, after: number): Promise<number> => {
    const began = performance.now();
    await sendSignal(ports, saga, noopSignal, {});
    await until("the turn", () => then.turnOf(saga) > after, 300_000);
    return performance.now() - began;
  };
  const alone: number[] = [];
  for (let k = 0; k < 50; k++) alone.push(await ring(small, turns.small + k));
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const before = process.cpuUsage();
  const beside: number[] = [];
  const next = () => ring(small, turns.small + alone.length + beside.length);
  const loading = ring(long, turns.long);
  const still = Symbol("loading");
  while ((await Promise.race([loading, Promise.resolve(still)])) === still) beside.push(await next());
  const tookMs = await loading;
  const { user, system } = process.cpuUsage(before);
  delay.disable();
  await host.stop(1_000);
  return {
    turns: turns.long,
    "load, s": rounded(tookMs / 1_000),
    "cpu, s": rounded((user + system) / 1e6),
    "alone, ms": rounded(Math.max(...alone.slice(10))),
    "beside, ms": rounded(Math.max(...beside)),
    signals: beside.length,
    "loop late, ms": rounded(delay.max / 1e6),
  };
}
