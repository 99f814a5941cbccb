/** Where a history leaves the dinner: the drivers and when they are free, who is to be fetched, what is cooking. */
import type { Question } from "./answer.ts";
import { executedBefore, stateAt } from "./history.ts";
import { noticeOf, type Thanksgiving } from "./problem.ts";
import type { Action } from "./schedule.ts";
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
  readonly now: number;
  readonly starts: readonly Start[];
  readonly guests: readonly Guest[];
  /** Guests who are at home already. */
  readonly home: readonly string[];
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
      const fresh = rents && !executed.some(({ type }) => type === "rent");
      const before: Action[] = fresh
        ? [
            { type: "exit", who: [driver], start: out },
            { type: "rent", who: [driver], start: out, end: car },
          ]
        : [];
      const place = "comesAt" in spot ? at : "at" in spot ? spot.at : spot.to;
      const busy = "arrives" in spot ? spot.arrives : now;
      const free = Math.max(busy, fresh ? car : out);
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
  const home = others.filter(({ name }) => {
    const spot = state.people[name];
    return spot !== undefined && isAt(spot, problem.home);
  });
  const guests = others
    .filter((one) => !home.includes(one))
    .map(({ name, at, from, comes }) => {
      const spot = state.people[name];
      const ready = Math.max(now, from + (comes === "lands" ? exitMin : 0));
      return { name, at: spot !== undefined && "at" in spot ? spot.at : at, ready };
    });
  const { turkey, sides } = state.cooking;
  return { problem, now, starts, guests, home: home.map(({ name }) => name), oven: turkey, sides };
}
