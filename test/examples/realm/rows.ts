/**
 * What every row of a schedule must be, whatever the day: it takes no time backwards, names people, places and actions of
 * the problem, is driven by somebody with a licence, and stands once where it happens once. Each problem gives the rules
 * its own names. They look at rows alone and at no position, so a row that they refuse cannot hide from them behind one
 * that the other predicates looked at first.
 */
import type { Finding, Judged } from "./predicate.ts";
import { clock, personOf, placesOf, type Problem } from "./problem.ts";
import { type Action, actionsOf, endOf } from "./schedule.ts";

/** Stands for everybody of the problem, where everybody takes part. */
const everybody = "all";

/** What can happen on each kind of day. */
const actionsOn = {
  wedding: ["drive", "pickup", "task", "photo", "state"],
  thanksgiving: ["drive", "land", "exit", "arrive", "rent", "cook", "dinner", "state"],
} as const satisfies Readonly<Record<Problem["kind"], readonly Action["type"][]>>;

export const actionText = (action: Action): string => {
  const name = action.type === "task" ? action.task : action.type === "cook" ? action.what : action.type;
  if (action.type !== "drive") return `${name} ${clock(action.start)}-${clock(endOf(action))}`;
  return `${action.driver} ${action.from}-${action.to} ${clock(action.start)}-${clock(action.end)}`;
};

/** Whether the row names the person, alone or as everybody. */
export const takesPart = (who: readonly string[], name: string): boolean =>
  who.includes(name) || who.includes(everybody);

/** No row ends before it begins; a drive and a dish take time. */
export const backwards =
  (constraint: string) =>
  ({ schedule }: Judged): Finding[] =>
    schedule.flatMap((action) => {
      const takesTime = action.type === "drive" || action.type === "cook";
      const least = action.start + (takesTime ? 1 : 0);
      const [end, at] = [endOf(action), action.start];
      if (end >= least) return [];
      const required = `an end not before ${clock(least)}`;
      return [{ constraint, subject: actionText(action), required, found: clock(end), at }];
    });

/** Every row is an action of such a day, by people and at places of the problem. */
export const unknown =
  (constraint: string) =>
  ({ problem, schedule }: Judged): Finding[] => {
    const people = problem.people.map(({ name }) => name);
    const places = placesOf(problem);
    const actions: readonly string[] = actionsOn[problem.kind];
    return schedule.flatMap((action) => {
      const subject = actionText(action);
      const named = (of: string, known: readonly string[], found: readonly string[]): Finding[] =>
        [...new Set(found)]
          .filter((one) => !known.includes(one))
          .map((one) => ({
            constraint,
            subject,
            required: `${of}: ${known.join(", ")}`,
            found: one,
            at: action.start,
          }));
      const gathers = action.type === "dinner" || action.type === "photo";
      return [
        ...named("an action of the day", actions, [action.type]),
        ...named("somebody of the problem", gathers ? [...people, everybody] : people, namesIn(action)),
        ...named("a place of the problem", places, placesIn(action)),
        ...(action.type === "drive" && action.from === action.to
          ? [{ constraint, subject, required: "another place", found: action.to, at: action.start }]
          : []),
      ];
    });
  };

function namesIn(action: Action): readonly string[] {
  if (action.type === "state") return Object.keys(action.says);
  return action.type === "drive" ? [action.driver, ...action.who] : action.who;
}

function placesIn(action: Action): readonly string[] {
  switch (action.type) {
    case "drive":
      return [action.from, action.to];
    case "pickup":
    case "task":
    case "photo":
      return [action.place];
    case "state":
      return Object.values(action.says).flatMap((said) => ("at" in said ? [said.at] : said.on.split("-")));
    default:
      return [];
  }
}

/** What of a row happens once in a day, by name. */
export function onceOnly(action: Action): string[] {
  switch (action.type) {
    case "land":
    case "exit":
    case "arrive":
    case "rent":
      return [...new Set(action.who)].map((name) => `${action.type} ${name}`);
    case "task":
      return [action.task];
    case "cook":
      return [action.what];
    case "dinner":
    case "photo":
      return [action.type];
    default:
      return [];
  }
}

/** What happens once stands there once. That it stands there at all is for the predicates of completeness. */
export const repeated =
  (constraint: string) =>
  ({ schedule }: Judged): Finding[] => {
    const rows = Map.groupBy(
      schedule.flatMap((action) => onceOnly(action).map((about) => ({ about, at: action.start }))),
      ({ about }) => about,
    );
    return [...rows].flatMap(([subject, all]) => {
      if (all.length === 1) return [];
      const minutes = all.map(({ at }) => at).toSorted((one, other) => one - other);
      const found = `${all.length} times: ${minutes.map(clock).join(", ")}`;
      return [{ constraint, subject, required: "once", found, at: minutes.at(-1) ?? 0 }];
    });
  };

/** Who drives has a licence. */
export const unlicensed =
  (constraint: string) =>
  ({ problem, schedule }: Judged): Finding[] => {
    const drivers = problem.people.filter(({ drives }) => drives).map(({ name }) => name);
    return actionsOf(schedule, "drive").flatMap((drive) => {
      const { driver, start: at } = drive;
      if (personOf(problem, driver)?.drives === true) return [];
      const required = `driven by ${drivers.join(" or ") || "somebody with a licence"}`;
      return [{ constraint, subject: actionText(drive), required, found: driver, at }];
    });
  };
