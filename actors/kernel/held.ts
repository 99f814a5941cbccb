/**
 * Held: what would reach the machine of a paused saga.
 *
 * Owns: the order of what is held, and its form at rest. Does not own: when a saga is paused or goes on
 * (steering.ts).
 *
 * HE1 What is held is JSON: a value that a schema has read is held as it was before, and read again. So a host that
 *     paused a saga and one that loads it years later let the same thing go.
 * HE2 What is held is taken back like what is open: a timer whose state was left does not fire, a result whose actor
 *     no longer waits is not told.
 * HE3 A signal goes before an agent's decision that is held: it supersedes it, as it would one in flight. A
 *     person who pauses an agent to correct it must not see the reply carried out first that is to be corrected.
 */
import { assert } from "../../protocol/errors.ts";
import { type IntentId, turnOf } from "../../protocol/ids.ts";
import { toJson } from "../../protocol/json.ts";
import type { Folding, Queued } from "./folding.ts";
import { withLast, withoutAt } from "../values/draft.ts";
import { readOutputWith } from "../values/schema.ts";
import type { MachineEvent } from "../machine/actions.ts";
import type { Held, KeptSignal, OpenModel, ProposedCall, Unread } from "../contract/state.ts";

/** While the machine is over there is nothing to pause: what undoes goes on. */
export const isPaused = ({ state }: Folding): boolean =>
  state.paused !== undefined && state.phase.kind === "running";

const isDecision = ({ definition: { kind } }: Folding, held: Held): boolean =>
  kind.decision !== undefined &&
  (held.kind === "retry" || (held.kind === "event" && held.waits?.actor === kind.decision));

function hold(f: Folding, held: Held): void {
  f.state.held = withLast(f.state.held ?? [], held);
}

/** HE1. */
export function holdEvent(f: Folding, { event, waits, unread, timer }: Queued): void {
  const { output: _output, ...rest } = event;
  hold(f, {
    kind: "event",
    event: toJson(unread === undefined ? event : rest) as unknown as MachineEvent,
    ...(waits === undefined ? {} : { waits }),
    ...(unread === undefined ? {} : { unread }),
    ...(timer === undefined ? {} : { timer }),
  });
}

/** HE3. */
export function holdSignal(f: Folding, signal: KeptSignal): void {
  const held = f.state.held ?? [];
  if (!held.some((one) => isDecision(f, one))) return hold(f, { kind: "signal", signal });
  const before = held.filter((one) => !isDecision(f, one));
  const after = held.filter((one) => isDecision(f, one));
  f.state.held = [...before, { kind: "signal", signal }, ...after];
}

export const holdApproved = (f: Folding, intent: IntentId, call: ProposedCall): void =>
  hold(f, { kind: "approved", intent, call });

export const holdRetry = (f: Folding, open: OpenModel): void => hold(f, { kind: "retry", open });

/** HE2: the machine takes a timer back that has fired already. */
export function dropHeldTimer(f: Folding, timer: string): void {
  if (f.state.held === undefined) return;
  f.state.held = f.state.held.filter((held) => held.kind !== "event" || held.timer !== timer);
}

/** The oldest thing held, which is held no more. */
export function nextHeld(f: Folding): Held | undefined {
  const { held = [] } = f.state;
  const [first] = held;
  f.state.held = held.length <= 1 ? undefined : withoutAt(held, 0);
  return first;
}

/** HE1: an event as the machine would have taken it at once, but for the time, which is now. */
export function queuedOf(f: Folding, { event, waits, unread }: Extract<Held, { kind: "event" }>): Queued {
  const whole = unread === undefined ? event : { ...event, output: readAgain(f, unread) };
  const told = "at" in whole ? { ...whole, at: f.at } : whole;
  return waits === undefined ? { event: told } : { event: told, waits };
}

function readAgain({ definition }: Folding, { by, name, value }: Unread): unknown {
  const schema =
    by === "tool"
      ? definition.tools.get(name)?.output
      : by === "saga"
        ? definition.sagas.get(name)?.output
        : definition.machine.bound(name)?.output;
  if (schema === undefined) return value;
  const read = readOutputWith(schema, value); // As a result was read; null is read so only where that was.
  assert(read.success, `what ${name} said was read before, and its schema is pure`);
  return read.data;
}

/** Whether the model was not asked yet: what was decided in this turn never begins if it is decided anew. */
export const isUnasked = ({ definition, state }: Folding): boolean => {
  const { decision } = definition.kind;
  const id = decision === undefined ? undefined : state.actors[decision];
  return id === undefined || turnOf(id) === state.turn;
};
