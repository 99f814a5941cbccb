/**
 * A second judge of schedules, for the tests of the first and of the search: says yes or no and nothing else, minute by
 * minute, and shares with the predicates the problem's data and no code: no positions, journeys or rows.
 *
 * It is told whole schedules, the past included, and knows nothing of histories. A slowed road has a whole factor and no
 * stretch.
 */
import type { Judged } from "./predicate.ts";
import type { Problem, Thanksgiving, Wedding } from "./problem.ts";
import type { Action, Drive, Schedule } from "./schedule.ts";

const day = 1_440;
const finish = (action: Action): number => ("end" in action ? action.end : action.start);

/** Whether the schedule keeps every rule of its problem. */
export function allows({ problem, schedule, accepted }: Omit<Judged, "history" | "tailor">): boolean {
  const drives = schedule.filter((action): action is Drive => action.type === "drive");
  const everybody = problem.people.map(({ name }) => name);
  const ways = new Map(everybody.map((name) => [name, wayOf(problem, drives, name)]));
  const at = (name: string, minute: number): string => ways.get(name)?.[minute] ?? "nowhere";
  const rows = schedule.every((action) => namesRight(problem, action, everybody));
  const roads = drives.every(({ from, to, start, end, driver }) => {
    const added = accepted?.addedMin?.[driver] ?? 0;
    return (
      end - start >= minutesOn(problem, from, to, start) && end - start >= plainMin(problem, from, to) + added
    );
  });
  if (!rows || !roads || everybody.some((name) => ways.get(name) === undefined)) return false;
  const once = schedule.flatMap((action) => onceNames(action));
  if (new Set(once).size !== once.length || !oneThing(problem, schedule)) return false;
  return problem.kind === "wedding"
    ? wedding(problem, schedule, drives, at)
    : thanksgiving(problem, schedule, drives, at, accepted ?? {});
}

const plainMin = ({ travel }: Problem, from: string, to: string): number =>
  travel[`${from}-${to}`] ?? travel[`${to}-${from}`] ?? Infinity;

/** Counts the minutes of a drive one by one, each of them full, slow or standing still. */
export function minutesOn(problem: Problem, from: string, to: string, start: number): number {
  const { disruption } = problem;
  const slow =
    disruption?.type === "traffic" && [from, to].includes(disruption.touching) ? disruption.factor : 1;
  const shut =
    disruption?.type === "closure" &&
    disruption.legs.some((leg) => [`${from}-${to}`, `${to}-${from}`].includes(leg));
  let ahead = plainMin(problem, from, to) * slow;
  let minutes = 0;
  for (; ahead > 0 && minutes < 3 * day; minutes++) {
    const now = start + minutes;
    const disturbed =
      disruption !== undefined &&
      disruption.type !== "delay" &&
      now >= (disruption.noticeAt ?? 0) &&
      now < (disruption.until ?? Infinity);
    ahead -= disturbed ? (shut ? 0 : 1) : slow;
  }
  return ahead > 0 ? Infinity : minutes;
}

/** Where a person is in every minute, or undefined where the drives would tear him apart. */
function wayOf(problem: Problem, drives: readonly Drive[], name: string): string[] | undefined {
  const person = problem.people.find((one) => one.name === name);
  if (person === undefined) return undefined;
  const way = Array.from({ length: 2 * day }, (_, minute) => (minute < person.from ? "nowhere" : person.at));
  let [place, free] = [person.at, person.from];
  const own = drives.filter(({ driver, who }) => driver === name || who.includes(name));
  for (const { from, to, start, end } of own.toSorted(
    (one, other) => one.start - other.start || one.end - other.end,
  )) {
    if (from !== place || start < free || end <= start) return undefined;
    way.fill(`${from}-${to}`, start, end).fill(to, end);
    [place, free] = [to, end];
  }
  return way;
}

