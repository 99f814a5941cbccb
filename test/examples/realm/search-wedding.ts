/**
 * The exact search of the wedding. What the drivers can do depends on each other only through who does which duty, so
 * each driver's earliest return to the venue is found for every set of duties, and the sets are then dealt out.
 *
 * S1 Waiting never helps beyond a duty's own hour: who leaves later arrives no earlier, disturbances included. So the
 *    earliest arrival for every (place, duties done, seats taken) is all that has to be known of a driver.
 * S2 Places are passed through freely, duties or not: after an alert the triangle inequality does not hold.
 * S3 A guest stays in the car he got into until the venue, and things stay with who collected them. As all roads are
 *    alike to all, a change of cars helps only where seats are short, and of that it is not the search's to say.
 * S4 Who drives is chosen too: no more than there are cars, and each where a car stands. The others are guests.
 */
import { goOn, stateAt, type StateAt } from "./history.ts";
import { clock, noticeOf, type Wedding } from "./problem.ts";
import { type Action, actionsOf, inOrder, type Schedule } from "./schedule.ts";
import type { Answer, Question, Relaxation } from "./answer.ts";
import { actionsTo, type Duty, earliestReturns, type Start, type Step } from "./wedding-drives.ts";
import { isAt, spotText } from "./whereabouts.ts";

interface Bounds {
  readonly photoAt: number;
  readonly closesAt: number;
  readonly leave: readonly string[];
}

interface Scene {
  readonly problem: Wedding;
  readonly executed: Schedule;
  /** Every way to choose who drives. */
  readonly crews: readonly Crew[];
  readonly serviceMin: number;
  /** Before it, somebody who is needed at the venue has not appeared there. */
  readonly notBefore: number;
}

interface Crew {
  readonly starts: readonly Start[];
  readonly duties: readonly Duty[];
  /** The drivers who have to be at the venue, whatever else is asked of them. */
  readonly needed: ReadonlySet<string>;
}

/** See the head of the file. Looks at every way to deal the duties out. */
export function searchWedding({ problem, history = [], serviceMin = 0 }: Question<Wedding>): Answer {
  const scene = sceneOf(problem, history, serviceMin);
  const photoAt = problem.photo.exactlyAt;
  const asked: Bounds = { photoAt, closesAt: problem.clothes.closesAt, leave: [] };
  const whole = (rest: readonly Action[]): Schedule => goOn(problem, history, noticeOf(problem) ?? 0, rest);

  // What has been photographed cannot be made better or worse.
  const over =
    actionsOf(scene.executed, "photo").length > 0 && scene.crews.some(({ duties }) => duties.length === 0);
  if (over) return { feasible: true, completeAt: photoAt, schedule: whole([]) };

  const found = best(scene, asked);
  if (found !== undefined && found.completeAt <= photoAt)
    return { feasible: true, completeAt: found.completeAt, schedule: whole(found.actions) };

  const relax = relaxations(scene, asked, whole);
  if (found === undefined)
    return { feasible: false, why: "the clothes cannot be had before the tailor closes", relax };
  const { completeAt } = found;
  return {
    feasible: false,
    completeAt,
    lateMin: completeAt - photoAt,
    why: reason(scene, photoAt) ?? `all duties together end at ${clock(completeAt)} at the earliest`,
    relax,
  };
}

/** The proof, where one car alone gives it: it is late at the venue even when nothing else is asked of it. */
function reason({ problem, crews, serviceMin }: Scene, photoAt: number): string | undefined {
  // Who is on the road, or has a licence and is needed, comes no earlier by any other car.
  const everyCar = crews.toSorted((one, other) => other.starts.length - one.starts.length)[0];
  for (const start of everyCar?.starts ?? []) {
    const { driver, at, free, aboard } = start;
    if (everyCar?.needed.has(driver) !== true) continue;
    const back = earliestReturns(problem, start, [], serviceMin).get(0)?.time ?? Infinity;
    if (back <= photoAt) continue;
    const company = [driver, ...aboard].join(", ");
    return `${company}: at ${at} at ${clock(free)} at the earliest, so at the venue not before ${clock(back)}`;
  }
  return undefined;
}

