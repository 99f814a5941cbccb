/**
 * The exact search of the dinner: every way to give the guests to the drivers, every order, every minute of departure
 * from home at which a problem of such minutes can need one.
 *
 * S1 Only a departure from home is worth delaying, because somebody must be at home while the turkey is in the oven;
 *    on the road, everybody goes on at once.
 * S2 Who brings several home may stop there once in between, and who is away may go there first. The second departure is
 *    tried at every minute where these are few, else at those at which something changes: when somebody else comes home,
 *    when a turkey put in at the earliest or at his return is done.
 * S3 A guest at home minds the oven as well as a host. The side dishes are one person's, else everybody's in turn.
 */
import type { Answer, Question, Relaxation } from "./answer.ts";
import { kitchenOf, readyAt, type Kitchen } from "./dinner-kitchen.ts";
import { midnight, sceneOf, type Guest, type Scene, type Start } from "./dinner-scene.ts";
import { roundTrip, tripsOf, type Trip } from "./dinner-trips.ts";
import { goOn } from "./history.ts";
import { clock, noticeOf, type Thanksgiving } from "./problem.ts";
import type { Action, Schedule } from "./schedule.ts";

/** One way to do it. */
export interface Plan extends Kitchen {
  readonly by: Readonly<Record<string, string>>;
  readonly order: readonly string[];
  readonly allHomeAt: number;
  readonly dinnerAt: number;
  readonly trips: readonly Trip[];
}

export interface DinnerQuestion extends Question<Thanksgiving> {
  /** Puts the turkey in at this minute. Without it, whenever it can be done. */
  readonly turkeyFrom?: number;
  /** Whether who brings two home may stop there in between; true by default. */
  readonly stops?: boolean;
}

/** See the head of the file. */
export function searchThanksgiving(question: DinnerQuestion): Answer {
  const { problem, history = [] } = question;
  const { dinner } = problem;
  const scene = sceneOf(question);
  const whole = (plan: Plan): Schedule =>
    goOn(problem, history, noticeOf(problem) ?? 0, actionsOf(scene, plan));
  // What has been eaten cannot be made better or worse.
  if (scene.executed.some(({ type }) => type === "dinner"))
    return { feasible: true, completeAt: dinner, schedule: goOn(problem, history, scene.now, []) };

  const inTime = earliest(question, dinner);
  if (inTime !== undefined) return { feasible: true, completeAt: inTime.allHomeAt, schedule: whole(inTime) };

  const later = earliest(question, midnight);
  const relax = relaxations(question, later, whole);
  if (later === undefined) return { feasible: false, why: "not before midnight", relax };
  const { dinnerAt } = later;
  return {
    feasible: false,
    completeAt: dinnerAt,
    lateMin: dinnerAt - dinner,
    why: reason(scene) ?? `dinner can be at ${clock(dinnerAt)} at the earliest`,
    relax,
  };
}

/** What would help alone: a later dinner, an oven left alone, fewer minutes added on somebody's way. */
function relaxations(
  question: DinnerQuestion,
  later: Plan | undefined,
  whole: (plan: Plan) => Schedule,
): Relaxation[] {
  const { dinner } = question.problem;
  const unattended = leastUnattended(question, dinner);
  return [
    ...(later
      ? [
          {
            constraint: "TKS-DINNER",
            what: `dinner at ${clock(later.dinnerAt)}`,
            byMin: later.dinnerAt - dinner,
            schedule: whole(later),
          },
        ]
      : []),
    ...(unattended
      ? [
          {
            constraint: "TKS-FIRE",
            what: `nobody at home for ${unattended.unattendedMin} min`,
            byMin: unattended.unattendedMin,
            schedule: whole(unattended),
          },
        ]
      : []),
    ...lessAdded(question, whole),
  ];
}

