/** What one driver of the wedding can do: the earliest return to the venue for every set of duties. */
import { arrival } from "./journey.ts";
import { placesOf, type Wedding } from "./problem.ts";
import type { Action } from "./schedule.ts";

export interface Duty {
  readonly name: string;
  readonly kind: "guest" | "gift" | "clothes";
  readonly at: string;
  readonly from: number;
  readonly until: number;
}

export interface Start {
  readonly driver: string;
  readonly at: string;
  readonly free: number;
  /** Guests in the car. */
  readonly aboard: readonly string[];
}

export interface Step {
  readonly at: string;
  readonly time: number;
  readonly done: number;
  /** How many guests sit in the car. */
  readonly load: number;
  readonly before?: Step;
  readonly action?: Action;
}

/** The earliest step at the venue for every set of duties, as bits over `duties`. */
export function earliestReturns(
  problem: Wedding,
  start: Start,
  duties: readonly Duty[],
  serviceMin: number,
): Map<number, Step> {
  const places = placesOf(problem);
  const settled = new Set<string>();
  const home = new Map<number, Step>();
  const venue = problem.photo.at;
  const first = {
    at: start.at,
    time: start.free,
    done: 0,
    load: start.at === venue ? 0 : start.aboard.length,
  };
  const open: Step[] = [first];
  for (let step = takeEarliest(open); step !== undefined; step = takeEarliest(open)) {
    const key = keyOf(step);
    if (settled.has(key)) continue;
    settled.add(key);
    if (step.at === venue && !home.has(step.done)) home.set(step.done, step);
    const next = [
      ...duties.flatMap((duty, bit) => served(problem, start, step, duty, bit, serviceMin)),
      ...places.flatMap((to) => driven(problem, start, step, to)),
    ];
    open.push(...next.filter((one) => !settled.has(keyOf(one))));
  }
  return home;
}

const keyOf = ({ at, done, load }: Step) => `${at} ${done} ${load}`;

function takeEarliest(open: Step[]): Step | undefined {
  let earliest = 0;
  for (const [index, { time }] of open.entries()) if (time < (open[earliest]?.time ?? 0)) earliest = index;
  return open.splice(earliest, 1)[0];
}

/** The duty done where the car stands, if it is there, its hour comes, and there is a seat. */
function served(
  { seats }: Wedding,
  { driver }: Start,
  step: Step,
  { kind, name, at, from, until }: Duty,
  bit: number,
  serviceMin: number,
): Step[] {
  const start = Math.max(step.time, from);
  const time = start + serviceMin;
  const load = step.load + (kind === "guest" ? 1 : 0);
  if (step.done & (1 << bit) || at !== step.at || time > until || load >= seats) return [];
  const action: Action =
    kind === "guest"
      ? { type: "pickup", place: at, who: [name], start, end: time }
      : { type: "task", task: kind, place: at, who: [driver], start, end: time };
  return [{ at, time, done: step.done | (1 << bit), load, before: step, action }];
}

function driven(problem: Wedding, start: Start, before: Step, to: string): Step[] {
  const { at: from, time, done, load } = before;
  const arrives = to === from ? undefined : arrival(problem, from, to, time);
  if (arrives === undefined || arrives === Infinity) return [];
  const { driver } = start;
  const end = Math.ceil(arrives);
  const who: [string, ...string[]] = [driver, ...aboardAfter(problem, start, before)];
  const action: Action = { type: "drive", driver, who, from, to, start: time, end };
  return [{ at: to, time: end, done, load: to === problem.photo.at ? 0 : load, before, action }];
}

/** Who sits in the car after a step: the guests fetched since the venue was last left. */
function aboardAfter(problem: Wedding, start: Start, last: Step): string[] {
  const guests: string[] = [];
  let step: Step | undefined = last;
  for (; step !== undefined; step = step.before) {
    if (step.at === problem.photo.at) return guests;
    if (step.action?.type === "pickup") guests.push(...step.action.who);
  }
  return [...guests, ...start.aboard];
}

export function actionsTo(last: Step | undefined): Action[] {
  const actions: Action[] = [];
  for (let step = last; step !== undefined; step = step.before) if (step.action) actions.unshift(step.action);
  return actions;
}
