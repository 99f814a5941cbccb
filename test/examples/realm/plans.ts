/**
 * Every plan of the wedding, told apart by who does what in which order: another way to look at it than the search,
 * and the check of it. A driver's plan is an order of his duties; neighbouring duties at one place are one stop, and
 * between two stops he may once go by the venue. Everything happens as early as it can.
 */
import { arrival } from "./journey.ts";
import { placesOf, type Wedding } from "./problem.ts";
import type { Action, Schedule } from "./schedule.ts";

interface Stop {
  readonly place: string;
  readonly duties: readonly string[];
}
type Route = readonly Stop[];

export interface WeddingPlan {
  readonly routes: readonly Route[];
  readonly completeAt: number;
  readonly driveMin: number;
  readonly maxDriveMin: number;
  readonly schedule: Schedule;
}

/** All feasible plans. `serviceMin` is what every pickup and errand takes. */
export function weddingPlans(problem: Wedding, serviceMin: number): WeddingPlan[] {
  const duties = dutiesOf(problem);
  const names = [...duties.keys()];
  const drivers = problem.people.filter(({ drives }) => drives);
  const [first, second] = drivers;
  if (first === undefined || second === undefined) throw new Error("the wedding has two drivers");
  const plans: WeddingPlan[] = [];
  for (let bits = 0; bits < 1 << names.length; bits++) {
    const his = names.filter((_, bit) => bits & (1 << bit));
    const hers = names.filter((_, bit) => !(bits & (1 << bit)));
    const ways = [routes(problem, his), routes(problem, hers)] as const;
    for (const one of timed(problem, first.name, ways[0], serviceMin))
      for (const other of timed(problem, second.name, ways[1], serviceMin))
        plans.push(together(problem, [one, other]));
  }
  return plans;
}

interface Timed {
  readonly route: Route;
  readonly schedule: Schedule;
  readonly returns: number;
  readonly driveMin: number;
}

function together(problem: Wedding, drivers: readonly Timed[]): WeddingPlan {
  const { at, exactlyAt, who } = problem.photo;
  const loads = drivers.map(({ driveMin }) => driveMin);
  return {
    routes: drivers.map(({ route }) => route),
    completeAt: Math.max(...drivers.map(({ returns }) => returns)),
    driveMin: loads.reduce((sum, load) => sum + load, 0),
    maxDriveMin: Math.max(...loads),
    schedule: [
      ...drivers.flatMap(({ schedule }) => schedule),
      { type: "photo", place: at, who: who, start: exactlyAt },
    ],
  };
}

/** The same stops in the same order, timed anew: what becomes of a plan when its problem is disturbed. */
export function retimed(
  problem: Wedding,
  { routes: kept }: WeddingPlan,
  serviceMin: number,
): WeddingPlan | undefined {
  const drivers = problem.people.filter(({ drives }) => drives);
  const again = kept.flatMap((route, index) =>
    timed(problem, drivers[index]?.name ?? "", [route], serviceMin),
  );
  return again.length === kept.length ? together(problem, again) : undefined;
}

function dutiesOf(problem: Wedding): Map<string, { at: string; from: number; until: number }> {
  const guests = problem.people
    .filter(({ drives }) => !drives)
    .map(({ name, at, from }) => [name, { at, from, until: Infinity }] as const);
  const { gift, clothes } = problem;
  return new Map([
    ...guests,
    ["gift", { at: gift.at, from: gift.opensAt, until: Infinity }],
    ["clothes", { at: clothes.at, from: 0, until: clothes.closesAt }],
  ]);
}

/** Every order of the duties, neighbours at one place merged, without and with one stop at the venue. */
function routes(problem: Wedding, names: readonly string[]): Route[] {
  const duties = dutiesOf(problem);
  const distinct = new Map<string, Route>();
  for (const order of orders(names)) {
    const stops: { place: string; duties: string[] }[] = [];
    for (const name of order) {
      const place = duties.get(name)?.at ?? "";
      const last = stops.at(-1);
      if (last?.place === place) last.duties.push(name);
      else stops.push({ place, duties: [name] });
    }
    const merged = stops.map((stop) => ({ ...stop, duties: stop.duties.toSorted(byHour(problem)) }));
    const venue = { place: problem.photo.at, duties: [] };
    const detours = merged.slice(1).map((_, index) => merged.toSpliced(index + 1, 0, venue));
    for (const route of [merged, ...detours]) distinct.set(JSON.stringify(route), route);
  }
  return [...distinct.values()];
}

