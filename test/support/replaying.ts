/**
 * Replays as tests ask for them: a model by its name, no clock of their own.
 */
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../../services/app/app.ts";
import { type FreeRunOptions, replayFreely } from "../../services/replay/replay-freely.ts";
import { replayDecisions, type ReplayOptions } from "../../services/replay/step-by-step.ts";
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
) => replayDecisions(app, turns, { ...replayOptions(app, model), ...more });

export const freely = (app: App, turns: readonly Turn[], model = "own", more: Partial<FreeRunOptions> = {}) =>
  replayFreely(app, turns, { ...replayOptions(app, model), onMiss: "stop", ...more });
