/**
 * Limits of a run: the defaults, and what cannot be.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { Limits } from "./order.ts";

const MiB = 2 ** 20;
/** What QuickJS's memory begins with. */
export const memoryBytesMin = 16 * MiB;
const memoryBytesMax = 2 ** 31;

export const defaults: Limits = {
  // Some seconds of a loop, so that the count ends a run before the backstop does, on a slow machine too.
  stepsMax: 10_000,
  memoryBytes: 64 * MiB,
  // A result stands in the ledger and in the conversation.
  outputBytes: 64 * 1024,
  timeoutMs: 30_000,
};

/** Throws APP_INVALID with every limit that cannot be. */
export function assertLimits(limits: Limits): void {
  const ranges: Readonly<Record<keyof Limits, readonly [number, number]>> = {
    stepsMax: [1, 1e9],
    memoryBytes: [memoryBytesMin + MiB, memoryBytesMax],
    outputBytes: [64, 16 * MiB],
    timeoutMs: [100, 3_600_000],
  };
  const faults = Object.entries(ranges)
    .filter(([name, [min, max]]) => {
      const value = limits[name as keyof Limits];
      return !Number.isInteger(value) || value < min || value > max;
    })
    .map(
      ([name, [min, max]]) =>
        `${name} is ${limits[name as keyof Limits]}, not a whole number from ${min} to ${max}`,
    );
  if (faults.length > 0) throw new MeshError("APP_INVALID", `runCode: ${faults.join("; ")}`);
}
