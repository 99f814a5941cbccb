/** Follows: what a saga's machine hears as XState's own interpreter would tell it. */
import { z } from "zod";

/**
 * Absent: as it was for all sagas once. A signal that no state takes was kept, a reused id of a spawned actor forgot the
 * earlier one, `cancel` took back every timer of its id, an actor's error had no message, data stood under `data` alone, and
 * nothing was no output. It holds for the whole ledger, forks of it included.
 */
export const Follows = z.literal("xstate");
export type Follows = z.infer<typeof Follows>;

/** What of it a saga's start says, and what a host can: each only beside those before it. */
export const Hearing = z.object({
  follows: Follows.optional(),
  /** The causes of errors. */
  causes: z.literal(true).optional(),
  /** What was thrown by its own name, which was "Error" always. */
  errorNames: z.literal(true).optional(),
});
