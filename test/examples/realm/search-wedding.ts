/**
 * The exact search of the wedding. What the drivers can do depends on each other only through who does which duty, so
 * each driver's earliest return to the venue is found for every set of duties, and the sets are then dealt out.
 *
 * S1 Waiting never helps beyond a duty's own hour: who leaves later arrives no earlier, disturbances included. So the
 *    earliest arrival for every (place, duties done) is all that has to be known of a driver.
 * S2 Places are passed through freely, duties or not: after an alert the triangle inequality does not hold.
 * S3 A guest stays in the car he got into until the venue, and things stay with whoever collected them.
 */
import { goOn, stateAt, type StateAt } from "./history.ts";
import { arrival } from "./journey.ts";
import { clock, noticeOf, placesOf, type Wedding } from "./problem.ts";
import type { Action, Schedule } from "./schedule.ts";
import type { Answer, Question, Relaxation } from "./answer.ts";
import { isAt, spotText } from "./whereabouts.ts";

interface Duty {
  readonly name: string;
  readonly kind: "guest" | "gift" | "clothes";
  readonly at: string;
  readonly from: number;
  readonly until: number;
}

interface Start {
  readonly driver: string;
  readonly at: string;
  readonly free: number;
  /** Guests in the car. */
  readonly aboard: readonly string[];
}

interface Step {
  readonly at: string;
  readonly time: number;
  readonly done: number;
  readonly before?: Step;
  readonly action?: Action;
}

interface Bounds {
  readonly photoAt: number;
  readonly closesAt: number;
  readonly leave: readonly string[];
}

interface Scene {
  readonly problem: Wedding;
  readonly starts: readonly Start[];
  readonly duties: readonly Duty[];
  readonly serviceMin: number;
}

