/**
 * Replay: a ledger folded into a state, proving on the way that today's code decides what was recorded.
 *
 * L1 The intents a fold yields equal the recorded ones, or the fold stops with turn, expected and got.
 * L2 Replay performs nothing.
 */
import { MeshError } from "../protocol/errors.ts";
import type { DefinitionRef } from "../protocol/event.ts";
import { canonicalJson, type Json, toJson } from "../protocol/json.ts";
import type { Message } from "../protocol/model.ts";
import type { Step, Turn } from "../protocol/turn.ts";
import type { Definition } from "./definition.ts";
import { type DecidedTurn, decideTurn } from "./fold.ts";
import type { SagaState } from "./state.ts";

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
): Pick<DecidedTurn, "state" | "said" | "asked"> {
  const expected = (state?.turn ?? 0) + 1;
  if (turn.turn !== expected)
    throw new MeshError(
      "LEDGER_BROKEN",
      `the ledger of ${turn.saga} has turn ${turn.turn} where ${expected} belongs`,
    );
  const events = turn.steps.map((step) => step.event);
  const decided = decideTurn(definition, state, { saga: turn.saga, at: turn.at, events });
  const difference = differenceOf(turn, decided.steps);
  if (difference !== undefined)
    throw new MeshError(
      "FOLD_DIVERGED",
      `turn ${turn.turn} of ${turn.saga}, ${difference}, decided by ${definition.name} version ${definition.version}`,
      { remedy: "Serve the version the saga was started with, or see `sagamesh migrate --dry-run`." },
    );
  return decided;
}

/** The first intent that is not as recorded, with as much of both as a person reads. */
function differenceOf(turn: Turn, decided: readonly Step[]): string | undefined {
  for (const [index, { event, intents }] of turn.steps.entries()) {
    const got = decided[index]?.intents ?? [];
    for (let k = 0; k < Math.max(intents.length, got.length); k++) {
      const [expected, actual] = [intents[k], got[k]].map((one) =>
        one === undefined ? "nothing" : canonicalJson(one),
      );
      if (expected !== actual)
        return `step ${index + 1} (${event.type}), intent ${k + 1}: expected ${excerpt(expected)}, got ${excerpt(actual)}`;
    }
  }
  return undefined;
}

const excerpt = (text = ""): string =>
  text.length <= 500 ? text : `${text.slice(0, 500)}… (${text.length} characters)`;

/** Folds turns onto a state, or a whole ledger from nothing. `messages` is the conversation they add up to. */
export function foldLedger(
  definition: Definition,
  turns: readonly Turn[],
  from?: SagaState,
): { state: SagaState; messages: Message[] } {
  let state = from;
  const messages: Message[] = [];
  for (const turn of turns) {
    const folded = foldTurn(definition, state, turn);
    state = folded.state;
    messages.push(...folded.said);
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
