/**
 * Workflow graph: the nodes of a workflow, what each rests on, and what falls with one of them.
 *
 * WG1 A graph has no cycle, a root, and no edge to nowhere; what is wrong with it is told all at once.
 * WG2 What falls with a node is the smallest set: those that committed or run and whose condition no longer holds
 *     without it, or whose input was made of it. A condition that still holds by another branch keeps its node, if it read
 *     nothing of the one that falls.
 */
import type { Json } from "../../protocol/json.ts";
import type { Condition, Edge } from "../../protocol/workflow.ts";
import { conditionFaults, judged, namedIn, type Predicates, type Truth } from "../values/condition.ts";
import { referencesIn } from "../values/reference.ts";
import type { Graph, GraphNode } from "./spec.ts";

/** A node's condition: its edges by its `join`, and its own `when`. */
export function startOf(
  node: {
    readonly name: string;
    readonly when?: Condition | undefined;
    readonly join?: "all" | "any" | undefined;
  },
  edges: readonly Edge[],
): Condition {
  const into = edges.filter(({ to }) => to === node.name).map(conditionOf);
  const joined: Condition[] = into.length === 0 ? [] : node.join === "any" ? [{ any: into }] : into;
  const all = node.when === undefined ? joined : [...joined, node.when];
  const [only] = all;
  return all.length === 1 && only !== undefined ? only : { all };
}

/** An edge rests on where it comes from, whatever its condition says besides. */
const conditionOf = ({ from, when }: Edge): Condition =>
  when === undefined ? { node: from } : namedIn(when).includes(from) ? when : { all: [{ node: from }, when] };

export function graphOf(nodes: readonly GraphNode[]): Graph {
  const restsOn = new Map(nodes.map(({ name, when }) => [name, namedIn(when)]));
  const named = new Set([...restsOn.values()].flat());
  return {
    nodes: new Map(nodes.map((node) => [node.name, node])),
    order: inOrder(restsOn),
    restsOn,
    sinks: nodes.map(({ name }) => name).filter((name) => !named.has(name)),
  };
}

function inOrder(restsOn: ReadonlyMap<string, readonly string[]>): string[] {
  const order: string[] = [];
  const placed = new Set<string>();
  let left = [...restsOn.keys()];
  while (left.length > 0) {
    const ready = left.filter((name) =>
      (restsOn.get(name) ?? []).every((other) => placed.has(other) || !restsOn.has(other)),
    );
    const next = ready.length === 0 ? left : ready;
    for (const name of next) placed.add(name);
    order.push(...next);
    left = left.filter((name) => !placed.has(name));
  }
  return order;
}

