/**
 * Single statements of an agent, judged by the problem: what a transcript says before, or instead of, a schedule. The
 * stored ones were made by real models in recorded runs; here they are data, and the bodies of their documents are
 * stand-ins of the same form.
 */
import { z } from "zod";
import stored from "./data/claims.json" with { type: "json" };
import { arrival, disturbancesOf } from "./journey.ts";
import { clock, Minute, personOf, placesOf, problemOf, travelMin, type Problem } from "./problem.ts";
import { pickupId } from "./thanksgiving.ts";
import { structureFaults, unordered } from "./transactions.ts";
import { readJson } from "./validator.ts";
import { gapsIn } from "./whereabouts.ts";

const pair = z.tuple([Minute, Minute]);

export const Claim = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("cook"),
    dishes: z.array(z.tuple([z.enum(["turkey", "sides"]), Minute, Minute])).nonempty(),
  }),
  z.strictObject({ kind: z.literal("cooksAt"), who: z.array(z.string()), place: z.string() }),
  z.strictObject({ kind: z.literal("lands"), who: z.string(), at: Minute }),
  z.strictObject({
    kind: z.literal("fetched"),
    who: z.array(z.string()).nonempty(),
    by: z.string().optional(),
    place: z.string(),
    at: Minute,
  }),
  /** An end left out is not said. */
  z.strictObject({
    kind: z.literal("legs"),
    legs: z.array(z.tuple([z.string(), z.string(), Minute, Minute.nullable()])).nonempty(),
  }),
  z.strictObject({ kind: z.literal("minds"), who: z.string(), oven: pair, at: pair }),
  /** Somebody comes just in time for dinner. */
  z.strictObject({ kind: z.literal("justInTime"), at: Minute }),
  /** What a plan is about: people, places, duties. */
  z.strictObject({ kind: z.literal("things"), things: z.array(z.string()) }),
  /** The same fact by several speakers. */
  z.strictObject({
    kind: z.literal("says"),
    about: z.string(),
    values: z.array(z.tuple([z.string(), z.union([z.string(), z.number()])])).nonempty(),
  }),
  z.strictObject({ kind: z.literal("document"), body: z.string() }),
  z.strictObject({
    kind: z.literal("graph"),
    nodes: z.array(z.string()),
    edges: z.array(z.tuple([z.string(), z.string()])),
  }),
  /** Something the problem leaves open. */
  z.strictObject({ kind: z.literal("open"), about: z.string() }),
]);
export type Claim = z.infer<typeof Claim>;
type Kind<K extends Claim["kind"]> = Extract<Claim, { kind: K }>;

export interface ClaimVerdict {
  readonly verdict: "holds" | "violated" | "undecided";
  readonly why: string;
  /** The predicate it is about, where it is one's. */
  readonly constraint?: string;
}

const Stored = z.strictObject({
  run: z.string(),
  problem: z.string(),
  type: z.string(),
  claim: Claim,
  verdict: z.enum(["holds", "violated", "undecided"]),
  constraint: z.string().optional(),
});
export const storedClaims = z.array(Stored).parse(stored);

/** Judges one claim. What cannot be known is `undecided`, never accepted by default. */
export function judgeClaim(problem: Problem, claim: Claim): ClaimVerdict {
  switch (claim.kind) {
    case "cook":
      return cook(problem, claim);
    case "cooksAt":
      return cooksAt(problem, claim);
    case "lands":
      return lands(problem, claim);
    case "fetched":
      return fetched(problem, claim);
    case "legs":
      return legs(problem, claim);
    case "minds":
      return minds(problem, claim);
    case "justInTime":
      return justInTime(problem, claim);
    case "things":
      return things(problem, claim);
    case "says":
      return says(claim);
    case "document":
      return document(claim);
    case "graph":
      return graph(claim);
    case "open":
      return open(problem, claim);
  }
}

