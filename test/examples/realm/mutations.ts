/** Ways to spoil a feasible schedule, each of which knows by its own making which rule it breaks. */
import type { SeededChance } from "../../../services/memory/faults.ts";
import { noticeOf, placesOf, type Problem, type Thanksgiving, type Wedding } from "./problem.ts";
import { type Action, actionsOf, type Drive, endOf, type Schedule } from "./schedule.ts";
import { pickupId } from "./thanksgiving.ts";

interface Spoilt {
  /** The rule that it breaks; it may break others besides. */
  readonly rule: string;
  readonly schedule: Schedule;
}

/** Undefined where the schedule has nothing for it to spoil. */
export type Mutation<P extends Problem = Problem> = (
  problem: P,
  schedule: Schedule,
  chance: SeededChance,
) => Spoilt | undefined;

const prefix = ({ kind }: Problem) => (kind === "wedding" ? "WED" : "TKS");
const into = (schedule: Schedule, row: Action | undefined, change: object): Schedule =>
  schedule.map((action) => (action === row ? { ...action, ...change } : action));
const picked = <T>(chance: SeededChance, all: readonly T[]): T | undefined =>
  all.length === 0 ? undefined : chance.pick(all);
const drivesOf = (schedule: Schedule): Drive[] => actionsOf(schedule, "drive");
const roadMin = ({ travel }: Problem, { from, to }: Drive) =>
  travel[`${from}-${to}`] ?? travel[`${to}-${from}`] ?? 1;

const both: readonly Mutation[] = [
  (problem, schedule, chance) => {
    const row = picked(
      chance,
      schedule.filter((action) => "end" in action && action.start > 0),
    );
    return (
      row && {
        rule: `${prefix(problem)}-SPAN`,
        schedule: into(schedule, row, { end: row.start - chance.between(1, 30) }),
      }
    );
  },
  (problem, schedule, chance) => {
    const row = picked(chance, schedule);
    const change = chance.pick([{ who: ["Nobody"] }, { place: "Q" }, { to: "Q" }, { driver: "Nobody" }]);
    const [key = ""] = Object.keys(change);
    if (row === undefined || !(key in row)) return undefined;
    return { rule: `${prefix(problem)}-KNOWN`, schedule: into(schedule, row, change) };
  },
  (problem, schedule, chance) => {
    const strange: Action[] = [
      { type: "photo", place: placesOf(problem)[0] ?? "", who: ["all"], start: 700 },
      { type: "dinner", who: ["all"], start: 700 },
    ];
    const row = strange[problem.kind === "wedding" ? 1 : 0];
    return (
      row && {
        rule: `${prefix(problem)}-KNOWN`,
        schedule: schedule.toSpliced(chance.between(0, schedule.length), 0, row),
      }
    );
  },
  (problem, schedule, chance) => {
    const row = picked(
      chance,
      schedule.filter(({ type }) =>
        ["task", "photo", "cook", "dinner", "land", "exit", "rent"].includes(type),
      ),
    );
    if (row === undefined) return undefined;
    const shift = chance.pick([0, 0, -60, 60]);
    const again = { ...row, start: row.start + shift, ...("end" in row && { end: row.end + shift }) };
    return {
      rule: `${prefix(problem)}-ONCE`,
      schedule: schedule.toSpliced(chance.between(0, schedule.length), 0, again),
    };
  },
  (problem, schedule, chance) => {
    const row = picked(chance, drivesOf(schedule));
    return (
      row && {
        rule: `${prefix(problem)}-TRAVEL`,
        schedule: into(schedule, row, { end: row.start + roadMin(problem, row) - chance.between(1, 9) }),
      }
    );
  },
  (problem, schedule, chance) => {
    const row = picked(chance, drivesOf(schedule));
    const other =
      row &&
      picked(
        chance,
        placesOf(problem).filter((place) => place !== row.from && place !== row.to),
      );
    return other === undefined
      ? undefined
      : { rule: `${prefix(problem)}-PLACE`, schedule: into(schedule, row, { from: other }) };
  },
  (problem, schedule, chance) => {
    // Two drives of one driver at one time.
    const row = picked(chance, drivesOf(schedule));
    const later = row && { ...row, start: row.start + 1, end: row.end + 1 };
    return later && { rule: `${prefix(problem)}-PLACE`, schedule: [...schedule, later] };
  },
  (problem, schedule, chance) => {
    const row = picked(chance, drivesOf(schedule));
    const rider = picked(
      chance,
      problem.people.filter(({ drives }) => !drives),
    );
    if (row === undefined || rider === undefined) return undefined;
    return {
      rule: problem.kind === "wedding" ? "WED-RIDE" : "TKS-LICENCE",
      schedule: into(schedule, row, { driver: rider.name }),
    };
  },
  (problem, schedule) => {
    const notice = noticeOf(problem) ?? 0;
    const past = schedule.filter(({ start }) => start < notice);
    if (past.length < 2) return undefined;
    return { rule: `${prefix(problem)}-HISTORY`, schedule: schedule.filter((action) => action !== past[0]) };
  },
];

