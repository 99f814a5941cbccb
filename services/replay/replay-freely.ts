/**
 * Replay freely: a ledger's saga run anew with another model, and the two runs compared.
 *
 * KR1 While a run follows the record nothing of either is kept but what the report shows. What became of the recorded calls is read
 *     once it leaves, and if it does.
 */
import { createCallReader } from "../ledger/recorded-results.ts";
import type { ReplayDocument } from "../../protocol/documents/replay.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import { type TurnPages, turnsThrough } from "../views/turn-pages.ts";
import { type Answers, createAnswers, median, type OnMiss, type StandIns } from "./answers.ts";
import { type RecordedAnswer, type ToldDecision, unanswered } from "./decisions.ts";
import { createDeciding } from "./deciding.ts";
import { type FreeRun, runFreely } from "./free-run.ts";
import { documentOf } from "./report.ts";
import { newRun, type Run } from "./run.ts";
import { normalizerOf, type ReplayOptions } from "./step-by-step.ts";
import { summing } from "./summed.ts";
import { surveyLedger, type SurveyedSegment } from "./survey.ts";
import { isVaried, variationDocument, variedDefinition } from "./variation.ts";

export interface FreeRunOptions extends ReplayOptions {
  readonly onMiss: OnMiss;
  readonly standIns?: StandIns;
  /** Decisions at most; three times as many as were recorded, and 20, unless given. */
  readonly stepsMax?: number | undefined;
  readonly leaveAfter?: number;
  /** Is given each turn of the run as it is decided. */
  readonly took?: (turn: Turn) => void;
}

/** The same errors as `replayDecisions`. Beside the document, the run as it stands at its end. */
export async function replayFreely(
  app: App,
  ledger: TurnPages,
  options: FreeRunOptions,
): Promise<{ document: ReplayDocument; run: Run }> {
  const { variation = {}, onMiss, standIns, model, took } = options;
  const { served, proven } = await surveyLedger(app, ledger, (answer) => answer);
  const definition = variedDefinition(served(), variation);
  const { turns, segments, summaries, recorded } = await proven();
  const decisions = segments.flatMap(toldIn);
  const normalize = normalizerOf(definition, options.ignored);
  const sum = summing();
  const run = newRun(definition, recorded.saga, (turn) => {
    sum.take(turn);
    took?.(turn);
  });
  const deciding = createDeciding(run, {
    ...{ options, normalize, isVaried: isVaried(variation), recorded: decisions, summaries },
  });
  const latencies = decisions.flatMap(({ reply, latencyMs }) =>
    reply === undefined || latencyMs === undefined ? [] : [latencyMs],
  );
  const usual = median(latencies) ?? 1_000;
  let answers: Answers | undefined;
  const went: FreeRun = await runFreely(run, turnsThrough(ledger, turns), {
    ...{ ask: deciding.ask, signal: options.signal },
    answersFrom: async (turn) => {
      const calls = createCallReader();
      for await (const one of turnsThrough(ledger, turns)) calls.take(one);
      const { settled, unanswered: others } = calls.calls();
      answers = createAnswers([...settled, ...others], run, {
        ...{ onMiss, normalize },
        ...(standIns === undefined ? {} : { standIns }),
      });
      answers.leave(turn);
      return answers;
    },
    modelMs: (n) => latencies[n] ?? usual,
    turnsMax: 10 * turns + 200,
    decisionsMax: options.stepsMax ?? 3 * decisions.length + 20,
    leaveAfter: options.leaveAfter,
  });
  const origins = new Map([...(answers?.given ?? [])].map(([id, { from }]) => [id, from]));
  const document = documentOf(recorded, deciding.decisions(), {
    ...{ mode: "free-run", model, normalize, run: { summed: sum.sum(), origins }, others: deciding.others },
    ...variationDocument(variation, definition),
    ...went,
  });
  return { document, run };
}

const toldIn = ({ asked, heard }: SurveyedSegment<RecordedAnswer>): ToldDecision[] =>
  asked.map((one) => ({ ...one, ...(heard.get(one.intent.id) ?? unanswered) }));
