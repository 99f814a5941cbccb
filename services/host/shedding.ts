/**
 * Shedding: the weight that a host goes by, lessened while it is overloaded and another has room.
 *
 * How much of a host is in use is measured, never how fast its machine should be: its loop (how much of the time it is at
 * work, which a slower processor, a crowd of sagas and a busy neighbour all raise), its hands (effects in flight of
 * `effectsMax`) and its pulse (strain.ts: late or not). So of two hosts the slower one is used up first, and comes to have as
 * much less as it is slower. Rejected: a speed measured at the start (it is of that moment, and of two equal hosts one
 * starts beside other work), `os.availableParallelism` (a host has one loop), evening out below the overload (it moves
 * sagas and speeds nothing up).
 *
 * SO1 A host that was used up for some time halves its weight where another that serves has room for what would come to it.
 *    Where none has, nothing moves: it would only move the overload.
 * SO2 A change is no reason for the next. A weight doubles again only from less than half of what makes it shed; no step
 *    comes sooner than a minute after the last, nor after this host's share was changed by others; and what had to go
 *    again soon after it came back stays away for twice as long.
 * SO3 An eighth is left: so little that it is used up no more, or what uses it up is none of its sagas.
 */
import type { WeightNow } from "../../protocol/host-weight.ts";
import { limits } from "../../protocol/limits.ts";
import type { Log } from "../process/log.ts";
import type { Clock } from "../wire/ports.ts";

/** What of a host is in use, each from 0 to 1: its loop since it was asked last, the others now. */
export type Uses = Readonly<Record<WeightNow["by"], () => number>>;

/** The weight of one host process, whatever its incarnation. */
export interface Weighing {
  readonly now: () => WeightNow;
  /** With each beat: measures, and takes a step where it is due, beside what the others that serve say. */
  readonly weigh: (others: readonly (WeightNow | undefined)[]) => void;
}

/** All of what was declared, and nothing in use. */
export function createWeighing(
  { clock, log }: { clock: Clock; log: Log },
  { host, declared, uses }: { readonly host: string; readonly declared: number; readonly uses: Uses },
): Weighing {
  const averages = { loop: 0, hands: 0, pulse: 0 };
  /** How often it is halved. */
  let halved = 0;
  let lookedAt = clock.elapsed();
  /** When it took its last step, and which. */
  let stepAt = Number.NEGATIVE_INFINITY;
  let hasRegained = false;
  let regainAfterMs: number = limits.regainAfterMs;
  /** Its share by weight when it last changed, and when that was. */
  let share = { of: 0, since: clock.elapsed() };

  const now = (): WeightNow => {
    const by = busiest(averages);
    return { declared, now: declared / 2 ** halved, load: Math.round(100 * averages[by]) / 100, by };
  };
  const measure = (at: number) => {
    // After a standstill the last look counts for no more than any.
    const part = 1 - Math.exp(-Math.min(at - lookedAt, limits.hostTtlMs) / limits.loadOverMs);
    lookedAt = at;
    for (const kind of kinds) averages[kind] += part * (Math.min(1, uses[kind]()) - averages[kind]);
  };
  const shed = (at: number) => {
    halved += 1;
    if (hasRegained) regainAfterMs = Math.min(2 * regainAfterMs, limits.regainAfterMsMax); // SO2
    hasRegained = false;
    stepAt = at;
    const { now: weight, load, by } = now();
    log.warn({ host, weight, declared, load, by }, "host sheds partitions");
  };
  const regain = (at: number) => {
    halved -= 1;
    hasRegained = true;
    stepAt = at;
    log.info({ host, weight: now().now, declared }, "host takes partitions again");
  };

  return {
    now,
    weigh: (others) => {
      const at = clock.elapsed();
      measure(at);
      const own = now();
      const of = own.now / [own, ...others].reduce((sum, one) => sum + (one?.now ?? 0), 0);
      if (Math.abs(of - share.of) > shareChanged * share.of) share = { of, since: at };
      if (at - Math.max(share.since, stepAt) < limits.shedEveryMs) return; // SO2
      if (own.load >= limits.overloaded && halved < limits.halvedMax && hasRoom(own, others)) shed(at);
      else if (own.load < limits.relaxed && halved > 0 && at - stepAt >= regainAfterMs) regain(at);
      else if (halved === 0 && at - stepAt >= limits.regainAfterMsMax) {
        hasRegained = false; // All of it came back, and stayed.
        regainAfterMs = limits.regainAfterMs;
      }
    },
  };
}

const kinds = ["loop", "hands", "pulse"] as const;

/** By how much of itself a share has to change to be another: a step of one among eight equal hosts is 7 % for the others. */
const shareChanged = 0.05;

const busiest = (averages: Readonly<Record<WeightNow["by"], number>>): WeightNow["by"] =>
  kinds.reduce((most, kind) => (averages[kind] > averages[most] ? kind : most));

/** SO1: whether the least used of them is not used up by its part of what this host would give away. */
function hasRoom(own: WeightNow, others: readonly (WeightNow | undefined)[]): boolean {
  const known = others.flatMap((one) => one ?? []);
  if (known.length === 0 || known.length < others.length) return false; // placement.ts, PM4.
  const theirs = known.reduce((sum, one) => sum + one.now, 0);
  const growth = (theirs + own.now) / (theirs + own.now / 2);
  return known.some(({ load }) => load * growth < limits.overloaded);
}
