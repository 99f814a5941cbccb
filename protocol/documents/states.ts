/**
 * States document: the states of a definition's machine, with those that a saga is in.
 */
import { z } from "zod";

/** `graph`. Ids are XState's: the path from the machine, joined by dots, unless the author gave another. */
export const StatesDocument = z.object({
  definition: z.object({ name: z.string(), version: z.int() }),
  /** The saga that is shown, up to this turn. */
  saga: z.string().optional(),
  turn: z.int().optional(),
  states: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      parent: z.string().optional(),
      type: z.enum(["atomic", "compound", "parallel", "final", "history"]),
      initial: z.string().optional(),
      invokes: z.array(z.string()),
      /** Whether the saga is in it. */
      present: z.boolean().optional(),
    }),
  ),
  transitions: z.array(
    z.object({ from: z.string(), to: z.array(z.string()), on: z.string(), guard: z.string().optional() }),
  ),
});
export type StatesDocument = z.infer<typeof StatesDocument>;