/** What would help alone: later photos, a tailor who waits, one duty left undone. */
function relaxations(
  scene: Scene,
  asked: Bounds,
  whole: (rest: readonly Action[]) => Schedule,
): Relaxation[] {
  const { photoAt, closesAt } = asked;
  const relax: Relaxation[] = [];
  const later = best(scene, asked);
  if (later !== undefined)
    relax.push({
      constraint: "WED-PHOTO",
      what: `photos at ${clock(later.completeAt)}`,
      byMin: later.completeAt - photoAt,
      schedule: whole(later.actions),
    });
  const open = leastBounds(scene, asked);
  if (open !== undefined)
    relax.push({
      constraint: "WED-TAILOR-CLOSE",
      what: `the tailor waits until ${clock(open.closesAt)}`,
      byMin: open.closesAt - closesAt,
      schedule: whole(open.actions),
    });
  const names = new Set(scene.crews.flatMap(({ duties }) => duties.map(({ name }) => name)));
  for (const name of names) {
    const without = best(scene, { ...asked, leave: [name] });
    if (without !== undefined && without.completeAt <= photoAt)
      relax.push({ constraint: "WED-COMPLETE", what: `without ${name}`, schedule: whole(without.actions) });
  }
  return relax;
}

/** The earliest closing hour of the tailor with which the photos are in time; monotone, so halving finds it. */
function leastBounds(scene: Scene, asked: Bounds) {
  const at = (closesAt: number) => {
    const found = best(scene, { ...asked, closesAt });
    return found !== undefined && found.completeAt <= asked.photoAt ? { ...found, closesAt } : undefined;
  };
  let [low, high] = [asked.closesAt, asked.photoAt];
  if (at(high) === undefined || at(low) !== undefined) return undefined;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (at(middle) === undefined) low = middle;
    else high = middle;
  }
  return at(high);
}

interface Dealt {
  readonly completeAt: number;
  /** Breaks ties: the earlier all are back, the better. */
  readonly sum: number;
  readonly steps: readonly Step[];
}

const earlier = (one: Dealt | undefined, other: Dealt | undefined): Dealt | undefined => {
  if (one === undefined || other === undefined) return one ?? other;
  return other.completeAt < one.completeAt || (other.completeAt === one.completeAt && other.sum < one.sum)
    ? other
    : one;
};

function best(scene: Scene, bounds: Bounds) {
  const dealt = scene.crews.map((crew) => dealOut(scene, crew, bounds)).reduce(earlier, undefined);
  if (dealt === undefined) return undefined;
  const completeAt = Math.max(dealt.completeAt, scene.notBefore);
  return { completeAt, actions: [...dealt.steps.flatMap(actionsTo), photo(scene.problem, completeAt)] };
}

/** The duties dealt out among the crew, driver after driver, so that the last is back as early as can be. */
function dealOut({ problem, serviceMin }: Scene, crew: Crew, { closesAt, leave }: Bounds): Dealt | undefined {
  const duties = crew.duties
    .filter(({ name }) => !leave.includes(name))
    .map((duty) => (duty.kind === "clothes" ? { ...duty, until: closesAt } : duty));
  const everything = (1 << duties.length) - 1;
  let dealt = new Map<number, Dealt>([[0, { completeAt: 0, sum: 0, steps: [] }]]);
  for (const start of crew.starts) {
    const returns = earliestReturns(problem, start, duties, serviceMin);
    const next = new Map<number, Dealt>();
    for (const [had, before] of dealt) {
      const idle = !crew.needed.has(start.driver);
      for (const [part, step] of [...(idle ? [[0, undefined] as const] : []), ...returns]) {
        if (had & part) continue;
        const time = step?.time ?? 0;
        const completeAt = Math.max(before.completeAt, time);
        const steps = step === undefined ? before.steps : [...before.steps, step];
        const all = had | part;
        const better = earlier(next.get(all), { completeAt, sum: before.sum + time, steps });
        if (better !== undefined) next.set(all, better);
      }
    }
    dealt = next;
  }
  return dealt.get(everything);
}

const photo = ({ photo: { at, who, exactlyAt } }: Wedding, completeAt: number): Action => ({
  type: "photo",
  place: at,
  who: who,
  start: Math.max(exactlyAt, completeAt),
});

/** Where the history leaves everybody: every crew that could drive, and what it would have to do. */
function sceneOf(problem: Wedding, history: Schedule, serviceMin: number): Scene {
  const now = noticeOf(problem) ?? 0;
  const state = stateAt(problem, history, now);
  const venue = problem.photo.at;
  const holders = Object.values(state.collected).map(({ by }) => by);
  const needed = problem.people.filter(
    ({ name, drives }) => !drives || problem.photo.who.includes(name) || holders.includes(name),
  );
  const late = needed.flatMap(({ name, from, at }) => {
    const spot = state.people[name];
    if (spot === undefined || "comesAt" in spot) return at === venue ? [from] : [];
    return "arrives" in spot && spot.to === venue ? [spot.arrives] : [];
  });
  const begun = new Set(actionsOf(state.executed, "drive").map(({ driver }) => driver));
  const drivers = problem.people.filter(({ drives }) => drives).map(({ name }) => name);
  const starts = drivers.map((driver) => startOf(problem, state, driver));
  const cars = carsAfter(problem, state.executed);
  const crews = subsets(starts)
    .filter((crew) => haveCars(problem, cars, begun, crew))
    .map((crew) => crewOf(problem, state, crew, new Set(needed.map(({ name }) => name))));
  return { problem, executed: state.executed, crews, serviceMin, notBefore: Math.max(now, ...late) };
}

