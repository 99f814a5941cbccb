/** Host weight: how much of the partitions a host takes, beside the others. */
import { z } from "zod";

/** Tenths from 0.1 to 100: a host of weight 2 takes twice as much as one of 1. Only ratios count. */
export const HostWeight = z.number().min(0.1).max(100).multipleOf(0.1);

/** Of a host that says nothing: with equal weights the partitions are shared evenly. */
export const weightDefault = 1;

/** The weight that a text says. Undefined where it says none, or one out of range. */
export function weightOf(text: string): number | undefined {
  const weight = HostWeight.safeParse(/^\d{1,3}(\.\d)?$/.test(text) ? Number(text) : undefined);
  return weight.success ? weight.data : undefined;
}

/** How a host's weight stands, as it says in its entry. */
export const WeightNow = z.object({
  /** What it was given. */
  declared: HostWeight,
  /** What counts: that, or a half, a quarter or an eighth of it while it is overloaded and another is not. */
  now: z.number().positive().max(100),
  /** How much of it is in use, 0 to 1, over some twenty seconds. */
  load: z.number().min(0).max(1),
  /** What of it is in use most: its event loop, its effects in flight, or its pulse, which comes late. */
  by: z.enum(["loop", "hands", "pulse"]),
});
export type WeightNow = z.infer<typeof WeightNow>;

/** Weights as whole numbers, which every host adds up alike: an eighth of a tenth is one. */
export const weightUnits = ({ now }: Pick<WeightNow, "now">): number => Math.max(1, Math.round(80 * now));
