/**
 * The planning problems of application (b): a wedding (P5, and P8 as its disruptions) and a Thanksgiving dinner (P6,
 * and P9 as its disruptions), read from `data/problems.json`.
 *
 * All times are whole minutes after midnight. Legs are symmetric. A variant is its base with one disruption; the
 * minute of its notice is where history ends.
 */
import { z } from "zod";
import stored from "./data/problems.json" with { type: "json" };

/** Minutes after midnight. */
export const Minute = z.int().nonnegative();

/** Where a disturbance holds: every leg that touches a place, or the named legs. */
const Traffic = z.strictObject({
  type: z.literal("traffic"),
  noticeAt: Minute,
  /** How many times as long the affected part of a journey takes. */
  factor: z.number().positive(),
  touching: z.string(),
  /** When it is over; without it, it lasts. */
  until: Minute.optional(),
  /** The disturbed stretch: this many minutes of undisturbed driving next to `touching`. Without it, the whole leg. */
  within: z.number().positive().optional(),
});
const Closure = z.strictObject({
  type: z.literal("closure"),
  /** `null`: known before anybody moves. */
  noticeAt: Minute.nullable(),
  legs: z.array(z.string()).nonempty(),
  until: Minute.optional(),
});
const Delay = z.strictObject({
  type: z.literal("delay"),
  noticeAt: Minute.nullable(),
  who: z.string(),
  landed: Minute,
  lands: Minute,
});
export const Disruption = z.discriminatedUnion("type", [Traffic, Closure, Delay]);
export type Disruption = z.infer<typeof Disruption>;

const common = {
  id: z.string(),
  /** Minutes of undisturbed driving, by leg: `"B-G": 45`. */
  travel: z.record(z.string().regex(/^[A-Z]+-[A-Z]+$/), z.int().positive()),
  /** What the problem leaves open: a claim about it is undecided. */
  unspecified: z.array(z.string()),
  disruption: Disruption.optional(),
};
export const Wedding = z.strictObject({
  ...common,
  kind: z.literal("wedding"),
  seats: z.int().positive(),
  cars: z.int().positive(),
  people: z.array(z.strictObject({ name: z.string(), at: z.string(), from: Minute, drives: z.boolean() })),
  gift: z.strictObject({ at: z.string(), opensAt: Minute }),
  clothes: z.strictObject({ at: z.string(), closesAt: Minute }),
  photo: z.strictObject({ at: z.string(), exactlyAt: Minute, who: z.array(z.string()) }),
});
export type Wedding = z.infer<typeof Wedding>;

export const Thanksgiving = z.strictObject({
  ...common,
  kind: z.literal("thanksgiving"),
  home: z.string(),
  airport: z.string(),
  people: z.array(
    z.strictObject({
      name: z.string(),
      at: z.string(),
      from: Minute,
      comes: z.enum(["lives", "lands", "arrives"]),
      drives: z.boolean(),
      rents: z.boolean().default(false),
    }),
  ),
  turkeyMin: z.int().positive(),
  sidesMin: z.int().positive(),
  dinner: Minute,
});
export type Thanksgiving = z.infer<typeof Thanksgiving>;
export type Problem = Wedding | Thanksgiving;

export const Problem = z.discriminatedUnion("kind", [Wedding, Thanksgiving]);
const Variant = z.strictObject({ id: z.string(), extends: z.string(), disruption: Disruption });
const entries = z.array(z.union([Variant, Problem])).parse(stored);

/** The stored problem of that name; throws where there is none. */
export function problemOf(id: string): Problem {
  const entry = entries.find((one) => one.id === id);
  if (entry === undefined) throw new Error(`no problem ${id}: one of ${problemIds.join(", ")}`);
  return "extends" in entry ? disrupted(problemOf(entry.extends), entry.disruption, entry.id) : entry;
}

export const problemIds: readonly string[] = entries.map(({ id }) => id);

export function weddingOf(id: string): Wedding {
  const problem = problemOf(id);
  if (problem.kind !== "wedding") throw new Error(`problem ${id} is no wedding`);
  return problem;
}

export function thanksgivingOf(id: string): Thanksgiving {
  const problem = problemOf(id);
  if (problem.kind !== "thanksgiving") throw new Error(`problem ${id} is no Thanksgiving`);
  return problem;
}

/** The problem after a notice: what a signal brings becomes part of what schedules are judged by. */
export function disrupted<P extends Problem>(problem: P, disruption: Disruption, id = problem.id): P {
  if (disruption.type !== "delay") return { ...problem, id, disruption };
  const people = problem.people.map((one) =>
    one.name === disruption.who ? { ...one, from: disruption.lands } : one,
  );
  return { ...problem, id, people, disruption };
}

/** `"13:00"` is 780 wherever it stands. */
export function withMinutes(value: unknown): unknown {
  if (typeof value === "string" && /^\d{1,2}:\d\d$/.test(value)) {
    const [hours = 0, minutes = 0] = value.split(":").map(Number);
    return hours * 60 + minutes;
  }
  if (Array.isArray(value)) return value.map(withMinutes);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withMinutes(inner)]));
}

export const StoredId = z.enum(problemIds as [string, ...string[]]);

/** A problem of somebody's own: whole, or a stored one with what disrupts it. */
export const OwnProblem = z.union([
  Problem,
  z
    .strictObject({ extends: StoredId, disruption: Disruption.optional() })
    .transform(({ extends: id, disruption }): Problem => {
      const problem = problemOf(id);
      return disruption === undefined ? problem : disrupted(problem, disruption);
    }),
]);

/** A stored problem's id, or a problem as data. */
export const GivenProblem = z.union([StoredId, OwnProblem]);
export type GivenProblem = z.infer<typeof GivenProblem>;

export const problemIn = (given: GivenProblem): Problem =>
  typeof given === "string" ? problemOf(given) : given;

/** The problem as it was before anything disrupted it. */
export function undisrupted({ disruption, ...problem }: Problem): Problem {
  if (disruption?.type !== "delay") return problem; // As it was, without a member that may be absent.
  const people = problem.people.map((one) =>
    one.name === disruption.who ? { ...one, from: disruption.landed } : one,
  );
  return { ...problem, people } as Problem; // As before.
}

/** The minute before which nothing can be changed any more; undefined where nobody has moved yet. */
export const noticeOf = (problem: Problem): number | undefined => problem.disruption?.noticeAt ?? undefined;

export const placesOf = (problem: Problem): readonly string[] => [
  ...new Set(Object.keys(problem.travel).flatMap((leg) => leg.split("-"))),
];

/** Undisturbed minutes from one place to another; undefined where no road joins them or a place is unknown. */
export const travelMin = (problem: Problem, from: string, to: string): number | undefined =>
  problem.travel[`${from}-${to}`] ?? problem.travel[`${to}-${from}`];

export const personOf = (problem: Problem, name: string) =>
  problem.people.find((person) => person.name === name);

/** 780 as 13:00. */
export const clock = (minute: number): string =>
  Number.isFinite(minute)
    ? `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(Math.ceil(minute % 60)).padStart(2, "0")}`
    : "never";
