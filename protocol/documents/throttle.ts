/**
 * Throttle document: what `pause` and `resume` print.
 */
import { z } from "zod";
import { Name } from "../ids.ts";
import { ThrottleKind } from "../throttle.ts";

/** `pause`, `resume`: how what was named stands now. */
export const ThrottledDocument = z.object({
  kind: ThrottleKind,
  name: Name,
  paused: z.boolean(),
  reason: z.string().optional(),
});
export type ThrottledDocument = z.infer<typeof ThrottledDocument>;
