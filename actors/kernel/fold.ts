/**
 * Fold: ③ the actor. (state, events, now) → (state', intents). Pure; replay and life run the same lines.
 *
 * FD1 The intents of a turn follow from the state before it, its events and its time, and from nothing else.
 * FD2 Events are folded in the order given; what one brings about at once is folded before the next.
 */
import { digestOf } from "../../protocol/digest.ts";
import { assert, MeshError } from "../../protocol/errors.ts";
import type { Event, EventOf } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { ModelMessage } from "../../protocol/model.ts";
import type { Step } from "../../protocol/turn.ts";
import type { Definition } from "../contract/definition.ts";
import { memorySignal } from "../contract/memory-spec.ts";
import { type Held, isOpen, type KeptSignal, type SagaState } from "../contract/state.ts";
import type { MachineEvent } from "../machine/actions.ts";
import type { MachineStep } from "../machine/machine.ts";
import { eachRecorded } from "../machine/source.ts";
import { inOneTurn, withLast, withoutAt } from "../values/draft.ts";
import { readWith } from "../values/schema.ts";
import { dismissAttendants } from "./asking.ts";
import { blank } from "./blank.ts";
import { excessOf } from "./open-bound.ts";
import { answeredBy, charge, openBudget, payLate, takeAdopted } from "./budget.ts";
import { guarded, takeCancel } from "./cancel.ts";
import { correct, corrects } from "./doubt.ts";
import { takeDeferred, takeTimer } from "./due.ts";
import { endAsRestless, endOfMachine, progressEnd } from "./end.ts";
import {
  type AskedModel,
  type Draft,
  type Folding,
  folding,
  forgetActor,
  type Growing,
  isAwaited,
  type Queued,
} from "./folding.ts";
import { keepIndex, servedBy } from "./open-index.ts";
import { settleEffects } from "./effects.ts";
import { takeForked } from "./fork.ts";
import { holdEvent, holdSignal, isPaused, isUnasked, nextHeld, queuedOf } from "./held.ts";
import { issue } from "./issue.ts";
import { begunAs } from "./keys.ts";
import { lateCallOf } from "./late.ts";
import { advanceLine } from "./line.ts";
import { turnName } from "./lineage.ts";
import { learn } from "./learn.ts";
import { letsPass } from "./early.ts";
import { takeMigrated } from "./migrated.ts";
import { assertDoubtsWhole } from "./past.ts";
import { takeRaise } from "./raise.ts";
import { issueRetry } from "./retry-attempt.ts";
import { isFirst, tidySeen } from "./seen.ts";
import { counts, settle, usageOf } from "./settle.ts";
import { settleSlice } from "./slices.ts";
import { endPause, steer } from "./steering.ts";
import { issueHeldCall, takeStandIn, takeVote } from "./task.ts";
import { beginEndByUndoing, progressPlans } from "./undo.ts";
import { keepCounted } from "./undo-order.ts";

/** One turn as decided: what is appended, and what only the host uses. */
export interface DecidedTurn {
  readonly state: SagaState;
  readonly steps: Step[];
  /** Messages the agent's conversation grew by; a projection, not part of the state. */
  readonly said: readonly ModelMessage[];
  /** Model calls that were asked for: with `said`, all that their requests are built from. */
  readonly asked: readonly AskedModel[];
  readonly shown: readonly { readonly kind: "emit" | "log"; readonly value: Json }[];
}

/**
 * Decides one turn. `state` is undefined before the first turn, whose first event is the start. The state
 * given is left as it was, but for lists that are `growing`: a fold of many turns that keeps none of the states between
 * gives the same for all of them. Throws INTERNAL for events that `accept` would not have let through, and PastNeeded.
 */
export function decideTurn(
  definition: Definition,
  state: SagaState | undefined,
  turn: { readonly saga: SagaId; readonly at: number; readonly events: readonly Event[] },
  growing?: Growing,
): DecidedTurn {
  return inOneTurn(() => decide(definition, state, turn, growing));
}

