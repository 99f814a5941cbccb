/**
 * Replay: a ledger folded into a state, proving on the way that today's code decides what was recorded.
 *
 * RY1 The intents a fold yields, those that it closes and the children that it lets leave the line equal the recorded ones,
 *     or the fold stops with turn, expected and got.
 * RY2 Replay performs nothing.
 * RY3 Turns before the saga was moved to the definition were decided by another one. Of their model calls the digest is
 *     not compared: it was, when it was moved (migrate.ts).
 * RY4 A record that says nothing of what an input was made of is a former version's, which did not count that among what a
 *     call rests on: such a record may name fewer calls.
 */
import type { Closing } from "../../protocol/closing.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { DefinitionRef, Event } from "../../protocol/event.ts";
import type { Intent } from "../../protocol/intent.ts";
import { canonicalJson, type Json, toJson } from "../../protocol/json.ts";
import type { ModelMessage } from "../../protocol/model.ts";
import type { Begun, Step, Turn } from "../../protocol/turn.ts";
import type { Definition } from "../contract/definition.ts";
import { type DecidedTurn, decideTurn } from "./fold.ts";
import type { Growing } from "./folding.ts";
import { type Comparison, compared, comparedClosing, lastMigration } from "./migrated.ts";
import type { SagaState } from "../contract/state.ts";

/** The definition that a ledger's next turn is decided by. Throws LEDGER_BROKEN as `definitionOf`. */
export function presentDefinition(turns: readonly Turn[]): DefinitionRef {
  const [first] = turns;
  if (first === undefined) throw new MeshError("LEDGER_BROKEN", "a ledger has at least one turn");
  return lastMigration(turns)?.event.to ?? definitionOf(first);
}

/** The definition a ledger was started with. Throws LEDGER_BROKEN unless its first event is a start. */
export function definitionOf(first: Turn): DefinitionRef {
  const event = first.steps[0]?.event;
  if (event?.type !== "start")
    throw new MeshError("LEDGER_BROKEN", `the ledger of ${first.saga} does not begin with a start`);
  return event.definition;
}

/**
 * Folds one recorded turn onto a state. Throws LEDGER_BROKEN if the turn does not follow the state, and
 * FOLD_DIVERGED if today's code decides otherwise.
 */
export function foldTurn(
  definition: Definition,
  state: SagaState | undefined,
  turn: Turn,
  comparison: Comparison = "strict",
  growing?: Growing,
): Pick<DecidedTurn, "state" | "said" | "asked"> {
  const expected = (state?.turn ?? 0) + 1;
  if (turn.turn !== expected)
    throw new MeshError(
      "LEDGER_BROKEN",
      `the ledger of ${turn.saga} has turn ${turn.turn} where ${expected} belongs`,
    );
  const events = turn.steps.map((step) => step.event);
  const decided = decideTurn(definition, state, { saga: turn.saga, at: turn.at, events }, growing);
  const difference = differenceOf(turn, decided.steps, comparison);
  if (difference !== undefined)
    throw new MeshError(
      "FOLD_DIVERGED",
      `turn ${turn.turn} of ${turn.saga}, ${inOneLine(difference)}, decided by ${definition.name} version ${definition.version}`,
      { remedy: "Serve the version the saga was started with, or see `sagamesh migrate --dry-run`." },
    );
  return decided;
}

/** What a step says of an intent: that it was decided, closed, or left the line. */
export type Said = Intent | Closing | Begun;

/** Where a turn is not as it was recorded. */
export interface Difference {
  readonly step: number;
  readonly event: Event["type"];
  readonly what: "intent" | "closing" | "begun";
  /** Its number among those of the step, from 1. */
  readonly k: number;
  readonly expected: Said | undefined;
  readonly got: Said | undefined;
}

/** The first that is not as recorded. */
export function differenceOf(
  turn: Turn,
  decided: readonly Step[],
  comparison: Comparison,
): Difference | undefined {
  for (const [index, { event, intents, closed, begun = [] }] of turn.steps.entries()) {
    const got = decided[index];
    const known = (got?.intents ?? []).map((intent, k) => asFormerly(intents[k], intent));
    const found =
      firstOther(intents, known, (intent) => compared(intent, comparison)) ??
      firstOther(closed, got?.closed ?? [], (closing) => comparedClosing(closing, comparison)) ??
      firstOther(begun, got?.begun ?? [], (one) => one);
    if (found === undefined) continue;
    const what = found.list === intents ? "intent" : found.list === closed ? "closing" : "begun";
    const { k, expected, got: other } = found;
    return { step: index + 1, event: event.type, what, k, expected, got: other };
  }
  return undefined;
}

