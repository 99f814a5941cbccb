/**
 * Wake: from a signal's publish to the first new turn, for sagas that sleep, by the length of their history.
 *
 * Method: several sagas of each length run their turns and come to rest; then the host lets go of all of them.
 * Each is sent one signal, one after the other; the clock runs from before the publish until the host has the
 * ack of the turn that holds it. In between: delivery, the ledger's head, the snapshot, what was folded since,
 * the fold, the append. Before the first measured one, one saga of each length wakes to warm the code up.
 *
 * It does not measure: a host that starts first, a cold disk, a ledger among millions of others.
 */
import { mintSagaId } from "../../protocol/ids.ts";
import {
  type BenchServer,
  hostOn,
  openServer,
  sendSignal,
  startSaga,
  type Sync,
  until,
} from "./bench-mesh.ts";
import { median, type Report, rounded } from "./figures.ts";
import { noopApp, type NoopEffect, noopName, noopSignal } from "./noop-saga.ts";

export interface WakeOptions {
  readonly samples: number;
  readonly syncs: readonly Sync[];
  readonly turns: readonly number[];
}

export async function measureWake({ samples, syncs, turns }: WakeOptions): Promise<Report> {
  const rows: Record<string, string | number>[] = [];
  for (const sync of syncs)
    for (const effect of ["read", "idempotent"] as const) {
      const bench = await openServer(sync);
      try {
        rows.push(...(await measure(bench, { sync, effect, samples, turns })));
      } finally {
        await bench.close();
      }
    }
  return {
    title: `Milliseconds from a signal to the first new turn of a saga that sleeps, ${samples} sagas each`,
    rows,
    notes: [
      "read leaves no effect behind; each idempotent call stands, so the state grows with the history.",
    ],
  };
}

async function measure(
  { ports }: BenchServer,
  {
    sync,
    effect,
    samples,
    turns,
  }: { sync: Sync; effect: NoopEffect; samples: number; turns: readonly number[] },
): Promise<Record<string, string | number>[]> {
  const latest = new Map<string, number>();
  let seen: { saga: string; turned: () => void } | undefined;
  const host = await hostOn(ports, noopApp({ effect }), {
    turn: ({ state }) => {
      latest.set(state.saga, state.turn);
      if (seen?.saga === state.saga) seen.turned();
    },
  });
  const wake = async (saga: string): Promise<number> => {
    const turned = new Promise<void>((resolve) => (seen = { saga, turned: resolve }));
    const startedAt = performance.now();
    await sendSignal(ports, saga, noopSignal, {});
    await turned;
    return performance.now() - startedAt;
  };
  const sagas = turns.map((count) => ({
    count,
    ids: Array.from({ length: samples + 1 }, () => mintSagaId("noop", Date.now(), Math.random())),
  }));
  for (const { count, ids } of sagas)
    for (const id of ids) await startSaga(ports, id, noopName("host"), { steps: count - 1, stays: true });
  const isDone = () => sagas.every(({ count, ids }) => ids.every((id) => latest.get(id) === count));
  await until("every saga has its turns", isDone, 600_000);
  await until("the host lets go of all", () => host.resident() === 0);
  for (const { ids } of sagas) await wake(ids[0]!);
  const rows: Record<string, string | number>[] = [];
  for (const { count, ids } of sagas) {
    const found: number[] = [];
    for (const id of ids.slice(1)) found.push(await wake(id));
    rows.push({
      sync,
      effect,
      turns: count,
      median: rounded(median(found)),
      least: rounded(Math.min(...found)),
      most: rounded(Math.max(...found)),
    });
  }
  await host.stop(1_000);
  return rows;
}
