/** What the wedding and the dinner have in common: roads, places, history. Each problem gives it its own name. */
import { contradiction } from "./history.ts";
import { arrival, disturbancesOf, journey } from "./journey.ts";
import type { Finding, Judged, Undecided } from "./predicate.ts";
import { clock, noticeOf, personOf, type Problem, travelMin } from "./problem.ts";
import { actionText } from "./rows.ts";
import { actionsOf, actorsOf, endOf, inOrder, type Action, type Drive } from "./schedule.ts";
import { isAt, spotBefore, spotText } from "./whereabouts.ts";

/** Every drive lasts at least as long as the undisturbed road and what was accepted on top; a closed one is none. */
export const tooFast =
  (constraint: string) =>
  ({ problem, schedule, accepted }: Judged): Finding[] =>
    actionsOf(schedule, "drive").flatMap((drive) => {
      const required = roadMin(problem, drive) + (accepted?.addedMin?.[drive.driver] ?? 0);
      const found = drive.end - drive.start;
      if (found >= required) return [];
      const needs = required === Infinity ? "a road that is open" : required;
      return [{ constraint, subject: actionText(drive), required: needs, found, at: drive.start }];
    });

function roadMin(problem: Problem, { from, to, start }: Drive): number {
  const total = travelMin(problem, from, to);
  if (total === undefined) return Infinity;
  if (problem.disruption?.type !== "closure") return total;
  return (arrival(problem, from, to, start) ?? Infinity) - start;
}

/** After an alert, drives last as equations 4 and 5 say. */
export const tooFastForAlert =
  (constraint: string) =>
  ({ problem, schedule }: Judged): Finding[] =>
    actionsOf(schedule, "drive").flatMap((drive) => {
      const { from, to, start, end } = drive;
      const disturbances = disturbancesOf(problem, from, to);
      const total = travelMin(problem, from, to);
      if (disturbances.length === 0 || total === undefined) return [];
      const { arrives, affected } = journey(total, start, disturbances);
      if (affected === 0 || end >= arrives) return [];
      return [
        { constraint, subject: actionText(drive), required: arrives - start, found: end - start, at: start },
      ];
    });

/** Positions are continuous, and nobody does two things at once. */
export const outOfPlace =
  (constraint: string, placeOf: (action: Action, problem: Problem) => string | undefined) =>
  ({ problem, schedule }: Judged): Finding[] => [
    ...schedule.flatMap((action) => {
      const place = placeOf(action, problem);
      if (place === undefined) return [];
      return actorsOf(action).flatMap((name) =>
        wrongPlace(constraint, problem, schedule, action, name, place),
      );
    }),
    ...problem.people.flatMap(({ name }) => overlaps(constraint, schedule, placeOf, problem, name)),
  ];

function wrongPlace(
  constraint: string,
  problem: Problem,
  schedule: readonly Action[],
  action: Action,
  name: string,
  place: string,
): Finding[] {
  const subject = `${name}: ${actionText(action)}`;
  const at = action.start;
  const spot = spotBefore(problem, schedule, name, at);
  // Who has not appeared is for the predicate of appearance, and who is unknown for that of names.
  if ("comesAt" in spot || isAt(spot, place)) return [];
  return [{ constraint, subject, required: `at ${place}`, found: spotText(spot), at }];
}

function overlaps(
  constraint: string,
  schedule: readonly Action[],
  placeOf: (action: Action, problem: Problem) => string | undefined,
  problem: Problem,
  name: string,
): Finding[] {
  const own = inOrder(
    schedule.filter((action) => placeOf(action, problem) !== undefined && actorsOf(action).includes(name)),
  );
  return own.slice(1).flatMap((action, index) => {
    const before = own[index];
    if (before === undefined || action.start >= endOf(before)) return [];
    return [
      {
        constraint,
        subject: `${name}: ${actionText(action)}`,
        required: "one thing at a time",
        found: `during ${actionText(before)}`,
        at: action.start,
      },
    ];
  });
}

/** Nobody acts before appearing. */
export const tooEarly =
  (constraint: string, concerns: (name: string, problem: Problem) => boolean = () => true) =>
  ({ problem, schedule }: Judged): Finding[] =>
    schedule.flatMap((action) =>
      actorsOf(action).flatMap((name) => {
        const from = personOf(problem, name)?.from;
        if (from === undefined || action.start >= from || !concerns(name, problem)) return [];
        return [
          {
            constraint,
            subject: `${name}: ${actionText(action)}`,
            required: `not before ${clock(from)}`,
            found: clock(action.start),
            at: action.start,
          },
        ];
      }),
    );

/** What was executed before the notice stands; where no ledger was given, nobody can say. */
export const rewritten =
  (constraint: string) =>
  ({ problem, schedule, history }: Judged): Finding[] | Undecided => {
    const notice = noticeOf(problem);
    if (notice === undefined) return [];
    if (history === undefined) return { undecided: `no history before ${clock(notice)} was given` };
    const difference = contradiction(problem, history, schedule, notice);
    if (difference === undefined) return [];
    const { minute, required, found } = difference;
    return [{ constraint, subject: `state at ${clock(minute)}`, required, found, at: minute }];
  };

/** Whether the problem has a past that stands. */
export const hasNotice = (problem: Problem): boolean => noticeOf(problem) !== undefined;
