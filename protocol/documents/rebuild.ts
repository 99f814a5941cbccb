/** Rebuild documents: what `rebuild` prints. */
import { z } from "zod";
import { SagaId } from "../ids.ts";
import { UnreadableSaga } from "./unreadable.ts";

/** A call that counts as begun from now on. */
export const ClaimedCall = z.object({
  saga: SagaId,
  intent: z.string(),
  tool: z.string(),
  attempt: z.int().positive(),
  /** As its contract says; absent where that is not registered any more. */
  effect: z.enum(["probe", "once"]).optional(),
});
export type ClaimedCall = z.infer<typeof ClaimedCall>;

/** What stood in queues for sagas of a ledger that is lost. */
export const ForsakenInputs = z.object({
  starts: z.int(),
  /** Signals, votes, and results that no saga had taken. */
  inputs: z.int(),
  timers: z.int(),
  /** Of tools, that no worker had ended. */
  calls: z.int(),
});
export type ForsakenInputs = z.infer<typeof ForsakenInputs>;

/** `rebuild`: one, at the end. */
export const RebuildDocument = z.object({
  what: z.enum(["claims", "ledger"]),
  /**
   * `whole`: nothing is missing, and nothing was done. `due`: what would be done (without --yes). `rebuilt`: done.
   * `stopped`: some sagas could not be read, and the claims stay closed to workers.
   */
  outcome: z.enum(["whole", "due", "rebuilt", "stopped"]),
  /** What was found to be wrong. */
  why: z.string().optional(),
  /** Of the claims: how many sagas were looked at, and what is claimed for nobody. */
  sagas: z.int().optional(),
  calls: z.array(ClaimedCall).optional(),
  /** Of the ledger: what is set aside, or would be. */
  forsaken: ForsakenInputs.optional(),
  unreadable: z.array(UnreadableSaga).optional(),
});
export type RebuildDocument = z.infer<typeof RebuildDocument>;
