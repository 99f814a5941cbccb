/** Random weddings and dinners with people, places and disruptions that no printed problem has. */
import type { SeededChance } from "../../../services/memory/faults.ts";
import { type Disruption, disrupted, type Problem, type Thanksgiving, type Wedding } from "./problem.ts";

const multipleOf = (chance: SeededChance, step: number, from: number, to: number): number =>
  step * chance.between(Math.ceil(from / step), Math.floor(to / step));

/** Legs between the places, most of them, and a way round so that no place is cut off. */
function roads(chance: SeededChance, places: readonly string[], step: number): Record<string, number> {
  return Object.fromEntries(
    places.flatMap((from, index) =>
      places
        .slice(index + 1)
        .flatMap((to, further): [string, number][] =>
          further === 0 || chance.happens(0.7) ? [[`${from}-${to}`, multipleOf(chance, step, 10, 60)]] : [],
        ),
    ),
  );
}

const some = <T>(chance: SeededChance, most: number, make: (index: number) => T, least = 1): T[] =>
  Array.from({ length: chance.between(least, most) }, (_, index) => make(index));

export function randomWedding(chance: SeededChance): Wedding {
  const places = ["W", "B", "G", "T", "X", "Y"].slice(0, chance.between(3, 6));
  const place = () => chance.pick(places);
  const drivers = some(chance, 3, (index) => ({ name: `Driver${index}`, drives: true }));
  const guests = some(chance, 4, (index) => ({ name: `Guest${index}`, drives: false }));
  const people = [...drivers, ...guests].map((one) => ({
    ...one,
    at: one.drives && chance.happens(0.6) ? "W" : place(),
    from: multipleOf(chance, 5, 600, 780),
  }));
  return {
    id: "random",
    kind: "wedding",
    travel: roads(chance, places, 5),
    unspecified: [],
    people,
    // Seats are short now and then.
    seats: chance.happens(0.8) ? people.length : chance.between(2, 4),
    cars: chance.happens(0.8) ? drivers.length : chance.between(1, drivers.length),
    gift: { at: place(), opensAt: multipleOf(chance, 5, 600, 780) },
    clothes: { at: place(), closesAt: multipleOf(chance, 5, 700, 900) },
    photo: {
      at: "W",
      exactlyAt: multipleOf(chance, 5, 820, 960),
      who: people.filter(() => chance.happens(0.8)).map(({ name }) => name),
    },
  };
}

export function randomDinner(chance: SeededChance): Thanksgiving {
  const places = ["H", "B", "GM", "X"].slice(0, chance.between(3, 4));
  const drivers = some(chance, 3, (index) => ({ name: `Driver${index}`, drives: true }));
  const guests = some(chance, 3, (index) => ({ name: `Guest${index}`, drives: false }), 0);
  const people = [...drivers, ...guests].map((one) => {
    const comes = chance.pick(
      one.drives ? (["lives", "lives", "arrives", "lands"] as const) : (["lives", "lands"] as const),
    );
    return {
      ...one,
      comes,
      at: comes === "lands" ? "B" : one.drives || comes === "arrives" ? "H" : chance.pick(places),
      from: multipleOf(chance, 30, 600, 900),
      rents: one.drives && comes === "lands",
    };
  });
  return {
    id: "random",
    kind: "thanksgiving",
    travel: roads(chance, places, 30),
    unspecified: [],
    home: "H",
    airport: "B",
    people,
    turkeyMin: multipleOf(chance, 30, 60, 240),
    sidesMin: multipleOf(chance, 30, 30, 120),
    dinner: multipleOf(chance, 30, 960, 1_110),
  };
}

/** What goes wrong with such a day, known from the morning on or at a minute of it; undefined where nothing does. */
export function randomDisruption(chance: SeededChance, problem: Problem): Disruption | undefined {
  const step = problem.kind === "wedding" ? 5 : 30;
  const noticeAt = multipleOf(chance, step, 600, 900);
  const until = chance.happens(0.5) ? { until: noticeAt + multipleOf(chance, step, 30, 120) } : {};
  const fliers = problem.people.filter((one) => "comes" in one && one.comes === "lands");
  const legs = Object.keys(problem.travel);
  switch (chance.pick(["none", "traffic", "closure", "delay"] as const)) {
    case "none":
      return undefined;
    case "traffic": {
      // A slowed road makes every minute of a dinner one to try.
      if (problem.kind === "thanksgiving" && chance.happens(0.8)) return undefined;
      const touching = chance.pick(legs).split("-")[0] ?? "";
      return { type: "traffic", noticeAt, factor: chance.between(2, 4), touching, ...until };
    }
    case "closure":
      return chance.happens(0.5)
        ? { type: "closure", noticeAt: null, legs: [chance.pick(legs)] }
        : {
            type: "closure",
            noticeAt,
            legs: [chance.pick(legs)],
            until: noticeAt + multipleOf(chance, step, 30, 120),
          };
    case "delay": {
      if (fliers.length === 0) return undefined;
      const { name: who, from: landed } = chance.pick(fliers);
      const known = chance.happens(0.5) ? null : Math.min(noticeAt, landed);
      return { type: "delay", noticeAt: known, who, landed, lands: landed + multipleOf(chance, 30, 30, 180) };
    }
  }
}

/** The problem, and what it is once it has gone wrong. */
export function randomDay(chance: SeededChance): { readonly calm: Problem; readonly problem: Problem } {
  const calm = chance.happens(0.6) ? randomWedding(chance) : randomDinner(chance);
  const disruption = randomDisruption(chance, calm);
  return { calm, problem: disruption === undefined ? calm : disrupted(calm, disruption) };
}
