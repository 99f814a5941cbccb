/**
 * Decisions: what a ledger's models were asked, with the request rebuilt and proven, and what came of each, as its turns are read.
 *
 * DS1 A request is rebuilt from the ledger, and its digest must equal the recorded one; if not, nothing is asked.
 * DS2 Decisions are told in the order in which they were asked for, each once what came back for it is known: one that waits holds
 *     back those behind it. Where its answer stands was found before (`createHearing`), so one that never got any holds back none.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import type { Growing } from "../../actors/kernel/folding.ts";
import { foldTurn } from "../../actors/kernel/replay.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { Result } from "../../protocol/result.ts";
import type { Turn } from "../../protocol/turn.ts";
import { createRequestReader, type RecordedRequest } from "../views/requests.ts";

/** Where a reply stands in its ledger. */
export interface ReplyPlace {
  readonly turn: Turn;
  /** Of the step that holds it. */
  readonly step: number;
  /** What the turns before it fold to. */
  readonly before: () => SagaState | undefined;
}

/** What a ledger holds for a model's intent. */
export interface RecordedAnswer {
  readonly reply: ModelReply | undefined;
  /** Why there is no reply. */
  readonly without: string;
  /** From the turn that asked to the turn that heard: throttles, attempts and their pauses included. */
  readonly latencyMs: number | undefined;
}

/** A decision as its ledger tells of it. */
export interface ToldDecision extends RecordedAnswer {
  readonly intent: IntentOf<"model">;
  readonly turn: number;
  /** Among the decisions, from 1. */
  readonly step: number;
}

/** One recorded decision: what was sent, and what came back if anything did. */
export interface RecordedDecision extends RecordedRequest, RecordedAnswer {
  readonly step: number;
  readonly answered: ReplyPlace | undefined;
  /** By which it was asked for. */
  readonly definition: Definition;
}

export const unanswered: RecordedAnswer = {
  reply: undefined,
  without: "it has not been answered yet",
  latencyMs: undefined,
};

/** An answer of a model, where it stands. */
export interface Heard {
  readonly intent: IntentId;
  readonly answer: RecordedAnswer;
  /** Of the turn that is read. */
  readonly step: number;
}

/** Hears what comes back for calls of models: the first success counts, a later report of a cost does not. */
export interface Hearing {
  /** What the next turn says. Of several answers of one call the one that is heard last counts. */
  take(turn: Turn): Heard[];
}

/** Nothing was heard yet. Only those calls are listened for that are meant. */
export function createHearing(isMeant: (intent: IntentOf<"model">) => boolean = () => true): Hearing {
  /** When those were asked that have no reply. */
  const askedAt = new Map<IntentId, number>();
  return {
    take: (turn) =>
      turn.steps.flatMap(({ event, intents }, step) => {
        for (const intent of intents)
          if (intent.kind === "model" && isMeant(intent)) askedAt.set(intent.id, turn.at);
        const since = event.type === "result" ? askedAt.get(event.intent) : undefined;
        if (event.type !== "result" || since === undefined) return [];
        const answer = { ...answerIn(event.result), latencyMs: turn.at - since };
        if (answer.reply !== undefined) askedAt.delete(event.intent);
        return [{ intent: event.intent, answer, step }];
      }),
  };
}

/** A result as an answer of a model. */
function answerIn(result: Result): Omit<RecordedAnswer, "latencyMs"> {
  if (result.outcome !== "succeeded")
    return { reply: undefined, without: `${result.outcome}: ${result.reason}` };
  return { reply: ModelReply.safeParse(result.output).data, without: "its reply is malformed" };
}

/** A request of a decision, with its number among them; summaries decide nothing and have none. */
export type AskedDecision = RecordedRequest & Pick<ToldDecision, "step">;

/** Rebuilds what the decisions of a ledger were asked with, by one definition. */
export interface DecisionReader {
  /** Those of the next turn. Throws FOLD_DIVERGED and LEDGER_BROKEN as the fold does. */
  take(turn: Turn): AskedDecision[];
  /** What the turns taken fold to, which no later turn changes. */
  standing(): () => SagaState | undefined;
}

