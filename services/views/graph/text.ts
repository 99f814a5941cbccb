/**
 * Graph as text: a block per node in the ledger's order, a line per edge that leads to it.
 */
import type { GraphEdge, GraphNode } from "../../../protocol/documents/graph.ts";
import { maxOf } from "../../../protocol/extremes.ts";
import type { Graph } from "./graph.ts";

/** Kinds that a reader knows by the label alone. */
const plainKinds: ReadonlySet<string> = new Set(["decision", "repeat", "end", "timer", "pause"]);

/** A node in a few words. */
export const nodeWords = ({ kind, label }: GraphNode): string =>
  plainKinds.has(kind) ? label : `${kind} ${label}`;

/** How it stands, where that is news. */
export function statusWords({ kind, status, attempts, times }: GraphNode): string {
  const tries = attempts > 1 ? ` after ${attempts} attempts` : "";
  if (kind === "repeat") return `${times ?? 0} times`;
  if (kind === "end" || status === "taken") return "";
  return `${status.replace("_", " ")}${tries}`;
}

export function textOf(graph: Graph): string {
  const named = new Map(graph.nodes.map((node) => [node.id, node]));
  const incoming = Map.groupBy(graph.edges, ({ to }) => to);
  const width = maxOf(graph.nodes.map(({ id }) => id.length));
  return graph.nodes
    .flatMap((node) => [
      `${node.id.padEnd(width)}  ${nodeLine(node)}`,
      ...edgeLines(incoming.get(node.id) ?? [], graph.edges, named).map(
        (line) => `${" ".repeat(width)}    ${line}`,
      ),
    ])
    .join("\n");
}

function nodeLine(node: GraphNode): string {
  const through = node.through === undefined ? `turn ${node.turn}` : `turns ${node.turn} to ${node.through}`;
  const parts = [nodeWords(node), oneLine(node.detail), statusWords(node), through];
  return parts.filter((part) => part !== "").join("  ");
}

function edgeLines(
  edges: readonly GraphEdge[],
  all: readonly GraphEdge[],
  named: ReadonlyMap<string, GraphNode>,
): string[] {
  return edges.map((edge) => {
    const from = named.get(edge.from);
    const name = from === undefined || from.id === from.kind ? "" : ` ${nodeWords(from)}`;
    return `${edge.reason} ${edge.from}${name}${besides(edge, all)}`;
  });
}

/** What was proposed in the same breath. */
function besides({ batch, to, reason }: GraphEdge, all: readonly GraphEdge[]): string {
  if (batch === undefined) return "";
  const others = all.filter((edge) => edge.batch === batch && edge.to !== to && edge.reason === reason);
  return others.length === 0 ? "" : `, beside ${others.map((edge) => edge.to).join(", ")}`;
}

/** What came from outside may hold anything: nothing of it moves a terminal's cursor. */
export const oneLine = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
