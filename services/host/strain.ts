/**
 * Strain: how much of its bounds a host takes, by how late its own pulse comes.
 *
 * A host that gets too little of its machine, or was stopped, lets leases run out; what comes back costs more than it did
 * the first time, and so does the next lapse. A host that takes less gets done what it has.
 *
 * KB1 A pulse that is late halves what is taken, a lapse takes it to a quarter, some pulses in time double it again. It is
 *     never nothing: what waits is taken, later.
 * KB2 It is said in one line, and not again for half a minute.
 */
import { limits } from "../../protocol/limits.ts";
import type { Log } from "../process/log.ts";
import type { Clock } from "../wire/ports.ts";

/** The strain on one host process, whatever its incarnation. */
export interface Strain {
  /** The share of each bound that is taken now: 1, or less. */
  share(): number;
  /** A pulse came so much later than it was due, milliseconds. */
  pulse(lateMs: number): void;
  /** The host stood still for longer than a lease, milliseconds. */
  lapsed(stoodStillMs: number): void;
}

/** None yet. */
export function createStrain({ clock, log }: { clock: Clock; log: Log }, host: string): Strain {
  let share = 1;
  let inTime = 0;
  let saidAt = Number.NEGATIVE_INFINITY;

  const lessen = (by: number, lateMs: number) => {
    share = Math.max(limits.strainedShareMin, share / by);
    inTime = 0;
    if (clock.elapsed() - saidAt < limits.strainSaidEveryMs) return; // KB2
    saidAt = clock.elapsed();
    log.warn({ host, lateMs: Math.round(lateMs), share }, "host is overloaded");
  };

  return {
    share: () => share,
    lapsed: (stoodStillMs) => lessen(4, stoodStillMs),
    pulse: (lateMs) => {
      if (lateMs >= limits.strainedMs) return lessen(2, lateMs);
      inTime += 1;
      if (inTime < limits.pulsesInTime || share === 1) return;
      inTime = 0;
      share = Math.min(1, 2 * share);
    },
  };
}
