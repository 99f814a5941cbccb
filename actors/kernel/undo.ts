/**
 * Undo: plans that compensate what stands, and how a saga is brought to its end by them.
 *
 * UN1 A plan waits for every open effect before it undoes the first: a late success joins the set.
 * UN2 Reverse order of dependency: an effect is undone once nothing that falls with it, in any plan, and rests on it
 *     stands or is in flight. What rests on what is said by the call (undo-order.ts); else all that was decided after an
 *     effect settled rests on it. Effects decided together are undone in parallel.
 * UN3 An effect is undone by one intent at a time, and once: the intent that undoes it is part of the state.
 * UN4 People are not asked any more whether something happened that is undone.
 */
import type { IntentId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import {
  actorError,
  changeOpen,
  closedAs,
  closeIntent,
  contractIn,
  doneFor,
  type Folding,
  forgetUndoing,
  isAwaited,
  isEffectInFlight,
  isNotice,
  isRead,
  newId,
  openEntries,
  openIndex,
  openIntent,
  refuseActor,
  setOpen,
  tellActor,
} from "./folding.ts";
import { byAge } from "./open-index.ts";
import { drafted, withAt, withKey, withLast } from "../values/draft.ts";
import {
  standingOf,
  effectOf,
  removeEffect,
  describeEffect,
  recordEffect,
  recordDoubt,
  changeEffect,
  setEffect,
} from "./effects.ts";
import { keyOfUndo, toldUnder } from "./keys.ts";
import { decider, forbidden } from "./lineage.ts";
import {
  type Ending,
  type OpenIntent,
  type Position,
  type StandingEffect,
  type UndoPlan,
  isDeferred,
  isInLine,
  isOpen,
} from "../contract/state.ts";
import { issueChildUndo, issueUndoingSaga } from "./undo-child.ts";
import { names, type Resting, takeAway, takeReady, undoingOf, waiting } from "./undo-order.ts";

/** The machine asks for compensation: of the calls named, the open ones too, or of everything that stands. */
export function beginCompensation(
  f: Folding,
  actor: string,
  input: { because: string; calls?: readonly string[] },
): void {
  const { because, calls } = input;
  if (calls === undefined) {
    for (const id of [...openIndex(f).line]) giveUp(f, id, because); // Nothing begins in order to be undone.
    return addPlan(f, { because, undone: [], then: { type: "answer", actor } });
  }
  const found = intentsOfCalls(f);
  const only = [...new Set(calls)].flatMap((call) => found.get(call) ?? []);
  // A machine that calls again names what it called, whatever that has left; a model is told where it errs.
  if (!f.definition.kind.redoes && only.length < new Set(calls).size)
    return refuseActor(
      f,
      actor,
      "undo",
      "CALL_INVALID",
      "a call named here is not open and did nothing that stands; nothing was undone",
    );
  for (const id of only) giveUp(f, id, because);
  addPlan(f, { because, only, undone: [], then: { type: "answer", actor } });
}

/** What calls came to, by the call: what stands, else what is open. A call has one intent at a time. */
function intentsOfCalls(f: Folding): Map<string, IntentId> {
  const found = new Map<string, IntentId>();
  const note = (call: string | undefined, intent: IntentId): void => {
    if (call !== undefined && !found.has(call)) found.set(call, intent);
  };
  for (const { call, intent } of standingOf(f)) note(call, intent);
  for (const [id, { actor }] of openEntries(f)) note(actor, id);
  return found;
}

/**
 * A call that the model no longer wants while it is open. What is over at once is cancelled, a deferred effect
 * counts as in doubt and is undone by its key, and any other is waited for.
 */
function giveUp(f: Folding, id: IntentId, because: string): void {
  const open = f.state.open[id];
  if (open === undefined) return;
  const error = actorError("cancelled", "CANCELLED", because === "" ? "undone" : because);
  if (isOverAtOnce(f, open)) closeIntent(f, id, closedAs("cancelled", "undo"));
  else if (open.intent.kind === "saga") return cancelChild(f, id);
  else if (isDeferred(open)) releaseDeferred(f, id, open);
  else return;
  tellActor(f, open.actor, id, { error });
}

export function addPlan(f: Folding, plan: UndoPlan): void {
  f.state.plans = withLast(f.state.plans, plan);
  forgetUndoing(f);
  if (plan.only === undefined) f.state.undoneBefore = here(f);
}

const here = (f: Folding): Position => ({ turn: f.state.turn, k: f.nextK });

/**
 * The runtime undoes everything and ends the saga: after `cancel` and after a failure that the machine did not handle. A task
 * about a compensation that is stuck stays: the effect it is about still stands.
 */
export function beginEndByUndoing(f: Folding, ending: Ending): void {
  f.state.actors = {};
  f.state.kept = [];
  f.state.held = undefined;
  f.state.phase = { kind: "undoing" };
  f.state.plans = [];
  forgetUndoing(f);
  f.queue.length = 0;
  for (const [id, open] of openEntries(f))
    if (open.intent.kind !== "task" || open.intent.about !== "stuck") abandon(f, id);
  addPlan(f, { because: ending.reason ?? "", undone: [], then: { type: "end", ending } });
}

/** No actor waits for the intent any more: it is over at once, or ends by its own result. */
export function abandon(f: Folding, id: IntentId): void {
  const open = f.state.open[id];
  if (open === undefined) return;
  if (isOverAtOnce(f, open)) return closeIntent(f, id, closedAs("cancelled"));
  const { actor: _actor, ...rest } = open;
  setOpen(f, rest); // All else is as it was.
  if (open.intent.kind === "saga") cancelChild(f, id);
}

/** What changes nothing outside needs no waiting for: model calls, timers, tasks, reads, children that have not begun. */
export const isOverAtOnce = (f: Folding, open: OpenIntent): boolean => {
  const { kind } = open.intent;
  if (kind === "saga") return isInLine(open);
  return kind === "model" || kind === "timer" || kind === "task" || isRead(f, open) || isNotice(open);
};

/** A child is told to cancel, once; its own end comes back as the intent's result. */
export function cancelChild(f: Folding, id: IntentId): void {
  const open = f.state.open[id];
  if (!isOpen(open, "saga") || open.intent.undoes !== undefined || open.told === true) return;
  changeOpen(f, open, { told: true });
  const data = { reason: `cancelled by ${decider(f.state)}` };
  const told = { saga: open.intent.saga, name: "cancel", data };
  openIntent(f, {
    intent: { kind: "signal", id: newId(f), ...toldUnder(f, told, "once"), ...told },
    input: null,
    attempt: 1,
  });
}

/** Moves plans forward. True if anything changed. */
export function progressPlans(f: Folding): boolean {
  if (f.isUndoingAtRest) return false;
  const { plans } = f.state;
  let areBlocked = false;
  for (const plan of plans) {
    if (plan.only === undefined) releaseUnawaited(f);
    if (isBlocked(f, plan)) {
      areBlocked = true;
      continue;
    }
    const { ready, left } = plans.length === 1 ? readyOfOne(f, plan) : readyOfMany(f, plan);
    const { undoing } = f;
    for (const effect of ready) issueUndo(f, effect);
    f.undoing = undoing; // What they changed is that they are being undone, and so they were counted.
    if (ready.length > 0) return true;
    if (left) continue;
    completePlan(f, plan);
    return true;
  }
  f.isUndoingAtRest = plans.length === 1 && !areBlocked;
  return false;
}

interface Ready {
  /** In the order in which they stand. */
  readonly ready: readonly StandingEffect[];
  /** Whether the plan has any that is not undone. */
  readonly left: boolean;
}

/** Of the one plan there is (UO2 of undo-order.ts). */
function readyOfOne(f: Folding, plan: UndoPlan): Ready {
  if (forbidden(f.state) !== undefined) return { ready: [], left: false };
  f.undoing ??= undoingOf(membersOf(f, plan), plan.only);
  return { ready: takeReady(f.undoing), left: f.undoing.places.size > 0 };
}

function readyOfMany(f: Folding, plan: UndoPlan): Ready {
  const members = membersOf(f, plan);
  const mustWait = waiting(fallingOf(f));
  const ready = members.filter((effect) => effect.undoing === undefined && !mustWait(effect));
  return { ready, left: members.length > 0 };
}

/** The effect is undone: it stands no more, and what waited for it may go on. */
function noteUndone(f: Folding, effect: StandingEffect): void {
  const { undoing, isUndoingAtRest } = f;
  removeEffect(f, effect.intent);
  if (undoing === undefined) return;
  f.undoing = undoing;
  f.isUndoingAtRest = !takeAway(undoing, effect) && isUndoingAtRest;
}

/** What another plan undoes goes before what it rests on, too, and so does what that plan still waits for. */
const fallingOf = (f: Folding): Resting[] =>
  f.state.plans.flatMap((plan) => [
    ...membersOf(f, plan),
    ...openEntries(f).flatMap(([intent, open]) =>
      isEffectInFlight(f, open) && names(plan, intent) ? [{ intent, dependsOn: open.intent.dependsOn }] : [],
    ),
  ]);

/** A plan waits for effects in flight, not for what undoes them and not for what only reads (UN1). */
function isBlocked(f: Folding, plan: UndoPlan): boolean {
  const { only } = plan;
  const { awaited } = openIndex(f);
  if (only === undefined) return awaited.size > 0;
  // What was found closed stays so: a plan of thousands is not looked through again for each that ends.
  let from = f.closedUpTo.get(only) ?? 0;
  while (from < only.length && f.state.open[only[from] as IntentId] === undefined) from += 1;
  f.closedUpTo.set(only, from);
  if (from < only.length) return true;
  if (!f.definition.kind.redoes) return false;
  // Nothing is done again while what it did before stands and a human is asked about it.
  return [...awaited].some((id) => {
    const open = f.state.open[id];
    return open?.intent.kind === "task" && open.intent.of !== undefined && names(plan, open.intent.of);
  });
}

/** A deferred call that no actor waits for would hold its plan up until the outside answers, days perhaps. */
function releaseUnawaited(f: Folding): void {
  for (const id of [...openIndex(f).deferred].sort(byAge)) {
    const open = f.state.open[id];
    if (open !== undefined && isDeferred(open) && open.intent.undoes === undefined)
      if (!isAwaited(f, id, open.actor)) releaseDeferred(f, id, open);
  }
}

/** It was asked for, so it counts as an effect in doubt and is undone by its key; a late answer corrects that. */
function releaseDeferred(f: Folding, id: IntentId, open: OpenIntent): void {
  closeIntent(f, id, closedAs("cancelled", "undo"));
  recordEffect(f, id, open, "in_doubt", undefined);
  recordDoubt(f, id, open, "cancelled");
}

const membersOf = (f: Folding, plan: UndoPlan): StandingEffect[] => {
  if (forbidden(f.state) !== undefined) return [];
  return standingOf(f).filter(
    ({ intent, undo, stuck }) => undo !== undefined && stuck !== true && names(plan, intent),
  );
};

function issueUndo(f: Folding, effect: StandingEffect): void {
  const { intent: undoes } = effect;
  if (effect.undo === undefined) return;
  if (effect.child !== undefined)
    return changeEffect(f, undoes, { undoing: issueChildUndo(f, effect, effect.child) });
  if (effect.undo.starts === true)
    return changeEffect(f, undoes, { undoing: issueUndoingSaga(f, effect, effect.undo) });
  const { tool, input } = effect.undo;
  const id = newId(f);
  openIntent(f, {
    intent: {
      kind: "tool",
      id,
      name: tool,
      key: keyOfUndo(f, effect, id),
      contract: contractIn(f, tool),
      input,
      undoes,
    },
    input,
    attempt: 1,
  });
  changeEffect(f, undoes, { undoing: id });
}

/**
 * The effect is undone: it stands no more, and the plans say so. `by` is the intent that undid it; an effect
 * whose success came in after that one was decided needs another.
 */
export function settleUndone(f: Folding, undoes: IntentId, by?: IntentId, output: Json = null): void {
  const effect = effectOf(f, undoes);
  if (effect === undefined || (by !== undefined && effect.undoing !== by && effect.stuck !== true)) return;
  noteUndone(f, effect);
  if (f.definition.kind.redoes && effect.call !== undefined)
    f.queue.push({ event: { type: "sagamesh.undone", call: effect.call, output, at: f.at } });
  noteUndoneDoubt(f, undoes);
  for (const [k, plan] of f.state.plans.entries()) {
    if (!names(plan, undoes)) continue;
    const own = drafted(plan);
    own.undone = withLast(own.undone, describeEffect(effect));
    f.state.plans = withAt(f.state.plans, k, own);
  }
}

/**
 * UN4. What was asked of people about a doubt is asked no more: whatever they said, nothing of it stands. Sagas that former
 * versions began waited for their answer.
 */
function noteUndoneDoubt(f: Folding, id: IntentId): void {
  const doubt = f.state.doubts[id];
  if (doubt === undefined) return;
  if (f.state.follows === undefined || doubt.outcome !== "in_doubt" || doubt.task === undefined) {
    f.state.doubts = withKey(f.state.doubts, id, { ...doubt, undone: true });
    return;
  }
  const { task, actor, ...rest } = doubt;
  f.state.doubts = withKey(f.state.doubts, id, { ...rest, undone: true });
  closeIntent(f, task, closedAs("cancelled", "undone"));
  tellActor(f, actor, id, { error: actorError("cancelled", "CANCELLED", "undone") });
}

/** The compensation cannot be carried out: a human is asked, and until then the effect is held. */
export function askAboutStuck(f: Folding, undoes: IntentId, by: IntentId, reason: string): void {
  const effect = effectOf(f, undoes);
  if (effect?.undoing !== by) return;
  const { undoing: _undoing, ...rest } = effect;
  setEffect(f, { ...rest, stuck: true });
  const dueAt = f.at + limits.taskWithinMs;
  openIntent(f, {
    intent: {
      kind: "task",
      id: newId(f),
      about: "stuck",
      of: undoes,
      question: `${describeEffect(effect)} could not be undone: ${reason}. Undo it by hand and approve, or deny to leave it standing.`,
      to: [],
      dueAt,
      otherwise: "deny",
    },
    input: null,
    attempt: 1,
    dueAt,
  });
}

/** The calls of effects that a plan left standing: their compensation got stuck, or there is none. */
const leftOf = (
  { definition }: Folding,
  standing: readonly StandingEffect[],
): { readonly left?: string[] } =>
  definition.kind.redoes ? { left: standing.flatMap(({ call }) => call ?? []) } : {};

function completePlan(f: Folding, plan: UndoPlan): void {
  f.state.plans = f.state.plans.filter((other) => other !== plan);
  forgetUndoing(f);
  if (plan.only === undefined) f.state.undoneBefore = here(f); // What began meanwhile was undone with the rest.
  const { then } = plan;
  switch (then.type) {
    case "answer": {
      const standing = standingOf(f).filter(({ intent }) => names(plan, intent));
      const said = { undone: plan.undone, standing: standing.map(describeEffect) };
      f.queue.push({ event: doneFor(f, then.actor, { ...said, ...leftOf(f, standing) }) });
      return;
    }
    case "tell":
      return tellActor(f, then.actor, then.intent, {
        error: actorError("in_doubt", "IN_DOUBT", then.reason),
      });
    case "end":
      f.state.phase = { kind: "ending", ending: then.ending };
      return;
    case "nothing":
      return;
  }
}
