/**
 * Undo order: in what order things are undone of which the calls said what they rest on.
 *
 * UO1 What rests on an effect is undone before it. A call that says nothing of what it rests on rests on all that was
 *     settled before it was decided.
 * UO2 What is undone by the thousand, one after another, is counted once and not in each turn: a turn hands on what it has
 *     counted with the list that it is about. A state that was read back counts anew, and comes to the same.
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

/** What one plan undoes, counted by what holds others of it back, so that one that is undone costs no look at the others. */
export interface Undoing {
  /** What the plan names. */
  readonly only: UndoPlan["only"];
  /** Their places among what stands. */
  readonly places: Map<IntentId, number>;
  /** How many of those that say nothing of what they rest on were decided in a turn. */
  readonly byTurn: Map<number, number>;
  /** Those turns, the latest last. */
  readonly turns: number[];
  /** How many rest on a call. */
  readonly rested: Map<string, number>;
  /** Not to go on yet, for something was decided since; the last that settled is last. */
  readonly waiting: StandingEffect[];
  /** Held back by what rests on their call alone. */
  readonly held: Map<string, StandingEffect[]>;
  /** Calls on which nothing rests any more. */
  readonly freed: string[];
  /** The latest of `turns` for which it was found who waits. */
  latest: number;
}

export function undoingOf(members: readonly StandingEffect[], only: UndoPlan["only"]): Undoing {
  const byTurn = new Map<number, number>();
  const rested = new Map<string, number>();
  for (const { intent, dependsOn } of members)
    if (dependsOn === undefined) add(byTurn, turnOf(intent), 1);
    else for (const call of dependsOn) add(rested, call, 1);
  return {
    ...{ only, byTurn, rested, held: new Map(), freed: [], latest: Infinity },
    places: new Map(members.map(({ intent }, place) => [intent, place])),
    turns: [...byTurn.keys()].sort((a, b) => a - b),
    waiting: members.filter(({ undoing }) => undoing === undefined).sort((a, b) => a.settledAt - b.settledAt),
  };
}

/** UO1. Those of them that may go on, each once, in the order in which they stand. */
export function takeReady(all: Undoing): StandingEffect[] {
  const ready = all.freed.splice(0).flatMap((call) => takeHeld(all, call));
  const latest = latestOf(all);
  if (latest !== all.latest) {
    all.latest = latest;
    for (const effect of takeSettledSince(all, latest)) {
      const { call } = effect;
      if (call === undefined || (all.rested.get(call) ?? 0) === 0) ready.push(effect);
      else all.held.set(call, [...(all.held.get(call) ?? []), effect]);
    }
  }
  const placeOf = ({ intent }: StandingEffect): number => all.places.get(intent) ?? -1;
  return ready.filter((effect) => placeOf(effect) >= 0).sort((a, b) => placeOf(a) - placeOf(b));
}

function takeHeld({ held }: Undoing, call: string): StandingEffect[] {
  const effects = held.get(call) ?? [];
  held.delete(call);
  return effects;
}

/** The latest turn in which one was decided that says nothing of what it rests on; 0 for none. */
function latestOf({ turns, byTurn }: Undoing): number {
  for (let turn = turns.at(-1); turn !== undefined; turn = turns.at(-1)) {
    if ((byTurn.get(turn) ?? 0) > 0) return turn;
    turns.pop();
  }
  return 0;
}

/** Those that settled after the latest turn, or were decided in it. Others of that turn wait still. */
function takeSettledSince({ waiting }: Undoing, latest: number): StandingEffect[] {
  const taken: StandingEffect[] = [];
  const left: StandingEffect[] = [];
  for (let one = waiting.at(-1); one !== undefined && one.settledAt >= latest; one = waiting.at(-1)) {
    waiting.pop();
    (one.settledAt > latest || turnOf(one.intent) >= latest ? taken : left).push(one);
  }
  for (const one of left.reverse()) waiting.push(one);
  return taken;
}

/** Takes one of them away that is undone. Whether another may go on now, or none is left. */
export function takeAway(all: Undoing, { intent, dependsOn }: StandingEffect): boolean {
  if (!all.places.delete(intent)) return false; // It was none of them.
  if (dependsOn === undefined) {
    const left = add(all.byTurn, turnOf(intent), -1);
    return all.places.size === 0 || (left === 0 && turnOf(intent) === all.latest);
  }
  for (const call of dependsOn)
    if (add(all.rested, call, -1) === 0 && all.held.has(call)) all.freed.push(call);
  return all.places.size === 0 || all.freed.length > 0;
}

function add<K>(counts: Map<K, number>, key: K, more: number): number {
  const count = (counts.get(key) ?? 0) + more;
  counts.set(key, count);
  return count;
}

/**
 * What was counted, by the list of what stands when a turn was over (UO2). It is taken out by the next turn, which changes it:
 * another turn decided from the same state counts anew.
 */
const counted = new WeakMap<readonly StandingEffect[], Undoing>();

/** UO2. What the turn before counted, if it is of what stands now and of the one plan there is. */
export function takeCounted(
  effects: readonly StandingEffect[],
  plans: readonly UndoPlan[],
): Undoing | undefined {
  const undoing = counted.get(effects);
  if (undoing === undefined) return undefined;
  counted.delete(effects);
  return plans.length === 1 && plans[0]?.only === undoing.only ? undoing : undefined;
}

/** UO2. Keeps for the next turn what was counted. */
export function keepCounted(effects: readonly StandingEffect[], undoing: Undoing): void {
  counted.set(effects, undoing);
}
