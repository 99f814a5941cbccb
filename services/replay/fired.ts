/**
 * Fired: what calls met with instead of being made: a refusal, people who are asked first, a policy that rewrote them.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { decideTurn } from "../../actors/kernel/fold.ts";
import { stateFromJson, stateToJson } from "../../actors/kernel/replay.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { isMeshError } from "../../protocol/errors.ts";
import type { Intent } from "../../protocol/intent.ts";
import { toJson } from "../../protocol/json.ts";
import type { ModelReply } from "../../protocol/model.ts";
import type { Fired } from "../../protocol/documents/replay.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { ReplyPlace } from "./decisions.ts";

/** Of the intents that followed from a reply, or of a turn. */
export const firedIn = (intents: readonly Intent[]): Fired[] => intents.flatMap(firedBy);

export const firedInTurn = ({ steps }: Turn): Fired[] => steps.flatMap(({ intents }) => firedIn(intents));

function firedBy(intent: Intent): Fired[] {
  const { id: of } = intent;
  if (intent.kind === "denied")
    return intent.for === undefined
      ? [{ type: "denied", intent: of, name: intent.name, why: intent.code }]
      : [];
  const fired: Fired[] = [];
  if ("rewrittenBy" in intent && intent.rewrittenBy !== undefined) {
    const name = intent.kind === "task" ? (intent.tool ?? "") : intent.name;
    fired.push({ type: "rewritten", intent: of, name, why: intent.rewrittenBy });
  }
  if (intent.kind === "task" && intent.about === "approval")
    fired.push({
      type: "approval",
      intent: of,
      name: intent.tool ?? "",
      why: intent.to.join(", ") || "anybody",
    });
  return fired;
}

/**
 * What would have followed at once from another reply in the recorded one's place, under this definition. Undefined
 * where that cannot be said: the state of the one definition means nothing to the other.
 */
export function wouldFire(
  recordedUnder: Definition,
  definition: Definition,
  { turn, step, before: beforeIt }: ReplyPlace,
  reply: ModelReply,
): Fired[] | undefined {
  const before = beforeIt();
  if (before === undefined) return undefined; // A first turn holds no reply.
  const events = turn.steps.slice(0, step + 1).map(({ event }) => event);
  const last = events.at(-1);
  if (last?.type !== "result") return undefined;
  const other = { ...last, result: { outcome: "succeeded" as const, output: toJson(reply) } };
  try {
    const state = movedTo(recordedUnder, definition, before);
    const decided = decideTurn(definition, state, {
      saga: turn.saga,
      at: turn.at,
      events: [...events.slice(0, -1), other],
    });
    return firedIn(decided.steps.at(-1)?.intents ?? []);
  } catch (error) {
    if (isMeshError(error) || error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Two agents are one machine with different tools; what the one has put to rest the other can take up. */
const movedTo = (from: Definition, to: Definition, state: SagaState): SagaState =>
  from === to ? state : stateFromJson(to, stateToJson(from, state));
