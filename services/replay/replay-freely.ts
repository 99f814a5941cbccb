/**
 * Replay freely: a ledger's saga run anew with another model, and the two runs compared.
 */
import { recordedCalls, unansweredCalls } from "../ledger/recorded-results.ts";
import type { ReplayDocument } from "../../protocol/documents/replay.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import { servedDefinition } from "../views/folded.ts";
import { createAnswers, median, type OnMiss, type StandIns } from "./answers.ts";
import { everyDecision, recordedAnswers } from "./decisions.ts";
import { createDeciding } from "./deciding.ts";
import { type FreeRun, runFreely } from "./free-run.ts";
import { documentOf } from "./report.ts";
import { newRun, type Run } from "./run.ts";
import { normalizerOf, type ReplayOptions } from "./step-by-step.ts";
import { isVaried, variationDocument, variedDefinition } from "./variation.ts";
import { inPieces, processLoop } from "../wire/loop.ts";

export interface FreeRunOptions extends ReplayOptions {
  readonly onMiss: OnMiss;
  readonly standIns?: StandIns;
  /** Decisions at most; three times as many as were recorded, and 20, unless given. */
  readonly stepsMax?: number | undefined;
  readonly leaveAfter?: number;
}

/** The same errors as `replayDecisions`. The run is given back beside the document: what it decided, turn by turn. */
export async function replayFreely(
  app: App,
  turns: readonly Turn[],
  options: FreeRunOptions,
): Promise<{ document: ReplayDocument; run: Run }> {
  const recorded = servedDefinition(app, turns);
  const { variation = {}, onMiss, standIns, model } = options;
  const definition = variedDefinition(recorded, variation);
  const decisions = await inPieces(processLoop, everyDecision(app, turns));
  const normalize = normalizerOf(definition, options.ignored);
  const [first] = turns as [Turn, ...Turn[]]; // Proof: servedDefinition threw if there is no turn.
  const run = newRun(definition, first.saga);
  const answers = createAnswers([...recordedCalls(turns), ...unansweredCalls(turns)], run, {
    ...{ onMiss, normalize },
    ...(standIns === undefined ? {} : { standIns }),
  });
  const deciding = createDeciding(run, {
    ...{ options, normalize, isVaried: isVaried(variation), recorded: decisions },
    answers: recordedAnswers(turns),
  });
  const took = decisions.flatMap(({ reply, latencyMs }) =>
    reply === undefined || latencyMs === undefined ? [] : [latencyMs],
  );
  const went: FreeRun = await runFreely(run, turns, {
    ...{ answers, ask: deciding.ask, signal: options.signal },
    modelMs: (n) => took[n] ?? median(took) ?? 1_000,
    turnsMax: 10 * turns.length + 200,
    decisionsMax: options.stepsMax ?? 3 * decisions.length + 20,
    leaveAfter: options.leaveAfter,
  });
  const origins = new Map([...answers.given].map(([id, { from }]) => [id, from]));
  const document = documentOf(turns, deciding.decisions(), {
    ...{ mode: "free-run", model, normalize, run: { turns: run.turns, origins }, others: deciding.others },
    ...variationDocument(variation, definition),
    ...went,
  });
  return { document, run };
}