/** See the head of the file. Looks at every way to deal the duties out. */
export function searchWedding({ problem, history = [], serviceMin = 0 }: Question<Wedding>): Answer {
  const scene = sceneOf(problem, history, serviceMin);
  const photoAt = problem.photo.exactlyAt;
  const asked: Bounds = { photoAt, closesAt: problem.clothes.closesAt, leave: [] };
  const whole = (rest: readonly Action[]): Schedule => goOn(problem, history, noticeOf(problem) ?? 0, rest);

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
function reason({ problem, starts, serviceMin }: Scene, photoAt: number): string | undefined {
  for (const start of starts) {
    const back = earliestReturns(problem, start, [], serviceMin).get(0)?.time ?? Infinity;
    if (back <= photoAt) continue;
    const { driver, at, free, aboard } = start;
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
  for (const { name } of scene.duties) {
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

function best({ problem, starts, duties, serviceMin }: Scene, { closesAt, leave }: Bounds) {
  const open = duties
    .filter(({ name }) => !leave.includes(name))
    .map((duty) => (duty.kind === "clothes" ? { ...duty, until: closesAt } : duty));
  const everything = (1 << open.length) - 1;
  const returns = starts.map((start) => earliestReturns(problem, start, open, serviceMin));
  const [first, second] = returns;
  if (first === undefined || second === undefined) throw new Error("the wedding has two drivers");
  let chosen:
    { readonly completeAt: number; readonly steps: readonly Step[]; readonly sum: number } | undefined;
  for (let part = 0; part <= everything; part++) {
    const [one, other] = [first.get(part), second.get(everything & ~part)];
    if (one === undefined || other === undefined) continue;
    const completeAt = Math.max(one.time, other.time);
    const sum = one.time + other.time;
    if (chosen && (chosen.completeAt < completeAt || (chosen.completeAt === completeAt && chosen.sum <= sum)))
      continue;
    chosen = { completeAt, steps: [one, other], sum };
  }
  if (chosen === undefined) return undefined;
  const { completeAt } = chosen;
  return { completeAt, actions: [...chosen.steps.flatMap(actionsTo), photo(problem, completeAt)] };
}

const photo = ({ photo: { at, who, exactlyAt } }: Wedding, completeAt: number): Action => ({
  type: "photo",
  place: at,
  who: who,
  start: Math.max(exactlyAt, completeAt),
});

/** The earliest step at the venue for every set of duties, as bits over `duties`. */
function earliestReturns(
  problem: Wedding,
  start: Start,
  duties: readonly Duty[],
  serviceMin: number,
): Map<number, Step> {
  const places = placesOf(problem);
  const settled = new Map<string, Step>();
  const open: Step[] = [{ at: start.at, time: start.free, done: 0 }];
  for (let step = takeEarliest(open); step !== undefined; step = takeEarliest(open)) {
    const key = `${step.at} ${step.done}`;
    if (settled.has(key)) continue;
    settled.set(key, step);
    for (const [bit, duty] of duties.entries()) {
      if (step.done & (1 << bit) || duty.at !== step.at) continue;
      const begins = Math.max(step.time, duty.from);
      if (begins + serviceMin > duty.until) continue;
      const action = dutyAction(duty, start.driver, begins, begins + serviceMin);
      open.push({
        at: step.at,
        time: begins + serviceMin,
        done: step.done | (1 << bit),
        before: step,
        action,
      });
    }
    for (const to of places) {
      const arrives = to === step.at ? undefined : arrival(problem, step.at, to, step.time);
      if (arrives === undefined || arrives === Infinity) continue;
      open.push(driven(problem, start, duties, step, to, Math.ceil(arrives)));
    }
  }
  const home = [...settled.values()].filter(({ at }) => at === problem.photo.at);
  return new Map(home.map((step) => [step.done, step]));
}

function takeEarliest(open: Step[]): Step | undefined {
  let earliest = 0;
  for (const [index, { time }] of open.entries()) if (time < (open[earliest]?.time ?? 0)) earliest = index;
  return open.splice(earliest, 1)[0];
}

function driven(
  problem: Wedding,
  start: Start,
  duties: readonly Duty[],
  before: Step,
  to: string,
  end: number,
): Step {
  const guests = aboardAfter(problem, start, duties, before);
  const action: Action = {
    type: "drive",
    driver: start.driver,
    who: [start.driver, ...guests],
    from: before.at,
    to,
    start: before.time,
    end,
  };
  return { at: to, time: end, done: before.done, before, action };
}

/** Who sits in the car after a step: the guests fetched since the venue was last left. */
function aboardAfter(problem: Wedding, start: Start, duties: readonly Duty[], last: Step): string[] {
  const guests: string[] = [];
  let step: Step | undefined = last;
  for (; step !== undefined; step = step.before) {
    if (step.at === problem.photo.at) return guests;
    if (step.action?.type === "pickup") guests.push(...step.action.who);
  }
  return [...guests, ...start.aboard];
}

const dutyAction = ({ kind, name, at }: Duty, driver: string, start: number, end: number): Action =>
  kind === "guest"
    ? { type: "pickup", place: at, who: [name], start, end }
    : { type: "task", task: kind, place: at, who: [driver], start, end };

function actionsTo(last: Step): Action[] {
  const actions: Action[] = [];
  let step: Step | undefined = last;
  for (; step !== undefined; step = step.before) if (step.action) actions.unshift(step.action);
  return actions;
}

/** Where the history leaves the drivers, and which duties it leaves to do. */
function sceneOf(problem: Wedding, history: Schedule, serviceMin: number): Scene {
  const now = noticeOf(problem) ?? 0;
  const state = stateAt(problem, history, now);
  const drivers = problem.people.filter(({ drives }) => drives).map(({ name }) => name);
  const starts = drivers.map((driver) => startOf(problem, state, driver));
  const riding = new Set(starts.flatMap(({ aboard }) => aboard));
  const guests = problem.people
    .filter(({ name, drives }) => !drives && !riding.has(name))
    .flatMap(({ name, at, from }): Duty[] => {
      const spot = state.people[name];
      const place = spot !== undefined && "at" in spot ? spot.at : at;
      const waits: Duty = { name, kind: "guest", at: place, from: Math.max(from, now), until: Infinity };
      return place === problem.photo.at ? [] : [waits];
    });
  const { gift, clothes } = problem;
  const things: Duty[] = [
    { name: "gift", kind: "gift", at: gift.at, from: Math.max(gift.opensAt, now), until: Infinity },
    { name: "clothes", kind: "clothes", at: clothes.at, from: now, until: clothes.closesAt },
  ];
  const duties = [...guests, ...things.filter(({ name }) => state.collected[name] === undefined)];
  return { problem, starts, duties, serviceMin };
}

function startOf(problem: Wedding, state: StateAt, driver: string): Start {
  const spot = state.people[driver];
  if (spot === undefined) throw new Error(`no driver ${driver}`);
  const busyUntil = Math.max(
    state.minute,
    ...state.underWay.flatMap((action) =>
      "end" in action && ("driver" in action ? action.driver === driver : waitsFor(state, action, driver))
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
