/**
 * Accept: what an input is to this saga now, before it becomes an event.
 *
 * AE1 Dedup needs no window: a result or timer whose intent is not open is settled already, or belongs to a
 *     turn this reader has not seen. A vote is a person's word and not a repeat because its task is over: it stands on
 *     the ledger, or they hear that it does not.
 * AE2 Bad input is refused here, with a code, and changes nothing.
 * AE3 An event's values are written into a turn, and are bounded here for every way in (values.ts).
 */
import { digestOf } from "../../protocol/digest.ts";
import { type ErrorCode, isMeshError, MeshError } from "../../protocol/errors.ts";
import type { Event, EventOf } from "../../protocol/event.ts";
import { type IntentId, turnOf } from "../../protocol/ids.ts";
import type { Definition } from "../contract/definition.ts";
import { lateCallOf } from "./late.ts";
import { assertDoubtsWhole } from "./past.ts";
import { counts } from "./settle.ts";
import { corrects, newMisfit } from "./doubt.ts";
import { isSameFork } from "./lineage.ts";
import { isMovedTo } from "./migrated.ts";
import { wasSeen } from "./seen.ts";
import { isDeferred, isOpen, type OpenIntent, type SagaState } from "../contract/state.ts";
import { readSignal } from "./read-signal.ts";
import { recordedVote, refusalOfVote } from "./task.ts";
import { correction, lateResult, recordable, refusalOfValue } from "./values.ts";

/**
 * `new`: a turn. `known`: changes nothing, but obliges its receiver to hand on what is open. `stale`: this
 * reader's view is old. `refused`: for the dead letters. `taken`: a start that finds another saga. `over`: a vote on what
 * is not open, which its ledger has already, or which is for the dead letters; the state does not remember which (ES2 of state.ts).
 */
export type Acceptance =
  | { readonly type: "new"; readonly event: Event }
  | { readonly type: "known" }
  | { readonly type: "stale" }
  | { readonly type: "refused"; readonly error: MeshError }
  | { readonly type: "over"; readonly event: EventOf<"task"> }
  | { readonly type: "taken" };

/** Judges an input against the state. Pure. `now` is only for a signal's age. Throws PastNeeded. */
export function accept(definition: Definition, state: SagaState, event: Event, now: number): Acceptance {
  switch (event.type) {
    case "start":
      return acceptStart(state, event);
    case "signal":
      return acceptSignal(definition, state, event, now);
    case "result":
      return acceptResult(definition, state, event);
    case "deferred":
      return acceptDeferred(state, event);
    case "timer": {
      const open = openOf(state, event.intent);
      return open !== undefined && hasTimer(open)
        ? { type: "new", event }
        : settledOrStale(state, event.intent);
    }
    case "task":
      return acceptVote(definition, state, event);
    case "adopted":
    case "forked":
    case "migrated":
      return { type: "new", event };
  }
}

const openOf = (state: SagaState, id: IntentId): OpenIntent | undefined =>
  Object.hasOwn(state.open, id) ? state.open[id] : undefined;

/** AE1 */
const settledOrStale = (state: SagaState, id: IntentId): Acceptance =>
  turnOf(id) > state.turn ? { type: "stale" } : { type: "known" };

const hasTimer = (open: OpenIntent): boolean =>
  isOpen(open, "timer") || isOpen(open, "task") || isDeferred(open);

function acceptStart(state: SagaState, event: EventOf<"start">): Acceptance {
  const same = state.definition.name === event.definition.name && state.inputDigest === digestOf(event.input);
  if (state.fork !== undefined || event.fork !== undefined)
    return same && isSameFork(state.fork?.lineage, event.fork) ? { type: "known" } : { type: "taken" };
  // A child's id is made of its parent's decision, which may have been taken again under another id (address.ts).
  return same && state.parent?.saga === event.parent?.saga ? { type: "known" } : { type: "taken" };
}

