/** Partitions documents: what `partitions` prints. */
import { z } from "zod";

/** `partitions`: one, at the end. */
export const PartitionsDocument = z.object({
  /** `shown`: as it is, nothing was asked for, or it is so already. `due`: what would be done (without --yes). `grown`: done. */
  outcome: z.enum(["shown", "due", "grown"]),
  /** How many it has. */
  partitions: z.int().positive(),
  /** How many were asked for. */
  asked: z.int().positive().optional(),
  /** The hosts that live, which are to be stopped first. */
  hosts: z.array(z.string()),
});
export type PartitionsDocument = z.infer<typeof PartitionsDocument>;
