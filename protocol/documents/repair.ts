/**
 * Repair document: what stands on a ledger's subject and is no turn, and what became of it.
 */
import { z } from "zod";
import { SagaId } from "../ids.ts";
import { ForeignMessage } from "./verify.ts";

/** One message that is no turn. */
export const RepairMessage = ForeignMessage.extend({
  /** `would`: it is removed once that is asked for. */
  fate: z.enum(["would", "removed", "kept"]),
  /** Why it is kept. */
  because: z.string().optional(),
});
export type RepairMessage = z.infer<typeof RepairMessage>;

/** `repair`, of one saga. */
export const RepairDocument = z.object({
  saga: SagaId,
  /** Those that chain; nothing of them is ever removed. */
  turns: z.int(),
  archived: z.boolean(),
  /** How many messages have this fate. */
  would: z.int(),
  removed: z.int(),
  kept: z.int(),
  /** How many turns were written again, as they were, behind what is removed with all that stood before them. */
  rewritten: z.int(),
  /** The first of them. */
  first: z.array(RepairMessage),
  /** What is wrong with the turns themselves, which no removing mends, and what helps. */
  broken: z.object({ code: z.string(), what: z.string(), remedy: z.string() }).optional(),
});
export type RepairDocument = z.infer<typeof RepairDocument>;
