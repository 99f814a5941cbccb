/**
 * Steps: how many no-op steps a host does, against the plain and the bare loop.
 *
 * Method: one server beside this process, host and worker in it. Rounds are interleaved, bare, plain and sagamesh
 * in turn, on the same server; the ratio is taken round by round and its median shown, because absolute figures
 * change with whatever else the machine does and ratios much less. The first round warms up and is thrown away.
 * A round lasts from the first publish of a start to the last end, so starting and ending is counted too.
 *
 * It does not measure: real effects or models (the effect is nothing), several hosts, a replicated server, a
 * network between host and server.
 */
import { mintSagaId } from "../../protocol/ids.ts";
import { declareBareStreams, runBareHost, runBareWorker } from "./bare-loop.ts";
import { type BenchServer, hostOn, openServer, startSaga, type Sync, workerOn } from "./bench-mesh.ts";
import { runPlainHost, runPlainWorker } from "./plain-loop.ts";
import { median, type Report, rounded, spread } from "./figures.ts";
import { noopApp, noopName, type Placement } from "./noop-saga.ts";

export interface StepsOptions {
  readonly rounds: number;
  readonly syncs: readonly Sync[];
  readonly placements: readonly Placement[];
  readonly sagas: readonly number[];
}

/** Steps of a whole round, so that it takes about a second on two cores. */
const stepsOfRound: Record<Placement, Record<Sync, { alone: number; together: number }>> = {
  host: { default: { alone: 4_000, together: 20_000 }, always: { alone: 1_000, together: 6_400 } },
  worker: { default: { alone: 1_200, together: 6_400 }, always: { alone: 400, together: 2_560 } },
};

export async function measureSteps(options: StepsOptions): Promise<Report> {
  const rows: Record<string, string | number>[] = [];
  for (const sync of options.syncs)
    for (const placement of options.placements)
      for (const sagas of options.sagas) rows.push(await measure(options.rounds, { sync, placement, sagas }));
  return {
    title: `No-op steps, sagamesh against the plain and the bare loop, ${options.rounds} rounds`,
    rows,
    notes: [
      "of plain: steps per second as a part of the plain loop's, the same messages on the client's own calls, median",
      "of rounds (least to most). Goal: 0.5 or more at 64 sagas; one saga at most twice its ms per step, which is the",
      "same figure. of bare: of the tightest loop we could write, without promises, Msg-Ids and timeouts.",
    ],
  };
}

interface Setting {
  readonly sync: Sync;
  readonly placement: Placement;
  readonly sagas: number;
}

async function measure(rounds: number, setting: Setting): Promise<Record<string, string | number>> {
  const { sync, placement, sagas } = setting;
  const bench = await openServer(sync);
  const counts = stepsOfRound[placement][sync];
  const steps = sagas === 1 ? counts.alone : Math.ceil(counts.together / sagas);
  const runBare = placement === "host" ? runBareHost : runBareWorker;
  const runPlain = placement === "host" ? runPlainHost : runPlainWorker;
  try {
    await declareBareStreams(bench.nc);
    const mesh = await startNoopMesh(bench);
    const bareMs: number[] = [];
    const plainMs: number[] = [];
    const meshMs: number[] = [];
    for (let round = 0; round <= rounds; round++) {
      const bare = await runBare(bench.nc, { sagas, steps });
      const plain = await runPlain(bench.nc, { sagas, steps });
      const own = await mesh.run({ placement, sagas, steps });
      if (round === 0) continue;
      bareMs.push(bare);
      plainMs.push(plain);
      meshMs.push(own);
    }
    await mesh.stop();
    const perSecond = (ms: number) => Math.round((sagas * steps * 1_000) / ms);
    return {
      sync,
      effect: placement === "host" ? "in the host" : "through WORK",
      sagas,
      "bare steps/s": perSecond(median(bareMs)),
      "plain steps/s": perSecond(median(plainMs)),
      "plain ms/step": rounded(median(plainMs) / steps),
      "steps/s": perSecond(median(meshMs)),
      "ms/step": rounded(median(meshMs) / steps),
      "of plain": spread(meshMs.map((ms, index) => plainMs[index]! / ms)),
      "of bare": spread(meshMs.map((ms, index) => bareMs[index]! / ms)),
    };
  } finally {
    await bench.close();
  }
}

/** Host and worker that stay up over the rounds. */
async function startNoopMesh({ ports }: BenchServer) {
  const app = noopApp();
  let ends = 0;
  let allEnded = () => {};
  const host = await hostOn(ports, app, {
    turn: ({ state }) => {
      if (state.phase.kind === "ended" && --ends === 0) allEnded();
    },
  });
  const worker = await workerOn(ports, app);
  return {
    run: async ({ placement, sagas, steps }: Omit<Setting, "sync"> & { steps: number }) => {
      ends = sagas;
      const ended = new Promise<void>((resolve) => (allEnded = resolve));
      const ids = Array.from({ length: sagas }, () => mintSagaId("noop", Date.now(), Math.random()));
      const startedAt = performance.now();
      await Promise.all(ids.map((id) => startSaga(ports, id, noopName(placement), { steps })));
      await ended;
      return performance.now() - startedAt;
    },
    stop: async () => {
      await host.stop(1_000);
      await worker.stop(1_000);
    },
  };
}
