/**
 * Settle document: what `settle --query` prints with --json.
 */
import { z } from "zod";
import { IntentId, SagaId } from "../ids.ts";

/** One call that the query means, a line each. */
export const SettledRow = z.object({
  saga: SagaId,
  intent: IntentId,
  tool: z.string(),
  outcome: z.enum(["in_doubt", "open"]),
  /** By which people are asked about it. */
  task: IntentId.optional(),
  /** `would`: nothing was sent, for want of --yes. `vote`, `result`: as what it was stored. */
  sent: z.enum(["would", "vote", "result", "refused"]),
  /** Why it was refused. */
  because: z.string().optional(),
});
export type SettledRow = z.infer<typeof SettledRow>;
