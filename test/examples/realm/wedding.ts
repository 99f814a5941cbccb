/** The predicates of the wedding (P5, P8): the eleven of its problem, and three of every schedule. */
import { actionText, backwards, repeated, takesPart, unknown, unlicensed } from "./rows.ts";
import { hasNotice, outOfPlace, rewritten, tooEarly, tooFast, tooFastForAlert } from "./shared-predicates.ts";
import type { Finding, Judged, Predicate } from "./predicate.ts";
import { clock, type Problem, type Wedding } from "./problem.ts";
import { actionsOf, inOrder, type Action } from "./schedule.ts";
import { isAt, spotBefore, spotOf, spotText } from "./whereabouts.ts";

type Judges = Judged<Wedding>;

/** Things: collected, and at the venue in time by the one who collected them. Guests: brought there in time. */
function incomplete({ problem, schedule }: Judges): Finding[] {
  const by = problem.photo.exactlyAt;
  const constraint = "WED-COMPLETE";
  const things = (["gift", "clothes"] as const).flatMap((task) => {
    const collected = actionsOf(schedule, "task").filter((action) => action.task === task);
    const delivered = Math.min(
      ...collected.flatMap(({ who, end }) => who.map((name) => reaches(problem, schedule, name, end))),
    );
    return late(constraint, task, delivered, by, collected.length > 0);
  });
  const guests = guestsOf(problem).flatMap(({ name, from }) => {
    const delivered = reaches(problem, schedule, name, from);
    return late(constraint, name, delivered, by, moved(schedule, name));
  });
  return [...things, ...guests];
}

const guestsOf = (problem: Wedding) => problem.people.filter(({ drives }) => !drives);

const moved = (schedule: readonly Action[], name: string) =>
  actionsOf(schedule, "drive").some(({ who }) => who.includes(name));

function late(constraint: string, subject: string, delivered: number, by: number, begun: boolean): Finding[] {
  if (delivered <= by) return [];
  const found = delivered < Infinity ? clock(delivered) : begun ? "not brought to the venue" : "missing";
  return [{ constraint, subject, required: `at the venue by ${clock(by)}`, found, at: by }];
}

/** The first minute, not before `from`, at which the person is at the venue. */
function reaches(problem: Wedding, schedule: readonly Action[], name: string, from: number): number {
  const minutes = [from, ...actionsOf(schedule, "drive").map(({ end }) => end)];
  return Math.min(
    ...minutes.filter(
      (minute) => minute >= from && isAt(spotOf(problem, schedule, name, minute), problem.photo.at),
    ),
  );
}

function photoMissed({ problem, schedule }: Judges): Finding[] {
  const { at: place, exactlyAt, who } = problem.photo;
  const constraint = "WED-PHOTO";
  const required = `${clock(exactlyAt)} at ${place}`;
  const photos = actionsOf(schedule, "photo");
  if (photos.length === 0) return [{ constraint, subject: "photo", required, found: "missing" }];
  const taken = photos.flatMap((photo): Finding[] => {
    const found = `${clock(photo.start)} at ${photo.place}`;
    const elsewhere =
      found === required ? [] : [{ constraint, subject: "photo", required, found, at: photo.start }];
    const unnamed = who.filter((name) => !takesPart(photo.who, name));
    return [
      ...elsewhere,
      ...unnamed.map((name) => ({ constraint, subject: name, required: "in the photo", found: "left out" })),
    ];
  });
  const absent = who.filter((name) => !isAt(spotOf(problem, schedule, name, exactlyAt), place));
  return [
    ...taken,
    ...absent.map((name) => ({
      constraint,
      subject: name,
      required: `at ${place} at ${clock(exactlyAt)}`,
      found: spotText(spotOf(problem, schedule, name, exactlyAt)),
      at: exactlyAt,
    })),
  ];
}

/** A driver drives, at most `seats` ride, and who is picked up finds a driver there. */
function badRide(judged: Judges): Finding[] {
  const { problem, schedule } = judged;
  const constraint = "WED-RIDE";
  const drivers = problem.people.filter(({ drives }) => drives).map(({ name }) => name);
  const crowded = actionsOf(schedule, "drive").flatMap((drive) => {
    const { driver, who, start: at } = drive;
    const seated = new Set([driver, ...who]).size;
    if (seated <= problem.seats) return [];
    return [{ constraint, subject: actionText(drive), required: problem.seats, found: seated, at }];
  });
  const pickups = actionsOf(schedule, "pickup").flatMap((pickup) => {
    const { place, start: at } = pickup;
    const met = drivers.some((name) => isAt(spotBefore(problem, schedule, name, at), place));
    const subject = `${pickup.who.join(", ")}: ${actionText(pickup)}`;
    return met ? [] : [{ constraint, subject, required: `a driver at ${place}`, found: "nobody", at }];
  });
  return [...unlicensed(constraint)(judged), ...crowded, ...pickups];
}

