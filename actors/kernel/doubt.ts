/**
 * Doubt: effects of which it is not known whether they happened: held, asked about, and corrected.
 *
 * DK1 A definite result for an intent in doubt corrects it in every state, ended ones included.
 * DK2 Where what failed is done again or done without, a call that was told as failed is given up: if it turns out to have
 *     happened, it is undone, also after the end.
 */
import { digestOf } from "../../protocol/digest.ts";
import { assert } from "../../protocol/errors.ts";
import type { EventOf } from "../../protocol/event.ts";
import { type IntentId, placeOf, turnOf } from "../../protocol/ids.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import type { Result } from "../../protocol/result.ts";
import type { Definition } from "../contract/definition.ts";
import { type LineTerms, readDoubtTerms } from "../contract/terms.ts";
import { askDoubt } from "./asking.ts";
import type { Doubt, OpenIntent, OpenTool, Position, SagaState } from "../contract/state.ts";
import { withKey, withoutKey } from "../values/draft.ts";
import { readOutputWith, readWith } from "../values/schema.ts";
import {
  actorError,
  thrownIn,
  closedAs,
  closedBy,
  closeIntent,
  type Folding,
  isAwaited,
  openEntries,
  recordClosing,
  tellActor,
  toolOf,
} from "./folding.ts";
import { learnResult } from "./learn.ts";
import { checked } from "./read-result.ts";
import { effectOf, recordDoubt, recordEffect, removeEffect } from "./effects.ts";
import { addPlan, settleUndone } from "./undo.ts";
import { names } from "./undo-order.ts";

/** By what a result is read: the definition, and what the saga follows. */
interface Under {
  readonly definition: Definition;
  readonly state: Pick<SagaState, "follows">;
}

/**
 * Whether a result corrects a settled intent (DK1): a failure only of the attempt that is in doubt, a success only
 * if it can be read.
 */
export function corrects(
  under: Under,
  doubt: Doubt,
  { attempt, result }: Pick<EventOf<"result">, "attempt" | "result">,
): boolean {
  if (result.outcome === "succeeded")
    return attempt <= doubt.attempt && misfitOf(under, doubt, result.output) === undefined;
  return result.outcome === "failed" && attempt === doubt.attempt && doubt.outcome === "in_doubt";
}

/** Why an output cannot be read as that of the doubted call's tool, or undefined. */
function misfitOf({ definition, state }: Under, { tool }: Doubt, output: Json): string | undefined {
  const schema = definition.tools.get(tool)?.output;
  const reading = state.follows === undefined ? readWith : readOutputWith; // As any result of the saga is read (read-result.ts).
  const read = schema === undefined ? undefined : reading(schema, output);
  return read?.success === false ? read.reason : undefined;
}

/** Why a success that comes for a doubt cannot be read. The very one that made the doubt is known. */
export function newMisfit(under: Under, doubt: Doubt, { result }: EventOf<"result">): string | undefined {
  if (result.outcome !== "succeeded" || digestOf(result.output) === doubt.unread) return undefined;
  return misfitOf(under, doubt, result.output);
}

/** It is not known whether it happened: the effect is held, and what the tool names settles the doubt. */
export function takeDoubt(
  f: Folding,
  id: IntentId,
  open: OpenIntent,
  received: Result,
  reason: string,
): void {
  if (open.intent.kind !== "tool") return;
  const tool = toolOf(f, open.intent.name);
  recordEffect(f, id, open, "in_doubt", undefined);
  recordDoubt(f, id, open, "in_doubt", received);
  if (isAwaited(f, id, open.actor)) {
    const terms = tool === undefined ? undefined : readDoubtTerms(tool);
    if (terms !== undefined) {
      assert("asked" in terms, "a tool with faulty terms is never served");
      return askAboutDoubt(f, id, open, terms.asked, reason);
    }
    if (tool?.onDoubt === "compensate")
      return addPlan(f, {
        because: reason,
        only: [id],
        undone: [],
        then: { type: "tell", actor: open.actor, intent: id, reason },
      });
  }
  const error = { ...actorError("in_doubt", "IN_DOUBT", reason), ...thrownIn(received) };
  tellActor(f, open.actor, id, { error });
  undoIfLate(f, id);
}

/** Asks people, on the tool's terms; the actor hears of it once they have settled it, or none of them has in time. */
function askAboutDoubt(f: Folding, id: IntentId, open: OpenIntent, asked: LineTerms, reason: string): void {
  if (open.intent.kind !== "tool") return;
  const { name, key } = open.intent;
  const question = `Did ${name} with key ${key} happen? ${reason}`;
  const task = askDoubt(f, { of: id, question, input: open.input }, asked);
  const doubt = f.state.doubts[id];
  if (doubt?.outcome === "in_doubt" && open.actor !== undefined)
    f.state.doubts = withKey(f.state.doubts, id, { ...doubt, actor: open.actor, task });
}

/**
 * DK1. A definite result for an intent that was settled in doubt, cancelled, or failed for being late. `answered`: it is
 * what a human said of the doubt, which closes the task.
 */