/** With `from` only those from that turn on: what was decided before was another definition's. */
export function readingDecisions(definition: Definition, from = 1): DecisionReader {
  const growing: Growing = new WeakSet();
  let state: SagaState | undefined;
  let step = 0;
  const requests = createRequestReader(definition, (turn) => {
    const folded = foldTurn(
      definition,
      state,
      turn,
      turn.turn < from ? "but for requests" : "strict",
      growing,
    );
    state = folded.state;
    return folded;
  });
  return {
    take: (turn) =>
      requests.take(turn).flatMap((request) => {
        if (request.isSummary) return [];
        step += 1;
        return turn.turn < from ? [] : [{ ...request, step }];
      }),
    standing: () => asItIs(state),
  };
}

/** The list of what stands grows at its end for all turns of the fold: a state is kept with how much of it was its own. */
function asItIs(state: SagaState | undefined): () => SagaState | undefined {
  if (state === undefined) return () => undefined;
  const { length } = state.effects;
  return () => ({ ...state, effects: state.effects.slice(0, length) });
}

/** Throws FOLD_DIVERGED unless the rebuilt request is the recorded one (DS1). */
export function assertProven({
  intent,
  turn,
  digest,
}: Pick<RecordedRequest, "intent" | "turn" | "digest">): void {
  if (digest !== intent.request)
    throw new MeshError(
      "FOLD_DIVERGED",
      `the request of ${intent.id} in turn ${turn} cannot be rebuilt: recorded is ${intent.request}, rebuilt ${digest}`,
    );
}

/** Tells decisions as the turns of their ledger are read (DS2). */
export interface DecisionTeller {
  /** Those that are told with this turn. Throws as `DecisionReader.take`. */
  take(turn: Turn): RecordedDecision[];
}

/** A decision that is not told yet. */
interface Waiting {
  readonly asked: AskedDecision;
  /** Undefined until it is known. */
  answer: Omit<RecordedDecision, keyof AskedDecision> | undefined;
}

/** By one definition; `heard` holds the turns in which the answers that count came. */
export function tellingDecisions(
  definition: Definition,
  heard: ReadonlyMap<IntentId, number>,
  from = 1,
): DecisionTeller {
  const reader = readingDecisions(definition, from);
  const hearing = createHearing();
  const waiting = new Map<IntentId, Waiting>();
  const none = { ...unanswered, answered: undefined, definition };
  const hear = (turn: Turn) => {
    let before: ReturnType<DecisionReader["standing"]> | undefined;
    for (const { intent, answer, step } of hearing.take(turn)) {
      const one = waiting.get(intent);
      if (one === undefined || heard.get(intent) !== turn.turn) continue;
      before ??= reader.standing();
      one.answer = { ...answer, answered: { turn, step, before }, definition };
    }
  };
  return {
    take: (turn) => {
      hear(turn);
      for (const asked of reader.take(turn)) {
        const { id } = asked.intent;
        waiting.set(id, { asked, answer: heard.has(id) ? undefined : none });
      }
      const told: RecordedDecision[] = [];
      for (const [id, { asked, answer }] of waiting) {
        if (answer === undefined) break;
        waiting.delete(id);
        told.push({ ...asked, ...answer });
      }
      return told;
    },
  };
}

/**
 * Every decision of turns at hand, in pieces of a turn each. With `from` only those from that turn on. Throws as `DecisionReader.take`,
 * and FOLD_DIVERGED for a request that cannot be rebuilt.
 */
export function* recordedDecisions(
  definition: Definition,
  turns: readonly Turn[],
  from = 1,
): Generator<undefined, RecordedDecision[]> {
  const hearing = createHearing();
  const heard = new Map<IntentId, number>();
  for (const turn of turns) for (const { intent } of hearing.take(turn)) heard.set(intent, turn.turn);
  const teller = tellingDecisions(definition, heard, from);
  const decisions: RecordedDecision[] = [];
  for (const turn of turns) {
    for (const decision of teller.take(turn)) decisions.push(decision);
    yield;
  }
  for (const decision of decisions) assertProven(decision);
  return decisions;
}