/** At most so many drivers, and every drive finds a car where it starts. Cars come with their drivers. */
function tooManyCars({ problem, schedule }: Judges): Finding[] {
  const constraint = "WED-TWO-CARS";
  const drives = actionsOf(inOrder(schedule), "drive");
  const drivers = new Set(drives.map(({ driver }) => driver));
  if (drivers.size > problem.cars)
    return [{ constraint, subject: [...drivers].join(", "), required: problem.cars, found: drivers.size }];
  let cars = problem.people
    .filter(({ drives: can }) => can)
    .slice(0, problem.cars)
    .map(({ at }) => ({ at, from: 0 })); // Whether the driver has appeared is another predicate's.
  return drives.flatMap((drive) => {
    const { from, to, start, end } = drive;
    const car = cars.find((one) => one.at === from && one.from <= start);
    if (car === undefined)
      return [
        { constraint, subject: actionText(drive), required: `a car at ${from}`, found: "none", at: start },
      ];
    cars = cars.map((one) => (one === car ? { at: to, from: end } : one));
    return [];
  });
}

function giftWrong({ problem, schedule }: Judges): Finding[] {
  const { at: place, opensAt } = problem.gift;
  return actionsOf(schedule, "task").flatMap((action) =>
    action.task !== "gift" || (action.place === place && action.start >= opensAt)
      ? []
      : [
          {
            constraint: "WED-GIFT-OPEN",
            subject: "gift",
            required: `at ${place} from ${clock(opensAt)}`,
            found: `at ${action.place} at ${clock(action.start)}`,
            at: action.start,
          },
        ],
  );
}

function tailorClosed({ problem, schedule, tailor = "done" }: Judges): Finding[] {
  const { at: place, closesAt } = problem.clothes;
  return actionsOf(schedule, "task").flatMap((action) => {
    const counts = tailor === "done" ? action.end : action.start;
    if (action.task !== "clothes" || (action.place === place && counts <= closesAt)) return [];
    return [
      {
        constraint: "WED-TAILOR-CLOSE",
        subject: "clothes",
        required: `${tailor} at ${place} by ${clock(closesAt)}`,
        found: `at ${action.place} ${clock(action.start)}-${clock(action.end)}`,
        at: action.start,
      },
    ];
  });
}

/** Where an action of the wedding happens. */
const placeOf = (action: Action, _problem: Problem): string | undefined =>
  action.type === "drive"
    ? action.from
    : action.type === "pickup" || action.type === "task"
      ? action.place
      : undefined;

const driversOf = (problem: Wedding): string =>
  problem.people
    .filter(({ drives }) => drives)
    .map(({ name }) => name)
    .join(" and ");

/** In the order in which they are judged. */
export const weddingPredicates: readonly Predicate<Wedding>[] = [
  {
    id: "WED-COMPLETE",
    says: ({ photo: { at, exactlyAt } }) =>
      `Gift and clothes are collected and, like every guest, at ${at} by ${clock(exactlyAt)}.`,
    find: incomplete,
  },
  {
    id: "WED-SPAN",
    says: () => "No row ends before it begins, and a drive takes time.",
    find: backwards("WED-SPAN"),
  },
  {
    id: "WED-KNOWN",
    says: () => "Every row is an action of a wedding, by people and at places of the problem.",
    find: unknown("WED-KNOWN"),
  },
  {
    id: "WED-ONCE",
    says: () => "The gift, the clothes and the photos stand there once.",
    find: repeated("WED-ONCE"),
  },
  {
    id: "WED-PHOTO",
    says: ({ photo: { who, at, exactlyAt } }) =>
      `${who.join(", ")} stand at ${at} at ${clock(exactlyAt)} sharp.`,
    find: photoMissed,
  },
  {
    id: "WED-HISTORY",
    says: () => "Nothing executed before the alert changes.",
    concerns: hasNotice,
    find: rewritten("WED-HISTORY"),
  },
  {
    id: "WED-TRAVEL",
    says: () => "A drive lasts at least as long as its road takes.",
    find: tooFast("WED-TRAVEL"),
  },
  {
    id: "WED-ALERT",
    says: () => "A drive on a disturbed leg lasts as equations 4 and 5 say.",
    concerns: ({ disruption }) => disruption?.type === "traffic",
    find: tooFastForAlert("WED-ALERT"),
  },
  {
    id: "WED-PLACE",
    says: () => "Everybody acts where he is, one thing at a time.",
    find: outOfPlace("WED-PLACE", placeOf),
  },
  { id: "WED-AVAIL", says: () => "Nobody acts before appearing.", find: tooEarly("WED-AVAIL") },
  {
    id: "WED-RIDE",
    says: (problem) =>
      `Only ${driversOf(problem)} drive; guests ride with them; ${problem.seats} fit in a car.`,
    find: badRide,
  },
  { id: "WED-TWO-CARS", says: ({ cars }) => `Cars that do everything: ${cars}.`, find: tooManyCars },
  {
    id: "WED-GIFT-OPEN",
    says: ({ gift: { at, opensAt } }) => `The gift is collected at ${at}, not before ${clock(opensAt)}.`,
    find: giftWrong,
  },
  {
    id: "WED-TAILOR-CLOSE",
    says: ({ clothes: { at, closesAt } }) => `The clothes are collected at ${at} by ${clock(closesAt)}.`,
    find: tailorClosed,
  },
];
