/**
 * Settle: what follows from a result.
 *
 * SK1 A result counts for its own attempt, and a success for every later one.
 *
 * A failure that may be tried again goes on in retry-attempt.ts, a doubt in doubt.ts.
 */
import type { EventOf } from "../../protocol/event.ts";
import type { IntentId } from "../../protocol/ids.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { Result, Usage } from "../../protocol/result.ts";
import { isDeferred, isOpen, type OpenIntent } from "../contract/state.ts";
import { settleCost } from "./budget.ts";
import { takeDoubt, undoIfLate } from "./doubt.ts";
import { thrownIn, closedBy, endIntent, type Folding, isRead, noteStanding, tellActor } from "./folding.ts";
import { servedBy } from "./open-index.ts";
import { learnResult } from "./learn.ts";
import { checked, unreadOf } from "./read-result.ts";
import { mayRetry, retry } from "./retry-attempt.ts";
import { recordDoubt, recordEffect, addEffect } from "./effects.ts";
import { askAboutStuck, settleUndone } from "./undo.ts";
import { standingChild, type UndoneChild } from "./undo-child.ts";

/**
 * Whether a result counts for an open intent now (SK1). A success does for every later attempt: the effect is the
 * key's, and the outside, which may answer before it is known that it was asked to, knows no attempts.
 */
export const counts = (open: OpenIntent, { attempt, result }: EventOf<"result">): boolean =>
  open.attempt === attempt || (attempt < open.attempt && result.outcome === "succeeded");

/** Settles an open intent by the result of its present attempt. */
export function settle(f: Folding, id: IntentId, open: OpenIntent, received: Result): void {
  const { result, output } = checked(f, open, received);
  settleCost(f, open, received, usageOf(received));
  if ((isOpen(open, "tool") || isOpen(open, "model")) && mayRetry(f, id, open, result))
    return retry(f, id, open, result);
  endIntent(f, id, closedBy(id, result));
  if (result.outcome === "succeeded" && servedBy(open) === undefined) learnResult(f, open, output);
  if (open.intent.kind === "tool") {
    if (open.intent.undoes !== undefined) return settleUndoing(f, id, open, open.intent.undoes, result);
    if (open.intent.for !== undefined) return; // People were told of a task, or were not: nothing follows from it.
    if (result.outcome === "in_doubt") return takeDoubt(f, id, open, received, result.reason);
    holdEffect(f, id, open, received, result, output);
  }
  if (open.intent.kind === "saga" && open.intent.undoes !== undefined)
    return open.intent.starts === true
      ? settleUndoing(f, id, open, open.intent.undoes, result)
      : settleChildUndoing(f, id, open.intent.undoes, result);
  const child = standingChild(f, open, result);
  if (child !== undefined) {
    addEffect(f, child);
    if (result.outcome === "succeeded" && result.undoable !== true) noteStanding(f, id);
  }
  if (result.outcome === "succeeded")
    tellActor(f, open.actor, id, { output, unread: unreadOf(open, result.output) });
  else
    tellActor(f, open.actor, id, {
      error: {
        ...{ outcome: result.outcome, code: result.code, reason: result.reason },
        ...leftStanding(f, open, result),
        ...thrownIn(result),
      },
    });
  undoIfLate(f, id);
}

/** What a child could not undo stands in its parent's end too: a person who cancels a tree reads that one. */
function leftStanding(f: Folding, { intent }: OpenIntent, result: Result): { standing?: readonly string[] } {
  if (intent.kind !== "saga" || result.outcome !== "failed" || result.standing === undefined) return {};
  noteLeftBelow(f, result.standing);
  return { standing: result.standing };
}

function noteLeftBelow(f: Folding, standing: readonly string[]): void {
  if (standing.length > 0) f.state.leftBelow = [...new Set([...(f.state.leftBelow ?? []), ...standing])];
}

/**
 * What stands after a definite result. Some failures leave something outside all the same: a success that could
 * not be read, a deferred call that was not answered in time, and an attempt that may have got through and is not
 * followed by another. They are told as failures and undone by their key.
 */
function holdEffect(
  f: Folding,
  id: IntentId,
  open: OpenIntent,
  received: Result,
  result: Result,
  output: unknown,
): void {
  if (result.outcome === "succeeded") return recordEffect(f, id, open, "succeeded", output);
  if (isRead(f, open)) return;
  const isTooLate = isDeferred(open) && result.outcome === "failed" && result.code === "DEFERRED_TOO_LATE";
  const maybe = received.outcome === "succeeded" || isTooLate || mayHaveHappened(result);
  if (maybe) recordEffect(f, id, open, "in_doubt", undefined);
  // A worker that gets the same attempt again may still succeed, where no claim forbids it.
  if (maybe || result.outcome === "failed") recordDoubt(f, id, open, "failed", received);
  else if (result.outcome === "cancelled") recordDoubt(f, id, open, "cancelled");
}

/** A retriable failure whose effect may have happened, or a success whose output could not be recorded. */
export const mayHaveHappened = (result: Result): boolean =>
  result.outcome === "failed" &&
  ((result.retry === true && result.code !== "NOT_PERFORMED") || result.code === "VALUE_REFUSED");

/** What a result says a model call has cost. Only of model calls: a tool's output may hold a `usage` of its own. */
export function usageOf(result: Result): Usage | undefined {
  if (result.outcome === "failed" || result.outcome === "cancelled") return result.usage;
  if (result.outcome !== "succeeded") return undefined;
  const { output } = result;
  if (typeof output !== "object" || output === null || !("usage" in output)) return undefined;
  const reply = WithUsage.safeParse(output);
  return reply.success ? reply.data.usage : undefined;
}

const WithUsage = ModelReply.pick({ usage: true });

/** A compensation that may have happened is asked about like one that failed; its late success counts. */
function settleUndoing(f: Folding, id: IntentId, open: OpenIntent, undoes: IntentId, result: Result): void {
  if (result.outcome === "succeeded") return settleUndone(f, undoes, id, result.output);
  if (result.outcome === "in_doubt") recordDoubt(f, id, open, "in_doubt");
  askAboutStuck(f, undoes, id, result.reason);
}

/** A child's second end says that it is undone, but for what it lists; that it cannot be had is a human's matter. */
function settleChildUndoing(f: Folding, id: IntentId, undoes: IntentId, result: Result): void {
  if (result.outcome !== "succeeded") return askAboutStuck(f, undoes, id, result.reason);
  noteLeftBelow(f, (result.output as UndoneChild).standing); // Proof: checked() has read it.
  settleUndone(f, undoes, id);
}