const isTask = (schedule: Schedule, task: "gift" | "clothes") =>
  actionsOf(schedule, "task").find((row) => row.task === task);

const weddings: readonly Mutation<Wedding>[] = [
  (_, schedule, chance) => {
    const task = chance.pick(["gift", "clothes"] as const);
    return { rule: "WED-COMPLETE", schedule: schedule.filter((row) => row !== isTask(schedule, task)) };
  },
  ({ photo }, schedule, chance) => {
    const [row] = actionsOf(schedule, "photo");
    const change = chance.pick([
      { start: photo.exactlyAt - 1 },
      { start: photo.exactlyAt + 60 },
      { place: "B" },
      undefined,
    ]);
    if (change === undefined)
      return { rule: "WED-PHOTO", schedule: schedule.filter((action) => action !== row) };
    return { rule: "WED-PHOTO", schedule: into(schedule, row, change) };
  },
  (problem, schedule, chance) => {
    const { name, from } = chance.pick(problem.people);
    const row = drivesOf(schedule).find(({ who, driver }) => driver === name || who.includes(name));
    return (
      row && { rule: "WED-AVAIL", schedule: into(schedule, row, { start: from - chance.between(1, 60) }) }
    );
  },
  ({ people, seats }, schedule, chance) => {
    const row = picked(chance, drivesOf(schedule));
    if (row === undefined || people.length <= seats) return undefined;
    return { rule: "WED-RIDE", schedule: into(schedule, row, { who: people.map(({ name }) => name) }) };
  },
  (problem, schedule, chance) => {
    const driver = picked(
      chance,
      problem.people.filter(({ drives }) => drives),
    );
    const visited = [
      ...drivesOf(schedule).flatMap(({ from, to }) => [from, to]),
      ...problem.people.map(({ at }) => at),
    ];
    const bare = placesOf(problem).filter((place) => !visited.includes(place));
    const from = picked(chance, bare);
    if (driver === undefined || from === undefined) return undefined;
    const row: Action = {
      type: "drive",
      driver: driver.name,
      who: [driver.name],
      from,
      to: "W",
      start: 1_100,
      end: 1_200,
    };
    return { rule: "WED-TWO-CARS", schedule: [...schedule, row] };
  },
  ({ gift }, schedule, chance) => {
    const start = gift.opensAt - chance.between(1, 60);
    return {
      rule: "WED-GIFT-OPEN",
      schedule: into(schedule, isTask(schedule, "gift"), { start, end: start }),
    };
  },
  ({ clothes }, schedule, chance) => ({
    rule: "WED-TAILOR-CLOSE",
    schedule: into(schedule, isTask(schedule, "clothes"), { end: clothes.closesAt + chance.between(1, 60) }),
  }),
];

const dish = (schedule: Schedule, what: "turkey" | "sides") =>
  actionsOf(schedule, "cook").find((row) => row.what === what);