/** All that a node rests on, directly or not. */
export function groundOf({ restsOn }: Pick<Graph, "restsOn">, name: string): Set<string> {
  const ground = new Set<string>();
  const open = [...(restsOn.get(name) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (ground.has(next)) continue;
    ground.add(next);
    open.push(...(restsOn.get(next) ?? []));
  }
  return ground;
}

/** WG1. What is wrong with the shape of a graph. */
export function graphFaults(where: string, graph: Graph, predicates: Predicates): string[] {
  const { nodes, restsOn } = graph;
  const faults: string[] = [];
  if (nodes.size === 0) faults.push(`${where}: a workflow has at least one node`);
  for (const [name, others] of restsOn)
    for (const other of others)
      if (!nodes.has(other)) faults.push(`${where}: "${name}" rests on "${other}", which is no node of it`);
  const cyclic = [...nodes.keys()].filter((name) => groundOf(graph, name).has(name));
  if (cyclic.length > 0) faults.push(`${where}: these rest on themselves, in a cycle: ${cyclic.join(", ")}`);
  if (nodes.size > 0 && [...restsOn.values()].every((others) => others.length > 0))
    faults.push(`${where}: it has no root: every node waits for another`);
  const certainOf = certainIn(nodes);
  for (const node of nodes.values()) {
    faults.push(...conditionFaults(`${where}: node "${node.name}"`, node.when, predicates));
    if (node.planned?.input !== undefined)
      faults.push(...templateFaults(where, graph, node.name, node.planned.input, certainOf(node.name)));
  }
  return faults;
}

/** By a node's name, what has committed when it starts, whichever way its condition came to hold. */
export function certainIn(
  nodes: ReadonlyMap<string, { readonly when: Condition }>,
): (name: string) => ReadonlySet<string> {
  const known = new Map<string, ReadonlySet<string>>();
  const of = (condition: Condition): ReadonlySet<string> => {
    if ("all" in condition) return new Set(condition.all.flatMap((part) => [...of(part)]));
    if ("not" in condition) return new Set();
    if ("node" in condition) return new Set([condition.node, ...ofNode(condition.node)]);
    const [first = new Set<string>(), ...others] = condition.any.map(of);
    return new Set([...first].filter((one) => others.every((other) => other.has(one))));
  };
  const ofNode = (one: string): ReadonlySet<string> => {
    const before = known.get(one);
    if (before !== undefined) return before;
    known.set(one, new Set()); // In a cycle, which is a fault of its own.
    const certain = of(nodes.get(one)?.when ?? { all: [] });
    known.set(one, certain);
    return certain;
  };
  return ofNode;
}

/** Why what stands on one branch of several is no part of an input. */
export const needNotBe = "which need not have committed when it starts: another branch may have led to it";

/** A template may only speak of what is certain to be there: what must have committed before, and the workflow's input. */
function templateFaults(
  where: string,
  graph: Graph,
  name: string,
  template: Json,
  certain: ReadonlySet<string>,
): string[] {
  const ground = groundOf(graph, name);
  return referencesIn(template).flatMap((reference) => {
    if (reference === "bad")
      return [`${where}: the input of "${name}" holds a reference that cannot be read`];
    if (reference.of === "input" || (reference.of === "node" && certain.has(reference.name))) return [];
    const isUncertain = reference.of === "node" && ground.has(reference.name);
    const why = isUncertain ? needNotBe : "on which it does not rest";
    return [`${where}: the input of "${name}" refers to "${reference.of} ${reference.name}", ${why}`];
  });
}

/** How a node stands, as far as what falls is concerned. */
export interface Standing {
  /** It committed or runs. */
  readonly isUp: (name: string) => boolean;
  /** It stays, and what rests on it alone stays with it. */
  readonly stays: (name: string) => boolean;
  /** The nodes whose commits its input was made of. */
  readonly reads: (name: string) => readonly string[];
  /** All whose commits it rests on, by what its condition was satisfied by and what it read, directly or not. */
  readonly groundOf: (name: string) => ReadonlySet<string>;
  /** Whether what a condition says of a node that has committed holds. */
  readonly holds: (atom: Extract<Condition, { node: string }>) => boolean;
}

/** WG2. What falls with these nodes, each after all that it rests on; these among it where they stand. */
export function affectedBy(
  graph: Graph,
  gone: readonly string[],
  { isUp, stays, reads, groundOf: recorded, holds }: Standing,
): string[] {
  const up = graph.order.filter(isUp);
  const grounds = new Map(up.map((name) => [name, recorded(name)]));
  // What itself rests on a node is nothing that the node could stand on.
  const namedBy = (name: string): string[] =>
    (graph.restsOn.get(name) ?? []).filter((other) => grounds.get(other)?.has(name) !== true);
  // No edge says what was read, so that the graph's own order does not know of it.
  const order = inOrder(new Map(up.map((name) => [name, [...namedBy(name), ...reads(name)]])));
  const fallen = new Set(gone);
  const stillHolds = (name: string): boolean => {
    const named = new Set(namedBy(name));
    const truth = (atom: Extract<Condition, { node: string }>): Truth =>
      named.has(atom.node) && !fallen.has(atom.node) && holds(atom) ? "yes" : "no";
    const when = graph.nodes.get(name)?.when;
    return when === undefined || judged(when, truth) === "yes";
  };
  for (const name of order) {
    const hasRead = reads(name).some((other) => fallen.has(other));
    const rests = hasRead || (graph.restsOn.get(name) ?? []).some((other) => fallen.has(other));
    if (rests && !stays(name) && (hasRead || !stillHolds(name))) fallen.add(name);
  }
  return order.filter((name) => fallen.has(name));
}
