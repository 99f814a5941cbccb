/**
 * Cancel: a saga is called off from outside, or a parent wants undone what it did.
 */
import { isMeshError } from "../../protocol/errors.ts";
import type { EventOf } from "../../protocol/event.ts";
import type { Json } from "../../protocol/json.ts";
import { closedAs, closeIntent, type Folding, openEntries } from "./folding.ts";
import { isPaused } from "./held.ts";
import { addPlan, beginEndByUndoing } from "./undo.ts";
import { endingOfUndone, orderOf } from "./undo-child.ts";

/**
 * A built-in machine ends by itself: it stops its calls and compensates. Any other is ended by the runtime. True if the
 * saga was paused: what was held is to be released.
 */
export function takeCancel(f: Folding, event: EventOf<"signal">): boolean {
  if (event.withoutMachine === true) return endWithoutMachine(f, event);
  if (f.state.phase.kind !== "running" && takeUndoOrder(f, event.data)) return false;
  // The machine is done already: all that can be called off is the wait for people.
  if (f.state.phase.kind === "ending") closeDoubtTasks(f);
  if (f.state.phase.kind !== "running") return false;
  const reason = reasonIn(event);
  const wasPaused = isPaused(f);
  f.state.paused = undefined;
  const told = f.definition.kind.cancelEvent({ reason, from: event.from, at: f.at });
  if (told === undefined) beginEndByUndoing(f, { status: "cancelled", code: "CANCELLED", reason });
  else f.queue.push({ event: told });
  return wasPaused;
}

function reasonIn({ data: said }: EventOf<"signal">): string {
  const data = said as { reason?: unknown } | null;
  if (typeof data?.reason === "string") return data.reason;
  return typeof said === "string" ? said : "cancelled";
}

/** Whatever the machine was about: all that stands is undone, and the machine takes nothing any more. */
function endWithoutMachine(f: Folding, event: EventOf<"signal">): boolean {
  if (f.state.phase.kind === "ended") return false;
  f.state.paused = undefined;
  beginEndByUndoing(f, { status: "cancelled", code: "CANCELLED", reason: reasonIn(event) });
  return false;
}

/** The parent of a saga that has ended, or is about to, wants undone what it did: it ends once more, for that. */
function takeUndoOrder(f: Folding, data: Json): boolean {
  const order = orderOf(f.state, data);
  if (order === undefined) return false;
  // The parent has heard of the end; told again, it would take that for the end that it asks for.
  for (const [id, open] of openEntries(f))
    if (open.intent.kind === "end") closeIntent(f, id, closedAs("superseded"));
  f.state.tells = order.tell;
  f.state.toldParent = false;
  const ending = endingOfUndone(order);
  const isOver = f.state.phase.kind !== "undoing"; // Else an end follows from what it is undoing already.
  if (isOver) f.state.phase = { kind: "undoing" };
  addPlan(f, {
    because: order.reason,
    undone: [],
    then: isOver ? { type: "end", ending } : { type: "nothing" },
  });
  return true;
}

function closeDoubtTasks(f: Folding): void {
  for (const [id, open] of openEntries(f))
    if (open.intent.kind === "task" && open.intent.about === "doubt")
      closeIntent(f, id, closedAs("cancelled"));
}

/** What the machine's own code throws ends the saga as a recorded failure, on every host alike. */
export function guarded(f: Folding, body: () => void): void {
  try {
    body();
  } catch (error) {
    if (!isMeshError(error, "MACHINE_THREW")) throw error;
    beginEndByUndoing(f, { status: "failed", code: "MACHINE_THREW", reason: error.message });
  }
}