function acceptSignal(
  definition: Definition,
  state: SagaState,
  event: EventOf<"signal">,
  now: number,
): Acceptance {
  if (wasSeen(state, event) || isMovedTo(state, event)) return { type: "known" };
  const unfit = refusalOfValue(state, event); // AE3
  if (unfit !== undefined) return unfit;
  try {
    return { type: "new", event: { ...event, data: readSignal(definition, state, event, now) } };
  } catch (error) {
    if (!isMeshError(error)) throw error;
    return { type: "refused", error };
  }
}

function acceptResult(definition: Definition, state: SagaState, event: EventOf<"result">): Acceptance {
  const { intent, attempt } = event;
  const open = openOf(state, intent);
  const isLate = lateCallOf(state, intent, attempt) !== undefined;
  if (open !== undefined) {
    const refusal = refusalOfResult(open, event);
    if (refusal !== undefined) return refused("BAD_MESSAGE", `${intent} of ${state.saga} ${refusal}`);
    if (counts(open, event)) return { type: "new", event: recordable(definition, open, event) }; // AE3
    if (isLate) return lateResult(state, event);
    return attempt > open.attempt ? { type: "stale" } : { type: "known" };
  }
  const doubt = Object.hasOwn(state.doubts, intent) ? state.doubts[intent] : undefined;
  if (doubt !== undefined && corrects({ definition, state }, doubt, event))
    return correction(definition, state, doubt, event);
  if (state.unpaid.includes(intent) || isLate) return lateResult(state, event);
  const misfit = doubt === undefined ? undefined : newMisfit({ definition, state }, doubt, event);
  if (misfit !== undefined) return refused("BAD_RESULT", `${intent} of ${state.saga}: ${misfit}`);
  if (doubt === undefined && turnOf(intent) <= state.turn) assertDoubtsWhole(state);
  return settledOrStale(state, intent);
}

/** A task is settled by votes and a timer by its firing: a result must not take their place. */
function refusalOfResult({ intent }: OpenIntent, { result }: EventOf<"result">): string | undefined {
  if (intent.kind === "task" || intent.kind === "timer") return `is a ${intent.kind} and takes no result`;
  const isPublished = intent.kind === "signal" || intent.kind === "end";
  return isPublished && result.outcome !== "succeeded"
    ? `is a ${intent.kind}, which is sent until it is acked`
    : undefined;
}

function acceptDeferred(state: SagaState, event: EventOf<"deferred">): Acceptance {
  const open = openOf(state, event.intent);
  if (open === undefined) return settledOrStale(state, event.intent);
  if (!isOpen(open, "tool"))
    return refused("BAD_MESSAGE", `${event.intent} of ${state.saga} is no tool's and cannot be deferred`);
  if (open.attempt === event.attempt)
    return open.deferred === true ? { type: "known" } : { type: "new", event };
  return event.attempt > open.attempt ? { type: "stale" } : { type: "known" };
}

function acceptVote(definition: Definition, state: SagaState, event: EventOf<"task">): Acceptance {
  const open = openOf(state, event.intent);
  if (open === undefined && turnOf(event.intent) > state.turn) return { type: "stale" };
  if (wasSeen(state, event)) return { type: "known" };
  if (open === undefined) return { type: "over", event };
  if (!isOpen(open, "task")) return refused("TASK_UNKNOWN", `${event.intent} of ${state.saga} is no task`);
  const unfit = refusalOfValue(state, event); // AE3
  if (unfit !== undefined) return unfit;
  const refusal = refusalOfVote({ definition, state }, open, event.vote);
  return refusal === undefined
    ? { type: "new", event: { ...event, vote: recordedVote(open.intent, event.vote) } }
    : refused(refusal.code, `task ${event.intent} of ${state.saga}: ${refusal.reason}`);
}

const refused = (code: ErrorCode, detail: string): Acceptance => ({
  type: "refused",
  error: new MeshError(code, detail),
});
