/**
 * End: how a saga ends: its machine is done, or will not come to rest, and nothing is open any more.
 *
 * EK1 No saga ends while an effect is open.
 * EK2 An output that nobody could read fails the saga: it undoes what it did, and a parent is told.
 */
import type { Intent } from "../../protocol/intent.ts";
import { limits } from "../../protocol/limits.ts";
import { describeFault, faultOfValue, ownLimits } from "../../protocol/value.ts";
import type { Ending, OpenIntent } from "../contract/state.ts";
import { reasonOf } from "../machine/callable.ts";
import { statusOf } from "../machine/machine.ts";
import { closedAs, closeIntent, type Folding, newId, openEntries, openIndex, setOpen } from "./folding.ts";
import { describeEffect, standingOf } from "./effects.ts";
import { beginEndByUndoing, cancelChild, isOverAtOnce } from "./undo.ts";
import { isRunningChild } from "./open-index.ts";

/** A state that asks again at once for what is refused would go on for ever, on every host alike. */
export function endAsRestless(f: Folding): void {
  const reason = `${f.definition.name} does not come to rest after ${limits.movesPerEventMax} events`;
  if (f.state.phase.kind === "running")
    beginEndByUndoing(f, { status: "failed", code: "MACHINE_THREW", reason });
}

/** The machine has reached its end. */
export function endOfMachine(f: Folding): void {
  const status = statusOf(f.state.snapshot);
  if (status.status === "error") {
    const code = (status.error as { code?: unknown } | undefined)?.code;
    const reason = reasonOf(status.error);
    return beginEndByUndoing(f, {
      status: "failed",
      code: typeof code === "string" ? code : "MACHINE_THREW",
      reason,
    });
  }
  const ending = f.definition.kind.ending(f.definition, status);
  if (ending.code === "BAD_RESULT") return beginEndByUndoing(f, ending);
  const fault = faultOfOutput(f, ending);
  if (fault !== undefined)
    return beginEndByUndoing(f, { status: "failed", code: "BAD_RESULT", reason: fault });
  f.state.phase = { kind: "ending", ending };
}

/** EK2. */
function faultOfOutput({ state }: Folding, { status, output = null }: Ending): string | undefined {
  if (status !== "completed") return undefined;
  const fault = faultOfValue(output, state.parent === undefined ? ownLimits : toldLimits);
  return fault && `its output cannot be recorded: ${describeFault(fault)}`;
}

const toldLimits = { ...ownLimits, depthMax: limits.toldDepthMax };

/**
 * EK1. Once nothing is open, the end is recorded; a parent is told by an intent of its own. A human who was asked
 * what became of an effect is waited for like the effect itself.
 */
export function progressEnd(f: Folding): boolean {
  if (f.state.phase.kind !== "ending" || f.state.plans.length > 0) return false;
  if (!f.isSwept) sweep(f);
  if (openIndex(f).size > 0) return false;
  const { ending } = f.state.phase;
  // What a saga that completed has done is its purpose; whether it was done, it does not know of what is in doubt.
  const unsaid = standingOf(f).filter((one) => ending.status !== "completed" || one.outcome === "in_doubt");
  const below = ending.status === "completed" ? [] : (f.state.leftBelow ?? []);
  const standing = [...unsaid.map(describeEffect), ...below];
  const isTold = f.state.parent !== undefined && !f.state.toldParent;
  const tells = isTold ? { tells: true as const } : {};
  const intent: Intent = { kind: "end", id: newId(f), standing, ...tells, ...ending };
  f.intents.push(intent);
  if (isTold) {
    setOpen(f, { intent, input: null, attempt: 1 });
    f.state.toldParent = true;
  }
  f.state.phase = { kind: "ended", ending };
  f.state.actors = {};
  f.state.kept = [];
  f.state.held = undefined;
  return true;
}

/** What an end need not wait for is over; what it waits for stays, until something else is opened. */
function sweep(f: Folding): void {
  f.isSwept = true;
  for (const [id, open] of openEntries(f)) {
    if (isRunningChild(open)) cancelChild(f, id);
    else if (isOverAtOnce(f, open) && !asksAboutEffect(open))
      closeIntent(f, id, closedAs("cancelled", "end"));
  }
}

const asksAboutEffect = ({ intent }: OpenIntent): boolean =>
  intent.kind === "task" && (intent.about === "stuck" || intent.about === "doubt");
