/** Trust document: whose signatures count in a mesh, and how far its living hosts are with it. */
import { z } from "zod";
import { FromPlace, TrustedKey } from "../trust.ts";

/** Whose signatures count, who signs with what, and what a command changed. */
export const TrustShown = z.object({
  /** Of the mesh's document of trust; 0: nothing was ever said. */
  revision: z.int().nonnegative(),
  /** Turns must be signed from there on; absent: none need be. */
  required: FromPlace.optional(),
  keys: z.array(TrustedKey.extend({ key: z.string() })),
  hosts: z.array(
    z.object({
      host: z.string(),
      /** The revision that it goes by; absent: it is of a version that knows nothing of this. */
      revision: z.int().nonnegative().optional(),
      /** What it signs with; absent: it signs nothing. */
      signs: z.string().optional(),
      /** What it signs would count. */
      ready: z.boolean(),
    }),
  ),
  /** What a command did, or without --yes would do. Absent where it only shows. */
  did: z.enum(["changed", "would", "nothing"]).optional(),
  /** Why the document cannot be read. */
  fault: z.string().optional(),
});
export type TrustShown = z.infer<typeof TrustShown>;
