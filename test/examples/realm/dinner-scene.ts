/** Where a history leaves the dinner: the drivers and when they are free, who is to be fetched, what is cooking. */
import type { Question } from "./answer.ts";
import { executedBefore, stateAt } from "./history.ts";
import { noticeOf, type Thanksgiving } from "./problem.ts";
import { type Action, actionsOf, type Schedule } from "./schedule.ts";
import { isAt, spotText, type Span } from "./whereabouts.ts";

/** No dinner is later than midnight. */
export const midnight = 1_440;

export interface Guest {
  readonly name: string;
  readonly at: string;
  readonly ready: number;
}

export interface Start {
  readonly driver: string;
  readonly at: string;
  readonly free: number;
  readonly aboard: readonly string[];
  /** What the driver does before he can leave: out of the terminal, a rented car. */
  readonly before: readonly Action[];
  readonly addedMin: number;
}

export interface Scene {
  readonly problem: Thanksgiving;
  readonly executed: Schedule;
  readonly now: number;
  readonly starts: readonly Start[];
  readonly guests: readonly Guest[];
  /** Who is at home already, or comes there without a driver, and since when. */
  readonly home: readonly { readonly name: string; readonly from: number }[];
  /** Every minute of the problem is a multiple of so many, so a schedule that exists can begin all it does at such minutes. */
  readonly stepMin: number;
  readonly oven?: Span;
  readonly sides?: Span;
}

/** Where the history leaves the drivers, and who is still to be fetched. */
export function sceneOf({ problem, history = [], accepted }: Question<Thanksgiving>): Scene {
  const now = noticeOf(problem) ?? 0;
  const executed = executedBefore(problem, history, now);
  const state = stateAt(problem, executed, now);
  const exitMin = accepted?.exitMin ?? 0;
  const riders = (driver: string) =>
    Object.entries(state.pickedUp).flatMap(([name, by]) => {
      const [guest, his] = [state.people[name], state.people[driver]];
      const together = guest && his && spotText(guest) === spotText(his) && !isAt(guest, problem.home);
      return by === driver && together === true ? [name] : [];
    });
  const starts = problem.people
    .filter(({ drives }) => drives)
    .map(({ name: driver, at, from, comes, rents }): Start => {
      const spot = state.people[driver] ?? { comesAt: from };
      const out = Math.max(now, from + (comes === "lands" ? exitMin : 0));
      const car = out + (accepted?.rentalMin ?? 0);
      const rented = actionsOf(executed, "rent").find(({ who }) => who.includes(driver));
      const fresh = rents && rented === undefined;
      const isOut = actionsOf(executed, "exit").some(({ who }) => who.includes(driver));
      const exit: Action = { type: "exit", who: [driver], start: out };
      const rent: Action = { type: "rent", who: [driver], start: out, end: car };
      const before = fresh ? [...(isOut ? [] : [exit]), rent] : [];
      const place = "comesAt" in spot ? at : "at" in spot ? spot.at : spot.to;
      const busy = "arrives" in spot ? spot.arrives : now;
      const free = Math.max(busy, fresh ? car : out, rented?.end ?? 0);
      return {
        driver,
        at: place,
        free,
        aboard: riders(driver),
        before,
        addedMin: accepted?.addedMin?.[driver] ?? 0,
      };
    });
  const riding = new Set(starts.flatMap(({ aboard }) => aboard));
  const others = problem.people.filter(({ name, drives }) => !drives && !riding.has(name));
  const placed = others.map(({ name, at, from, comes }) => {
    const spot = state.people[name];
    const ready = Math.max(now, from + (comes === "lands" ? exitMin : 0));
    if (spot === undefined || "comesAt" in spot) return { name, at, ready };
    return "at" in spot ? { name, at: spot.at, ready } : { name, at: spot.to, ready: spot.arrives };
  });
  const home = placed.flatMap(({ name, at, ready }) => (at === problem.home ? [{ name, from: ready }] : []));
  const guests = placed.filter(({ at }) => at !== problem.home);
  const { turkey, sides } = state.cooking;
  const begun = [turkey, sides].flatMap((span) => (span ? [span.from, span.until] : []));
  const stepMin = stepOf(problem, [
    ...[now, ...begun, ...placed.map(({ ready }) => ready)],
    ...starts.flatMap(({ free, addedMin }) => [free, addedMin]),
  ]);
  return { problem, executed, now, starts, guests, home, oven: turkey, sides, stepMin };
}

/** The greatest common divisor of the minutes that matter; 1 where a slowed road makes fractions of them. */
function stepOf(
  { travel, turkeyMin, sidesMin, dinner, disruption }: Thanksgiving,
  own: readonly number[],
): number {
  if (disruption?.type === "traffic") return 1;
  const closed = disruption?.type === "closure" ? [disruption.noticeAt ?? 0, disruption.until ?? 0] : [];
  const divisor = (one: number, other: number): number => (other === 0 ? one : divisor(other, one % other));
  const all = [...Object.values(travel), turkeyMin, sidesMin, dinner, ...closed, ...own];
  return Math.max(1, all.filter(Number.isFinite).reduce(divisor, 0));
}
