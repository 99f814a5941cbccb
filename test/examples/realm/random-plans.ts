/**
 * Schedules for random days that nobody thought about: duties dealt out by chance, driven in any order with waits and stops
 * at home. What of them the rules accept must be possible for the search as well.
 */
import type { SeededChance } from "../../../services/memory/faults.ts";
import { noticeOf, placesOf, type Problem, type Thanksgiving, type Wedding } from "./problem.ts";
import { minutesOn } from "./referee.ts";
import type { Action, Schedule } from "./schedule.ts";

const shuffled = <T>(chance: SeededChance, all: readonly T[]): T[] =>
  all
    .map((one) => ({ one, key: chance.random() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ one }) => one);

interface Stop {
  readonly at: string;
  readonly from: number;
  readonly guest?: string;
  readonly task?: "gift" | "clothes";
}

interface Car {
  place: string;
  time: number;
  riding: string[];
  readonly driver: string;
  readonly rows: Action[];
}

/** Drives on, straight or by another place; false where no road leads there. */
function go(chance: SeededChance, problem: Problem, car: Car, to: string): boolean {
  const via = chance.happens(0.3) ? chance.pick(placesOf(problem)) : to;
  for (const next of new Set([via, to])) {
    if (next === car.place) continue;
    const minutes = minutesOn(problem, car.place, next, car.time);
    if (minutes === Infinity) return false;
    const { driver, place: from, time: start } = car;
    const who: [string, ...string[]] = [driver, ...car.riding];
    car.rows.push({ type: "drive", driver, who, from, to: next, start, end: start + minutes });
    [car.place, car.time] = [next, start + minutes];
  }
  return car.place === to;
}

/** One try at a wedding from the notice on; undefined where a road was missing. */
export function randomWeddingPlan(chance: SeededChance, problem: Wedding): Schedule | undefined {
  const { photo, gift, clothes, people } = problem;
  const now = noticeOf(problem) ?? 0;
  const drivers = shuffled(
    chance,
    people.filter(({ drives }) => drives),
  ).slice(0, problem.cars);
  const cars = drivers.map(({ name, at, from }): Car => ({
    driver: name,
    place: at,
    time: Math.max(now, from),
    riding: [],
    rows: [],
  }));
  const guests = people
    .filter(({ name, at }) => at !== photo.at && !drivers.some((driver) => driver.name === name))
    .map(({ name, at, from }): Stop => ({ at, from: Math.max(now, from), guest: name }));
  const stops = shuffled(chance, [
    ...guests,
    { at: gift.at, from: Math.max(now, gift.opensAt), task: "gift" },
    { at: clothes.at, from: now, task: "clothes" },
  ] satisfies Stop[]);
  for (const { at, from, guest, task } of stops) {
    const car = chance.pick(cars);
    if (chance.happens(0.2) && !go(chance, problem, car, photo.at)) return undefined;
    if (car.place === photo.at) car.riding = [];
    if (!go(chance, problem, car, at)) return undefined;
    car.time = Math.max(car.time, from) + (chance.happens(0.1) ? 5 * chance.between(1, 4) : 0);
    const span = { place: at, start: car.time, end: car.time };
    if (task !== undefined) car.rows.push({ type: "task", task, who: [car.driver], ...span });
    if (guest === undefined) continue;
    car.rows.push({ type: "pickup", who: [guest], ...span });
    car.riding.push(guest);
  }
  if (!cars.every((car) => go(chance, problem, car, photo.at))) return undefined;
  return [
    ...cars.flatMap(({ rows }) => rows),
    { type: "photo", place: photo.at, who: ["all"], start: photo.exactlyAt },
  ];
}

/** One try at a dinner from the notice on; undefined where a road was missing. */
export function randomDinnerPlan(chance: SeededChance, problem: Thanksgiving): Schedule | undefined {
  const { home, people, dinner, turkeyMin, sidesMin } = problem;
  const now = noticeOf(problem) ?? 0;
  const cars = people
    .filter(({ drives }) => drives)
    .map(({ name, at, from, rents }): Car => {
      const start = Math.max(now, from);
      const rows: Action[] = rents ? [{ type: "rent", who: [name], start, end: start }] : [];
      return { driver: name, place: at, time: start, riding: [], rows };
    });
  const guests = shuffled(
    chance,
    people.filter(({ drives, at }) => !drives && at !== home),
  );
  const wait = (car: Car) => {
    if (car.place === home && chance.happens(0.7)) car.time += 30 * chance.between(0, 8);
  };
  for (const { name, at, from } of guests) {
    const car = chance.pick(cars);
    if (chance.happens(0.3) && !go(chance, problem, car, home)) return undefined;
    if (car.place === home) car.riding = [];
    wait(car);
    if (!go(chance, problem, car, at)) return undefined;
    car.time = Math.max(car.time, from, now);
    car.riding.push(name);
  }
  if (!cars.every((car) => go(chance, problem, car, home))) return undefined;
  const cook = (what: "turkey" | "sides", minutes: number): Action => {
    const start = Math.max(now, dinner - minutes - 30 * chance.between(0, 4));
    const who = people.filter((one) => one.from <= start).map(({ name }) => name);
    return { type: "cook", what, who: who, start, end: start + minutes };
  };
  return [
    ...cars.flatMap(({ rows }) => rows),
    cook("turkey", turkeyMin),
    cook("sides", sidesMin),
    { type: "dinner", who: ["all"], start: dinner },
  ];
}