/** The most minutes that may be added on a driver's way, where it is the added ones that make it impossible. */
function lessAdded(question: DinnerQuestion, whole: (plan: Plan) => Schedule): Relaxation[] {
  const { accepted, problem } = question;
  return Object.entries(accepted?.addedMin ?? {}).flatMap(([name, asked]) => {
    const adding = (minutes: number) => {
      const addedMin = { ...accepted?.addedMin, [name]: minutes };
      return earliest({ ...question, accepted: { ...accepted, addedMin } }, problem.dinner);
    };
    if (asked === 0 || adding(0) === undefined) return [];
    let [fits, minutes] = [0, asked];
    while (minutes - fits > 1) {
      const middle = Math.floor((fits + minutes) / 2);
      if (adding(middle) === undefined) minutes = middle;
      else fits = middle;
    }
    const what = `at most ${fits} min added on ${name}'s way`;
    return [{ constraint: "augmentation", what, byMin: asked - fits, schedule: whole(adding(fits)!) }];
  });
}

/** The proof, where the dishes or one driver alone give it. */
function reason(scene: Scene): string | undefined {
  const { problem, starts } = scene;
  const { dinner, home } = problem;
  if (readyAt(scene) > dinner) return `the dishes are ready not before ${clock(readyAt(scene))}`;
  for (const start of starts) {
    const back = start.at === home ? start.free : roundTrip(problem, start, start.free, [])?.returns;
    if (back === undefined || back <= dinner) continue;
    return `${start.driver} can leave ${start.at} at ${clock(start.free)} and is at home not before ${clock(back)}`;
  }
  return undefined;
}

/** The earliest of all plans. What cannot be earlier than one already found is not looked at. */
function earliest(question: DinnerQuestion, by: number): Plan | undefined {
  const planner = plannerOf(question, by);
  return planner.assigned.reduce<Plan | undefined>(
    (best, assigned) => planner.best(assigned, false, best?.allHomeAt) ?? best,
    undefined,
  );
}

function leastUnattended(question: DinnerQuestion, by: number): Plan | undefined {
  const planner = plannerOf(question, by);
  const plans = planner.assigned.flatMap((assigned) => planner.best(assigned, true) ?? []);
  return plans.toSorted((one, other) => one.unattendedMin - other.unattendedMin)[0];
}

/** The best plan of every assignment that has one: everybody at home by `by`, the oven never alone. */
export function bestPlans(question: DinnerQuestion, by: number): Plan[] {
  const planner = plannerOf(question, by);
  return planner.assigned.flatMap((assigned) => planner.best(assigned, false) ?? []);
}

/** The assignments, and what is the best of each: many share a driver's trips, which are made once. */
function plannerOf(question: DinnerQuestion, by: number) {
  const scene = sceneOf(question);
  const drivers = scene.starts.map(({ driver }) => driver);
  const made = new Map<string, readonly Trip[]>();
  const trips = (start: Start, guests: readonly Guest[]) => {
    const key = [start.driver, ...guests.map(({ name }) => name)].join(" ");
    const known = made.get(key) ?? tripsOf(scene, start, guests, by, question.stops ?? true);
    made.set(key, known);
    return known;
  };
  return {
    assigned: assignments(scene.guests, drivers),
    best: (assigned: Assigned, careless: boolean, before = Infinity) => {
      const choices: (readonly Trip[])[] = [];
      for (const start of scene.starts) {
        const own = assigned.order.filter(({ name }) => assigned.by[name] === start.driver);
        const ways = trips(start, own);
        if (ways.length === 0) return undefined; // One who cannot be at home in time is enough.
        choices.push(ways);
      }
      const late = by > scene.problem.dinner;
      return bestOf(scene, assigned, choices, { late, careless, before, turkeyFrom: question.turkeyFrom });
    },
  };
}

interface Assigned {
  readonly by: Readonly<Record<string, string>>;
  readonly order: readonly Guest[];
}

