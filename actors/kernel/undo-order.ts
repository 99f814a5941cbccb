/**
 * Undo order: in what order things are undone of which the calls said what they rest on.
 *
 * UO1 What rests on an effect is undone before it. A call that says nothing of what it rests on rests on all that was
 *     settled before it was decided.
 */
import { type IntentId, turnOf } from "../../protocol/ids.ts";
import type { StandingEffect } from "../contract/state.ts";

/** What may rest on an effect: another effect of a plan, or a call in flight that a plan will undo. */
export interface Resting {
  readonly intent: IntentId;
  readonly dependsOn?: readonly string[] | undefined;
}

/** UO1. Whether an effect of a plan must wait, given all that the plans undo or are about to. */
export function waiting(falling: readonly Resting[]): (effect: StandingEffect) => boolean {
  // One pass over them: there may be thousands.
  const rested = new Set<string>();
  let latest = 0;
  for (const { intent, dependsOn } of falling)
    if (dependsOn === undefined) latest = Math.max(latest, turnOf(intent));
    else for (const call of dependsOn) rested.add(call);
  return ({ intent, settledAt, call }) =>
    (latest >= settledAt && latest > turnOf(intent)) || (call !== undefined && rested.has(call));
}
