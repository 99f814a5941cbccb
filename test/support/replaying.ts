/**
 * Replays as tests ask for them: a model by its name, no clock of their own.
 */
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../../services/app/app.ts";
import { type FreeRunOptions, replayFreely } from "../../services/replay/replay-freely.ts";
import { replayDecisions, type ReplayOptions } from "../../services/replay/step-by-step.ts";
import { pagesOfTurns } from "../../services/views/turn-pages.ts";
import { readConfig } from "../../services/runtime/config.ts";
import { replayPort } from "../../services/runtime/replay-port.ts";

const still = { now: () => 0, elapsed: () => 0, sleep: async () => undefined, after: () => () => undefined };

export const replayOptions = (app: App, model: string): ReplayOptions => ({
  model,
  port: replayPort(app, model, readConfig({}, {})),
  priceOf: app.priceOf,
  clock: still,
  signal: new AbortController().signal,
  progress: () => undefined,
});

export const stepwise = (
  app: App,
  turns: readonly Turn[],
  model = "own",
  more: Partial<ReplayOptions> = {},
) => replayDecisions(app, pagesOfTurns(turns), { ...replayOptions(app, model), ...more });

/** The run is kept turn by turn, beside what is told of it. */
export async function freely(
  app: App,
  turns: readonly Turn[],
  model = "own",
  more: Partial<FreeRunOptions> = {},
) {
  const decided: Turn[] = [];
  const { document, run } = await replayFreely(app, pagesOfTurns(turns), {
    ...{ ...replayOptions(app, model), onMiss: "stop", took: (turn: Turn) => void decided.push(turn) },
    ...more,
  });
  return { document, run: { ...run, turns: decided } };
}
