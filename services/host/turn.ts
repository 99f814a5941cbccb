/**
 * Turn: ③④ the one critical section of a saga, from a batch of inputs to the handing on of what was decided.
 *
 * `takeTurn` is the usual turn, in order: read → accept → decide → append → hand on; activation.ts acks, and gives back. What is rare
 * leaves it for detour.ts and comes back where it left: a saga that is not in memory, a fork, a move to another
 * definition, a tombstone, inputs that are refused, a view that is old, a past that was laid by.
 *
 * TN1 Nothing is performed or handed on before the turn that holds it is acked.
 * TN2 Un-acked inputs are the saga's lease. They are acked when the saga has no open intent of its host's own
 *    and every other open intent was handed on by an acked publish.
 * TN3 A known input changes nothing, but what is open is handed on again before it is acked, after a turn of
 *    this host's own has proved that the saga is still its.
 */
import { hasCountedCall } from "../../actors/kernel/late.ts";
import type { DecidedTurn } from "../../actors/kernel/fold.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import type { Event } from "../../protocol/event.ts";
import { type Head, emptyHead } from "../ledger/reader.ts";
import { handOnAgain, nudgeIn, tellEndAgain } from "./again.ts";
import { appendTurn } from "./append.ts";
import { hear } from "./conversation.ts";
import { appendDepsOf } from "./refused.ts";
import {
  answerOther,
  type Aside,
  type Batch,
  type Course,
  detour,
  dropUnappended,
  judgeItem,
} from "./detour.ts";
import { handOnEach } from "./hand-on.ts";
import { isRead, type Item, type ReadItem } from "./inputs.ts";
import type { Loaded } from "./load.ts";
import { isMoveOrder } from "./migrate.ts";
import { intentsToDispatch, ownWorkOf } from "./open-work.ts";
import { isGone, ownOf, type Owned, type Residence } from "./phase.ts";
import { withPast } from "./pure-step.ts";
import { tellTurn } from "./tell-turn.ts";
import { decideHere } from "./twice.ts";
import { encodeTurn, traceIdOf } from "./turn-message.ts";

/** Takes a batch. Rejects where it cannot be taken; then everything is to be given back. */
export async function takeTurn(self: Residence, items: readonly Item[]): Promise<void> {
  // What the host observed itself needs no reading; most turns hold nothing else.
  const read = items.every(isRead) ? items : await self.inputs.read(items);
  const course = usualCourse(self, read) ?? (await detour(self, read));
  if (course === undefined || isGone(self)) return; // Answered without a turn, or given back.
  const { own } = course;
  // Each wait costs a turn more than deciding it: what is pure is waited for only where its past is missing.
  const judging =
    course.batch ??
    withPast(self, own, course.read, (from) => judge(from, course.read, self.deps.clock.now()));
  const batch = judging instanceof Promise ? await judging : judging;
  if (batch === undefined || isGone(self)) return;
  if (batch.aside.length > 0 && (await setAside(self, own, batch.aside)) === "dropped") return;
  if (batch.events.length === 0) return;
  if (self.deps.hasLapsed()) return self.drop("this host stood still for too long"); // AZ1 of activation.ts
  const deciding = withPast(self, own, batch.events, (from) => decide(self, from, own.isProven, batch));
  const turn = deciding instanceof Promise ? await deciding : deciding;
  if (turn === undefined || isGone(self) || !(await append(self, own, turn))) return;
  await handOn(self, own, turn);
}

const usualCourse = (self: Residence, read: readonly ReadItem[]): Course | undefined => {
  const own = ownOf(self);
  return own === undefined || read.some(isMoveOrder) ? undefined : { own, read };
};

/** Judges a batch by the state before the turn. Pure. */
function judge({ definition, state }: Loaded, read: readonly ReadItem[], now: number): Batch {
  const events: Event[] = [];
  const aside: Aside[] = [];
  for (const item of read) {
    const judged = judgeItem({ definition, state }, item, events, now);
    if (judged.type === "new") events.push(judged.event);
    else aside.push({ item, judged });
  }
  const known = aside.some(({ item, judged }) => judged.type === "known" && item.from === "inbox");
  // TN3. Where nothing is open there is nothing to hand on, and nothing to prove.
  if (known && events.length === 0 && Object.keys(state.open).length > 0) events.push({ type: "adopted" });
  const nudge = known ? nudgeIn(aside) : undefined;
  return { events, known: known && nudge?.isAlone !== true, nudge, aside };
}