/** Every driver for every guest, and every order in which a driver can bring those that are his. */
function assignments(guests: readonly Guest[], drivers: readonly string[]): Assigned[] {
  const given = guests.reduce<Record<string, string>[]>(
    (all, { name }) => all.flatMap((by) => drivers.map((driver) => ({ ...by, [name]: driver }))),
    [{}],
  );
  const distinct = new Map<string, Assigned>();
  for (const by of given)
    for (const order of orders(guests)) {
      // Only who comes after whom in one car tells two orders apart.
      const cars = drivers.map((driver) => order.filter(({ name }) => by[name] === driver));
      const key = JSON.stringify(cars.map((car) => car.map(({ name }) => name)));
      if (!distinct.has(key)) distinct.set(key, { by, order });
    }
  return [...distinct.values()];
}

const orders = <T>(all: readonly T[]): T[][] =>
  all.length === 0
    ? [[]]
    : all.flatMap((first, index) => orders(all.toSpliced(index, 1)).map((rest) => [first, ...rest]));

interface Wanted {
  /** Dinner may be later than the problem says. */
  readonly late: boolean;
  /** The oven may be left alone, the fewer minutes the better. */
  readonly careless: boolean;
  /** Only what has everybody at home before this minute. */
  readonly before: number;
  readonly turkeyFrom?: number;
}

function bestOf(
  scene: Scene,
  { by, order }: Assigned,
  choices: readonly (readonly Trip[])[],
  { late, careless, before, turkeyFrom }: Wanted,
): Plan | undefined {
  let chosen: Plan | undefined;
  const consider = (trips: readonly Trip[], allHomeAt: number) => {
    const dinnerAt = late ? Math.max(allHomeAt, readyAt(scene), scene.problem.dinner) : scene.problem.dinner;
    const kitchen = kitchenOf(scene, trips, dinnerAt, careless, turkeyFrom);
    if (kitchen === undefined) return;
    const fewer = chosen === undefined || kitchen.unattendedMin < chosen.unattendedMin;
    const same = chosen !== undefined && kitchen.unattendedMin === chosen.unattendedMin;
    if (!fewer && !(same && allHomeAt < chosen!.allHomeAt)) return;
    chosen = { by, order: order.map(({ name }) => name), allHomeAt, dinnerAt, trips, ...kitchen };
  };
  // Trips stand in order of return, so nothing behind the best one so far can be better, unless fewer minutes count.
  const hopeless = (returns: number) =>
    returns >= before ||
    (chosen !== undefined && returns >= chosen.allHomeAt && (!careless || chosen.unattendedMin === 0));
  const walk = (trips: readonly Trip[], latest: number) => {
    const next = choices[trips.length];
    if (next === undefined) return consider(trips, latest);
    for (const trip of next) {
      const returns = Math.max(latest, trip.returns);
      if (hopeless(returns)) return;
      walk([...trips, trip], returns);
    }
  };
  walk([], Math.max(0, ...scene.home.map(({ from }) => from)));
  return chosen;
}

/** The plan as actions, dishes and dinner with it. */
function actionsOf(scene: Scene, plan: Plan): Action[] {
  const { problem, executed, now, guests, oven, sides } = scene;
  const out = executed.flatMap((action) => (action.type === "exit" ? action.who : []));
  const flights = problem.people.flatMap(({ name, comes, from }): Action[] =>
    comes === "lands" && from >= now ? [{ type: "land", who: [name], start: from }] : [],
  );
  const exits = guests.flatMap(({ name, ready, at: place }): Action[] =>
    place === problem.airport && !out.includes(name) ? [{ type: "exit", who: [name], start: ready }] : [],
  );
  const cook = (what: "turkey" | "sides", by: readonly string[], start: number, minutes: number): Action => ({
    type: "cook",
    what,
    who: by as [string, ...string[]], // Proof: a dish that is begun has a cook.
    start,
    end: start + minutes,
  });
  return [
    ...flights,
    ...exits,
    ...plan.trips.flatMap(({ actions }) => actions),
    ...(oven ? [] : [cook("turkey", [plan.turkeyBy], plan.turkeyFrom, problem.turkeyMin)]),
    ...(sides ? [] : [cook("sides", plan.sidesBy, plan.sidesFrom, problem.sidesMin)]),
    {
      type: "dinner",
      who: problem.people.map(({ name }) => name),
      start: plan.dinnerAt,
    },
  ];
}
