/** The fourteen predicates of the Thanksgiving dinner (P6, P9). */
import { actionText, hasNotice, outOfPlace, rewritten, tooEarly, tooFast } from "./shared-predicates.ts";
import type { Finding, Judged, Predicate } from "./predicate.ts";
import { clock, personOf, type Problem, type Thanksgiving } from "./problem.ts";
import { actionsOf, actorsOf, type Action } from "./schedule.ts";
import { gapsIn, isAt, spansAt, spotBefore, spotOf, spotText, type Span } from "./whereabouts.ts";

type Judges = Judged<Thanksgiving>;

/** The dish is on the stove long enough and ready by dinner. */
const notReady =
  (constraint: string, what: "turkey" | "sides", minutes: (problem: Thanksgiving) => number) =>
  ({ problem, schedule }: Judges): Finding[] => {
    const required = minutes(problem);
    const dish = actionsOf(schedule, "cook").find((cook) => cook.what === what);
    if (dish === undefined) return [{ constraint, subject: what, required, found: "missing" }];
    const { start: at, end } = dish;
    const subject = actionText(dish);
    return [
      ...(end - at >= required ? [] : [{ constraint, subject, required, found: end - at, at }]),
      ...(end <= problem.dinner
        ? []
        : [{ constraint, subject, required: `ready by ${clock(problem.dinner)}`, found: clock(end), at }]),
    ];
  };

/** The minutes of `whole` in which none of them is at home. */
const nobodyHome = ({ problem, schedule }: Judges, names: readonly string[], whole: Span): Span[] =>
  gapsIn(
    whole,
    names.flatMap((name) => spansAt(problem, schedule, name, problem.home, whole.until)),
  );

const gapFindings = (constraint: string, subject: string, gaps: readonly Span[]): Finding[] =>
  gaps.map(({ from, until }) => ({
    constraint,
    subject,
    required: "somebody at home",
    found: `nobody ${clock(from)}-${clock(until)}`,
    at: from,
  }));

function unattended(judged: Judges): Finding[] {
  const everybody = judged.problem.people.map(({ name }) => name);
  return actionsOf(judged.schedule, "cook").flatMap((dish) =>
    dish.what === "turkey"
      ? gapFindings(
          "TKS-FIRE",
          "turkey",
          nobodyHome(judged, everybody, { from: dish.start, until: dish.end }),
        )
      : [],
  );
}

/** The side dishes: their time, and at every minute one of their cooks in the kitchen. */
function sidesWrong(judged: Judges): Finding[] {
  const away = actionsOf(judged.schedule, "cook").flatMap((dish) =>
    dish.what === "sides"
      ? gapFindings(
          "TKS-SIDES",
          `sides by ${dish.who.join(", ")}`,
          nobodyHome(judged, dish.who, { from: dish.start, until: dish.end }),
        )
      : [],
  );
  return [...notReady("TKS-SIDES", "sides", ({ sidesMin }) => sidesMin)(judged), ...away];
}

function dinnerLate({ problem, schedule }: Judges): Finding[] {
  const constraint = "TKS-DINNER";
  const required = `not after ${clock(problem.dinner)}`;
  const dinner = actionsOf(schedule, "dinner")[0];
  if (dinner === undefined) return [{ constraint, subject: "dinner", required, found: "missing" }];
  if (dinner.start <= problem.dinner) return [];
  return [{ constraint, subject: "dinner", required, found: clock(dinner.start), at: dinner.start }];
}

const notHome = ({ problem, schedule }: Judges): Finding[] =>
  problem.people.flatMap(({ name }) => {
    const spot = spotOf(problem, schedule, name, problem.dinner);
    return isAt(spot, problem.home)
      ? []
      : [
          {
            constraint: "TKS-HOME",
            subject: name,
            required: `at home at ${clock(problem.dinner)}`,
            found: spotText(spot),
            at: problem.dinner,
          },
        ];
  });

/** Planes land when they land, and nobody who lands acts before it. */
function landedWrong(judged: Judges): Finding[] {
  const { problem, schedule } = judged;
  const elsewhen = actionsOf(schedule, "land").flatMap(({ who, start }) =>
    who.flatMap((name) => {
      const person = problem.people.find((one) => one.name === name);
      if (person?.comes === "lands" && start === person.from) return [];
      const required = person?.comes === "lands" ? clock(person.from) : "somebody who flies";
      return [{ constraint: "TKS-LAND", subject: `${name} lands`, required, found: clock(start), at: start }];
    }),
  );
  const flies = (name: string) => problem.people.some((one) => one.name === name && one.comes === "lands");
  const others = schedule.filter(({ type }) => type !== "land");
  return [...elsewhen, ...tooEarly("TKS-LAND", flies)({ ...judged, schedule: others })];
}

/** Binds only where the augmentation was accepted: nobody is out of the terminal before landing + so many minutes. */
function outTooEarly({ problem, schedule, accepted }: Judges): Finding[] {
  const exitMin = accepted?.exitMin;
  if (exitMin === undefined) return [];
  return problem.people
    .filter(({ comes }) => comes === "lands")
    .flatMap(({ name, from }) =>
      schedule
        .filter((action) => action.type !== "land" && actorsOf(action).includes(name))
        .filter(({ start }) => start >= from && start < from + exitMin)
        .map((action) => ({
          constraint: "TKS-EXIT",
          subject: `${name}: ${actionText(action)}`,
          required: `not before ${clock(from + exitMin)}`,
          found: clock(action.start),
          at: action.start,
        })),
    );
}