/** RY4. What was decided, as the version that wrote the record would have said it. */
function asFormerly(recorded: Intent | undefined, got: Intent): Intent {
  if (got.kind !== "tool" && got.kind !== "saga") return got;
  if (got.inputFrom === undefined || recorded?.kind !== got.kind || recorded.inputFrom !== undefined)
    return got;
  const { inputFrom: _later, ...rest } = got;
  const knewFewer = recorded.dependsOn?.every((call) => got.dependsOn?.includes(call));
  return knewFewer === true ? { ...rest, dependsOn: recorded.dependsOn } : rest;
}

/** The first place at which two lists are not alike, as far as they are compared. */
function firstOther<T>(list: readonly T[], got: readonly T[], as: (one: T) => unknown) {
  const textAt = (of: readonly T[], k: number) => (k < of.length ? canonicalJson(as(of[k] as T)) : undefined);
  for (let k = 0; k < Math.max(list.length, got.length); k++)
    if (textAt(list, k) !== textAt(got, k)) return { list, k: k + 1, expected: list[k], got: got[k] };
  return undefined;
}

const textOf = (one: Said | undefined): string => (one === undefined ? "nothing" : canonicalJson(one));

/** With as much of both as a person reads. */
const inOneLine = ({ step, event, what, k, expected, got }: Difference): string =>
  `step ${step} (${event}), ${what} ${k}: expected ${excerpt(textOf(expected))}, got ${excerpt(textOf(got))}`;

const excerpt = (text: string): string =>
  text.length <= 500 ? text : `${text.slice(0, 500)}… (${text.length} characters)`;

/** What a ledger folds to. `messages` is the conversation that its turns add up to. */
export interface FoldedLedger {
  readonly state: SagaState;
  readonly messages: ModelMessage[];
}

/** Folds turns onto a state, or a whole ledger from nothing. Throws as `foldTurn`. */
export function foldLedger(definition: Definition, turns: readonly Turn[], from?: SagaState): FoldedLedger {
  const pieces = foldingLedger(definition, turns, from);
  for (;;) {
    const piece = pieces.next();
    if (piece.done === true) return piece.value;
  }
}

/**
 * The same in pieces, a turn each: a long ledger takes longer than its process should hold still. `moved`: the turn of the
 * ledger's last move to another definition, where these turns are a part of it.
 */
export function* foldingLedger(
  definition: Definition,
  turns: readonly Turn[],
  from?: SagaState,
  moved = lastMigration(turns)?.turn ?? 0,
): Generator<undefined, FoldedLedger> {
  let state = from;
  const messages: ModelMessage[] = [];
  const growing: Growing = new WeakSet(); // No state between two turns leaves this function.
  for (const turn of turns) {
    const comparison = turn.turn < moved ? "but for requests" : "strict";
    const folded = foldTurn(definition, state, turn, comparison, growing);
    state = folded.state;
    for (const message of folded.said) messages.push(message);
    yield;
  }
  if (state === undefined) throw new MeshError("LEDGER_BROKEN", "a ledger has at least one turn");
  return { state, messages };
}

/**
 * The state as a snapshot stores it: JSON, with the machine's own snapshot at rest. Throws APP_INVALID if the
 * machine's context holds what JSON cannot say.
 */
export const stateToJson = (definition: Definition, state: SagaState): Json =>
  toJson({
    ...state,
    // A machine that threw at its start never had one.
    snapshot: state.snapshot === undefined ? null : definition.machine.persist(state.snapshot),
  });

/** The state back from its stored form. The caller has checked the turn's and the definition's hash. */
export function stateFromJson(definition: Definition, stored: unknown): SagaState {
  const { snapshot, ...state } = stored as Stored; // Proof: written by stateToJson, as the caller's hashes say.
  // As in a live state: without a machine nothing reads it, the saga has ended or is about to.
  const revived = snapshot === null ? (undefined as never) : definition.machine.revive(snapshot);
  return { ...state, parent: state.parent, snapshot: revived };
}

type Stored = Omit<SagaState, "snapshot"> & { readonly snapshot: Json };