const answer = (holds: boolean, why: string, constraint?: string): ClaimVerdict => ({
  verdict: holds ? "holds" : "violated",
  why,
  constraint,
});

const prefixOf = ({ kind }: Problem) => (kind === "wedding" ? "WED" : "TKS");

const notADinner: ClaimVerdict = { verdict: "violated", why: "nobody cooks at this problem" };

function cook(problem: Problem, { dishes }: Kind<"cook">): ClaimVerdict {
  if (problem.kind !== "thanksgiving") return notADinner;
  const judged = dishes.map(([what, start, end]) => {
    const needs = what === "turkey" ? problem.turkeyMin : problem.sidesMin;
    const holds = end - start >= needs && end <= problem.dinner;
    return answer(holds, `${what} ${needs} min, given ${end - start}`, `TKS-${what.toUpperCase()}`);
  });
  return judged.find(({ verdict }) => verdict === "violated") ?? judged[0] ?? notADinner;
}

function cooksAt(problem: Problem, { who, place }: Kind<"cooksAt">): ClaimVerdict {
  if (problem.kind !== "thanksgiving") return notADinner;
  if (who.length === 0) return { verdict: "undecided", why: `nobody is said to cook at ${place}` };
  const stranger = who.find((name) => personOf(problem, name) === undefined);
  if (stranger !== undefined) return answer(false, `nobody is called ${stranger}`, "TKS-KNOWN");
  return answer(place === problem.home, `dinner is at ${problem.home}, not ${place}`, "TKS-HOME");
}

function lands(problem: Problem, { who, at }: Kind<"lands">): ClaimVerdict {
  const person = problem.kind === "thanksgiving" ? personOf(problem, who) : undefined;
  if (person === undefined) return answer(false, `${who} lands nowhere`, `${prefixOf(problem)}-LAND`);
  return answer(person.from === at, `${who} lands at ${clock(person.from)}`, "TKS-LAND");
}

/** The guest is there by then, and so is a driver who could have come. */
function fetched(problem: Problem, { who, by, place, at }: Kind<"fetched">): ClaimVerdict {
  const prefix = prefixOf(problem);
  const appear = prefix === "WED" ? "WED-AVAIL" : "TKS-LAND";
  for (const name of who) {
    const guest = personOf(problem, name);
    if (guest === undefined) return answer(false, `nobody is called ${name}`, appear);
    if (guest.at !== place || guest.from > at)
      return answer(false, `${name} is at ${guest.at} from ${clock(guest.from)}`, appear);
  }
  const drivers = problem.people.filter(({ name, drives }) => drives && (by === undefined || name === by));
  const earliest = Math.min(...drivers.map((driver) => reaches(problem, driver.at, place, driver.from)));
  if (earliest > at) return answer(false, `no driver before ${clock(earliest)}`, `${prefix}-AVAIL`);
  const pickup = prefix === "WED" ? "WED-RIDE" : pickupId(who.join("-"));
  return answer(true, `a driver can be there from ${clock(earliest)}`, pickup);
}

/** The earliest minute at the place by whatever roads are open, disruption included; `Infinity` where none leads there. */
function reaches(problem: Problem, from: string, to: string, departs: number): number {
  const earliest = new Map([[from, departs]]);
  for (const _ of placesOf(problem))
    for (const [place, minute] of earliest)
      for (const next of placesOf(problem)) {
        const arrives = Math.ceil(arrival(problem, place, next, minute) ?? Infinity);
        if (arrives < (earliest.get(next) ?? Infinity)) earliest.set(next, arrives);
      }
  return earliest.get(to) ?? Infinity;
}

/** The rule that a leg is held to: what slows it is the alert's. */
const legRule = (problem: Problem, from: string, to: string): string =>
  problem.kind === "wedding" &&
  problem.disruption?.type === "traffic" &&
  disturbancesOf(problem, from, to).length > 0
    ? "WED-ALERT"
    : `${prefixOf(problem)}-TRAVEL`;

