/** The dinner's predicates of how people come: by plane, by themselves, in a rented car. */
import { actionText } from "./rows.ts";
import { tooEarly } from "./shared-predicates.ts";
import type { Finding, Judged } from "./predicate.ts";
import { clock, type Thanksgiving } from "./problem.ts";
import { actionsOf, actorsOf } from "./schedule.ts";

type Judges = Judged<Thanksgiving>;

/** Planes land when they land, and nobody who lands acts before it. */
export function landedWrong(judged: Judges): Finding[] {
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

/** Who arrives by himself does so when the problem says; and but for who flies, nobody acts before appearing. */
export function arrivedWrong(judged: Judges): Finding[] {
  const constraint = "TKS-AVAIL";
  const people = new Map(judged.problem.people.map((person) => [person.name, person]));
  const arrives = (name: string) => people.get(name)?.comes === "arrives";
  const elsewhen = actionsOf(judged.schedule, "arrive").flatMap(({ who, start }) =>
    who.flatMap((name): Finding[] => {
      const from = people.get(name)?.from;
      if (arrives(name) && from === start) return [];
      const required = arrives(name) && from !== undefined ? clock(from) : "somebody who arrives by himself";
      return [{ constraint, subject: `${name} arrives`, required, found: clock(start), at: start }];
    }),
  );
  const others = judged.schedule.filter(({ type }) => type !== "arrive");
  const flies = (name: string) => people.get(name)?.comes === "lands"; // For TKS-LAND.
  return [...elsewhen, ...tooEarly(constraint, (name) => !flies(name))({ ...judged, schedule: others })];
}

/** Binds only where the augmentation was accepted: nobody is out of the terminal before landing + so many minutes. */
export function outTooEarly({ problem, schedule, accepted }: Judges): Finding[] {
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

/**
 * Who has to rent a car does so once, after landing, and leaves the airport at its wheel: nobody's passenger from there.
 */
export function carNotRented({ problem, schedule, accepted }: Judges): Finding[] {
  const constraint = "TKS-RENT";
  const lasts = accepted?.rentalMin ?? 0;
  return problem.people
    .filter(({ rents }) => rents)
    .flatMap(({ name, from: landed }) => {
      const rents = actionsOf(schedule, "rent").filter(({ who }) => who.includes(name));
      const ready = Math.min(...rents.map(({ end }) => end));
      const early = rents
        .filter(({ start, end }) => start < landed || end - start < lasts)
        .map((rent) => ({
          constraint,
          subject: actionText(rent),
          required: `from ${clock(landed)}, ${lasts} min`,
          found: `${clock(rent.start)}, ${rent.end - rent.start} min`,
          at: rent.start,
        }));
      const drives = actionsOf(schedule, "drive").flatMap((drive): Finding[] => {
        const { driver, who, from, start: at } = drive;
        const subject = actionText(drive);
        if (driver === name && at < ready) {
          const required = rents.length === 0 ? "a rented car" : `not before ${clock(ready)}`;
          return [{ constraint, subject, required, found: clock(at), at }];
        }
        if (driver === name || !who.includes(name) || from !== problem.airport) return [];
        return [
          { constraint, subject, required: `${name} in a rented car`, found: `driven by ${driver}`, at },
        ];
      });
      return [...early, ...drives];
    });
}
