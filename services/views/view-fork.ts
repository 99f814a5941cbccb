/**
 * View of a fork: what the turn in which it leaves its origin says of what was open. See actors/kernel/fork.ts.
 */
import { variantAfter } from "../../actors/request/variant.ts";
import type { EventOf } from "../../protocol/event.ts";
import type { Lineage } from "../../protocol/fork.ts";
import { close, type ForkView, type Viewing } from "./viewing.ts";

/** A fork that has not left its origin yet. */
export const beginningOf = (lineage: Lineage | undefined): ForkView | undefined =>
  lineage && { saga: lineage.saga, turn: lineage.turn };

export function takeForked(v: Viewing, event: EventOf<"forked">, turn: number): void {
  const { effects, answered = [], idleMs } = event;
  if (v.fork !== undefined) {
    const { saga, turn: at } = v.fork;
    v.fork = { saga, turn: at, effects, ...variantAfter(v.fork, event) };
  }
  for (const viewed of v.intents.values()) {
    const { intent } = viewed;
    if (viewed.outcome !== undefined) continue;
    if (intent.kind === "model" && !answered.includes(intent.id)) {
      close(viewed, "superseded", turn, "the fork asks anew");
      v.spent = { ...v.spent, steps: v.spent.steps - 1 };
      v.decisions.delete(intent.id); // The one that is asked anew has its number.
    }
    if (intent.kind === "signal" && intent.call === undefined)
      close(viewed, "succeeded", turn, "by the origin");
    if (intent.kind === "timer" || intent.kind === "task")
      viewed.intent = { ...intent, dueAt: intent.dueAt + idleMs };
  }
}
