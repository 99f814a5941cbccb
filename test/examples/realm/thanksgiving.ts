/**
 * The predicates of the Thanksgiving dinner (P6, P9): those of its problem, fourteen where two people have to be fetched,
 * and four of every schedule.
 */
import { actionText, backwards, repeated, takesPart, unknown, unlicensed } from "./rows.ts";
import { arrivedWrong, carNotRented, landedWrong, outTooEarly } from "./coming.ts";
import { hasNotice, outOfPlace, rewritten, tooFast, tooFastForAlert } from "./shared-predicates.ts";
import type { Finding, Judged, Predicate } from "./predicate.ts";
import { clock, personOf, type Problem, type Thanksgiving } from "./problem.ts";
import { actionsOf, type Action } from "./schedule.ts";
import { gapsIn, isAt, spansAt, spotBefore, spotOf, spotText, type Span } from "./whereabouts.ts";

type Judges = Judged<Thanksgiving>;

/** The first dinner of the schedule, and the problem's own hour where it is later or missing: by then all is ready. */
const servedAt = ({ problem, schedule }: Judges): number =>
  Math.min(problem.dinner, ...actionsOf(schedule, "dinner").map(({ start }) => start));

/** Every such dish is on the stove long enough and ready by dinner. */
const notReady =
  (constraint: string, what: "turkey" | "sides", minutes: (problem: Thanksgiving) => number) =>
  (judged: Judges): Finding[] => {
    const required = minutes(judged.problem);
    const by = servedAt(judged);
    const dishes = actionsOf(judged.schedule, "cook").filter((cook) => cook.what === what);
    if (dishes.length === 0) return [{ constraint, subject: what, required, found: "missing" }];
    return dishes.flatMap((dish) => {
      const { start: at, end } = dish;
      const subject = actionText(dish);
      return [
        ...(end - at >= required ? [] : [{ constraint, subject, required, found: end - at, at }]),
        ...(end <= by
          ? []
          : [{ constraint, subject, required: `ready by ${clock(by)}`, found: clock(end), at }]),
      ];
    });
  };

/** The turkey: its time, and one of those who put it in is at home to do so. */
function turkeyWrong(judged: Judges): Finding[] {
  const { problem, schedule } = judged;
  const constraint = "TKS-TURKEY";
  const away = actionsOf(schedule, "cook").flatMap((dish): Finding[] => {
    const home = dish.who.some((name) => isAt(spotOf(problem, schedule, name, dish.start), problem.home));
    if (dish.what !== "turkey" || home) return [];
    const [subject, found] = [actionText(dish), dish.who.join(", ")];
    return [
      { constraint, subject, required: `put in by somebody at ${problem.home}`, found, at: dish.start },
    ];
  });
  return [...notReady(constraint, "turkey", ({ turkeyMin }) => turkeyMin)(judged), ...away];
}

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
  const dinners = actionsOf(schedule, "dinner");
  if (dinners.length === 0) return [{ constraint, subject: "dinner", required, found: "missing" }];
  return dinners.flatMap(({ start: at, who }) => [
    ...(at <= problem.dinner ? [] : [{ constraint, subject: "dinner", required, found: clock(at), at }]),
    ...problem.people
      .filter(({ name }) => !takesPart(who, name))
      .map(({ name }) => ({ constraint, subject: name, required: "at the table", found: "left out", at })),
  ]);
}

function notHome(judged: Judges): Finding[] {
  const { problem, schedule } = judged;
  const at = servedAt(judged);
  return problem.people.flatMap(({ name }) => {
    const spot = spotOf(problem, schedule, name, at);
    if (isAt(spot, problem.home)) return [];
    const required = `at home at ${clock(at)}`;
    return [{ constraint: "TKS-HOME", subject: name, required, found: spotText(spot), at }];
  });
}

