/**
 * Run: a saga decided anew in memory, turn by turn, by the pure fold. Nothing of it is written anywhere.
 */
import { accept } from "../../actors/kernel/accept.ts";
import type { Definition, BuiltRequest } from "../../actors/contract/definition.ts";
import { decideTurn } from "../../actors/kernel/fold.ts";
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
  readonly turns: Turn[];
  /** How much of the conversation each call of a model is asked with. */
  readonly askedWith: Map<IntentId, number>;
  readonly openedAt: Map<IntentId, number>;
  /** Calls of tools and sagas, open or settled. */
  readonly made: Map<IntentId, Made>;
}

export const newRun = (definition: Definition, saga: SagaId): Run => ({
  ...{ definition, saga, state: undefined, messages: [], turns: [] },
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
  const decided = decideTurn(definition, run.state, { saga, at, events });
  run.state = decided.state;
  keepSaid(run.messages, decided.said);
  for (const { intent, said } of decided.asked) run.askedWith.set(intent, before + said);
  for (const { intents } of decided.steps)
    for (const { id, kind } of intents) if (kind !== "retry") run.openedAt.set(id, at);
  for (const [id, { intent, input }] of openEntriesIn(run))
    if (intent.kind === "tool" || intent.kind === "saga") run.made.set(id, { name: intent.name, input });
  run.turns.push({
    ...{ v: ledgerVersion, saga, turn: decided.state.turn, at, host, prev: "" },
    steps: decided.steps,
  });
  return decided.steps;
}

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
