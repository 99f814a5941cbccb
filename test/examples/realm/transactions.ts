/**
 * What a trace of a run must show, whatever ran it: a plan that can run at all, nothing run whose prerequisites had
 * not succeeded, and at the end each effect either standing by right or compensated once, dependents first.
 *
 * Kept apart from the runtime's own compensation on purpose, as the judge of it.
 */
import { z } from "zod";
import traces from "./data/traces.json" with { type: "json" };
import travel from "./data/travel.json" with { type: "json" };
import type { Finding } from "./predicate.ts";

const Edge = z.tuple([z.string(), z.string()]);
export type Edge = z.infer<typeof Edge>;
const Ran = z.strictObject({ succeeded: z.array(z.string()), failed: z.array(z.string()) });
/** `abort`: nothing is to stand. `invalidated`: what depends on these is to go. `open`: the run goes on. */
const End = z.union([z.literal(["abort", "open"]), z.strictObject({ invalidated: z.array(z.string()) })]);

export interface Trace {
  readonly nodes: readonly string[];
  readonly edges: readonly Edge[];
  readonly ran: z.infer<typeof Ran>;
  readonly end: z.infer<typeof End>;
  /** In the order in which they were made. */
  readonly compensated: readonly string[];
}

const Stored = z.strictObject({
  id: z.string(),
  nodes: z.array(z.string()),
  plans: z.array(z.array(Edge)),
  ran: Ran,
  compensated: z.array(z.string()),
});
/** Traces of another framework on these problems, as it recorded them. */
export const storedTraces = z.array(Stored).parse(traces);

const Travel = z.strictObject({
  transactions: z.array(z.string()),
  edges: z.array(Edge),
  expected: z.array(
    z.strictObject({ event: z.string(), ran: Ran, end: End, compensated: z.array(z.string()) }),
  ),
});
/** The journey of application (a): six events and what is to be compensated for each. */
export const travelJourney = Travel.parse(travel);

/** The nodes and everything that depends on them, however far. */
export function dependentsOf(edges: readonly Edge[], nodes: readonly string[]): Set<string> {
  const reached = new Set(nodes);
  for (let before = -1; before !== reached.size;) {
    before = reached.size;
    for (const [from, to] of edges) if (reached.has(from)) reached.add(to);
  }
  return reached;
}

/** What must be compensated, in no order. */
export function affectedBy({ edges, ran, end }: Trace): Set<string> {
  if (end === "open") return new Set();
  const touched = end === "abort" ? ran.succeeded : dependentsOf(edges, end.invalidated);
  return new Set(ran.succeeded.filter((node) => end === "abort" || new Set(touched).has(node)));
}

/** A plan that could be run: known nodes, at least one root, no cycle. */
export function structureFaults(nodes: readonly string[], edges: readonly Edge[]): Finding[] {
  const constraint = "STRUCTURE";
  const dangling = edges.filter(([from, to]) => !nodes.includes(from) || !nodes.includes(to));
  const roots = nodes.filter((node) => !edges.some(([, to]) => to === node));
  const cyclic = nodes.filter((node) =>
    dependentsOf(
      edges,
      edges.flatMap(([from, to]) => (from === node ? [to] : [])),
    ).has(node),
  );
  return [
    ...dangling.map((edge) => ({
      constraint,
      subject: edge.join("-"),
      required: "known nodes",
      found: `${edge.find((node) => !nodes.includes(node)) ?? ""} is not registered`,
    })),
    ...(roots.length > 0 || nodes.length === 0
      ? []
      : [{ constraint, subject: "plan", required: "a root", found: "none" }]),
    ...(cyclic.length === 0
      ? []
      : [
          {
            constraint,
            subject: cyclic.join(", "),
            required: "no cycle",
            found: `${cyclic.length} nodes in one`,
          },
        ]),
  ];
}

/** What is to be said of several nodes without an edge: whether one waits for another cannot be judged. */
export const unordered = (nodes: readonly string[]): string =>
  `${nodes.length} nodes and no edge: nothing says which waits for which`;

/** What ran although something it needs had not succeeded. */
export const dependencyFaults = ({ edges, ran }: Trace): Finding[] =>
  [...ran.succeeded, ...ran.failed].flatMap((node) => {
    const missing = edges.flatMap(([from, to]) =>
      to === node && !ran.succeeded.includes(from) ? [from] : [],
    );
    if (missing.length === 0) return [];
    const constraint = "DEPENDENCY";
    return [{ constraint, subject: node, required: missing.join(", "), found: "ran without" }];
  });

/** Each effect happened once; each affected one is compensated once and after its dependents, and nothing else. */
export function boundaryFaults(trace: Trace): Finding[] {
  const constraint = "BOUNDARY";
  const affected = affectedBy(trace);
  const { compensated, edges, ran } = trace;
  const twice = [...Map.groupBy(ran.succeeded, (node) => node)].flatMap(([subject, times]) =>
    times.length === 1
      ? []
      : [{ constraint, subject, required: "once", found: `happened ${times.length} times` }],
  );
  const counts = [...new Set([...affected, ...compensated])].flatMap((subject) => {
    const required = affected.has(subject) ? 1 : 0;
    const found = compensated.filter((node) => node === subject).length;
    return found === required ? [] : [{ constraint, subject, required, found }];
  });
  const order = edges.flatMap(([from, to]) => {
    const [one, other] = [compensated.indexOf(from), compensated.indexOf(to)];
    if (one < 0 || other < 0 || other < one) return [];
    return [{ constraint, subject: from, required: `after ${to}`, found: "before it" }];
  });
  return [...twice, ...counts, ...order];
}
