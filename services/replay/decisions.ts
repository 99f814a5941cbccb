/**
 * Decisions: what a ledger's models were asked, with the request rebuilt and proven, and what came of each.
 *
 * DS1 A request is rebuilt from the ledger, and its digest must equal the recorded one; if not, nothing is asked.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import type { Growing } from "../../actors/kernel/folding.ts";
import { foldTurn } from "../../actors/kernel/replay.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { IntentId } from "../../protocol/ids.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import { type RecordedRequest, requestsOf } from "../views/requests.ts";
import { segmentsOf, servedBy } from "../views/segments.ts";

/** Where a reply stands in its ledger. */
export interface ReplyPlace {
  readonly turn: Turn;
  /** Of the step that holds it. */
  readonly step: number;
  /** What the turns before it fold to; undefined where that was not kept. */
  readonly before: () => SagaState | undefined;
}

/** What a ledger holds for a model's intent. */
export interface RecordedAnswer {
  readonly reply: ModelReply | undefined;
  /** Why there is no reply. */
  readonly without: string;
  readonly answered: ReplyPlace | undefined;
  /** From the turn that asked to the turn that heard: throttles, attempts and their pauses included. */
  readonly latencyMs: number | undefined;
}

/** One recorded decision: what was sent, and what came back if anything did. */
export interface RecordedDecision extends RecordedRequest, RecordedAnswer {
  readonly step: number;
  /** By which it was asked for. */
  readonly definition: Definition;
}

/** Every decision of a ledger, whatever definitions it was moved to. Throws VERSION_UNSERVED where one is not served. */
export function* everyDecision(app: App, turns: readonly Turn[]): Generator<undefined, RecordedDecision[]> {
  const decisions: RecordedDecision[] = [];
  for (const segment of segmentsOf(turns)) {
    const definition = servedBy(app, { saga: turns[0]?.saga ?? "" }, segment);
    const recorded = yield* recordedDecisions(definition, turns.slice(0, segment.to), segment.from);
    for (const decision of recorded) decisions.push(decision);
  }
  return decisions;
}

/**
 * Every decision of a ledger with its request rebuilt (DS1); the summaries between them decide nothing. With `from` only
 * those from that turn on: what was decided before was another definition's.
 */
export function* recordedDecisions(
  definition: Definition,
  turns: readonly Turn[],
  from = 1,
): Generator<undefined, RecordedDecision[]> {
  const states = new Map<number, () => SagaState>();
  const asked = new Set<IntentId>();
  const growing: Growing = new WeakSet();
  let state: SagaState | undefined;
  const requests = yield* requestsOf(definition, turns, (turn) => {
    if (
      state !== undefined &&
      turn.steps.some(({ event }) => event.type === "result" && asked.has(event.intent))
    )
      states.set(turn.turn, asItIs(state));
    for (const { intents } of turn.steps)
      for (const { kind, id } of intents) if (kind === "model") asked.add(id);
    const how = turn.turn < from ? "but for requests" : "strict";
    const folded = foldTurn(definition, state, turn, how, growing);
    state = folded.state;
    return folded;
  });
  const answers = recordedAnswers(turns, (turn) => states.get(turn.turn));
  return requests
    .filter(({ isSummary }) => !isSummary)
    .map((request, index) => ({ ...request, step: index + 1 }))
    .filter(({ turn }) => turn >= from)
    .map((request) => {
      assertProven(request);
      return { ...request, ...(answers.get(request.intent.id) ?? unanswered), definition };
    });
}

/** The list of what stands grows at its end for all turns of the fold: a state is kept with how much of it was its own. */
function asItIs(state: SagaState): () => SagaState {
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

const nothing = () => undefined;

export const unanswered: RecordedAnswer = {
  reply: undefined,
  without: "it has not been answered yet",
  answered: undefined,
  latencyMs: undefined,
};

/** What came back for each intent that can have a reply: the first success counts, a later report of a cost does not. */
export function recordedAnswers(
  turns: readonly Turn[],
  stateBefore: (turn: Turn) => (() => SagaState) | undefined = () => undefined,
): Map<IntentId, RecordedAnswer> {
  const answers = new Map<IntentId, RecordedAnswer>();
  const askedAt = new Map<IntentId, number>();
  for (const turn of turns)
    for (const [step, { event, intents }] of turn.steps.entries()) {
      for (const { kind, id } of intents) if (kind === "model") askedAt.set(id, turn.at);
      if (event.type !== "result" || answers.get(event.intent)?.reply !== undefined) continue;
      const { result } = event;
      const read = result.outcome === "succeeded" ? ModelReply.safeParse(result.output) : undefined;
      const without =
        result.outcome === "succeeded" ? "its reply is malformed" : `${result.outcome}: ${result.reason}`;
      answers.set(event.intent, {
        reply: read?.data,
        without,
        answered: { turn, step, before: stateBefore(turn) ?? nothing },
        latencyMs: turn.at - (askedAt.get(event.intent) ?? turn.at),
      });
    }
  return answers;
}
