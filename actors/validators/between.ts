/**
 * Validators between agents: what no agent can see of its own work alone.
 */
import type { z } from "zod";
import { canonicalJson, type Json } from "../../protocol/json.ts";
import type { Finding } from "../../protocol/verdict.ts";
import { readWith } from "../values/schema.ts";
import type { CheckedMaterial, Validator } from "./validator.ts";
import { builtin, byHow, type FactClaim, type Common, found, foundOr, short } from "./built-in.ts";

/** Something that takes time, or happens at once where it has no end. Times are numbers of one unit. */
export interface Occurrence {
  readonly id: string;
  /** The people it occupies: none does two things at once. */
  readonly who?: readonly string[];
  readonly start: number;
  readonly end?: number;
  /** Where it begins and ends, for the people it occupies: none is elsewhere without a way. */
  readonly from?: string;
  readonly to?: string;
  /** What must have ended before. */
  readonly after?: readonly string[];
  readonly notBefore?: number;
  readonly notAfter?: number;
}

/**
 * Temporal: nothing ends before it starts, no person does two things at once or acts at a place where they are not, what comes after
 * something comes after it. What has happened already is told by `occurrences` like the rest: read it from `seen.log`.
 * One that is named as coming before and is not there is undecided.
 */
export const temporalOrder = <T extends z.ZodType>({
  occurrences,
  unit,
  ...config
}: Common<T> & {
  occurrences: (seen: CheckedMaterial<T>) => readonly Occurrence[];
  unit?: string;
}): Validator =>
  builtin<T>("temporal", config, (seen) => {
    const all = occurrences(seen);
    const findings: Finding[] = [];
    const open: string[] = [];
    const tell = (rule: string, what: string, by?: number) =>
      findings.push({
        ...{ rule, what },
        ...(by === undefined ? {} : { by, ...(unit === undefined ? {} : { unit }) }),
      });
    for (const one of all) {
      const { id, start, end = start, notBefore = start, notAfter = end, after = [] } = one;
      if (end < start) tell("order", `${id} ends at ${end}, before its start at ${start}`, start - end);
      if (start < notBefore)
        tell("not_before", `${id} starts at ${start}, not before ${notBefore}`, notBefore - start);
      if (end > notAfter) tell("not_after", `${id} ends at ${end}, not after ${notAfter}`, end - notAfter);
      for (const name of after) {
        const other = all.find((before) => before.id === name);
        if (other === undefined) open.push(`${id} comes after ${name}, of which nothing is said`);
        else if ((other.end ?? other.start) > start)
          tell(
            "after",
            `${id} starts at ${start}, before ${name} is over`,
            (other.end ?? other.start) - start,
          );
      }
    }
    for (const who of new Set(all.flatMap((one) => one.who ?? []))) {
      const own = all.filter((one) => one.who?.includes(who)).sort(byTime);
      own.forEach((one, k) => {
        const next = own[k + 1];
        if (next === undefined) return;
        const end = one.end ?? one.start;
        if (next.start < end)
          tell("overlap", `${who} is in ${one.id} until ${end} and starts ${next.id}`, end - next.start);
        const [here, there] = [one.to ?? one.from, next.from];
        if (here !== undefined && there !== undefined && here !== there)
          tell("place", `${who} is at ${here} after ${one.id}, and ${next.id} begins at ${there}`);
      });
    }
    return foundOr(findings, open);
  });

const byTime = (a: Occurrence, b: Occurrence): number =>
  a.start - b.start || (a.end ?? a.start) - (b.end ?? b.start);

/** Consistency: no two statements, of one speaker or of several, say different things of one thing. */
export const claimConsistency = <T extends z.ZodType>({
  claims,
  ...config
}: Common<T> & { claims: (seen: CheckedMaterial<T>) => readonly FactClaim[] }): Validator =>
  builtin<T>("consistency", config, (seen) => found(differing(claims(seen), 0)));

/**
 * Mutual agreement: of what several agents rest their work on, all say the same, numbers within `within`. What
 * `needs` names must be said by two at least; if it is not, that is undecided.
 */
export const mutualAgreement = <T extends z.ZodType>({
  claims,
  within = 0,
  needs = [],
  ...config
}: Common<T> & {
  claims: (seen: CheckedMaterial<T>) => readonly (FactClaim & { readonly by: string })[];
  within?: number;
  needs?: readonly string[];
}): Validator =>
  builtin<T>("mutual_agreement", config, (seen) => {
    const all = claims(seen);
    const agents = (about: string) => new Set(all.filter((one) => one.about === about).map(({ by }) => by));
    const open = needs.filter((about) => agents(about).size < 2);
    return foundOr(
      differing(all, within).filter(({ rule }) => agents(rule).size > 1),
      open.map((about) => `fewer than two say anything of "${about}"`),
    );
  });

function differing(claims: readonly FactClaim[], within: number): Finding[] {
  const groups = new Map<string, FactClaim[]>();
  for (const claim of claims) groups.set(claim.about, [...(groups.get(claim.about) ?? []), claim]);
  return [...groups].flatMap(([about, said]) => {
    const [first] = said;
    const other = said.find((one) => first !== undefined && !isSame(first.value, one.value, within));
    if (first === undefined || other === undefined) return [];
    const words = said.map(({ value, by }) => (by === undefined ? short(value) : `${short(value)} (${by})`));
    return [
      { rule: about, what: [...new Set(words)].join(", ").slice(0, 500), ...byHow(first.value, other.value) },
    ];
  });
}

const isSame = (a: Json, b: Json, within: number): boolean =>
  typeof a === "number" && typeof b === "number"
    ? Math.abs(a - b) <= within
    : canonicalJson(a) === canonicalJson(b);