function namesRight(problem: Problem, action: Action, people: readonly string[]): boolean {
  const legs = Object.keys(problem.travel).flatMap((leg) => leg.split("-"));
  const gathers = action.type === "photo" || action.type === "dinner";
  const known = (names: readonly string[]) =>
    names.every((name) => people.includes(name) || (gathers && name === "all"));
  const takes = action.type === "drive" || action.type === "cook" ? 1 : 0;
  if (action.type === "state" || finish(action) < action.start + takes || !known(action.who)) return false;
  const own =
    problem.kind === "wedding"
      ? ["drive", "pickup", "task", "photo"]
      : ["drive", "land", "exit", "arrive", "rent", "cook", "dinner"];
  if (!own.includes(action.type)) return false;
  if ("place" in action && !legs.includes(action.place)) return false;
  if (action.type !== "drive") return true;
  return (
    problem.people.some(({ name, drives }) => name === action.driver && drives) && action.from !== action.to
  );
}

const onceNames = (action: Action): string[] =>
  action.type === "task"
    ? [action.task]
    : action.type === "cook"
      ? [action.what]
      : ["photo", "dinner"].includes(action.type)
        ? [action.type]
        : "who" in action && ["land", "exit", "arrive", "rent"].includes(action.type)
          ? action.who.map((name) => `${action.type} ${name}`)
          : [];

/** Nobody is asked to do one thing in the middle of another. */
function oneThing({ people }: Problem, schedule: Schedule): boolean {
  const busy = schedule.filter(({ type }) => ["drive", "pickup", "task", "exit", "rent"].includes(type));
  return people.every(({ name, from }) => {
    const own = busy.filter(
      (action) =>
        "who" in action && (action.who.includes(name) || ("driver" in action && action.driver === name)),
    );
    return own.every(
      (one) =>
        one.start >= from &&
        own.every((other) => other === one || other.start >= finish(one) || finish(other) <= one.start),
    );
  });
}

type At = (name: string, minute: number) => string;

function wedding(problem: Wedding, schedule: Schedule, drives: readonly Drive[], at: At): boolean {
  const { photo, gift, clothes, seats, cars, people } = problem;
  const by = photo.exactlyAt;
  const there = (name: string, from: number) =>
    Array.from({ length: by - from + 1 }, (_, index) => from + index).some(
      (minute) => at(name, minute) === photo.at,
    );
  const acts = schedule.every((action) => {
    if (action.type === "pickup") {
      const driver = people.some(
        ({ name, drives: can }) => can && standsAt(drives, problem, name, action.place, action.start),
      );
      return (
        driver && action.who.every((name) => standsAt(drives, problem, name, action.place, action.start))
      );
    }
    if (action.type === "photo")
      return (
        action.place === photo.at &&
        action.start === by &&
        photo.who.every((name) => action.who.includes(name) || action.who.includes("all"))
      );
    if (action.type !== "task") return true;
    const here = action.who.every((name) => standsAt(drives, problem, name, action.place, action.start));
    const shop =
      action.task === "gift"
        ? action.place === gift.at && action.start >= gift.opensAt
        : action.place === clothes.at && action.end <= clothes.closesAt;
    return here && shop && action.who.some((name) => there(name, action.end));
  });
  const done = ["gift", "clothes"].every((task) =>
    schedule.some((action) => action.type === "task" && action.task === task),
  );
  const pictured =
    schedule.some(({ type }) => type === "photo") && photo.who.every((name) => at(name, by) === photo.at);
  const fetched = people.every(({ name, drives: can, from }) => can || there(name, from));
  const room = drives.every(({ driver, who }) => new Set([driver, ...who]).size <= seats);
  return (
    acts &&
    done &&
    pictured &&
    fetched &&
    room &&
    new Set(drives.map(({ driver }) => driver)).size <= cars &&
    enoughCars(problem, drives)
  );
}