/** Settles what is not of the turn. `dropped`: everything was given back. */
async function setAside(
  self: Residence,
  own: Owned,
  aside: readonly Aside[],
): Promise<"settled" | "dropped"> {
  for (const { item, judged } of aside)
    if (judged.type === "later") self.inputs.put(item);
    else if (judged.type === "known") {
      if (item.from === "host") own.hands.release(item.event);
      else await tellEndAgain(self, own, item);
    } else if ((await answerOther(self, own, item, judged)) === "dropped" || isGone(self)) return "dropped";
  return "settled";
}

/** A turn on its way to the ledger. */
interface Turn {
  readonly at: number;
  /** Undefined for a saga's first. */
  readonly before: SagaState | undefined;
  readonly batch: Batch;
  readonly decided: DecidedTurn;
}

/** Pure, but for the clock. */
function decide({ saga, deps, pace }: Residence, from: Loaded, isProven: boolean, given: Batch): Turn {
  const at = deps.clock.now();
  const begunAt = deps.clock.elapsed();
  const before = stateOf(from);
  const isAnew = !isProven && before !== undefined && hasCountedCall(before);
  const batch: Batch = isAnew
    ? { ...given, events: [...given.events, { type: "adopted", anew: true }] }
    : given;
  const decided = decideHere(deps, from.definition, before, { saga, at, events: batch.events });
  pace.took(batch.events.length, deps.clock.elapsed() - begunAt);
  return { at, before, batch, decided };
}

const stateOf = ({ head, state }: Loaded): SagaState | undefined => (head === emptyHead ? undefined : state);

/** True once the turn is on the ledger and the saga is this host's still. */
async function append(self: Residence, own: Owned, { at, decided }: Turn): Promise<boolean> {
  const { saga, deps } = self;
  const { definition, head } = own.loaded;
  const from = { definition, traceId: traceIdOf(saga) };
  const message = await encodeTurn(deps, from, head, decided, at);
  const outcome = await appendTurn(appendDepsOf(deps), saga, message, deps.signal);
  deps.observe.append(outcome.type);
  if (outcome.type !== "appended") await dropUnappended(self, own, outcome.type);
  if (isGone(self) || outcome.type !== "appended") return false; // The next host finds the turn and hands on what is open.
  const next: Head = { turn: decided.state.turn, seq: outcome.seq, hash: message.hash };
  own.loaded = { ...own.loaded, state: own.keeper.grew(message.data.length, decided.state), head: next };
  hear(own.loaded.conversation, decided.said);
  own.isProven = true;
  return true;
}

/** TN1: the turn is acked, so what is closed may be called off and its intents may be handed on. */
async function handOn(self: Residence, own: Owned, { before, decided, batch }: Turn): Promise<void> {
  if (self.phase.type === "leaving") self.phase.owesIntents = true;
  if (self.phase.type !== "owning") return;
  const { deps } = self;
  const { hands } = own;
  const { state } = decided;
  hands.callOff(before, decided);
  const heardSignal = batch.events.some((event) => event.type === "signal");
  const isTakeover = !own.isRecovered && (batch.known || hasWorkOfAnother(self, own, before));
  for (const event of batch.events) hands.release(event);
  if (isTakeover) {
    own.isRecovered = true;
    deps.observe.takenOver(deps.clock.elapsed() - self.bornAt);
  }
  deps.observe.turn(decided, before);
  tellTurn(deps, own.loaded.definition, decided);
  self.inputs.row.turned(decided);
  const all = isTakeover ? Object.values(state.open) : intentsToDispatch(decided, batch.events);
  await handOnEach(self, own, all, heardSignal);
  if (batch.nudge !== undefined) await handOnAgain(self, own, batch.nudge, all);
  void own.keeper.keep(own.loaded, "running");
}

/** An open intent of the host's own, which this host has not in hand: its former owner died, or is frozen. */
const hasWorkOfAnother = ({ deps }: Residence, { hands }: Owned, before: SagaState | undefined): boolean =>
  before !== undefined && ownWorkOf(before, deps.placementOf).some((open) => !hands.isInHand(open));