/** What became of the nodes of a graph, and in which order. */
export interface ExecutionRecord {
  /** `[before, after]`: what rests on what. */
  readonly edges: readonly (readonly [string, string])[];
  readonly ran: readonly { readonly node: string; readonly outcome: "succeeded" | "failed" }[];
  /** What was undone, each time it was, in order. */
  readonly undone?: readonly string[];
  /** How the whole ended; absent while it runs. */
  readonly ended?: "completed" | "failed" | "cancelled";
  /** What stays although the whole failed: what was travelled already. */
  readonly keep?: readonly string[];
}

/** Dependency satisfaction: nothing ran before all that it rests on had succeeded. */
export const dependencySatisfaction = <T extends z.ZodType>({
  record,
  ...config
}: Common<T> & { record: (seen: CheckedMaterial<T>) => ExecutionRecord }): Validator =>
  builtin<T>("dependency_satisfaction", config, (seen) => {
    const { edges, ran } = record(seen);
    return found(
      ran.flatMap(({ node }, k) =>
        edges
          .filter(([, after]) => after === node)
          .flatMap(([before]) => {
            const earlier = ran.slice(0, k).findLast((one) => one.node === before);
            if (earlier?.outcome === "succeeded") return [];
            const why = earlier === undefined ? "had not run" : "had failed";
            return [{ rule: `${before}-${node}`, what: `${node} ran although ${before} ${why}` }];
          }),
      ),
    );
  });

/**
 * Transaction boundary integrity: what failed as a whole has left nothing but what it was to keep, each undone once,
 * in reverse order of what rests on what, and nothing undone that had not been done.
 */
export const boundaryIntegrity = <T extends z.ZodType>({
  record,
  ...config
}: Common<T> & { record: (seen: CheckedMaterial<T>) => ExecutionRecord }): Validator =>
  builtin<T>("boundary_integrity", config, (seen) => {
    const { edges, ran, undone = [], ended, keep = [] } = record(seen);
    const done = new Set(ran.filter(({ outcome }) => outcome === "succeeded").map(({ node }) => node));
    const once = [...new Set(undone)];
    const times = (node: string) => undone.filter((one) => one === node).length;
    const isOver = ended !== undefined && ended !== "completed";
    return found([
      ...once
        .filter((node) => times(node) > 1)
        .map((node) => ({
          rule: "once",
          what: `${node} was undone ${times(node)} times`,
          by: times(node) - 1,
        })),
      ...once
        .filter((node) => !done.has(node))
        .map((node) => ({ rule: "done", what: `${node} was undone and had never been done` })),
      ...edges
        .filter(([before, after]) => undone.includes(before) && done.has(after) && !keep.includes(after))
        .filter(
          ([before, after]) => !undone.includes(after) || undone.indexOf(after) > undone.indexOf(before),
        )
        .map(([before, after]) => ({
          rule: "order",
          what: `${before} was undone before ${after}, which rests on it`,
        })),
      ...[...done]
        .filter((node) => isOver && !undone.includes(node) && !keep.includes(node))
        .map((node) => ({ rule: "standing", what: `${node} still stands` })),
    ]);
  });

/** What goes into a node and what comes out of it. */
export interface NodeContract {
  readonly input?: z.ZodType;
  readonly output?: z.ZodType;
}

/** Contract conformance: each node was given and gave what its contract says. A node without one is undecided. */
export const contractConformance = <T extends z.ZodType>({
  contracts,
  records,
  ...config
}: Common<T> & {
  contracts: Readonly<Record<string, NodeContract>>;
  records: (
    seen: CheckedMaterial<T>,
  ) => readonly { readonly node: string; readonly input?: Json; readonly output?: Json }[];
}): Validator =>
  builtin<T>("contract_conformance", config, (seen) => {
    const findings: Finding[] = [];
    const open: string[] = [];
    for (const one of records(seen)) {
      const contract = Object.hasOwn(contracts, one.node) ? contracts[one.node] : undefined;
      if (contract === undefined) open.push(`${one.node} has no contract`);
      for (const side of ["input", "output"] as const) {
        const schema = contract?.[side];
        const read = schema === undefined ? undefined : readWith(schema, one[side]);
        if (read?.success === false) findings.push({ rule: `${one.node} ${side}`, what: read.reason });
      }
    }
    return foundOr(findings, open);
  });

/**
 * Transaction coherence: the state is that of its transactions. Each is in it once (a list that was merged and not
 * set has more entries than there are transactions), nothing is in it that never was, and its totals are their sums.
 */
export const transactionCoherence = <T extends z.ZodType>({
  state,
  ...config
}: Common<T> & {
  state: (seen: CheckedMaterial<T>) => {
    readonly transactions: readonly string[];
    readonly listed: readonly string[];
    readonly totals?: readonly {
      readonly name: string;
      readonly total: number;
      readonly of: readonly number[];
    }[];
  };
}): Validator =>
  builtin<T>("transaction_coherence", config, (seen) => {
    const { transactions, listed, totals = [] } = state(seen);
    const known = new Set(transactions);
    const count = (name: string) => listed.filter((one) => one === name).length;
    return found([
      ...[...new Set(listed)]
        .filter((name) => !known.has(name))
        .map((name) => ({ rule: "known", what: `${name} is no transaction of it` })),
      ...[...known]
        .filter((name) => count(name) !== 1)
        .map((name) => ({
          rule: "once",
          what: `${name} is listed ${count(name)} times`,
          by: Math.abs(count(name) - 1),
        })),
      ...totals.flatMap(({ name, total, of }) => {
        const sum = of.reduce((all, one) => all + one, 0);
        return Math.abs(sum - total) < 1e-9
          ? []
          : [{ rule: name, what: `it says ${total} where the sum is ${sum}`, by: Math.abs(sum - total) }];
      }),
    ]);
  });
