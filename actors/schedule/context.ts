/**
 * Context: what a schedule's machine knows, and what of it the next saga of the schedule begins with.
 *
 * QO1 It is bounded, however long the schedule lives: the line, the ranges, the times ahead and the runs that are shown have limits.
 */
import { z } from "zod";
import { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { lineMax, ScheduleSettings } from "../../protocol/schedule.ts";

/** A run that has not begun: its id and its time, and why it is to begin. */
export const Item = z.object({
  run: SagaId,
  due: z.number(),
  by: z.enum(["due", "trigger", "backfill"]),
});
export type Item = z.infer<typeof Item>;

/** Due times from `from` on and before `to`, milliseconds since the epoch, whose runs a person wants. */
export const Range = z.object({ from: z.number(), to: z.number() });
export type Range = z.infer<typeof Range>;

/** A run that was begun, and when. */
export const BegunRun = Item.extend({ begunAt: z.number() });
export type BegunRun = z.infer<typeof BegunRun>;

/** A run that could not be begun, and why. */
export const RefusedRun = Item.extend({ at: z.number(), code: z.string(), reason: z.string() });
export type RefusedRun = z.infer<typeof RefusedRun>;

/** How many runs there were since the schedule was created, by what became of them. */
export const Counts = z.object({
  begun: z.int(),
  /** Too late by the rule of catching up, as far as they were counted (`gap`). */
  missed: z.int(),
  /** Passed over because another ran, or a later one took its place. */
  skipped: z.int(),
  /** Passed over because the line was full. */
  dropped: z.int(),
  /** Could not be begun. */
  refused: z.int(),
});
export type Counts = z.infer<typeof Counts>;

const carried = {
  held: z.boolean(),
  /** Every due time up to this one is dealt with. */
  seen: z.number(),
  /** What is to begin, in this order; what stood first may have gone back to it. */
  line: z.array(Item).max(lineMax + 1),
  ranges: z.array(Range).max(lineMax),
  /** The run that was begun last. */
  last: SagaId.optional(),
  /** Since when that one keeps what is due from beginning. */
  blockedAt: z.number().optional(),
  /** The run that was told to cancel. */
  cancelled: SagaId.optional(),
  /** The latest, oldest first. */
  recent: z.array(BegunRun),
  refused: RefusedRun.optional(),
  /** The latest span that was missed as a whole; how many were due in it nobody counted. */
  gap: Range.optional(),
  counts: Counts,
};

/** What one saga of a schedule leaves to the next. */
export const Carried = z.object(carried);
export type Carried = z.infer<typeof Carried>;

/** What a saga of a schedule begins with. */
export const ScheduleInput = z.object({
  settings: ScheduleSettings,
  /** Its number among the sagas of the schedule (protocol/schedule.ts). */
  number: z.int().positive(),
  carried: Carried.optional(),
});
export type ScheduleInput = z.infer<typeof ScheduleInput>;

/** A signal that came when the next saga was beginning. */
export interface LateSignal {
  readonly id: string;
  readonly name: string;
  readonly data: Json;
}

/** The settings without the runs' input, which would be in each snapshot. */
export type Plan = Omit<ScheduleSettings, "input">;

/** What the machine knows. Members that are absent have no value now. */
export interface ScheduleContext extends Carried {
  readonly plan: Plan;
  readonly number: number;
  /** The next due times after `seen`, ascending, as they were when they were asked for. */
  readonly ahead: readonly number[];
  readonly askedAt: number;
  /** No due time comes after those ahead. */
  readonly over: boolean;
  /** What is to begin now. */
  readonly current?: Item;
  /** How much this saga has done: calls that ended. */
  readonly steps: number;
  readonly late: readonly LateSignal[];
  /** How many of those are on their way. */
  readonly sent?: number;
  readonly removed: boolean;
}
