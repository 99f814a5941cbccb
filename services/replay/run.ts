/**
 * Run: a saga decided anew in memory, turn by turn, by the pure fold. Nothing of it is written anywhere.
 */
import { accept } from "../../actors/kernel/accept.ts";
import type { Definition, BuiltRequest } from "../../actors/contract/definition.ts";
import { decideTurn } from "../../actors/kernel/fold.ts";
import type { Growing } from "../../actors/kernel/folding.ts";
import type { OpenIntent, SagaState } from "../../actors/contract/state.ts";
import { keepSaid } from "../../actors/request/conversation.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { Event } from "../../protocol/event.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { ModelMessage } from "../../protocol/model.ts";
import { ledgerVersion, type Step, type Turn } from "../../protocol/turn.ts";

/** A call as it was made. */
interface Made {
  readonly name: string;
  readonly input: Json;
}

export interface Run {
  readonly definition: Definition;
  readonly saga: SagaId;
  state: SagaState | undefined;
  readonly messages: ModelMessage[];
  /** Is given each turn; none is kept here. */
  readonly took: (turn: Turn) => void;
  /** Answers of models so far. */
  replies: number;
  /** Lists of the state that this run lets grow: none of its states but the last is kept. */
  readonly growing: Growing;
  /** How much of the conversation each call of a model is asked with. */
  readonly askedWith: Map<IntentId, number>;
  /** When those that are open were decided. */
  readonly openedAt: Map<IntentId, number>;
  /** Calls of tools and sagas, open or settled. */
  readonly made: Map<IntentId, Made>;
}

export const newRun = (definition: Definition, saga: SagaId, took: (turn: Turn) => void): Run => ({
  ...{ definition, saga, state: undefined, messages: [], took, replies: 0, growing: new WeakSet() },
  ...{ askedWith: new Map(), openedAt: new Map(), made: new Map() },
});

export const openIn = (run: Run, id: IntentId): OpenIntent | undefined => run.state?.open[id];

export const openEntriesIn = (run: Run): [IntentId, OpenIntent][] =>
  Object.entries(run.state?.open ?? {}) as [IntentId, OpenIntent][];

export const hasEnded = (run: Run): boolean => run.state?.phase.kind === "ended";

/** Lets one turn happen. Its events were accepted, by this run or by the record that it follows. */
export function takeTurn(run: Run, at: number, events: readonly Event[], host: string): Step[] {
  const { definition, saga } = run;
  const before = run.messages.length;
  const decided = decideTurn(definition, run.state, { saga, at, events }, run.growing);
  run.state = decided.state;
  keepSaid(run.messages, decided.said);
  for (const { intent, said } of decided.asked) run.askedWith.set(intent, before + said);
  for (const { event, intents } of decided.steps) {
    if (isReply(run, event)) run.replies += 1;
    for (const { id, kind } of intents) if (kind !== "retry") run.openedAt.set(id, at);
  }
  for (const { closed } of decided.steps)
    for (const { intent } of closed) if (openIn(run, intent) === undefined) run.openedAt.delete(intent);
  for (const [id, { intent, input }] of openEntriesIn(run))
    if (intent.kind === "tool" || intent.kind === "saga") run.made.set(id, { name: intent.name, input });
  run.took({
    ...{ v: ledgerVersion, saga, turn: decided.state.turn, at, host, prev: "" },
    steps: decided.steps,
  });
  return decided.steps;
}

const isReply = ({ askedWith }: Run, event: Event): boolean =>
  event.type === "result" && event.result.outcome === "succeeded" && askedWith.has(event.intent);

/** The event as the saga's door takes it now, or undefined if it does not. */
export function accepted(run: Run, event: Event, now: number): Event | undefined {
  if (run.state === undefined) return event;
  const judged = accept(run.definition, run.state, event, now);
  return judged.type === "new" ? judged.event : undefined;
}

/** What an open call of a model is sent. */
export function requestIn(run: Run, id: IntentId, { intent, input }: OpenIntent): BuiltRequest {
  const { definition, saga, messages } = run;
  const said = messages.slice(0, run.askedWith.get(id) ?? messages.length);
  const variant = run.state?.fork?.variant;
  const own =
    intent.kind === "model"
      ? definition.kind.requestOf(definition, { saga, variant, intent, open: input }, said)
      : undefined;
  if (own === undefined) throw new MeshError("INTERNAL", `${definition.name} makes no call as ${id}`);
  return own;
}
