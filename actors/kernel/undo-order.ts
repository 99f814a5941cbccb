/**
 * Undo order: in what order things are undone of which the calls said what they rest on.
 *
 * UO1 What rests on an effect is undone before it. A call that says nothing of what it rests on rests on all that was
 *     settled before it was decided.
 */
import { type IntentId, turnOf } from "../../protocol/ids.ts";
import type { StandingEffect, UndoPlan } from "../contract/state.ts";

/** What may rest on an effect: another effect of a plan, or a call in flight that a plan will undo. */
export interface Resting {
  readonly intent: IntentId;
  readonly dependsOn?: readonly string[] | undefined;
}

/** The intents that a plan names, as sets: a plan of thousands is asked about each of them. */
const named = new WeakMap<readonly IntentId[], ReadonlySet<IntentId>>();

/** Whether a plan is about what an intent did: one that names none is about all. */
export function names({ only }: UndoPlan, id: IntentId): boolean {
  if (only === undefined) return true;
  const known = named.get(only) ?? new Set(only);
  named.set(only, known);
  return known.has(id);
}

/** UO1. Whether an effect of a plan must wait, given all that the plans undo or are about to. */
export function waiting(falling: readonly Resting[]): (effect: StandingEffect) => boolean {
  // One pass over them: there may be thousands.
  const rested = new Set<string>();
  let latest = 0;
  for (const { intent, dependsOn } of falling)
    if (dependsOn === undefined) latest = Math.max(latest, turnOf(intent));
    else for (const call of dependsOn) rested.add(call);
  return ({ intent, settledAt, call }) =>
    (latest >= settledAt && latest > turnOf(intent)) || (call !== undefined && rested.has(call));
}

/** What a plan undoes, counted by what holds others of it back. */
export interface Undoing {
  members: number;
  /** The latest turn in which one was decided that says nothing of what it rests on. */
  readonly latest: number;
  /** How many say nothing, by that turn. */
  readonly byTurn: Map<number, number>;
  /** How many rest on a call. */
  readonly rested: Map<string, number>;
}

export function undoingOf(members: readonly StandingEffect[]): Undoing {
  const byTurn = new Map<number, number>();
  const rested = new Map<string, number>();
  let latest = 0;
  for (const { intent, dependsOn } of members)
    if (dependsOn === undefined) {
      add(byTurn, turnOf(intent), 1);
      latest = Math.max(latest, turnOf(intent));
    } else for (const call of dependsOn) add(rested, call, 1);
  return { members: members.length, latest, byTurn, rested };
}

/** Takes one of them away that is undone. Whether those that wait for others must wait for the same ones still. */
export function holdsStill(undoing: Undoing, { intent, dependsOn, undo, stuck }: StandingEffect): boolean {
  if (undo === undefined || stuck === true) return true; // It was none of them.
  undoing.members -= 1;
  if (undoing.members === 0) return false;
  if (dependsOn === undefined)
    return add(undoing.byTurn, turnOf(intent), -1) > 0 || turnOf(intent) < undoing.latest;
  return dependsOn.map((call) => add(undoing.rested, call, -1)).every((left) => left > 0);
}

function add<K>(counts: Map<K, number>, key: K, more: number): number {
  const count = (counts.get(key) ?? 0) + more;
  counts.set(key, count);
  return count;
}