export function correct(f: Folding, id: IntentId, doubt: Doubt, received: Result, answered = false): void {
  const { result, output } = checked(f, openOf(id, doubt), received);
  if (result.outcome !== "succeeded" && result.outcome !== "failed") return;
  const task = doubt.outcome === "in_doubt" ? doubt.task : undefined;
  if (task !== undefined && answered) closeIntent(f, task, closedAs("succeeded"));
  recordClosing(f, id, closedBy(id, result));
  if (task !== undefined && !answered) closeIntent(f, task, closedAs("cancelled", "settled"));
  if (result.outcome === "succeeded") learnResult(f, openOf(id, doubt), output);
  if (doubt.undoes !== undefined) correctUndoing(f, id, doubt.undoes, result);
  else correctEffect(f, id, doubt, result, output);
}

/** The settled intent as it was while open. */
const openOf = (id: IntentId, doubt: Doubt): OpenTool => ({
  intent: {
    kind: "tool",
    id,
    name: doubt.tool,
    key: doubt.key,
    contract: doubt.contract,
    ...(doubt.call === undefined ? { input: doubt.input } : { call: doubt.call }),
    ...(doubt.dependsOn === undefined ? {} : { dependsOn: [...doubt.dependsOn] }),
    ...(doubt.undoes === undefined ? {} : { undoes: doubt.undoes }),
  },
  input: doubt.input,
  attempt: doubt.attempt,
  ...(doubt.outcome !== "in_doubt" || doubt.actor === undefined ? {} : { actor: doubt.actor }),
});

/** The undoing happened after all: the human's task about it is over. That it did not changes nothing. */
function correctUndoing(f: Folding, id: IntentId, undoes: IntentId, result: Result): void {
  f.state.doubts = withoutKey(f.state.doubts, id);
  if (result.outcome !== "succeeded") return;
  for (const [task, open] of openEntries(f))
    if (open.intent.kind === "task" && open.intent.about === "stuck" && open.intent.of === undoes)
      closeIntent(f, task, closedAs("cancelled", "undone"));
  settleUndone(f, undoes, id);
}

function correctEffect(
  f: Folding,
  id: IntentId,
  doubt: Doubt,
  result: Extract<Result, { outcome: "succeeded" | "failed" }>,
  output: unknown,
): void {
  // An undoing in flight may have come before the effect: a success needs another one, with its output.
  if (result.outcome === "succeeded") recordEffect(f, id, openOf(id, doubt), "succeeded", output);
  else if (effectOf(f, id)?.undoing === undefined) removeEffect(f, id);
  f.state.doubts = withoutKey(f.state.doubts, id);
  const actor = doubt.outcome === "in_doubt" ? doubt.actor : undefined;
  const isHeard = isAwaited(f, id, actor);
  if (isHeard)
    tellActor(
      f,
      actor,
      id,
      result.outcome === "succeeded"
        ? { output, unread: { by: "tool", name: doubt.tool, value: result.output } }
        : { error: { outcome: "failed", code: result.code, reason: result.reason, ...thrownIn(result) } },
    );
  else if (doubt.call !== undefined && f.state.phase.kind === "running")
    f.queue.push({ event: correction(f, doubt, result) });
  if (result.outcome === "succeeded")
    undoIfLate(f, id, doubt.undone === true || (!isHeard && isGivenUp(f, doubt)));
}

/** DK2. Sagas that former versions began left it standing. */
const isGivenUp = ({ definition, state }: Folding, { call }: Doubt): boolean =>
  definition.kind.redoes && call !== undefined && state.follows !== undefined;

/** The model hears how a call that it was told is in doubt ended after all. */
const correction = (
  f: Folding,
  doubt: Doubt,
  result: Extract<Result, { outcome: "succeeded" | "failed" }>,
) => {
  const told: Record<string, Json> =
    result.outcome === "succeeded" ? { output: result.output } : { code: result.code, reason: result.reason };
  const part = { type: "result", call: doubt.call ?? "", tool: doubt.tool, outcome: result.outcome, ...told };
  return { type: "sagamesh.corrected", call: doubt.call, tool: doubt.tool, part: toJson(part), at: f.at };
};

/** An effect that turns out to stand although it, or everything up to its place, was undone or given up is undone too. */
export function undoIfLate(f: Folding, id: IntentId, isOver = false): void {
  if (!isOver && !isBefore(id, f.state.undoneBefore)) return;
  if (effectOf(f, id)?.undo === undefined) return;
  if (f.state.plans.some((plan) => names(plan, id))) return;
  const { phase } = f.state;
  const because = "it succeeded after everything was undone";
  if (phase.kind !== "ended")
    return addPlan(f, { because, only: [id], undone: [], then: { type: "nothing" } });
  f.state.phase = { kind: "undoing" };
  addPlan(f, { because, only: [id], undone: [], then: { type: "end", ending: phase.ending } });
}

const isBefore = (id: IntentId, { turn, k }: Position): boolean =>
  turnOf(id) < turn || (turnOf(id) === turn && placeOf(id) < k);