function decide(
  definition: Definition,
  state: SagaState | undefined,
  turn: { readonly saga: SagaId; readonly at: number; readonly events: readonly Event[] },
  growing: Growing | undefined,
): DecidedTurn {
  const [first] = turn.events;
  assert(state !== undefined || first?.type === "start", "a ledger begins with a start");
  const draft: Draft = state === undefined ? blank(turn.saga, definition) : { ...state };
  draft.turn += 1;
  draft.updatedAt = turn.at;
  const f = folding(definition, draft, turn.at, growing);
  const steps = eachRecorded(turn, turnName(draft), (event) => {
    f.intents = [];
    f.closed = [];
    f.begun = [];
    f.closedAt.clear();
    f.unanswered.clear();
    take(f, event);
    run(f);
    const begun = f.begun.length === 0 ? {} : { begun: f.begun };
    return { event, intents: f.intents, closed: f.closed, ...begun };
  });
  settleEffects(f);
  if (f.undoing !== undefined) keepCounted(draft.effects, f.undoing);
  keepIndex(draft.open, definition, f.index);
  if (draft.turn % limits.seenTidyTurns === 0) Object.assign(draft, tidySeen(draft, turn.at));
  return { state: draft, steps, said: f.said, asked: f.asked, shown: f.shown };
}

function take(f: Folding, event: Event): void {
  switch (event.type) {
    case "start":
      return takeStart(f, event);
    case "signal":
      return takeSignal(f, event);
    case "result":
      return takeResult(f, event);
    case "deferred":
      return takeDeferred(f, event);
    case "timer":
      return takeTimer(f, event);
    case "task":
      return isFirst(f.state, event, f.at) ? takeVote(f, event) : undefined;
    case "adopted":
      return event.anew === true ? takeAdopted(f) : undefined;
    case "forked":
      return takeForked(f, event);
    case "migrated":
      return takeMigrated(f, event);
  }
}

function takeStart(f: Folding, event: EventOf<"start">): void {
  assert(f.state.turn === 1 && f.state.snapshot === undefined, "a saga starts once");
  f.state.parent = event.parent;
  if (event.fork !== undefined) f.state.fork = { lineage: event.fork };
  Object.assign(f.state, begunAs(event));
  f.state.inputDigest = digestOf(event.input);
  f.state.startedAt = f.at;
  const read = readWith(f.definition.input, event.input);
  if (!read.success)
    throw new MeshError("INPUT_INVALID", `the input of ${f.definition.name}: ${read.reason}`);
  const input: unknown = read.data;
  openBudget(f, event);
  guarded(f, () => {
    const { kind, machine } = f.definition;
    const { follows } = f.state;
    follow(f, machine.initial(kind.machineInput(event.input, input, f.at, follows), follows));
  });
}

function takeSignal(f: Folding, event: EventOf<"signal">): void {
  if (!isFirst(f.state, event, f.at)) return;
  if (event.name === "cancel") return takeCancel(f, event) ? letGo(f) : undefined;
  if (event.name === "resume") return takeResume(f, event);
  if (event.name === "budget") return takeRaise(f, event);
  if (!steer(f, event) || f.state.phase.kind !== "running") return;
  const { id, name, data, from } = event;
  if (f.state.memory !== undefined) {
    learn(f, { type: "signal", name, data, from });
    if (name === memorySignal) return;
  }
  const signal = { id, name, data, at: f.at, from };
  if (isPaused(f)) return holdSignal(f, signal);
  f.state.kept = withLast(f.state.kept, signal);
  f.moved = true;
}

/** A kept signal as the machine takes it. Read anew each time: what a schema makes of it may not be JSON. */
const eventOf = (f: Folding, signal: KeptSignal): MachineEvent => {
  const offered = { now: f.at, free: isUnasked(f), follows: f.state.follows };
  return f.definition.kind.signalEvent(f.definition, signal, offered);
};

/** The machine takes what came while it was paused. One that was not has its flags acknowledged all the same. */
function takeResume(f: Folding, event: EventOf<"signal">): void {
  endPause(f, event);
  letGo(f);
}

/** Lets go what is held, each thing and what follows from it before the next (FD2). */
function letGo(f: Folding): void {
  run(f);
  for (let held = nextHeld(f); held !== undefined; held = nextHeld(f)) {
    release(f, held);
    run(f);
  }
}

function release(f: Folding, held: Held): void {
  if (f.state.phase.kind !== "running") return;
  if (held.kind === "event") f.queue.push(queuedOf(f, held));
  else if (held.kind === "retry") issueRetry(f, held.open);
  else if (held.kind === "approved") issueHeldCall(f, held.intent, held.call);
  else {
    f.state.kept = withLast(f.state.kept, held.signal);
    f.moved = true;
  }
}