/** Who has no car of his own drives only after renting one, which follows landing. */
function carNotRented({ problem, schedule, accepted }: Judges): Finding[] {
  const constraint = "TKS-RENT";
  return problem.people
    .filter(({ rents }) => rents)
    .flatMap(({ name, from }) => {
      const rent = actionsOf(schedule, "rent").find(({ who }) => who.includes(name));
      const lasts = accepted?.rentalMin ?? 0;
      const ready = rent === undefined ? Infinity : rent.end;
      const early =
        rent !== undefined && (rent.start < from || rent.end - rent.start < lasts)
          ? [
              {
                constraint,
                subject: actionText(rent),
                required: `from ${clock(from)}, ${lasts} min`,
                found: `${clock(rent.start)}, ${rent.end - rent.start} min`,
                at: rent.start,
              },
            ]
          : [];
      const drives = actionsOf(schedule, "drive").filter(
        ({ driver, start }) => driver === name && start < ready,
      );
      return [
        ...early,
        ...drives.map((drive) => ({
          constraint,
          subject: actionText(drive),
          required: rent === undefined ? "a rented car" : `not before ${clock(ready)}`,
          found: clock(drive.start),
          at: drive.start,
        })),
      ];
    });
}

/** Whoever does not drive leaves the place only with a driver who is there. */
const notFetched =
  (constraint: string, name: string) =>
  ({ problem, schedule }: Judges): Finding[] => {
    const origin = personOf(problem, name)?.at;
    const drivers = problem.people.filter(({ drives }) => drives).map((one) => one.name);
    return actionsOf(schedule, "drive")
      .filter(({ who, driver, from }) => from === origin && (who.includes(name) || driver === name))
      .flatMap((drive) => {
        const { driver, start, from } = drive;
        const met = drivers.includes(driver) && isAt(spotBefore(problem, schedule, driver, start), from);
        if (met) return [];
        const found = drivers.includes(driver)
          ? spotText(spotBefore(problem, schedule, driver, start))
          : `driven by ${driver}`;
        return [
          { constraint, subject: actionText(drive), required: `a driver at ${from}`, found, at: start },
        ];
      });
  };

/** Where an action of the dinner happens. Whether cooks are at home is for the oven's and the dishes' predicates. */
const placeOf = (action: Action, problem: Problem): string | undefined => {
  if (action.type === "drive") return action.from;
  const atAirport = action.type === "exit" || action.type === "rent";
  return atAirport && problem.kind === "thanksgiving" ? problem.airport : undefined;
};

/** In the order in which they are judged. */
export const thanksgivingPredicates: readonly Predicate<Thanksgiving>[] = [
  {
    id: "TKS-TURKEY",
    says: "The turkey takes 240 min and is ready by 18:00.",
    find: notReady("TKS-TURKEY", "turkey", ({ turkeyMin }) => turkeyMin),
  },
  {
    id: "TKS-SIDES",
    says: "The side dishes take 120 min, are ready by 18:00, and a cook of theirs is at home.",
    find: sidesWrong,
  },
  { id: "TKS-DINNER", says: "Dinner is not after 18:00.", find: dinnerLate },
  { id: "TKS-HOME", says: "All five are at home by 18:00.", find: notHome },
  {
    id: "TKS-HISTORY",
    says: "Nothing executed before the notice changes.",
    concerns: hasNotice,
    find: rewritten("TKS-HISTORY"),
  },
  {
    id: "TKS-TRAVEL",
    says: "A drive lasts at least as long as its road takes.",
    find: tooFast("TKS-TRAVEL"),
  },
  {
    id: "TKS-PLACE",
    says: "Everybody acts where he is, one thing at a time.",
    find: outOfPlace("TKS-PLACE", placeOf),
  },
  { id: "TKS-LAND", says: "Who flies is at B not before landing.", find: landedWrong },
  {
    id: "TKS-EXIT",
    says: "Where accepted: out of the terminal not before landing + 30 min.",
    find: outTooEarly,
  },
  {
    id: "TKS-AVAIL",
    says: "Michael does nothing before 15:00.",
    find: tooEarly(
      "TKS-AVAIL",
      (name, problem) =>
        problem.kind === "thanksgiving" &&
        problem.people.some((one) => one.name === name && one.comes === "arrives"),
    ),
  },
  { id: "TKS-RENT", says: "James drives only after renting a car, after landing.", find: carNotRented },
  {
    id: "TKS-PICKUP-EMILY",
    says: "Emily leaves B only with a driver who is at B.",
    find: notFetched("TKS-PICKUP-EMILY", "Emily"),
  },
  {
    id: "TKS-PICKUP-GRANDMA",
    says: "Grandma leaves GM only with a driver who is at GM.",
    find: notFetched("TKS-PICKUP-GRANDMA", "Grandma"),
  },
  {
    id: "TKS-FIRE",
    says: "Somebody is at home in every minute the turkey is in the oven.",
    find: unattended,
  },
];
