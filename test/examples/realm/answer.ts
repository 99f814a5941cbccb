/** What is asked of the exact search, and what it answers: data that crosses a tool's door. */
import { z } from "zod";
import type { Judged } from "./predicate.ts";
import { Minute, type Problem } from "./problem.ts";
import { Schedule } from "./schedule.ts";

/** One thing that would make a schedule possible, alone. */
export const Relaxation = z.strictObject({
  /** What gives way: a constraint's id, and in words what becomes of it. */
  constraint: z.string(),
  what: z.string(),
  /** Minutes, where it is minutes. */
  byMin: z.int().positive().optional(),
  schedule: Schedule,
});
export type Relaxation = z.infer<typeof Relaxation>;

export const Answer = z.discriminatedUnion("feasible", [
  z.strictObject({ feasible: z.literal(true), completeAt: Minute, schedule: Schedule }),
  z.strictObject({
    feasible: z.literal(false),
    /** The earliest completion with every other constraint kept; absent where no delay alone would help. */
    completeAt: Minute.optional(),
    lateMin: z.int().positive().optional(),
    why: z.string(),
    /** Empty: no single relaxation helps. */
    relax: z.array(Relaxation),
  }),
]);
export type Answer = z.infer<typeof Answer>;

export interface Question<P extends Problem = Problem> {
  readonly problem: P;
  /** What was executed or is under way. Without it, nobody has moved. */
  readonly history?: Schedule;
  readonly accepted?: Judged["accepted"];
  /** Minutes each errand and each pickup takes at the wedding. The problem does not say; 0 is the most hopeful. */
  readonly serviceMin?: number;
}