/** Results of one turn were judged by the state before it: each is judged again by what came before it. */
function takeResult(f: Folding, event: EventOf<"result">): void {
  const { intent } = event;
  const open = f.state.open[intent];
  const late = lateCallOf(f.state, intent, event.attempt);
  if (open !== undefined && counts(open, event)) {
    answeredBy(f, open, event.attempt);
    settleSlice(f, open, event);
    if (isOpen(open, "saga") && servedBy(open) !== undefined)
      return takeStandIn(f, intent, open, event.result);
    return settle(f, intent, open, event.result);
  }
  if (late !== undefined) return payLate(f, late, event.result, usageOf(event.result));
  if (open !== undefined) return;
  const doubt = f.state.doubts[intent];
  if (doubt !== undefined && corrects(f, doubt, event)) return correct(f, intent, doubt, event.result);
  if (!f.state.unpaid.includes(intent)) return doubt === undefined ? assertDoubtsWhole(f.state) : undefined;
  f.state.unpaid = f.state.unpaid.filter((id) => id !== intent);
  charge(f, usageOf(event.result), "");
}

/** Everything that follows at once: the machine's events, kept signals, undoing, the end. */
function run(f: Folding): void {
  let most = movesMax(f);
  for (let moves = 1; ; moves++) {
    const queued = f.queue.shift();
    if (queued !== undefined) deliver(f, queued);
    else if (advanceLine(f)) most = Math.max(most, moves + movesMax(f));
    else if (!dismissAttendants(f) && !offerKept(f) && !progressPlans(f) && !progressEnd(f)) return;
    if (moves === 1) most = Math.max(most, movesMax(f));
    if (moves === most) endAsRestless(f);
    assert(moves < most + 10 * limits.movesPerEventMax, "a turn comes to rest");
  }
}

/** Thousands that wait, refusals of one reply or of a line, or signals that came early, are no machine that asks again and again. */
function movesMax({ queue, state }: Folding): number {
  const waiting = queue.length + state.kept.length;
  return limits.movesPerEventMax + (waiting > limits.movesPerEventMax / 2 ? waiting : 0);
}

/** What an actor is told reaches the machine only if the actor still waits: a state may have been left since. */
function deliver(f: Folding, queued: Queued): void {
  const { event, waits } = queued;
  if (isPaused(f)) return holdEvent(f, queued);
  if (waits !== undefined) {
    if (!isAwaited(f, waits.intent, waits.actor)) return;
    forgetActor(f, waits.actor);
  }
  step(f, event);
}

function step(f: Folding, event: MachineEvent): boolean {
  if (f.state.phase.kind !== "running") return true;
  let taken = true;
  guarded(f, () => {
    const next = f.definition.machine.step(f.state.snapshot, event, f.state.follows);
    taken = next.taken;
    if (taken) follow(f, next);
  });
  return taken;
}

function follow(f: Folding, next: MachineStep): void {
  f.state.snapshot = next.snapshot;
  f.moved = true;
  f.offered = 0;
  const excess = excessOf(f, next.actions);
  if (excess !== undefined)
    return beginEndByUndoing(f, { status: "failed", code: "INTENTS_TOO_MANY", reason: excess });
  for (const [k, action] of next.actions.entries()) {
    f.asks = next.actions;
    f.asksDone = k + 1;
    issue(f, action);
  }
  if (next.snapshot.status !== "active") endOfMachine(f);
}

/** Offers kept signals, oldest first, after the machine moved. One that no state takes stays or is dropped. */
function offerKept(f: Folding): boolean {
  if (!f.moved || f.state.phase.kind !== "running" || isPaused(f)) return false;
  f.moved = false;
  for (let at = f.offered; at < f.state.kept.length; at++) {
    const signal = f.state.kept[at] as KeptSignal; // Proof: a place of the list.
    const event = eventOf(f, signal);
    if (step(f, event) || letsPass(f, signal, event)) {
      f.state.kept = withoutAt(f.state.kept, at);
      f.moved = true;
      return true;
    }
    f.offered = at + 1;
  }
  return false;
}
