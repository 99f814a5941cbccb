/**
 * Hop: what a signal costs while hosts differ, to a saga whose partition's host serves it, and to one whose signal is
 * handed on.
 *
 * Method: two hosts of two versions with a connection each, and sagas of the second version on all partitions, awake. Each
 * is sent one signal after the other, in turn; the clock runs from before the publish until its host has the ack of the turn.
 * Which are handed on is told by one signal before. Medians of the same moments, so that what the machine does meanwhile
 * falls on both.
 *
 * It does not measure: hosts on two machines, where the hop takes one round trip of their network more.
 */
import { setup } from "xstate";
import { z } from "zod";
import { defineSaga } from "../../actors/saga/define.ts";
import { defineApp } from "../../services/app/app.ts";
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import { systemClock } from "../../services/runtime/system.ts";
import { hostOn, openServer, sendSignal, startSaga, type Sync, until } from "./bench-mesh.ts";
import { median, type Report, rounded, spread } from "./figures.ts";

const sagasCount = 16;

/** Rings, and does nothing else. */
const bellOf = (version: number) =>
  defineApp({
    sagas: [
      defineSaga({
        ...{
          name: "bell",
          version,
          input: z.object({}),
          output: z.object({}),
          signals: { ring: z.object({}) },
        },
        machine: setup({}).createMachine({
          id: "bell",
          initial: "still",
          states: { still: { on: { ring: { target: "still", reenter: true } } } },
        }),
      }),
    ],
  });

export async function measureHop(options: { rounds: number; syncs: readonly Sync[] }): Promise<Report> {
  const rows: Report["rows"][number][] = [];
  for (const sync of options.syncs) rows.push({ sync, ...(await measureOn(sync, options.rounds)) });
  return {
    title: `Milliseconds from a signal to its turn while hosts differ, ${options.rounds} rounds over ${sagasCount} sagas`,
    rows,
    notes: ["handed on / own: the ratio of the medians; extremes in brackets are of the rounds' medians"],
  };
}

async function measureOn(sync: Sync, rounds: number): Promise<Record<string, string | number>> {
  const bench = await openServer(sync);
  const other = await connectNats({ servers: bench.server.url, name: "bench-2" });
  const ports = await openNatsPorts(other);
  let hops = 0;
  let turned: (() => void) | undefined;
  const observe = { turn: () => turned?.(), handedOn: () => void (hops += 1) };
  const hosts = [await hostOn(bench.ports, bellOf(1), observe), await hostOn(ports, bellOf(2), observe)];
  try {
    await until("both have partitions", () => hosts.every((host) => host.partitions().length > 0));
    const sagas = Array.from({ length: sagasCount }, (_, n) => `bell-${n}`);
    const turnAfter = async (act: () => Promise<void>): Promise<number> => {
      const acked = new Promise<void>((resolve) => (turned = resolve));
      const begun = performance.now();
      await act();
      await acked;
      return performance.now() - begun;
    };
    const ring = (saga: string) => turnAfter(() => sendSignal(bench.ports, saga, "ring", {}));
    const guests = new Set<string>();
    for (const saga of sagas) {
      await turnAfter(() => startSaga(bench.ports, saga, "bell", {}));
      hops = 0;
      await ring(saga);
      await systemClock.sleep(100); // The answer to the hop may come after the turn.
      if (hops > 0) guests.add(saga);
    }
    const own: number[] = [];
    const handedOn: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const times = new Map<string, number>();
      for (const saga of sagas) times.set(saga, await ring(saga));
      const of = (areGuests: boolean) =>
        median([...times].flatMap(([saga, ms]) => (guests.has(saga) === areGuests ? [ms] : [])));
      handedOn.push(of(true));
      own.push(of(false));
    }
    return {
      own: spread(own),
      "handed on": spread(handedOn),
      "handed on / own": rounded(median(handedOn.map((ms, round) => ms / (own[round] ?? Number.NaN)))),
    };
  } finally {
    await Promise.all(hosts.map((host) => host.stop(1_000)));
    await ports.close();
    await other.close();
    await bench.close();
  }
}
