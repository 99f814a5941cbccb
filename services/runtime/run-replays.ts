/**
 * Run replays: a run over many sagas, on a server of its own. It hosts nothing but itself, so no mesh's sagas come here
 * and none of it goes there.
 */
import { join } from "node:path";
import { implement } from "../../actors/tool.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { ReplayedOrFault } from "../../protocol/replay-document.ts";
import type { Turn } from "../../protocol/turn.ts";
import { defineApp } from "../app.ts";
import { createClient } from "../client/mesh.ts";
import { readLedger } from "../client/view.ts";
import { startHost } from "../host/host.ts";
import { silentLog } from "../log.ts";
import { withPatientReads } from "../patient-ports.ts";
import { type BatchInput, replayOne, replayRun } from "../replay/batch.ts";
import { openMesh } from "./mesh.ts";
import { newIncarnation, systemChance, systemClock } from "./system.ts";

export interface ReplayRunOptions {
  readonly run: SagaId;
  readonly input: BatchInput;
  /** The folder of all runs; their server is in it. */
  readonly folder: string;
  /** Replays one saga. A retriable error is an attempt, any other the saga's own fault. */
  readonly replay: (saga: SagaId) => Promise<ReplayedOrFault>;
  /** Told of each saga that is done, with how many are. */
  readonly onDone: (done: number) => void;
  readonly signal: AbortSignal;
  readonly report: (line: string) => void;
}

/** How long what is under way gets when the run is called off. */
const graceMs = 1_000;

/**
 * Starts the run, or goes on with it, until it ends or the signal comes; its ledger so far. A process that dies in its
 * middle loses what was under way and nothing else. Throws what opening a server throws.
 */
export async function runReplays(options: ReplayRunOptions): Promise<Turn[]> {
  const { run, input, folder, signal } = options;
  const mesh = await openMesh({
    dataDir: join(folder, "server"),
    name: `sagamesh replays ${process.pid}`,
    report: options.report,
    signal,
  });
  const ports = withPatientReads(mesh.ports, systemClock);
  const common = { ports, clock: systemClock, chance: systemChance };
  const implementations = [implement(replayOne, { perform: ({ saga }) => options.replay(saga) })];
  const app = defineApp({ sagas: [replayRun], implementations });
  try {
    const host = await startHost(
      { ...common, log: silentLog, incarnation: newIncarnation("replays"), callbackBase: "sagamesh:" },
      app,
    );
    try {
      const client = createClient({ ...common, from: "replays" }, () => Promise.resolve());
      const handle = await client.start(replayRun, input, { id: run });
      let done = 0;
      // Its own end, and not the run's: that one may have ended already, or never begin.
      for await (const { steps } of handle.entries({ signal }))
        for (const { event } of steps) if (event.type === "result") options.onDone(++done);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await host.stop(graceMs);
    }
    return (await readLedger(ports, run)).map(({ turn }) => turn);
  } finally {
    await mesh.close();
  }
}
