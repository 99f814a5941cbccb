/**
 * Undo foreseen: which compensations an undoing would run, in order, each taken to succeed. Nothing is performed or appended.
 *
 * UB1 The kernel decides it, turn by turn, as it will: the order, the names and the inputs are those of the real undoing,
 *     unless what is open now ends in another way than it is taken to.
 */
import { accept } from "../../actors/kernel/accept.ts";
import { type DecidedTurn, decideTurn } from "../../actors/kernel/fold.ts";
import { noSpending } from "../../actors/kernel/spending.ts";
import type { Definition } from "../../actors/contract/definition.ts";
import type { OpenIntent, SagaState } from "../../actors/contract/state.ts";
import type { Event } from "../../protocol/event.ts";
import type { IntentId } from "../../protocol/ids.ts";
import { isUndoing } from "../../protocol/intent.ts";
import type { Json } from "../../protocol/json.ts";
import type { Result } from "../../protocol/result.ts";
import { standIn } from "./simulate.ts";

/** One compensation that would run. Those of one round run beside each other. */
export interface ForeseenUndo {
  readonly round: number;
  /** The effect's intent. */
  readonly undoes: IntentId;
  readonly name: string;
  /** Of a tool; undefined of a child that is told to undo what it did. */
  readonly contract: string | undefined;
  readonly input: Json;
}

/** What an undoing would do from a state on, in which it has begun. */
export async function foreseeUndo(
  definition: Definition,
  begun: SagaState,
  by: string,
): Promise<{ readonly steps: readonly ForeseenUndo[]; readonly state: SagaState }> {
  const steps: ForeseenUndo[] = [];
  let state = begun;
  for (let round = 1; ; round++) {
    const open = Object.values(state.open);
    for (const { intent, input } of open)
      if (isUndoing(intent))
        steps.push({
          ...{ round, undoes: intent.undoes, name: intent.name, input },
          contract: intent.kind === "tool" ? intent.contract : undefined,
        });
    const decided = await settleAll(definition, state, open, by);
    if (decided === undefined) return { steps, state };
    state = decided.state;
  }
}

/** The turn in which all that is open ends; undefined where nothing that is open does. */
async function settleAll(
  definition: Definition,
  state: SagaState,
  open: readonly OpenIntent[],
  by: string,
): Promise<DecidedTurn | undefined> {
  const at = state.updatedAt;
  const results = await Promise.all(open.map((one) => resultOf(definition, one)));
  const events = open.flatMap(({ intent, attempt }, k): Event[] => {
    const result = results[k];
    if (result === undefined) return [];
    const spent = intent.kind === "saga" ? { spent: noSpending } : {};
    return [{ type: "result", intent: intent.id, attempt, by, result, ...spent }];
  });
  const taken = events.flatMap((event) => {
    const judged = accept(definition, state, event, at);
    return judged.type === "new" ? [judged.event] : [];
  });
  return taken.length === 0
    ? undefined
    : decideTurn(definition, state, { saga: state.saga, at, events: taken });
}

/** UB1. What undoes succeeds, and what else is under way comes to nothing. People and times are not foreseen. */
async function resultOf(definition: Definition, open: OpenIntent): Promise<Result | undefined> {
  const { intent } = open;
  if (intent.kind === "signal" || intent.kind === "end") return { outcome: "succeeded", output: null };
  if (intent.kind !== "tool" && intent.kind !== "saga") return undefined;
  if (intent.undoes === undefined)
    return { outcome: "failed", code: "CANCELLED", reason: "it is undone", retry: false };
  if (intent.kind === "saga") return { outcome: "succeeded", output: { standing: [] } };
  return standIn(definition, open);
}
