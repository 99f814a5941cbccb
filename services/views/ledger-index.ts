/**
 * Ledger index: where in a ledger each intent stands, what it was decided on, and what was new to each decision.
 *
 * LX1 From the ledger alone. So "new" is what came in since the decision before: whether the model was shown a signal
 *     that its definition ignores, only the definition tells.
 */
import type { Event } from "../../protocol/event.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { Intent } from "../../protocol/intent.ts";
import type { Step, Turn } from "../../protocol/turn.ts";
import type { IntentView } from "./view.ts";
import type { ViewedIntent } from "./viewing.ts";

/** A step of a turn, by its place from 0. */
export interface StepPlace {
  readonly turn: number;
  readonly step: number;
  readonly at: number;
  readonly host: string;
  readonly event: Event;
  readonly intents: readonly Intent[];
}

/** Where an intent was decided. */
export interface Place extends StepPlace {
  readonly intent: ViewedIntent;
  /** The decision whose call it is. */
  readonly proposedBy: IntentId | undefined;
}

/** Something that had come in since the decision before: an event, or a call that was refused. */
export interface News {
  readonly at: StepPlace;
  /** Whose outcome it is; undefined for what came from outside by itself. */
  readonly intent: IntentId | undefined;
}

export interface LedgerIndex {
  readonly steps: readonly StepPlace[];
  readonly places: ReadonlyMap<IntentId, Place>;
  /** An agent's decisions with their numbers, from 1. One that is asked anew has the same. */
  readonly numbers: ReadonlyMap<IntentId, number>;
  /** What was new to each decision. */
  readonly news: ReadonlyMap<IntentId, readonly News[]>;
  /** The decision that was still unanswered when another one was asked for: by the later one. */
  readonly superseded: ReadonlyMap<IntentId, IntentId>;
}

/** Reads a ledger once. `views` say which tasks are settled, and when. */
export function indexOf(turns: readonly Turn[], views: readonly IntentView[]): LedgerIndex {
  const reading: Reading = {
    places: new Map(),
    decisions: [],
    numbers: new Map(),
    news: new Map(),
    superseded: new Map(),
    settled: new Map(views.map((view) => [view.intent.id, view])),
    fresh: [],
    answered: new Set(),
  };
  const steps = turns.flatMap((turn) => turn.steps.map((step, k) => placeOf(turn, step, k)));
  for (const place of steps) readStep(reading, place);
  const { places, numbers, news, superseded } = reading;
  return { steps, places, numbers, news, superseded };
}

interface Reading {
  readonly places: Map<IntentId, Place>;
  /** By number; of those of one number the last. */
  readonly decisions: IntentId[];
  readonly numbers: Map<IntentId, number>;
  readonly news: Map<IntentId, readonly News[]>;
  readonly superseded: Map<IntentId, IntentId>;
  readonly settled: ReadonlyMap<IntentId, IntentView>;
  fresh: News[];
  /** The decision that is to be asked anew. */
  withdrawn?: IntentId | undefined;
  /** Decisions whose first result is in. */
  readonly answered: Set<IntentId>;
}

const placeOf = ({ turn, at, host }: Turn, { event, intents }: Step, step: number): StepPlace => ({
  turn,
  step,
  at,
  host,
  event,
  intents,
});

function readStep(reading: Reading, at: StepPlace): void {
  const { event, intents } = at;
  const told = newsOf(reading, at);
  if (told !== undefined) reading.fresh.push(told);
  if (event.type === "result") reading.answered.add(event.intent);
  if (event.type === "forked") withdraw(reading, event.answered ?? []);
  if (event.type === "migrated") withdraw(reading, []);
  for (const intent of intents) {
    if (intent.kind === "retry") continue;
    const call = "call" in intent ? intent.call : undefined;
    const proposedBy = call === undefined ? undefined : reading.decisions[stepOfCall(call) - 1];
    reading.places.set(intent.id, { ...at, intent, proposedBy });
    if (intent.kind === "denied" && intent.for === undefined) reading.fresh.push({ at, intent: intent.id });
    if (isDecision(intent)) askDecision(reading, intent.id);
  }
}

/** In a fork, and under another definition, what a model was still asked is asked anew, with all that was new to it. */
function withdraw(reading: Reading, answered: readonly IntentId[]): void {
  const open = reading.decisions.at(-1);
  if (open === undefined || reading.answered.has(open) || answered.includes(open)) return;
  reading.decisions.pop();
  reading.withdrawn = open;
  reading.fresh = [...(reading.news.get(open) ?? []), ...reading.fresh];
}

function askDecision(reading: Reading, id: IntentId): void {
  const before = reading.withdrawn ?? reading.decisions.at(-1);
  if (before !== undefined && !reading.answered.has(before)) reading.superseded.set(id, before);
  reading.withdrawn = undefined;
  reading.decisions.push(id);
  reading.numbers.set(id, reading.decisions.length);
  reading.news.set(id, reading.fresh);
  reading.fresh = [];
}

/** Of an agent: what a machine asks a model, and a summary, carry an input. */
export const isDecision = (intent: Intent): boolean => intent.kind === "model" && intent.input === undefined;

/** A call's id is `<decision's number>.<place in its reply>`. */
export const stepOfCall = (call: string): number => Number(call.slice(0, call.indexOf(".")));

/** What an event tells a decision that comes after it, if anything. */
function newsOf({ places, settled }: Reading, at: StepPlace): News | undefined {
  const { event, intents } = at;
  if (event.type === "adopted" || event.type === "deferred") return undefined;
  if (!("intent" in event)) return { at, intent: undefined }; // From outside.
  const intent = places.get(event.intent)?.intent;
  if (intent === undefined || isDecision(intent)) return undefined;
  if ("for" in intent && intent.for !== undefined) return undefined; // It serves a task: nobody is told of it.
  const isPassedOn = intents.some(
    (next) =>
      (next.kind === "retry" && next.id === event.intent) ||
      (next.kind === "task" && (next.of === event.intent || next.after?.task === event.intent)) ||
      (intent.kind === "task" && "call" in next && next.call !== undefined && next.call === intent.call),
  );
  if (isPassedOn) return undefined;
  if (intent.kind === "task" && settled.get(event.intent)?.settledTurn !== at.turn) return undefined;
  return { at, intent: event.intent };
}

/** The intent that an event is about. */
export const intentOfEvent = (event: Event): IntentId | undefined =>
  "intent" in event ? event.intent : undefined;
