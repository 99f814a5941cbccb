/**
 * Every: work of a process that is repeated until it is told to stop: renewing leases, saying that it lives, looking
 * for what is idle.
 *
 * EV1 A run that throws or rejects ends nothing: it is logged and the next one comes in its time. One lost renewal
 *     costs a part of a lease, a loop that ended would cost every lease of the process.
 */
import type { Log } from "./log.ts";
import type { Clock } from "../wire/ports.ts";

export interface Repetition {
  readonly clock: Clock;
  readonly log: Log;
  /** Ends it, also while it waits. A run that is under way is not cut off. */
  readonly signal: AbortSignal;
}

/**
 * Runs at once, and then again `ms` milliseconds after each end until the signal. `what` names it in the log.
 * Resolves after the last run, and never rejects.
 */
export async function every(
  { clock, log, signal }: Repetition,
  ms: number,
  what: string,
  run: () => void | Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await run();
    } catch (error) {
      log.warn({ err: error, what }, "periodic work failed"); // EV1
    }
    await clock.sleep(ms, signal).catch(() => undefined); // Aborted: the loop ends.
  }
}
