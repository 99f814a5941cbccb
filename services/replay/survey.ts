/**
 * Survey: what is found out of a ledger before any model is asked: that each request can be rebuilt, which decisions there are, and
 * what the recorded run came to.
 *
 * ZY1 Nothing that a model is asked costs anything before the whole ledger was folded and every request proven (DS1 of decisions.ts).
 * ZY2 A ledger is folded as it is read, by the definition that it began under; each move to another one is one reading more.
 * ZY3 Of a decision that is kept which it is, and of its answer what is asked for: no turn, no request.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { definitionOf } from "../../actors/kernel/replay.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import { servedBy, type Segment, findingSegments } from "../views/segments.ts";
import { servedAs } from "../views/folded.ts";
import { type TurnPages, turnsThrough } from "../views/turn-pages.ts";
import {
  assertProven,
  createHearing,
  type RecordedAnswer,
  readingDecisions,
  type ToldDecision,
} from "./decisions.ts";
import { type Summed, summing } from "./summed.ts";

/** What was decided under one definition. */
export interface SurveyedSegment<T> extends Segment {
  readonly by: Definition;
  readonly asked: readonly Pick<ToldDecision, "intent" | "turn" | "step">[];
  /** What was kept of the answers to them that count, as far as it goes. */
  readonly heard: ReadonlyMap<IntentId, T>;
}

export interface Survey<T> {
  readonly first: Turn;
  readonly turns: number;
  readonly segments: readonly SurveyedSegment<T>[];
  /** Of answers to what decides nothing. */
  readonly summaries: ReadonlyMap<IntentId, T>;
  readonly recorded: Summed;
}

export interface Surveying<T> {
  /** That the ledger goes on under. Throws VERSION_UNSERVED. */
  readonly served: () => Definition;
  /** Throws VERSION_UNSERVED, FOLD_DIVERGED, LEDGER_BROKEN. */
  readonly proven: () => Promise<Survey<T>>;
}

/** Says what is kept of an answer. */
export type Keep<T> = (answer: RecordedAnswer, turn: Turn) => T;

/** Reads a ledger. Throws as that does, and LEDGER_BROKEN for one without a start. */
export async function surveyLedger<T>(app: App, ledger: TurnPages, keep: Keep<T>): Promise<Surveying<T>> {
  const [finder, sum] = [findingSegments(), summing()];
  const summaries = keepingHeard(keep, isSummary);
  let began: ReturnType<typeof surveying<T>> | undefined;
  let first: Turn | undefined;
  let [turns, isMoved] = [0, false];
  for await (const turn of turnsThrough(ledger)) {
    first ??= turn;
    began ??= surveying(app.definition(definitionOf(first)), 1, keep);
    turns = turn.turn;
    for (const taker of [finder, sum, summaries]) taker.take(turn);
    isMoved ||= turn.steps.some(({ event }) => event.type === "migrated");
    if (!isMoved) began.take(turn); // ZY2
  }
  if (first === undefined || began === undefined)
    throw new MeshError("LEDGER_BROKEN", "a ledger has at least one turn");
  const { saga } = first;
  const [found, start] = [finder.segments(), { first, began }];
  return {
    served: () => servedAs(app, saga, found.at(-1)?.definition ?? found[0].definition),
    proven: async () => {
      const segments: SurveyedSegment<T>[] = [];
      for (const [k, segment] of found.entries()) {
        const by = servedBy(app, { saga }, segment);
        const own = k === 0 ? start.began : surveying(by, segment.from, keep);
        if (k > 0) for await (const turn of turnsThrough(ledger, segment.to)) own.take(turn);
        segments.push({ ...segment, by, ...own.end() });
      }
      return { first: start.first, turns, segments, summaries: summaries.heard, recorded: sum.sum() };
    },
  };
}

const isSummary = ({ input }: IntentOf<"model">): boolean => input !== undefined;

function keepingHeard<T>(keep: Keep<T>, isMeant?: (intent: IntentOf<"model">) => boolean) {
  const hearing = createHearing(isMeant);
  const heard = new Map<IntentId, T>();
  return {
    heard,
    take: (turn: Turn) => {
      for (const { intent, answer } of hearing.take(turn)) heard.set(intent, keep(answer, turn));
    },
  };
}

/** Folds by one definition, and proves what was asked under it. What is wrong is told at the end; without a definition nothing is. */
function surveying<T>(definition: Definition | undefined, from: number, keep: Keep<T>) {
  const reader = definition && readingDecisions(definition, from);
  const answers = keepingHeard(keep);
  const asked: Pick<ToldDecision, "intent" | "turn" | "step">[] = [];
  let fault: unknown;
  let unproven: unknown;
  return {
    take: (turn: Turn) => {
      if (reader === undefined || fault !== undefined) return;
      answers.take(turn);
      try {
        for (const request of reader.take(turn)) {
          const { intent, step } = request;
          asked.push({ intent, turn: request.turn, step });
          unproven ??= faultOf(() => assertProven(request));
        }
      } catch (error) {
        fault = error;
      }
    },
    end: () => {
      const wrong = fault ?? unproven;
      if (wrong !== undefined) throw wrong as Error; // Proof: what was thrown above.
      return { asked, heard: answers.heard };
    },
  };
}

function faultOf(act: () => void): unknown {
  try {
    act();
    return undefined;
  } catch (error) {
    return error;
  }
}
