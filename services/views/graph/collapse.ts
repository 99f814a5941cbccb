/**
 * Graph, laid together: rounds that repeat become one node, so that a saga of hundreds of turns stays legible.
 *
 * A round begins with a decision; in a machine that asks no model, with each turn. Rounds are alike if their nodes and
 * edges are, but for arguments and times. Of a run of like rounds the first and the last stay, those between become
 * one node that says how many they are. What stands out, a failure, an undoing, another tool, is never laid away.
 */
import type { GraphEdge, GraphNode } from "../../../protocol/documents/graph.ts";
import type { Graph } from "./graph.ts";

/** Above this a picture is read better with its repeats laid together. */
export const nodesLegible = 60;
/** A run is of rounds that repeat one by one, or in turns of up to so many. */
const periodMax = 3;
/** Fewer say more when they are shown. */
const timesMin = 4;

/** The graph as it is drawn: as it is, if it is small. */
export const legible = (graph: Graph): Graph =>
  graph.nodes.length <= nodesLegible ? graph : collapsed(graph);

export function collapsed(graph: Graph): Graph {
  const rounds = roundsOf(graph);
  const shapes = shapesOf(graph, rounds);
  const renamed = new Map<string, string>();
  const nodes: GraphNode[] = [];
  for (let k = 0; k < rounds.length;) {
    const run = runAt(shapes, k);
    const middle = run === undefined ? [] : rounds.slice(k + run.period, k + run.period * (run.times - 1));
    if (run === undefined || middle.length === 0) {
      for (const node of rounds[k++] ?? []) nodes.push(node);
      continue;
    }
    const first = rounds.slice(k, k + run.period).flat();
    const repeat = repeatOf(middle.flat(), first, run.times - 2);
    for (const { id } of middle.flat()) renamed.set(id, repeat.id);
    const last = rounds.slice(k + run.period * (run.times - 1), k + run.period * run.times);
    for (const node of [...first, repeat, ...last.flat()]) nodes.push(node);
    k += run.period * run.times;
  }
  return { ...graph, nodes, edges: edgesBetween(graph.edges, renamed) };
}

function roundsOf({ nodes }: Graph): GraphNode[][] {
  const hasDecisions = nodes.some(({ kind }) => kind === "decision");
  const rounds: GraphNode[][] = [];
  let turn = 0;
  for (const node of nodes) {
    const begins = hasDecisions ? node.kind === "decision" || node.kind === "end" : node.turn !== turn;
    turn = node.turn;
    const current = rounds.at(-1);
    if (begins || current === undefined) rounds.push([node]);
    else current.push(node);
  }
  return rounds;
}

/** What makes rounds alike: their nodes, and their edges with the other end by its distance in rounds. */
function shapesOf({ edges }: Graph, rounds: readonly (readonly GraphNode[])[]): string[] {
  const places = new Map(rounds.flatMap((round, k) => round.map(({ id }, n) => [id, { k, n }] as const)));
  const lines: string[][] = rounds.map((round) =>
    round.map(({ kind, label, status, attempts }) => {
      const name = kind === "decision" ? kind : `${kind} ${label}`;
      return `${name} ${status} ${attempts}`;
    }),
  );
  for (const { from, to, reason } of edges) {
    const a = places.get(from);
    const b = places.get(to);
    if (a === undefined || b === undefined) continue;
    // The first and the last of a run differ from the others in what lies before and after it, so a round is told
    // apart by where its edges come from, and only far ones by where they go.
    lines[b.k]?.push(`${reason} ${a.n} ${a.k - b.k} ${b.n}`);
    if (b.k - a.k > periodMax) lines[a.k]?.push(`far ${reason} ${a.n} ${b.k - a.k}`);
  }
  return lines.map((own) => own.join("\n"));
}

function runAt(shapes: readonly string[], from: number): { period: number; times: number } | undefined {
  for (let period = 1; period <= periodMax; period++) {
    let end = from + period;
    while (end < shapes.length && shapes[end] === shapes[end - period]) end++;
    const times = Math.floor((end - from) / period);
    if (times >= timesMin) return { period, times };
  }
  return undefined;
}

function repeatOf(middle: readonly GraphNode[], pattern: readonly GraphNode[], times: number): GraphNode {
  const [first] = middle;
  const last = middle.at(-1);
  const names = pattern.map(({ kind, label }) => (kind === "decision" ? "decision" : label));
  return {
    id: `repeat-${first?.id ?? ""}`,
    kind: "repeat",
    label: `${times} more times`,
    detail: names.join(", "),
    turn: first?.turn ?? 0,
    at: first?.at ?? 0,
    status: first?.status ?? "taken",
    attempts: 1,
    times,
    through: last?.turn ?? 0,
  };
}

function edgesBetween(edges: readonly GraphEdge[], renamed: ReadonlyMap<string, string>): GraphEdge[] {
  const seen = new Set<string>();
  return edges.flatMap((edge) => {
    const from = renamed.get(edge.from) ?? edge.from;
    const to = renamed.get(edge.to) ?? edge.to;
    const isInside = from === to;
    const isChanged = from !== edge.from || to !== edge.to;
    const key = `${from} ${to} ${edge.reason}`;
    if (isInside || (isChanged && seen.has(key))) return [];
    seen.add(key);
    return [isChanged ? { from, to, reason: edge.reason } : edge];
  });
}
