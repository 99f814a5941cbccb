/**
 * Undo order: in what order things are undone of which the calls said what they rest on.
 *
 * UO1 What rests on an effect is undone before it. A call that says nothing of what it rests on rests on all that was
 *     settled before it was decided.
 */
import { turnOf } from "../../protocol/ids.ts";
import type { StandingEffect } from "../contract/state.ts";

/** UO1. Whether an effect of a plan must wait, given all members of the plan. */
export function waiting(members: readonly StandingEffect[]): (effect: StandingEffect) => boolean {
  // One pass over the members: there may be thousands.
  const rested = new Set<string>();
  let latest = 0;
  for (const { intent, dependsOn } of members)
    if (dependsOn === undefined) latest = Math.max(latest, turnOf(intent));
    else for (const call of dependsOn) rested.add(call);
  return ({ intent, settledAt, call }) =>
    (latest >= settledAt && latest > turnOf(intent)) || (call !== undefined && rested.has(call));
}
