/**
 * Nudge document: what `nudge` prints with --json, one for each saga of which something is open and in no queue.
 */
import { z } from "zod";
import { IntentId, SagaId } from "../ids.ts";

/** One saga. */
export const NudgeDocument = z.object({
  saga: SagaId,
  /** When its last turn was stored: since then it stands. Milliseconds since the epoch. */
  since: z.number(),
  /** What is open and has neither a message nor a timer nor an owner. `name`: the tool's or the child's definition's. */
  orphans: z.array(z.object({ intent: IntentId, kind: z.string(), name: z.string().optional() })),
  /** Whether its owner was told; false with --dry-run. */
  nudged: z.boolean(),
});
export type NudgeDocument = z.infer<typeof NudgeDocument>;
