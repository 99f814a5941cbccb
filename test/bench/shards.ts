/**
 * Shards: no-op steps with the ledgers over several streams against the same over one.
 *
 * Method: a server for each number of shards, alike but for that, each with a host in this process, and a worker where the effects
 * go through WORK: those steps are a message of INBOX and one of WORK, too, of which there is one stream each. Rounds are interleaved; the
 * ratio is taken round by round. The first round warms up. Not measured: servers on machines of their own, where a stream that
 * writes does not take the processor from its host.
 */
import { mintSagaId } from "../../protocol/ids.ts";
import { hostOn, openServer, startSaga, type Sync, workerOn } from "./bench-mesh.ts";
import { median, type Report, rounded, spread } from "./figures.ts";
import { noopApp, noopName, type Placement } from "./noop-saga.ts";

export interface ShardsOptions {
  readonly rounds: number;
  readonly syncs: readonly Sync[];
  readonly placements: readonly Placement[];
  readonly shards: readonly number[];
  readonly sagas: number;
  readonly steps: number;
}

export async function measureShards(options: ShardsOptions): Promise<Report> {
  const { rounds, sagas, steps } = options;
  const rows: Record<string, string | number>[] = [];
  for (const sync of options.syncs)
    for (const placement of options.placements) rows.push(...(await measure(sync, placement, options)));
  return {
    title: `${sagas} sagas of ${steps} no-op steps over several shards, ${rounds} rounds`,
    rows,
    notes: [
      "of one shard: steps per second as a part of those of the first row, median of rounds (least to most).",
    ],
  };
}

async function measure(
  sync: Sync,
  placement: Placement,
  { rounds, shards, sagas, steps }: ShardsOptions,
): Promise<Record<string, string | number>[]> {
  const meshes: Awaited<ReturnType<typeof openMesh>>[] = [];
  for (const count of shards) meshes.push(await openMesh(sync, count));
  try {
    const took = shards.map((): number[] => []);
    for (let round = 0; round <= rounds; round++)
      for (const [k, mesh] of meshes.entries()) {
        const ms = await mesh.run(sagas, steps, placement);
        if (round > 0) took[k]!.push(ms);
      }
    const [alone = []] = took;
    return took.map((all, k) => ({
      sync,
      effect: placement === "host" ? "in the host" : "through WORK",
      shards: shards[k]!,
      "steps/s": Math.round((sagas * steps * 1_000) / median(all)),
      "ms/step": rounded(median(all) / steps),
      "of one shard": spread(all.map((ms, round) => alone[round]! / ms)),
    }));
  } finally {
    for (const mesh of meshes) await mesh.close();
  }
}

async function openMesh(sync: Sync, shards: number) {
  const bench = await openServer(sync, { shards });
  let left = 0;
  let allEnded = () => {};
  const app = noopApp({ effect: "read" });
  const worker = await workerOn(bench.ports, app);
  const host = await hostOn(bench.ports, app, {
    turn: ({ state }) => {
      if (state.phase.kind === "ended" && --left === 0) allEnded();
    },
  });
  return {
    run: async (sagas: number, steps: number, placement: Placement): Promise<number> => {
      left = sagas;
      const ended = new Promise<void>((resolve) => (allEnded = resolve));
      const ids = Array.from({ length: sagas }, () => mintSagaId("noop", Date.now(), Math.random()));
      const startedAt = performance.now();
      await Promise.all(ids.map((id) => startSaga(bench.ports, id, noopName(placement), { steps })));
      await ended;
      return performance.now() - startedAt;
    },
    close: async () => {
      await host.stop(1_000);
      await worker.stop(1_000);
      await bench.close();
    },
  };
}
