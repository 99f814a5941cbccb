/**
 * Schedule documents: what `schedule` prints.
 */
import { z } from "zod";
import { SagaId } from "../ids.ts";
import { ScheduleName, ScheduleSettings } from "../schedule.ts";

/** One of the latest runs. Times in milliseconds since the epoch. */
export const ScheduleRun = z.object({
  run: SagaId,
  due: z.number(),
  begunAt: z.number(),
  by: z.enum(["due", "trigger", "backfill"]),
  /** `starting`: no host has taken its start yet. `refused`: a host refused it, and a dead letter says why. */
  status: z.enum(["starting", "running", "completed", "failed", "cancelled", "refused"]),
});
export type ScheduleRun = z.infer<typeof ScheduleRun>;

/** A span of time. */
const Span = z.object({ from: z.number(), to: z.number() });

/** `schedule show`, and a line of `schedule list`. Times in milliseconds since the epoch. */
export const ScheduleDocument = z.object({
  name: ScheduleName,
  /** The saga that it is now. */
  saga: SagaId,
  settings: ScheduleSettings,
  /** `starting`: no host has taken it yet. `unknown`: it goes on under a definition of another version of sagamesh. */
  status: z.enum(["active", "paused", "starting", "unknown"]),
  /** When the next run begins; absent where none is known. */
  next: z.number().optional(),
  /** How long ago that was, where it is late. */
  lateMs: z.number().optional(),
  /** The run that waits for the one before it to end. */
  blocked: z.object({ run: SagaId, by: SagaId, since: z.number() }).optional(),
  /** How many runs stand in the line, and what a person had filled in that is left. */
  line: z.int(),
  ranges: z.array(Span),
  /** The latest, oldest first. */
  runs: z.array(ScheduleRun),
  /** How many there were, by what became of them. */
  counts: z
    .object({ begun: z.int(), missed: z.int(), skipped: z.int(), dropped: z.int(), refused: z.int() })
    .optional(),
  /** The run that could not be begun last. */
  refused: z.object({ run: SagaId, at: z.number(), code: z.string(), reason: z.string() }).optional(),
  /** The latest span that was missed as a whole. */
  gap: Span.optional(),
});
export type ScheduleDocument = z.infer<typeof ScheduleDocument>;

/** What `schedule create`, `pause`, `resume`, `trigger`, `backfill` and `delete` print: the message is stored. */
export const ScheduleDoneDocument = z.object({
  name: ScheduleName,
  saga: SagaId,
  done: z.enum(["created", "paused", "resumed", "triggered", "backfilled", "deleted"]),
  /** Of `trigger`: the run that begins. */
  run: SagaId.optional(),
});
export type ScheduleDoneDocument = z.infer<typeof ScheduleDoneDocument>;