const subsets = <T>(all: readonly T[]): T[][] =>
  all.reduce<T[][]>((some, one) => some.flatMap((chosen) => [chosen, [...chosen, one]]), [[]]);

/** Where the cars stand after what was driven, or where they will arrive. */
function carsAfter(problem: Wedding, executed: Schedule): string[] {
  const own = problem.people.filter(({ drives }) => drives).slice(0, problem.cars);
  return actionsOf(inOrder(executed), "drive").reduce(
    (cars, { from, to }) => (cars.includes(from) ? cars.toSpliced(cars.indexOf(from), 1, to) : cars),
    own.map(({ at }) => at),
  );
}

/** S4. Who has driven before is one of those who drive. */
function haveCars(
  { cars: most }: Wedding,
  cars: readonly string[],
  begun: ReadonlySet<string>,
  crew: readonly Start[],
): boolean {
  const standing = [...cars];
  const seated = crew.every(({ at }) => {
    const found = standing.indexOf(at);
    if (found >= 0) standing.splice(found, 1);
    return found >= 0;
  });
  return seated && new Set([...begun, ...crew.map(({ driver }) => driver)]).size <= most;
}

/** What this crew would have to do. Who is needed at the venue and does not drive has to be fetched. */
function crewOf(
  problem: Wedding,
  state: StateAt,
  starts: readonly Start[],
  needed: ReadonlySet<string>,
): Crew {
  const { minute: now } = state;
  const away = new Set(starts.flatMap(({ driver, aboard }) => [driver, ...aboard]));
  const guests = problem.people
    .filter(({ name }) => needed.has(name) && !away.has(name))
    .flatMap(({ name, at, from }): Duty[] => {
      const spot = state.people[name];
      const place = spot === undefined || "comesAt" in spot ? at : "at" in spot ? spot.at : spot.to;
      const ready = spot !== undefined && "arrives" in spot ? spot.arrives : Math.max(from, now);
      if (place === problem.photo.at) return [];
      return [{ name, kind: "guest", at: place, from: ready, until: Infinity }];
    });
  const { gift, clothes } = problem;
  const things: Duty[] = [
    { name: "gift", kind: "gift", at: gift.at, from: Math.max(gift.opensAt, now), until: Infinity },
    { name: "clothes", kind: "clothes", at: clothes.at, from: now, until: clothes.closesAt },
  ];
  const duties = [...guests, ...things.filter(({ name }) => state.collected[name] === undefined)];
  const required = starts.filter(({ driver, aboard }) => needed.has(driver) || aboard.length > 0);
  return { starts, duties, needed: new Set(required.map(({ driver }) => driver)) };
}

function startOf(problem: Wedding, state: StateAt, driver: string): Start {
  const spot = state.people[driver];
  if (spot === undefined) throw new Error(`no driver ${driver}`);
  const busyUntil = Math.max(
    state.minute,
    ...state.underWay.flatMap((action) =>
      "end" in action &&
      ("driver" in action
        ? action.driver === driver || action.who.includes(driver)
        : waitsFor(state, action, driver))
        ? [action.end]
        : [],
    ),
  );
  if ("comesAt" in spot) {
    const at = problem.people.find(({ name }) => name === driver)?.at ?? "";
    return { driver, at, free: Math.max(spot.comesAt, busyUntil), aboard: [] };
  }
  const at = "at" in spot ? spot.at : spot.to;
  const venue = "at" in spot && spot.at === problem.photo.at;
  const aboard = venue ? [] : fetchedBy(problem, state, driver);
  return { driver, at, free: busyUntil, aboard };
}

/** Whether the driver is held up by it: an errand of his own, or guests getting into his car. */
const waitsFor = (state: StateAt, action: Action, driver: string): boolean =>
  action.type === "task"
    ? action.who.includes(driver)
    : action.type === "pickup" && action.who.some((name) => state.pickedUp[name] === driver);

/** Guests in the driver's car: picked up by him, where he is, and not at the venue. */
const fetchedBy = (problem: Wedding, state: StateAt, driver: string): string[] =>
  Object.entries(state.pickedUp).flatMap(([name, by]) => {
    const [guest, his] = [state.people[name], state.people[driver]];
    if (by !== driver || guest === undefined || his === undefined) return [];
    const together = spotText(guest) === spotText(his) && !isAt(guest, problem.photo.at);
    return together ? [name] : [];
  });
