/**
 * How long a journey takes when something slows it: equations 4 and 5 with their two defects mended.
 *
 * As printed, T_affected = max(0, T_total - T_elapsed) and T_new = T_elapsed + M * T_affected know neither where the
 * disturbance is nor when it ends, and let a finished journey grow. Here
 *
 * J1 T_affected is the part of the remaining journey that is driven inside the disturbed stretch and period;
 * J2 T_elapsed is clamped to the journey, so what has arrived stays arrived;
 * J3 nobody turns back in mid-leg: a leg under way is finished;
 * J4 cutting a leg anywhere changes no arrival, which holds because progress is followed piece by piece and not
 *    computed from the leg as a whole.
 */
import { type Problem, travelMin } from "./problem.ts";

/** Equation 4: the minutes of undisturbed driving that are still ahead. */
export const affectedMin = (total: number, elapsed: number): number =>
  total - Math.min(Math.max(elapsed, 0), total);

/** Equation 5: how long the whole journey takes when all that is ahead is slowed. */
export const stretchedMin = (total: number, elapsed: number, factor: number): number => {
  const affected = affectedMin(total, elapsed);
  return total - affected + (affected === 0 ? 0 : factor * affected);
};

/** What slows one leg. `stretch` counts minutes of undisturbed driving from the leg's start. */
export interface Disturbance {
  readonly from: number;
  /** Without it, it lasts. */
  readonly until?: number;
  /** How many times as long; `Infinity` for a closed road. */
  readonly factor: number;
  readonly stretch?: { readonly from: number; readonly to: number };
}

export interface Journey {
  /** `Infinity` where the road stays closed. */
  readonly arrives: number;
  /** T_affected: minutes of undisturbed driving that were driven slowed. */
  readonly affected: number;
}

/**
 * Follows a journey of `total` undisturbed minutes from its departure to its arrival. Where two disturbances overlap
 * their factors multiply.
 */
export function journey(total: number, departs: number, disturbances: readonly Disturbance[]): Journey {
  let now = departs;
  let done = 0;
  let affected = 0;
  while (done < total) {
    const factor = disturbances.reduce((all, one) => (holds(one, now, done) ? all * one.factor : all), 1);
    const position = nextAbove(
      done,
      total,
      disturbances.flatMap(({ stretch }) => (stretch ? [stretch.from, stretch.to] : [])),
    );
    const moment = nextAbove(
      now,
      Infinity,
      disturbances.flatMap(({ from, until }) => [from, until ?? Infinity]),
    );
    const reached = now + (position - done) * factor;
    if (reached === Infinity && moment === Infinity) return { arrives: Infinity, affected };
    const before = done;
    if (reached <= moment) [now, done] = [reached, position];
    else [now, done] = [moment, Math.min(position, done + (moment - now) / factor)];
    if (factor !== 1) affected += done - before;
  }
  return { arrives: now, affected };
}

const holds = ({ from, until = Infinity, stretch }: Disturbance, now: number, done: number) =>
  now >= from && now < until && (stretch === undefined || (done >= stretch.from && done < stretch.to));

const nextAbove = (value: number, last: number, candidates: readonly number[]) =>
  candidates.reduce((next, one) => (one > value && one < next ? one : next), last);

/** What slows the leg in this problem. */
export function disturbancesOf(problem: Problem, from: string, to: string): readonly Disturbance[] {
  const { disruption } = problem;
  const total = travelMin(problem, from, to);
  if (disruption === undefined || total === undefined || disruption.type === "delay") return [];
  const { until } = disruption;
  if (disruption.type === "closure") {
    const closed = disruption.legs.some((leg) => leg === `${from}-${to}` || leg === `${to}-${from}`);
    return closed ? [{ from: disruption.noticeAt ?? 0, until, factor: Infinity }] : [];
  }
  const { noticeAt, factor, touching, within } = disruption;
  if (touching !== from && touching !== to) return [];
  const near =
    within === undefined
      ? undefined
      : touching === from
        ? { from: 0, to: within }
        : { from: Math.max(0, total - within), to: total };
  return [{ from: noticeAt, until, factor, stretch: near }];
}

/** When a drive that departs at that minute arrives, disruption included; undefined where there is no road. */
export function arrival(problem: Problem, from: string, to: string, departs: number): number | undefined {
  const total = travelMin(problem, from, to);
  return total === undefined ? undefined : journey(total, departs, disturbancesOf(problem, from, to)).arrives;
}
