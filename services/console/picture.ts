/**
 * Picture: the graph that a saga wrote, with the place of each box, for a page to draw. The library that lays it out is
 * loaded with the first picture.
 */
import type { Turn } from "../../protocol/turn.ts";
import { legible } from "../views/graph/collapse.ts";
import { type Graph, graphOf } from "../views/graph/graph.ts";
import type { ViewOptions } from "../views/view.ts";
import { inPieces } from "../wire/loop.ts";
import type { LoopPort } from "../wire/ports.ts";
import type { GraphPicture } from "./documents.ts";

/** Beyond this the layout takes seconds, and nobody reads it: the latest are drawn. */
const nodesMax = 300;

/** The picture of these turns. Throws LEDGER_BROKEN unless they begin with a start. */
export async function pictureOf(
  turns: readonly Turn[],
  viewing: ViewOptions,
  loop: LoopPort | undefined,
): Promise<GraphPicture> {
  const { graph, leftOut } = latest(legible(await inPieces(loop, graphOf(turns, viewing))));
  const { linesOf, placed } = await import("../views/graph/svg.ts");
  const { width, height, boxes, lines } = placed(graph);
  const nodes = graph.nodes.flatMap((node, k) => {
    const box = boxes[k];
    if (box === undefined) return [];
    const { x, y, width, height } = box;
    return [{ ...node, x, y, width, height, lines: linesOf(node) }];
  });
  const edges = graph.edges.flatMap((edge, k) => {
    const line = lines[k];
    return line === undefined ? [] : [{ ...edge, points: line.points, x: line.x, y: line.y }];
  });
  return { width, height, nodes, edges, leftOut };
}

function latest(graph: Graph): { readonly graph: Graph; readonly leftOut: number } {
  const leftOut = Math.max(0, graph.nodes.length - nodesMax);
  if (leftOut === 0) return { graph, leftOut };
  const nodes = graph.nodes.slice(leftOut);
  const shown = new Set(nodes.map(({ id }) => id));
  const edges = graph.edges.filter(({ from, to }) => shown.has(from) && shown.has(to));
  return { graph: { ...graph, nodes, edges }, leftOut };
}
