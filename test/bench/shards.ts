/**
 * Shards: no-op steps with the ledgers over several streams against the same over one.
 *
 * Method: a server for each number of shards, alike but for that, each with a host in this process. Rounds are interleaved; the
 * ratio is taken round by round. The first round warms up. Not measured: servers on machines of their own, where a stream that
 * writes does not take the processor from its host.
 */
import { mintSagaId } from "../../protocol/ids.ts";
import { hostOn, openServer, startSaga, type Sync } from "./bench-mesh.ts";
import { median, type Report, rounded, spread } from "./figures.ts";
import { noopApp, noopName } from "./noop-saga.ts";

export interface ShardsOptions {
  readonly rounds: number;
  readonly syncs: readonly Sync[];
  readonly shards: readonly number[];
  readonly sagas: number;
  readonly steps: number;
}

export async function measureShards({ rounds, syncs, shards, sagas, steps }: ShardsOptions): Promise<Report> {
  const rows: Record<string, string | number>[] = [];
  for (const sync of syncs) {
    const meshes = [];
    for (const count of shards) meshes.push(await openMesh(sync, count));
    try {
      const took = shards.map((): number[] => []);
      for (let round = 0; round <= rounds; round++)
        for (const [k, mesh] of meshes.entries()) {
          const ms = await mesh.run(sagas, steps);
          if (round > 0) took[k]!.push(ms);
        }
      const [alone = []] = took;
      for (const [k, all] of took.entries())
        rows.push({
          ...{ sync, shards: shards[k]! },
          "steps/s": Math.round((sagas * steps * 1_000) / median(all)),
          "ms/step": rounded(median(all) / steps),
          "of one shard": spread(all.map((ms, round) => alone[round]! / ms)),
        });
    } finally {
      for (const mesh of meshes) await mesh.close();
    }
  }
  return {
    title: `${sagas} sagas of ${steps} no-op steps over several shards, ${rounds} rounds`,
    rows,
    notes: [
      "of one shard: steps per second as a part of those of the first row, median of rounds (least to most).",
    ],
  };
}

async function openMesh(sync: Sync, shards: number) {
  const bench = await openServer(sync, { shards });
  let left = 0;
  let allEnded = () => {};
  const host = await hostOn(bench.ports, noopApp({ effect: "read" }), {
    turn: ({ state }) => {
      if (state.phase.kind === "ended" && --left === 0) allEnded();
    },
  });
  return {
    run: async (sagas: number, steps: number): Promise<number> => {
      left = sagas;
      const ended = new Promise<void>((resolve) => (allEnded = resolve));
      const ids = Array.from({ length: sagas }, () => mintSagaId("noop", Date.now(), Math.random()));
      const startedAt = performance.now();
      await Promise.all(ids.map((id) => startSaga(bench.ports, id, noopName("host"), { steps })));
      await ended;
      return performance.now() - startedAt;
    },
    close: async () => {
      await host.stop(1_000);
      await bench.close();
    },
  };
}
