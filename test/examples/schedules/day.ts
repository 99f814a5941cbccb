/** A wedding or a dinner of the REALM problems, given as data, checked by its named rules. */
import type { Finding, Judged } from "../realm/predicate.ts";
import { placesOf, type Problem } from "../realm/problem.ts";
import { actionText, takesPart } from "../realm/rows.ts";
import { type Action, actorsOf, endOf, Schedule } from "../realm/schedule.ts";
import { rulesOf, validate } from "../realm/validator.ts";
import { spotBefore, spotText } from "../realm/whereabouts.ts";
import type { Broken, Checked } from "./checked.ts";

export { OwnProblem as DayFile } from "../realm/problem.ts";
export { Schedule as DaySchedule };

/** `history`: what had happened at the notice; without it that rule is not judged. */
export function checkDay(problem: Problem, schedule: Schedule, history?: Schedule): Checked {
  const judged: Judged = { problem, schedule, history };
  const { findings, undecided } = validate(judged);
  const unknown = schedule.flatMap(actorsOf).filter((name) => name !== "all");
  return {
    title: problem.id,
    unit: "clock",
    rules: rulesOf(problem),
    broken: findings
      .map((finding) => brokenOf(judged, finding))
      .toSorted((one, other) => (one.at ?? 0) - (other.at ?? 0)),
    unjudged: [
      ...undecided.map(({ constraint, why }) => ({ what: constraint, why })),
      ...problem.unspecified.map((what) => ({ what, why: "the problem leaves it open" })),
    ],
    lanes: [...new Set([...problem.people.map(({ name }) => name), ...unknown])],
    bars: schedule.flatMap((action) => {
      if (action.type === "state") return [];
      return lanesOf(problem, action).map((lane) => ({
        lane,
        from: action.start,
        to: endOf(action),
        text: wordOf(action),
        kind: action.type,
      }));
    }),
  };
}

/** Everybody whom the row occupies, each once; "all" is everybody of the problem. */
function lanesOf({ people }: Problem, action: Action): string[] {
  const names = actorsOf(action);
  const everybody = people.map(({ name }) => name).filter((name) => takesPart(names, name));
  return [...new Set([...names.filter((name) => name !== "all"), ...everybody])];
}

const wordOf = (action: Action): string =>
  action.type === "drive"
    ? `${action.from}→${action.to}`
    : action.type === "task"
      ? action.task
      : action.type === "cook"
        ? action.what
        : action.type;

/** The finding with the row that it is about, else with the persons it names, and where the first of them is then. */
function brokenOf(
  { problem, schedule }: Judged,
  { constraint, subject, required, found, at }: Finding,
): Broken {
  const isRow = (action: Action) =>
    subject.endsWith(actionText(action)) && (at === undefined || action.start === at);
  const row = schedule.find(isRow) ?? schedule.find((action) => wordOf(action) === subject.split(" ")[0]);
  const people = problem.people.map(({ name }) => name);
  const namedIn = (text: string) => people.filter((name) => text.split(/[^\p{L}\p{N}]+/u).includes(name));
  const inRow = row === undefined ? [] : lanesOf(problem, row);
  const who = [namedIn(subject), inRow, namedIn(String(found))].find(({ length }) => length > 0) ?? [];
  const minute = at ?? row?.start;
  const [one] = who;
  const spots = new Set(who.map((name) => spotText(spotBefore(problem, schedule, name, minute ?? 0))));
  // Where they are, if they are together.
  const spot = spots.size === 1 && minute !== undefined ? ([...spots][0] ?? "") : "";
  const place =
    row !== undefined && "place" in row
      ? row.place
      : row?.type === "drive"
        ? row.from
        : spot.replace(/^at /, "");
  const until = row !== undefined && row.start === minute ? endOf(row) : undefined;
  const about = who.length === 1 && subject === one ? "" : `${subject}: `;
  return {
    rule: constraint,
    what: `${about}required ${required}, found ${found}`,
    who,
    ...(minute === undefined ? {} : { at: minute }),
    ...(until === undefined || minute === undefined || until <= minute ? {} : { until }),
    ...(placesOf(problem).includes(place) ? { place } : {}),
  };
}
