/** Shards documents: what `shards` prints. */
import { z } from "zod";

/** `shards`: one, at the end. */
export const ShardsDocument = z.object({
  /** `shown`: as it is, nothing was asked for, or it is so already. `due`: what would be done (without --yes). `grown`: done. */
  outcome: z.enum(["shown", "due", "grown"]),
  /** How many the mesh was made with. */
  madeWith: z.int().positive(),
  /** How many it has, or would have. */
  all: z.int().positive(),
  /** Those that are there. `leader`: of a cluster, the server that leads it. */
  streams: z.array(
    z.object({
      name: z.string(),
      messages: z.int(),
      bytes: z.int(),
      leader: z.string().optional(),
    }),
  ),
});
export type ShardsDocument = z.infer<typeof ShardsDocument>;
