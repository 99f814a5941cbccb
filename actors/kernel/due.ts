/**
 * Due: a timer has fired, or a call is to be answered from outside until a time.
 */
import type { EventOf } from "../../protocol/event.ts";
import { loosen } from "./actor-ids.ts";
import { takeReminder } from "./asking.ts";
import { changeOpen, closedAs, closeIntent, type Folding } from "./folding.ts";
import { servedBy } from "./open-index.ts";
import { settle } from "./settle.ts";
import { takeTaskTimeout } from "./task.ts";
import { sendToChild } from "./tell-child.ts";
import { isDeferred, isOpen } from "../contract/state.ts";

/** The call is open until it is answered, or its time is over. */
export function takeDeferred(f: Folding, { intent, attempt, dueAt }: EventOf<"deferred">): void {
  const open = f.state.open[intent];
  if (isOpen(open, "tool") && open.attempt === attempt) changeOpen(f, open, { deferred: true, dueAt });
}

/** What follows from a time that has come: of a task, a deferred call, a reminder, or a machine's own. */
export function takeTimer(f: Folding, event: EventOf<"timer">): void {
  const open = f.state.open[event.intent];
  if (open === undefined) return;
  if (isOpen(open, "task")) return takeTaskTimeout(f, event.intent, open);
  if (isDeferred(open)) {
    const reason = "the outside did not answer in time";
    return settle(f, event.intent, open, {
      outcome: "failed",
      code: "DEFERRED_TOO_LATE",
      reason,
      retry: false,
    });
  }
  if (!isOpen(open, "timer")) return;
  if (servedBy(open) !== undefined) return takeReminder(f, event.intent, open);
  if (open.event === undefined) return;
  loosen(f, open.timer);
  closeIntent(f, event.intent, closedAs("succeeded"));
  if (open.sendTo !== undefined) sendToChild(f, open.sendTo, open.event);
  else
    f.queue.push({
      event: { ...open.event, at: f.at },
      ...(open.timer === undefined ? {} : { timer: open.timer }),
    });
}