const byHour = (problem: Wedding) => (one: string, other: string) =>
  (dutiesOf(problem).get(one)?.from ?? 0) - (dutiesOf(problem).get(other)?.from ?? 0);

const orders = (names: readonly string[]): string[][] =>
  names.length === 0
    ? [[]]
    : names.flatMap((name) => orders(names.filter((one) => one !== name)).map((rest) => [name, ...rest]));

/** The routes that can be driven in time, as actions. */
function timed(problem: Wedding, driver: string, ways: readonly Route[], serviceMin: number): Timed[] {
  return ways.flatMap((route) => {
    const driven = drive(problem, driver, route, serviceMin);
    return driven !== undefined && driven.returns <= problem.photo.exactlyAt ? [driven] : [];
  });
}

function drive(problem: Wedding, driver: string, route: Route, serviceMin: number): Timed | undefined {
  const duties = dutiesOf(problem);
  const person = problem.people.find(({ name }) => name === driver);
  if (person === undefined) throw new Error(`no driver ${driver}`);
  const schedule: Action[] = [];
  const venue = { place: problem.photo.at, duties: [] };
  let { at, from: time } = person;
  let guests: string[] = [];
  let driveMin = 0;
  for (const stop of [...route, venue]) {
    if (stop.place !== at) {
      const arrives = arrival(problem, at, stop.place, time);
      if (arrives === undefined || arrives === Infinity) return undefined;
      const end = Math.ceil(arrives);
      schedule.push({
        type: "drive",
        driver,
        who: [driver, ...guests],
        from: at,
        to: stop.place,
        start: time,
        end,
      });
      driveMin += end - time;
      [at, time] = [stop.place, end];
    }
    if (at === problem.photo.at) guests = [];
    for (const name of stop.duties) {
      const duty = duties.get(name);
      const start = Math.max(time, duty?.from ?? 0);
      time = start + serviceMin;
      if (duty === undefined || time > duty.until) return undefined;
      if (name !== "gift" && name !== "clothes") guests.push(name);
      schedule.push(
        name === "gift" || name === "clothes"
          ? { type: "task", task: name, place: at, who: [driver], start, end: time }
          : { type: "pickup", place: at, who: [name], start, end: time },
      );
    }
  }
  return { route, schedule, returns: time, driveMin };
}

/** What an exhaustive walk starts from: a driver, where and when he is free, with whom. */
export interface Free {
  readonly place: string;
  readonly time: number;
}

/**
 * The earliest return to the venue with the given stops made in any order, by trying every sequence of places up to
 * `legs` long: slow, simple, and nothing of the search in it.
 */
export function exhaustive(
  problem: Wedding,
  { place, time }: Free,
  todo: readonly { readonly at: string; readonly from: number; readonly until: number }[],
  legs: number,
): number {
  const here = todo.filter(({ at }) => at === place);
  const begun = here.reduce((latest, { from }) => Math.max(latest, from), time);
  const orders = here.length > 0 && here.every(({ until }) => begun <= until);
  const left = orders ? todo.filter(({ at }) => at !== place) : todo;
  let least = left.length === 0 && place === problem.photo.at ? (orders ? begun : time) : Infinity;
  if (legs === 0) return least;
  for (const [leaves, rest] of orders
    ? ([
        [begun, left],
        [time, todo],
      ] as const)
    : ([[time, todo]] as const))
    for (const to of placesOf(problem)) {
      const arrives = to === place ? undefined : arrival(problem, place, to, leaves);
      if (arrives === undefined || arrives === Infinity) continue;
      least = Math.min(least, exhaustive(problem, { place: to, time: Math.ceil(arrives) }, rest, legs - 1));
    }
  return least;
}
