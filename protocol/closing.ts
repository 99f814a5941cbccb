/**
 * Closing: that an intent is over for its saga, and as what. Every step of a turn says which intents it closed, so no
 * reader of a ledger needs to know what the definition makes of an event.
 *
 * CL1 An intent that is closed once more was corrected: what had been in doubt, had failed or was cancelled ended
 *     otherwise after all. A later `retry` opens an intent again.
 * CL2 Intents that never open have no closing: `denied`, `pause`, and an `end` that no parent is told of.
 * CL3 A turn stores no closing that its event and its intents imply; turn.ts puts it back.
 */
import { z } from "zod";
import type { Event } from "./event.ts";
import { IntentId } from "./ids.ts";
import type { Intent } from "./intent.ts";
import type { Result } from "./result.ts";

/** Why the saga closed an intent of which no event says how it ended. Nothing is said where a state was left. */
export const ClosedBecause = z.enum([
  /** The time was over, and nothing was to hold by default. */
  "deadline",
  /** The time was over, and the task's default holds. */
  "default",
  /** A human changed the arguments: another task asks about those. */
  "edit",
  /** The task that it served is over. */
  "task",
  /** The signal `budget` answered it. */
  "raised",
  /** The effect that it asked about is no longer in doubt. */
  "settled",
  /** The effect that it asked about was undone after all. */
  "undone",
  /** It was undone before it had ended. */
  "undo",
  /** The saga ends. */
  "end",
  /** A fork leaves its origin, which asked it. */
  "forked",
  /** The saga goes on under another definition. */
  "moved",
]);
export type ClosedBecause = z.infer<typeof ClosedBecause>;

/** One intent that a step closed, and as what. The fold decides it, the turn records it, every reader reads it. */
export const Closing = z.object({
  intent: IntentId,
  /** `superseded`: another intent has taken its place. */
  as: z.enum(["succeeded", "failed", "denied", "in_doubt", "cancelled", "superseded"]),
  /** Of a failure, a refusal or a doubt. */
  code: z.string().optional(),
  reason: z.string().optional(),
  because: ClosedBecause.optional(),
  /** Of a superseded one: the intent that took its place, where that is of the same step. */
  by: IntentId.optional(),
  /**
   * An effect stands after it, where that does not follow from the outcome: in doubt of a call that did not succeed, for
   * it may have happened; of a child that does not say that it can be undone, but whose parent can undo it.
   */
  stands: z.literal(true).optional(),
});
export type Closing = z.infer<typeof Closing>;
/** What an intent was closed as. */
export type ClosedAs = Closing["as"];

/** A closing as a turn stores it: one that was cancelled and of which no more is said is its id alone. */
export const StoredClosing = z.union([IntentId, Closing]);
export type StoredClosing = z.infer<typeof StoredClosing>;

/** The closing that a result is. */
export function closingBy(intent: IntentId, result: Result): Closing {
  if (result.outcome === "succeeded") return { intent, as: "succeeded" };
  const { outcome: as, code, reason } = result;
  return { intent, as, code, reason };
}

/**
 * What a step closes if nothing else is said (CL3): a result its intent, unless that is tried again; a timer its own;
 * a vote its task.
 */
export function impliedClosing(event: Event, intents: readonly Intent[]): Closing | undefined {
  switch (event.type) {
    case "result":
      return intents.some(({ kind, id }) => kind === "retry" && id === event.intent)
        ? undefined
        : closingBy(event.intent, event.result);
    case "timer":
      return { intent: event.intent, as: "succeeded" };
    case "task":
      return closingByVote(event.intent, event.vote);
    default:
      return undefined;
  }
}

function closingByVote(
  intent: IntentId,
  { vote, reason }: { readonly vote: string; readonly reason?: string | undefined },
): Closing {
  if (vote === "edit") return { intent, as: "superseded", because: "edit" };
  if (vote !== "deny") return { intent, as: "succeeded" };
  return { intent, as: "denied", ...(reason === undefined ? {} : { reason }) };
}
