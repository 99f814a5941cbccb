/**
 * Run replays: a run over many sagas, on a server of its own. It hosts nothing but itself, so no mesh's sagas come here
 * and none of it goes there.
 */
import { implement } from "../../actors/contract/tool.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { ReplayedOrFault } from "../../protocol/documents/replay.ts";
import type { Turn } from "../../protocol/turn.ts";
import { defineApp } from "../app/app.ts";
import { readLedger } from "../views/view.ts";
import { type BatchInput, replayOne, replayRun } from "../replay/batch.ts";
import { withOwnHost } from "./own-host.ts";

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
  const { run, input, signal } = options;
  const implementations = [implement(replayOne, { perform: ({ saga }) => options.replay(saga) })];
  const app = defineApp({ sagas: [replayRun], implementations });
  return withOwnHost(
    { ...options, name: "replays", app, graceMs },
    async ({ client }) => {
      const handle = await client.start(replayRun, input, { id: run });
      let done = 0;
      // Its own end, and not the run's: that one may have ended already, or never begin.
      for await (const { steps } of handle.entries({ signal }))
        for (const { event } of steps) if (event.type === "result") options.onDone(++done);
    },
    async ({ ports }) => (await readLedger(ports, run)).map(({ turn }) => turn),
  );
}
