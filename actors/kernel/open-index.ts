/**
 * Open index: what is open, by what the fold asks of it, so that no event of a turn looks through all that is open.
 *
 * OX1 It is made from what is open when it is first asked for and follows every change of that. No state holds it.
 * OX2 One of much that is open is handed on to the next turn, with the record that it is of: thousands in line are not counted
 *     for each of them that ends. A state that was read back makes it anew, and it is the same.
 */
import { type AmountName, amountNames } from "../../protocol/budget.ts";
import { type IntentId, placeOf, turnOf } from "../../protocol/ids.ts";
import type { Definition } from "../contract/definition.ts";
import { isDeferred, isInLine, isOpen, type OpenIntent } from "../contract/state.ts";

/** Every set is in the order in which its intents were opened. */
export interface OpenIndex {
  /** All that is open. */
  size: number;
  /** Children that run, neither those in line nor those that are asked to undo what they did. */
  children: number;
  /** Children that stand in line: the first is the next to begin. */
  readonly line: Set<IntentId>;
  /** What tells people of a task, reminds them, or stands in for them, by the task. */
  readonly attendants: Map<IntentId, Set<IntentId>>;
  /** By the name under which the machine takes it back. */
  readonly timers: Map<string, Set<IntentId>>;
  /** Effects whose outcome an undoing of everything waits for, and tasks about a compensation that is stuck. */
  readonly awaited: Set<IntentId>;
  /** Calls whose result comes from outside. */
  readonly deferred: Set<IntentId>;
  /** Of the budget, by those that are open; dollars in billionths, which add up exactly in any order. */
  readonly reserved: { -readonly [K in AmountName]: number };
}

/** Whether an undoing waits for what is in flight (UN1 of undo.ts). */
export type IsInFlight = (open: OpenIntent) => boolean;

/** The task that an intent serves: it tells people of it, reminds them, or stands in for them. */
export const servedBy = ({ intent }: OpenIntent): IntentId | undefined =>
  intent.kind === "tool" || intent.kind === "timer" || intent.kind === "saga" ? intent.for : undefined;

type OpenRecord = Readonly<Record<IntentId, OpenIntent>>;

export function indexOf(open: OpenRecord, isInFlight: IsInFlight): OpenIndex {
  const index: OpenIndex = {
    size: 0,
    children: 0,
    line: new Set(),
    attendants: new Map(),
    timers: new Map(),
    awaited: new Set(),
    deferred: new Set(),
    reserved: { steps: 0, tokens: 0, usd: 0, toolCalls: 0, children: 0 },
  };
  for (const one of Object.values(open)) enter(index, one, isInFlight);
  return index;
}

/** From so many on it is handed on: for fewer it is made sooner than found. */
const handedOnMin = 16;
const handedOn = new WeakMap<object, { readonly of: Definition; readonly index: OpenIndex }>();

/** OX2. It is taken out by the turn that changes it: another one decided from the same state makes its own. */
export function takeIndex(open: OpenRecord, of: Definition): OpenIndex | undefined {
  const known = handedOn.get(open);
  handedOn.delete(open);
  return known?.of === of ? known.index : undefined;
}

/** OX2. */
export function keepIndex(open: OpenRecord, of: Definition, index: OpenIndex | undefined): void {
  if (index !== undefined && index.size >= handedOnMin) handedOn.set(open, { of, index });
}

/** One more is open. */
export function enter(index: OpenIndex, open: OpenIntent, isInFlight: IsInFlight): void {
  const { id } = open.intent;
  const task = servedBy(open);
  index.size += 1;
  if (isRunningChild(open)) index.children += 1;
  if (isInLine(open)) index.line.add(id);
  if (task !== undefined) addTo(index.attendants, task, id);
  if (isOpen(open, "timer") && open.timer !== undefined) addTo(index.timers, open.timer, id);
  if (isStuck(open) || isInFlight(open)) index.awaited.add(id);
  if (isDeferred(open)) index.deferred.add(id);
  reserve(index, open, 1);
}

/** One is open no more. */
export function leave(index: OpenIndex, open: OpenIntent): void {
  const { id } = open.intent;
  const task = servedBy(open);
  index.size -= 1;
  if (isRunningChild(open)) index.children -= 1;
  index.line.delete(id);
  if (task !== undefined) index.attendants.get(task)?.delete(id);
  if (isOpen(open, "timer") && open.timer !== undefined) index.timers.get(open.timer)?.delete(id);
  index.awaited.delete(id);
  index.deferred.delete(id);
  reserve(index, open, -1);
}

/** Fields of one have changed: indexed of them is what makes it a call from outside, and a child of one in line. */
export function change(index: OpenIndex, open: OpenIntent): void {
  const { id } = open.intent;
  if (isDeferred(open)) index.deferred.add(id);
  else index.deferred.delete(id);
  if (isInLine(open) || !index.line.delete(id)) return;
  index.children += 1;
  index.awaited.add(id);
  reserve(index, open, 1);
}

/** In the order in which intents are opened. */
export const byAge = (a: IntentId, b: IntentId): number => turnOf(a) - turnOf(b) || placeOf(a) - placeOf(b);

export const isStuck = ({ intent }: OpenIntent): boolean =>
  intent.kind === "task" && intent.about === "stuck";

/** A child that runs, neither one in line nor one that is asked to undo what it did. */
export const isRunningChild = (open: OpenIntent): boolean =>
  open.intent.kind === "saga" && open.intent.undoes === undefined && !isInLine(open);

function addTo<K>(sets: Map<K, Set<IntentId>>, key: K, id: IntentId): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([id]));
  else set.add(id);
}

function reserve({ reserved }: OpenIndex, { intent }: OpenIntent, times: 1 | -1): void {
  if ((intent.kind !== "model" && intent.kind !== "saga") || intent.budget === undefined) return;
  for (const name of amountNames) {
    const amount = intent.budget[name] ?? 0;
    reserved[name] += times * (name === "usd" ? Math.round(amount * 1e9) : amount);
  }
}