/** Who does not drive leaves where he appears only with a driver who is there. */
const notFetched =
  (constraint: string, name: string) =>
  ({ problem, schedule }: Judges): Finding[] => {
    const origin = personOf(problem, name)?.at;
    return actionsOf(schedule, "drive")
      .filter(({ who, driver, from }) => from === origin && (who.includes(name) || driver === name))
      .flatMap((drive) => {
        const { driver, start, from } = drive;
        const licensed = personOf(problem, driver)?.drives === true;
        const spot = spotBefore(problem, schedule, driver, start);
        if (licensed && isAt(spot, from)) return [];
        const found = licensed ? spotText(spot) : `driven by ${driver}`;
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

/** The people of the problem who come in that way, by name. */
const who = (problem: Thanksgiving, matches: (person: Thanksgiving["people"][number]) => boolean): string =>
  problem.people
    .filter(matches)
    .map(({ name }) => name)
    .join(", ") || "nobody";

/** Nobody's name is special: who does not drive has to be fetched, each by a rule that bears his name. */
export const pickupId = (name: string): string => `TKS-PICKUP-${name.toUpperCase()}`;

const pickups = ({ people }: Thanksgiving): Predicate<Thanksgiving>[] =>
  people
    .filter(({ drives }) => !drives)
    .map(({ name, at }) => ({
      id: pickupId(name),
      says: () => `${name} leaves ${at} only with a driver who is at ${at}.`,
      find: notFetched(pickupId(name), name),
    }));

/** In the order in which they are judged. */
export const thanksgivingPredicates = (problem: Thanksgiving): readonly Predicate<Thanksgiving>[] => [
  {
    id: "TKS-TURKEY",
    says: ({ turkeyMin, dinner }) =>
      `The turkey takes ${turkeyMin} min, is put in by somebody at home, and is ready by dinner, ${clock(dinner)} at the latest.`,
    find: turkeyWrong,
  },
  {
    id: "TKS-SIDES",
    says: ({ sidesMin }) =>
      `The side dishes take ${sidesMin} min, are ready by dinner, and a cook of theirs is at home.`,
    find: sidesWrong,
  },
  {
    id: "TKS-DINNER",
    says: ({ dinner }) => `Dinner is not after ${clock(dinner)}, and everybody is at the table.`,
    find: dinnerLate,
  },
  {
    id: "TKS-SPAN",
    says: () => "No row ends before it begins; a drive and a dish take time.",
    find: backwards("TKS-SPAN"),
  },
  {
    id: "TKS-KNOWN",
    says: () => "Every row is an action of such a day, by people and at places of the problem.",
    find: unknown("TKS-KNOWN"),
  },
  {
    id: "TKS-ONCE",
    says: () => "Dinner, each dish, and everybody's landing, arriving and renting stand there once.",
    find: repeated("TKS-ONCE"),
  },
  {
    id: "TKS-HOME",
    says: ({ dinner }) => `All are at home at dinner, by ${clock(dinner)} at the latest.`,
    find: notHome,
  },
  {
    id: "TKS-HISTORY",
    says: () => "Nothing executed before the notice changes.",
    concerns: hasNotice,
    find: rewritten("TKS-HISTORY"),
  },
  {
    id: "TKS-TRAVEL",
    says: () => "A drive lasts at least as long as its road takes, slowed and closed ones included.",
    find: (judged) => [...tooFast("TKS-TRAVEL")(judged), ...tooFastForAlert("TKS-TRAVEL")(judged)],
  },
  {
    id: "TKS-PLACE",
    says: () => "Everybody acts where he is, one thing at a time.",
    find: outOfPlace("TKS-PLACE", placeOf),
  },
  {
    id: "TKS-LICENCE",
    says: (one) => `Only ${who(one, ({ drives }) => drives)} drive.`,
    find: unlicensed("TKS-LICENCE"),
  },
  {
    id: "TKS-LAND",
    says: ({ airport }) => `Who flies lands when the plane does, and is at ${airport} not before.`,
    find: landedWrong,
  },
  {
    id: "TKS-EXIT",
    says: () => "Where accepted: out of the terminal not before so many minutes after landing.",
    find: outTooEarly,
  },
  {
    id: "TKS-AVAIL",
    says: (one) =>
      `Nothing before arriving: ${who(one, ({ comes, from }) => comes !== "lands" && from > 0)}.`,
    find: arrivedWrong,
  },
  {
    id: "TKS-RENT",
    says: (one) =>
      `Leave only at the wheel of a rented car, after landing: ${who(one, ({ rents }) => rents)}.`,
    find: carNotRented,
  },
  ...pickups(problem),
  {
    id: "TKS-FIRE",
    says: () => "Somebody is at home in every minute the turkey is in the oven.",
    find: unattended,
  },
];