/** At the place as the minute begins, whatever starts in it. */
function standsAt(
  drives: readonly Drive[],
  { people }: Problem,
  name: string,
  place: string,
  minute: number,
): boolean {
  const own = drives.filter(
    ({ driver, who, end }) => (driver === name || who.includes(name)) && end <= minute,
  );
  const riding = drives.some(
    ({ driver, who, start, end }) =>
      (driver === name || who.includes(name)) && start < minute && minute < end,
  );
  const last = own.toSorted((one, other) => one.end - other.end).at(-1);
  const person = people.find((one) => one.name === name);
  return !riding && minute >= (person?.from ?? Infinity) && (last?.to ?? person?.at) === place;
}

function enoughCars({ people, cars }: Wedding, drives: readonly Drive[]): boolean {
  const parked = people
    .filter(({ drives: can }) => can)
    .slice(0, cars)
    .map(({ at }) => ({ at, since: 0 }));
  return drives
    .toSorted((one, other) => one.start - other.start || one.end - other.end)
    .every(({ from, to, start, end }) => {
      const car = parked.find(({ at, since }) => at === from && since <= start);
      if (car !== undefined) Object.assign(car, { at: to, since: end });
      return car !== undefined;
    });
}

function thanksgiving(
  problem: Thanksgiving,
  schedule: Schedule,
  drives: readonly Drive[],
  at: At,
  accepted: NonNullable<Judged["accepted"]>,
): boolean {
  const { home, airport, people, dinner, turkeyMin, sidesMin } = problem;
  const served = schedule.find(({ type }) => type === "dinner")?.start ?? Infinity;
  const [turkey, sides] = ["turkey", "sides"].map((what) =>
    schedule.find((action) => action.type === "cook" && action.what === what),
  );
  if (served > dinner || turkey?.type !== "cook" || sides?.type !== "cook") return false;
  const guests = schedule.flatMap((action) => (action.type === "dinner" ? action.who : []));
  const gathered = people.every(
    ({ name }) => at(name, served) === home && (guests.includes(name) || guests.includes("all")),
  );
  const minutes = (dish: { start: number; end: number }) =>
    Array.from({ length: dish.end - dish.start }, (_, index) => dish.start + index);
  const cooked = [turkey, sides].every(
    (dish) => dish.end <= served && dish.end - dish.start >= (dish.what === "turkey" ? turkeyMin : sidesMin),
  );
  const minded =
    minutes(turkey).every((minute) => people.some(({ name }) => at(name, minute) === home)) &&
    minutes(sides).every((minute) => sides.who.some((name) => at(name, minute) === home)) &&
    turkey.who.some((name) => at(name, turkey.start) === home);
  const cars = people.every(({ name, from, rents }) => {
    const rent = schedule.find((action) => action.type === "rent" && action.who.includes(name));
    if (rent?.type === "rent" && (rent.start < from || rent.end - rent.start < (accepted.rentalMin ?? 0)))
      return false;
    return (
      !rents ||
      drives.every((drive) =>
        drive.driver === name
          ? rent !== undefined && drive.start >= finish(rent)
          : drive.from !== airport || !drive.who.includes(name),
      )
    );
  });
  const comings = schedule.every((action) => {
    if (action.type === "drive" || action.type === "state" || action.type === "pickup") return true;
    const comer = (name: string) => people.find((one) => one.name === name);
    if (action.type === "land")
      return action.who.every((name) => comer(name)?.comes === "lands" && comer(name)?.from === action.start);
    if (action.type === "arrive")
      return action.who.every(
        (name) => comer(name)?.comes === "arrives" && comer(name)?.from === action.start,
      );
    if (action.type !== "exit" && action.type !== "rent") return true;
    return action.who.every((name) => standsAt(drives, problem, name, airport, action.start));
  });
  const punctual = schedule.every((action) =>
    people.every(({ name, comes, from }) => {
      if (action.type === "state" || action.type === "land" || action.type === "arrive") return true;
      if (!action.who.includes(name) && !(action.type === "drive" && action.driver === name)) return true;
      return comes === "lives" || action.start >= from + (comes === "lands" ? (accepted.exitMin ?? 0) : 0);
    }),
  );
  return gathered && cooked && minded && cars && comings && punctual;
}
