/**
 * Picture: the graph that a saga wrote, with the place of each box, for a page to draw. The library that lays it out is
 * loaded with the first picture.
 *
 * HB1 A child is read only where it was asked for, and drawn in the box of its parent's graph as it was at that same moment.
 * HB2 What is drawn together is bounded, whatever is asked for: what finds no room says so in its box.
 */
import { isMeshError } from "../../protocol/errors.ts";
import type { GraphNode } from "../../protocol/documents/graph.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";
import { legible } from "../views/graph/collapse.ts";
import { type Graph, graphOf } from "../views/graph/graph.ts";
import { inPieces } from "../wire/loop.ts";
import type { LoopPort } from "../wire/ports.ts";
import type { GraphPicture } from "./documents.ts";
import type { SagaTeller } from "./saga.ts";

/** Beyond this the layout takes seconds, and nobody reads it: the latest are drawn. */
const nodesMax = 300;
/** Of a child, which is drawn in a box of another. */
const insideMax = 60;
/** So many children are drawn in one picture (HB2). */
const openMax = 12;
/** Between a child's box and the graph in it. */
const padding = 16;

/** What is drawn. */
export interface PictureAsked {
  readonly saga: SagaId;
  /** As it was after this turn. */
  readonly turn?: number | undefined;
  /** Of these children what is in them, and in those below them. */
  readonly open: ReadonlySet<string>;
}

/** Of a child that was opened: its picture, or why there is none. */
type Inside = { readonly inside: GraphPicture } | { readonly closed: string };

/** The picture. Throws as the teller does. */
export async function pictureOf(
  teller: Pick<SagaTeller, "turns">,
  { saga, turn, open }: PictureAsked,
  loop: LoopPort | undefined,
): Promise<GraphPicture> {
  let left = openMax;
  const first = await teller.turns(saga, turn);
  const until = turn === undefined ? Number.POSITIVE_INFINITY : (first.turns.at(-1)?.at ?? 0);

  const insideOf = async (child: SagaId, above: readonly string[]): Promise<Inside> => {
    if (above.includes(child)) return { closed: "it is drawn around this" }; // Only of a ledger that somebody forged.
    if (left === 0) return { closed: `${openMax} children are open: close one` };
    left -= 1;
    try {
      const { turns } = await teller.turns(child);
      const later = turns.findIndex(({ at }) => at > until);
      const known = later === -1 ? turns : turns.slice(0, later);
      return known.length === 0
        ? { closed: "it had not begun then" }
        : { inside: await draw(child, known, above) };
    } catch (error) {
      if (!isMeshError(error)) throw error;
      return { closed: error.message };
    }
  };
  const draw = async (
    of: SagaId,
    turns: readonly Turn[],
    above: readonly string[],
  ): Promise<GraphPicture> => {
    const max = above.length === 0 ? nodesMax : insideMax;
    const drawn = await inPieces(loop, graphOf(turns, first.viewing));
    const { graph, leftOut } = latest(legible(drawn), max);
    const insides = new Map<string, Inside>();
    for (const { id, kind, saga: child } of graph.nodes)
      if (kind === "child" && child !== undefined && open.has(child))
        insides.set(id, await insideOf(child, [...above, of]));
    return laidOut(of, graph, leftOut, insides);
  };
  return draw(saga, first.turns, []);
}

async function laidOut(
  saga: SagaId,
  graph: Graph,
  leftOut: number,
  insides: ReadonlyMap<string, Inside>,
): Promise<GraphPicture> {
  const [{ boxFor, boxLine, lineFor, linesOf }, { layoutOf }] = await Promise.all([
    import("../views/graph/svg.ts"),
    import("../views/graph/layout.ts"),
  ]);
  const linesOfAll = graph.nodes.map((node) => {
    const inside = insides.get(node.id);
    return [
      ...linesOf(node),
      ...(inside !== undefined && "closed" in inside ? [boxLine(inside.closed)] : []),
    ];
  });
  const boxOf = (node: GraphNode, lines: readonly string[]) => {
    const box = boxFor(node.id, lines);
    const inside = pictureIn(insides.get(node.id));
    if (inside === undefined) return box;
    const width = Math.max(box.width, inside.width + 2 * padding);
    return { ...box, width, height: box.height + inside.height + padding };
  };
  const { width, height, boxes, lines } = layoutOf(
    graph.nodes.map((node, k) => boxOf(node, linesOfAll[k] ?? [])),
    graph.edges.map(({ from, to, reason }) => lineFor(from, to, reason)),
  );
  const nodes = graph.nodes.flatMap((node, k) => {
    const box = boxes[k];
    if (box === undefined) return [];
    const { x, y, width, height } = box;
    return [{ ...node, ...insides.get(node.id), x, y, width, height, lines: linesOfAll[k] ?? [] }];
  });
  const edges = graph.edges.flatMap((edge, k) => {
    const line = lines[k];
    return line === undefined ? [] : [{ ...edge, points: line.points, x: line.x, y: line.y }];
  });
  return { saga, width, height, nodes, edges, leftOut };
}

const pictureIn = (inside: Inside | undefined): GraphPicture | undefined =>
  inside !== undefined && "inside" in inside ? inside.inside : undefined;

function latest(graph: Graph, max: number): { readonly graph: Graph; readonly leftOut: number } {
  const leftOut = Math.max(0, graph.nodes.length - max);
  if (leftOut === 0) return { graph, leftOut };
  const nodes = graph.nodes.slice(leftOut);
  const shown = new Set(nodes.map(({ id }) => id));
  const edges = graph.edges.filter(({ from, to }) => shown.has(from) && shown.has(to));
  return { graph: { ...graph, nodes, edges }, leftOut };
}
