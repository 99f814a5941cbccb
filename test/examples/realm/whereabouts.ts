/**
 * Who is where, by a schedule. A person appears where the problem says and is moved by drives alone; a status line
 * that puts a person somewhere counts as the schedule's own word, and whether it is true is for the history predicates.
 */
import { personOf, type Problem } from "./problem.ts";
import { actionsOf, type Action } from "./schedule.ts";

/** Where a person is at a minute. */
export type Spot =
  | { readonly at: string; readonly since: number }
  | {
      readonly from: string;
      readonly to: string;
      readonly driver: string;
      readonly since: number;
      readonly arrives: number;
    }
  | { readonly comesAt: number };

interface Move {
  readonly start: number;
  readonly end: number;
  readonly from: string;
  readonly to: string;
  readonly driver: string;
}

/** A person's moves in order of departure. A status line is a move that takes no time. */
function movesOf(schedule: readonly Action[], name: string): Move[] {
  const drives = actionsOf(schedule, "drive").filter(
    ({ who, driver }) => who.includes(name) || driver === name,
  );
  const placed = actionsOf(schedule, "state").flatMap(({ start, says }) => {
    const said = says[name];
    return said !== undefined && "at" in said
      ? [{ start, end: start, from: said.at, to: said.at, driver: name }]
      : [];
  });
  return [...drives, ...placed].toSorted((one, other) => one.start - other.start || one.end - other.end);
}

/** Where the person is at that minute: who departs at it is on the road, who arrives at it is there. */
export function spotOf(problem: Problem, schedule: readonly Action[], name: string, minute: number): Spot {
  return spotAmong(problem, movesOf(schedule, name), name, minute);
}

/** Where the person is as the minute begins, before anything that starts in it. */
export function spotBefore(
  problem: Problem,
  schedule: readonly Action[],
  name: string,
  minute: number,
): Spot {
  const earlier = movesOf(schedule, name).filter(({ start, end }) => start < minute || end === start);
  return spotAmong(problem, earlier, name, minute);
}

function spotAmong(problem: Problem, moves: readonly Move[], name: string, minute: number): Spot {
  const last = moves.findLast(({ start }) => start <= minute);
  if (last !== undefined) {
    const { start, end, from, to, driver } = last;
    return minute < end ? { from, to, driver, since: start, arrives: end } : { at: to, since: end };
  }
  const person = personOf(problem, name);
  if (person === undefined || minute < person.from) return { comesAt: person?.from ?? Infinity };
  return { at: person.at, since: person.from };
}

/** A spot in words that can be compared: `at W`, `on leg B-G`, `not there`. */
export const spotText = (spot: Spot): string =>
  "at" in spot ? `at ${spot.at}` : "from" in spot ? `on leg ${spot.from}-${spot.to}` : "not there";

export const isAt = (spot: Spot, place: string): boolean => "at" in spot && spot.at === place;

export interface Span {
  readonly from: number;
  readonly until: number;
}

/** The spans in which the person is at the place, up to `until`. */
export function spansAt(
  problem: Problem,
  schedule: readonly Action[],
  name: string,
  place: string,
  until: number,
): Span[] {
  const moves = movesOf(schedule, name);
  const changes = [personOf(problem, name)?.from ?? until, ...moves.flatMap(({ start, end }) => [start, end])]
    .filter((minute) => minute < until)
    .toSorted((one, other) => one - other);
  return changes.flatMap((from, index) =>
    isAt(spotAmong(problem, moves, name, from), place) ? [{ from, until: changes[index + 1] ?? until }] : [],
  );
}

/** The parts of `whole` that no span covers. */
export function gapsIn(whole: Span, spans: readonly Span[]): Span[] {
  const gaps: Span[] = [];
  let covered = whole.from;
  for (const { from, until } of spans.toSorted((one, other) => one.from - other.from)) {
    if (from > covered && covered < whole.until)
      gaps.push({ from: covered, until: Math.min(from, whole.until) });
    covered = Math.max(covered, until);
  }
  if (covered < whole.until) gaps.push({ from: covered, until: whole.until });
  return gaps;
}