function legs(problem: Problem, { legs: all }: Kind<"legs">): ClaimVerdict {
  const unsaid = all.find(([, , , end]) => end === null);
  for (const [from, to, start, end] of all) {
    if (travelMin(problem, from, to) === undefined)
      return answer(false, `no road from ${from} to ${to}`, legRule(problem, from, to));
    if (end === null) continue;
    const arrives = arrival(problem, from, to, start) ?? Infinity;
    if (end >= arrives) continue;
    const needs = arrives === Infinity ? "is closed" : String(Math.ceil(arrives) - start);
    return answer(false, `${from}-${to} ${needs}, given ${end - start}`, legRule(problem, from, to));
  }
  const constraint = `${prefixOf(problem)}-TRAVEL`;
  if (unsaid === undefined) return answer(true, "long enough", constraint);
  return { verdict: "undecided", why: `${unsaid[0]}-${unsaid[1]}: no arrival is said`, constraint };
}

function minds(problem: Problem, { who, oven, at }: Kind<"minds">): ClaimVerdict {
  const constraint = "TKS-FIRE";
  if (personOf(problem, who) === undefined) return answer(false, `nobody is called ${who}`, constraint);
  const [gap] = gapsIn({ from: oven[0], until: oven[1] }, [{ from: at[0], until: at[1] }]);
  if (gap === undefined) return answer(true, "all the time", constraint);
  return answer(false, `not ${clock(gap.from)}-${clock(gap.until)}`, constraint);
}

/** More than this before dinner is not "just". */
const justMin = 30;

function justInTime(problem: Problem, { at }: Kind<"justInTime">): ClaimVerdict {
  if (problem.kind !== "thanksgiving") return notADinner;
  const early = problem.dinner - at;
  return answer(early >= 0 && early <= justMin, `dinner is at ${clock(problem.dinner)}`, "TKS-DINNER");
}

function things(problem: Problem, { things: named }: Kind<"things">): ClaimVerdict {
  if (named.length === 0) return { verdict: "undecided", why: "it names nobody and nothing" };
  const duties = problem.kind === "wedding" ? ["gift", "clothes", "photo"] : ["turkey", "sides", "dinner"];
  const known = new Set([...problem.people.map(({ name }) => name), ...placesOf(problem), ...duties]);
  const strange = named.filter((thing) => !known.has(thing));
  return answer(strange.length === 0, strange.length === 0 ? "all known" : `unknown: ${strange.join(", ")}`);
}

function says({ about, values }: Kind<"says">): ClaimVerdict {
  const distinct = [...new Set(values.map(([, value]) => value))];
  if (values.length < 2) return { verdict: "undecided", why: `only one speaks of ${about}` };
  return answer(distinct.length === 1, `${about}: ${distinct.join(" / ")}`);
}

function document({ body }: Kind<"document">): ClaimVerdict {
  const read = readJson(body);
  return answer(!("unreadable" in read), "unreadable" in read ? read.unreadable : "parses");
}

/** A plan of nobody's is none, and where several have no edge between them nothing says what comes first. */
function graph({ nodes, edges }: Kind<"graph">): ClaimVerdict {
  if (nodes.length === 0) return { verdict: "undecided", why: "a plan without actors" };
  const faults = structureFaults(nodes, edges);
  if (faults.length > 0) return answer(false, faults.map(({ found }) => found).join("; "));
  if (edges.length === 0 && nodes.length > 1) return { verdict: "undecided", why: unordered(nodes) };
  return answer(true, "a plan");
}

const open = (problem: Problem, { about }: Kind<"open">): ClaimVerdict => ({
  verdict: "undecided",
  why: problem.unspecified.includes(about)
    ? `the problem leaves open: ${about}`
    : `nothing is known of: ${about}`,
});

export const problemOfClaim = ({ problem }: z.infer<typeof Stored>): Problem => problemOf(problem);
