/**
 * Undo child: a child that has completed is undone like any other effect of its parent's.
 *
 * UC1 A child's good end is an effect that stands, as long as it left something that can be undone: it says so itself,
 *     with its result. Its undoing is an intent of the parent's and a `cancel` to the child that says whom to tell.
 * UC2 Only its own parent can bring back a saga that has ended. It undoes all that stands, its own children first where
 *     they came last, and ends once more, cancelled; that end is the result of the intent that asked for it.
 * UC3 What the child could not undo stands in its second end, and so in its parent's. A child that cannot be reached
 *     any more, for it was archived, is a matter for a human.
 */
import { z } from "zod";
import { ParentRef } from "../../protocol/event.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { Result } from "../../protocol/result.ts";
import { type Folding, newId, openIntent } from "./folding.ts";
import type { Ending, OpenIntent, SagaState, StandingEffect } from "../contract/state.ts";
import type { EffectToUndo } from "../contract/tool.ts";
import { childOfUndo } from "./keys.ts";

/** What a `cancel` holds that asks a saga to undo what it did although it has ended (UC2). */
const UndoOrder = z.object({ reason: z.string(), tell: ParentRef });
type UndoOrder = z.infer<typeof UndoOrder>;

/** What the child's second end is to its parent (UC3). */
export const UndoneChild = z.object({ standing: z.array(z.string()) });
export type UndoneChild = z.infer<typeof UndoneChild>;

/** The order that a `cancel` is, if it comes from the saga's own parent. */
export function orderOf(
  { parent }: { readonly parent?: ParentRef | undefined },
  data: Json,
): UndoOrder | undefined {
  const read = UndoOrder.safeParse(data);
  return read.success && parent !== undefined && read.data.tell.saga === parent.saga ? read.data : undefined;
}

/** The body of such a `cancel`. */
export const undoOrder = (parent: SagaId, intent: IntentId): UndoOrder => ({
  reason: `undone by ${parent}`,
  tell: { saga: parent, intent },
});

/** UC1: whether a saga that ended well left something that can be undone. What was laid by may hold some. */
export const isUndoable = ({ effects, past }: SagaState): boolean =>
  past !== undefined || effects.some(({ undo }) => undo !== undefined);

/** UC1: the effect as which a child's result stands. */
export function standingChild(
  f: Folding,
  { intent, input }: OpenIntent,
  result: Result,
): StandingEffect | undefined {
  if (intent.kind !== "saga" || result.outcome !== "succeeded") return undefined;
  const effect = { input, output: result.output, outcome: "succeeded", key: intent.saga } as const;
  const said = saidUndo(f, intent.call, effect);
  // What is undone by other means need not be able to undo itself.
  if (said === undefined && result.undoable !== true) return undefined;
  if (said === "none" && result.undoable !== true) return undefined;
  const undo = said === undefined ? { undo: { tool: intent.name, input: null }, child: intent.saga } : {};
  return {
    ...{
      intent: intent.id,
      tool: intent.name,
      key: intent.saga,
      outcome: "succeeded",
      settledAt: f.state.turn,
    },
    ...(typeof said === "object" ? { undo: said } : undo),
    ...(intent.call === undefined ? {} : { call: intent.call }),
    ...(intent.dependsOn === undefined ? {} : { dependsOn: intent.dependsOn }),
  };
}

/** Asks a child to undo what it did. */
export function issueChildUndo(f: Folding, { intent: undoes, tool }: StandingEffect, saga: SagaId): IntentId {
  const id = newId(f);
  openIntent(f, {
    intent: { kind: "saga", id, name: tool, saga, undoes, input: null },
    input: null,
    attempt: 1,
  });
  return id;
}

/** Starts the saga that undoes an effect by what it does. */
export function issueUndoingSaga(
  f: Folding,
  effect: StandingEffect,
  { tool, input }: NonNullable<StandingEffect["undo"]>,
): IntentId {
  const { intent: undoes } = effect;
  const id = newId(f);
  // What a fork inherited is undone by one and the same saga, whichever fork undoes it: the second finds it taken.
  const saga = childOfUndo(f, effect, id);
  openIntent(f, {
    intent: { kind: "saga", id, name: tool, saga, undoes, starts: true, input },
    input,
    attempt: 1,
  });
  return id;
}

/** What the saga's kind says of the undoing of what a call did; undefined: nothing, `none`: nothing undoes it. */
export const saidUndo = (
  { definition, state }: Folding,
  call: string | undefined,
  effect: EffectToUndo<unknown, unknown>,
): NonNullable<StandingEffect["undo"]> | "none" | undefined =>
  call === undefined ? undefined : definition.kind.undoOf?.(definition, state, call, effect);

/** UC2: what a saga that is brought back ends with, once it has undone everything. */
export const endingOfUndone = ({ reason }: UndoOrder): Ending => ({
  status: "cancelled",
  code: "CANCELLED",
  reason,
});
