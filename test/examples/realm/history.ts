/**
 * What a history of actions says at the minute of a notice, and how a new plan goes on from there.
 *
 * H1 Executed is what started before the notice. It is never rewritten: a plan that says otherwise is refused.
 * H2 A drive under way at the notice is finished, no turning back; only its arrival moves, by equations 4 and 5.
 * H3 The state is derived from what was executed and from nothing that a planner claims.
 */
import { arrival } from "./journey.ts";
import { clock, type Problem } from "./problem.ts";
import { actionsOf, actorsOf, endOf, inOrder, type Action, type Schedule } from "./schedule.ts";
import { spotBefore, spotText, type Spot } from "./whereabouts.ts";

export interface StateAt {
  readonly minute: number;
  /** What has started before the minute, each drive under way with its real arrival. */
  readonly executed: Schedule;
  readonly people: Readonly<Record<string, Spot>>;
  /** Who was picked up or taken along, by whom, in order. */
  readonly pickedUp: Readonly<Record<string, string>>;
  /** Errands begun: who has the thing, and since when. */
  readonly collected: Readonly<Record<string, { readonly by: string; readonly at: number }>>;
  readonly cooking: Readonly<Record<string, { readonly from: number; readonly until: number }>>;
  /** Begun and not over. */
  readonly underWay: readonly Action[];
}

/** What of the plan has started before the minute, each drive under way with its real arrival. */
export const executedBefore = (problem: Problem, plan: readonly Action[], minute: number): Schedule =>
  inOrder(plan.filter(({ type, start }) => type !== "state" && start < minute)).map((action) =>
    action.type === "drive" && action.end > minute
      ? { ...action, end: Math.ceil(arrival(problem, action.from, action.to, action.start) ?? action.end) }
      : action,
  );

/** The state at the minute, derived from the history. */
export function stateAt(problem: Problem, history: readonly Action[], minute: number): StateAt {
  const executed = executedBefore(problem, history, minute);
  const drives = actionsOf(executed, "drive");
  const taken = drives.flatMap(({ driver, who }) =>
    who.filter((name) => name !== driver).map((name) => [name, driver] as const),
  );
  const fetched = actionsOf(executed, "pickup").flatMap(({ who, place, start }) =>
    who.map((name) => [name, driverAt(problem, executed, place, start)] as const),
  );
  return {
    minute,
    executed,
    people: Object.fromEntries(
      problem.people.map(({ name }) => [name, spotBefore(problem, executed, name, minute)]),
    ),
    pickedUp: Object.fromEntries([...fetched, ...taken]),
    collected: Object.fromEntries(
      actionsOf(executed, "task").map(({ task, who, start }) => [
        task,
        { by: who[0] ?? "nobody", at: start },
      ]),
    ),
    cooking: Object.fromEntries(
      actionsOf(executed, "cook").map(({ what, start, end }) => [what, { from: start, until: end }]),
    ),
    underWay: executed.filter((action) => endOf(action) > minute),
  };
}

/** The driver who stands at the place, for a guest who gets in there. */
const driverAt = (problem: Problem, executed: readonly Action[], place: string, minute: number): string =>
  problem.people.find(({ name, drives }) => {
    const spot = spotBefore(problem, executed, name, minute);
    return drives && "at" in spot && spot.at === place;
  })?.name ?? "nobody";

/** What was executed, and after it the rest of a new plan. What the rest says of the past is left out. */
export const goOn = (
  problem: Problem,
  history: readonly Action[],
  minute: number,
  rest: readonly Action[],
): Schedule => [
  ...executedBefore(problem, history, minute),
  ...inOrder(rest.filter(({ start }) => start >= minute)),
];

export interface Difference {
  readonly minute: number;
  readonly required: string;
  readonly found: string;
}

/** Where a plan contradicts what was executed before the minute: the state at it first, else the earliest. */
export function contradiction(
  problem: Problem,
  history: readonly Action[],
  plan: readonly Action[],
  minute: number,
): Difference | undefined {
  const told = plan.some(({ start }) => start < minute) || actionsOf(plan, "state").some(saysOf(minute));
  if (!told) return undefined; // The plan begins at the notice and leaves the past to the ledger.
  const claimed = withClaims(plan, minute);
  const past = [...history, ...plan].flatMap((action) => [action.start, endOf(action)]);
  const moments = [minute, ...past.filter((one) => one < minute).toSorted((one, other) => one - other)];
  for (const moment of new Set(moments)) {
    const required = story(problem, executedBefore(problem, history, minute), moment);
    const found = story(problem, claimed, moment);
    const keys = new Set([...Object.keys(required), ...Object.keys(found)]);
    const differing = [...keys].filter((key) => required[key] !== found[key]);
    if (differing.length > 0)
      return { minute: moment, required: grouped(differing, required), found: grouped(differing, found) };
  }
  return undefined;
}

const saysOf =
  (minute: number) =>
  ({ start }: Action) =>
    start <= minute;

/** The plan's own past: its rows before the minute, and what its status lines up to it put where. */
const withClaims = (plan: readonly Action[], minute: number): Schedule =>
  plan.filter(({ type, start }) => start < minute || (type === "state" && start <= minute));

/** Everything of a moment that a plan and a history must agree on. */
function story(problem: Problem, schedule: readonly Action[], minute: number): Record<string, string> {
  const begun = schedule.filter((action) => action.type !== "state" && action.start <= minute);
  const deeds = begun
    .filter(({ type }) => type !== "drive")
    .map((action) => [
      `${label(action)} of ${actorsOf(action).toSorted().join(", ")}`,
      `at ${clock(action.start)}`,
    ]);
  const spots = problem.people.map(({ name }) => [
    name,
    spotText(spotBefore(problem, schedule, name, minute)),
  ]);
  return Object.fromEntries([...spots, ...deeds]);
}

const label = (action: Action) =>
  action.type === "task" ? action.task : action.type === "cook" ? action.what : action.type;

/** `Pat, Alex, Jamie on leg B-G`: those of one spot together. */
function grouped(keys: readonly string[], values: Record<string, string>): string {
  const by = new Map<string, string[]>();
  for (const key of keys) {
    const value = values[key] ?? "not so";
    by.set(value, [...(by.get(value) ?? []), key]);
  }
  return [...by].map(([value, names]) => `${names.join(", ")} ${value}`).join("; ");
}