const dinners: readonly Mutation<Thanksgiving>[] = [
  ({ turkeyMin, sidesMin }, schedule, chance) => {
    const what = chance.pick(["turkey", "sides"] as const);
    const row = dish(schedule, what);
    const rule = `TKS-${what.toUpperCase()}`;
    if (row === undefined || chance.happens(0.2))
      return { rule, schedule: schedule.filter((action) => action !== row) };
    const least = what === "turkey" ? turkeyMin : sidesMin;
    return { rule, schedule: into(schedule, row, { end: row.start + least - chance.between(1, least - 1) }) };
  },
  (_, schedule, chance) => {
    const what = chance.pick(["turkey", "sides"] as const);
    const row = dish(schedule, what);
    const [meal] = actionsOf(schedule, "dinner");
    if (row === undefined || meal === undefined) return undefined;
    // The meal is told for a minute at which the dish is not ready.
    return { rule: `TKS-${what.toUpperCase()}`, schedule: into(schedule, meal, { start: row.end - 1 }) };
  },
  ({ dinner, people }, schedule, chance) => {
    const [meal] = actionsOf(schedule, "dinner");
    const change = chance.pick([
      { start: dinner + chance.between(1, 120) },
      { who: people.slice(1).map(({ name }) => name) },
      undefined,
    ]);
    if (change === undefined) return { rule: "TKS-DINNER", schedule: schedule.filter((row) => row !== meal) };
    return change.who?.length === 0
      ? undefined
      : { rule: "TKS-DINNER", schedule: into(schedule, meal, change) };
  },
  ({ home, people }, schedule) => {
    const guest = people.find(({ drives, at }) => !drives && at !== home)?.name;
    const row = drivesOf(schedule).findLast(
      ({ who, to }) => to === home && guest !== undefined && who.includes(guest),
    );
    return (
      row && {
        rule: "TKS-HOME",
        schedule: into(schedule, row, { who: row.who.filter((name) => name !== guest) }),
      }
    );
  },
  (_, schedule, chance) => {
    const [row] = actionsOf(schedule, "land");
    return (
      row && {
        rule: "TKS-LAND",
        schedule: into(schedule, row, { start: row.start + chance.pick([-30, 30]) }),
      }
    );
  },
  ({ people }, schedule, chance) => {
    const late = people.find(({ comes }) => comes === "arrives");
    const row = drivesOf(schedule).find(({ driver }) => driver === late?.name);
    if (late === undefined || row === undefined) return undefined;
    return { rule: "TKS-AVAIL", schedule: into(schedule, row, { start: late.from - chance.between(1, 60) }) };
  },
  ({ people }, schedule) => {
    const renter = people.find(({ rents }) => rents)?.name;
    if (!drivesOf(schedule).some(({ driver }) => driver === renter)) return undefined;
    return {
      rule: "TKS-RENT",
      schedule: schedule.filter((row) => row.type !== "rent" || !row.who.includes(renter ?? "")),
    };
  },
  ({ people }, schedule) => {
    const guest = people.find(
      ({ name, drives, at }) =>
        !drives && drivesOf(schedule).some((row) => row.from === at && row.who.includes(name)),
    );
    const row = drivesOf(schedule).find(
      ({ from, who }) => guest !== undefined && from === guest.at && who.includes(guest.name),
    );
    return (
      row && guest && { rule: pickupId(guest.name), schedule: into(schedule, row, { driver: guest.name }) }
    );
  },
  ({ people }, schedule) => {
    // Before anybody has appeared.
    const row = dish(schedule, "turkey");
    const start = Math.min(...people.map(({ from }) => from)) - 1;
    return row && { rule: "TKS-FIRE", schedule: into(schedule, row, { start }) };
  },
];

/** Every mutation that concerns the kind of problem. */
export function mutationsOf(
  problem: Problem,
): readonly ((schedule: Schedule, chance: SeededChance) => Spoilt | undefined)[] {
  const shared = both.map(
    (mutate) => (schedule: Schedule, chance: SeededChance) => mutate(problem, schedule, chance),
  );
  if (problem.kind === "wedding")
    return [
      ...shared,
      ...weddings.map(
        (mutate) => (schedule: Schedule, chance: SeededChance) => mutate(problem, schedule, chance),
      ),
    ];
  return [
    ...shared,
    ...dinners.map(
      (mutate) => (schedule: Schedule, chance: SeededChance) => mutate(problem, schedule, chance),
    ),
  ];
}

/** Moves, stretches, swaps or drops some row without asking what that breaks. */
export function shaken(problem: Problem, schedule: Schedule, chance: SeededChance): Schedule {
  const row = picked(chance, schedule);
  if (row === undefined) return schedule;
  const by = 5 * chance.between(-6, 6);
  switch (chance.pick(["move", "stretch", "drop", "who", "place"] as const)) {
    case "move":
      return into(schedule, row, {
        start: Math.max(0, row.start + by),
        ...("end" in row && { end: Math.max(0, endOf(row) + by) }),
      });
    case "stretch":
      return "end" in row ? into(schedule, row, { end: Math.max(0, row.end + by) }) : schedule;
    case "drop":
      return schedule.filter((action) => action !== row);
    case "who": {
      const { name } = chance.pick(problem.people);
      return into(
        schedule,
        row,
        row.type === "drive" && chance.happens(0.3) ? { driver: name } : { who: [name] },
      );
    }
    case "place":
      return into(schedule, row, "place" in row ? { place: chance.pick(placesOf(problem)) } : {});
  }
}
