/**
 * Graph as SVG: a picture that stands by itself, without a script, a font or a link from elsewhere.
 *
 * GV1 Every text is escaped for XML, and characters that XML forbids are left out.
 * GV2 The same graph gives the same bytes: the layout is a function of nodes and edges in their order.
 *
 * Import this file when something is drawn, and not before: it brings the library that lays graphs out.
 */
import type { GraphEdge, GraphNode, GraphStatus } from "../../../protocol/documents/graph.ts";
import { maxOf } from "../../../protocol/extremes.ts";
import { shortened } from "../../../protocol/shortened.ts";
import type { Graph } from "./graph.ts";
import { type Box, type Layout, layoutOf, type Line, type Point } from "./layout.ts";
import { nodeWords, oneLine, statusWords } from "./text.ts";

const margin = 24;
const lineHeight = 16;
/** Of the monospaced face at 12 px, and a little more: no text leaves its box. */
const characterWidth = 7.4;
const reasonWidth = 6.2;
const lineMax = 44;

/** The picture of a graph. Draw one that `legible` has made: a long saga's is metres high otherwise. */
export function svgOf(graph: Graph): string {
  const { width, height, boxes, lines } = placed(graph);
  const [w, h] = [Math.ceil(width + 2 * margin), Math.ceil(height + 2 * margin)];
  const edges = graph.edges.map((edge, k) => drawEdge(edge, lines[k]));
  const nodes = graph.nodes.map((node, k) => drawNode(node, boxes[k]));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="${-margin} ${-margin} ${w} ${h}" role="img">`,
    `<title>${escaped(`${graph.saga}, ${graph.turns} turns`)}</title>`,
    `<style>${style}</style>`,
    `<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#52606d"/></marker></defs>`,
    `<rect x="${-margin}" y="${-margin}" width="${w}" height="${h}" fill="#ffffff"/>`,
    ...edges,
    ...nodes,
    "</svg>",
    "",
  ].join("\n");
}

/** Where the boxes and lines of a graph lie, in its order. */
const placed = (graph: Graph): Layout =>
  layoutOf(
    graph.nodes.map((node) => boxFor(node.id, linesOf(node))),
    graph.edges.map(({ from, to, reason }) => lineFor(from, to, reason)),
  );

/** A box with room for its lines. */
export const boxFor = (id: string, lines: readonly string[]): Box => ({
  id,
  width: Math.ceil(maxOf(lines.map(({ length }) => length)) * characterWidth) + 24,
  height: lines.length * lineHeight + 16,
});

/** A line between two boxes, with room for its words. */
export const lineFor = (from: string, to: string, words: string): Line => ({
  ...{ from, to, height: 14 },
  width: Math.ceil(words.length * reasonWidth),
});

/** A line of a box: cut where it grows long. */
export const boxLine = (text: string): string => shortened(oneLine(text), lineMax);

/** What stands in a node's box. */
export function linesOf(node: GraphNode): string[] {
  const name = node.intent === undefined ? "" : `${node.intent} `;
  const status = [
    statusWords(node),
    node.through === undefined ? "" : `turns ${node.turn} to ${node.through}`,
  ];
  return [`${name}${nodeWords(node)}`, node.detail, status.filter((part) => part !== "").join(", ")]
    .filter((line) => line !== "")
    .map(boxLine);
}

const round = new Set<string>(["start", "end", "signal", "sent", "timer"]);

function drawNode(node: GraphNode, box: (Box & Point) | undefined): string {
  if (box === undefined) return "";
  const { x, y, width, height } = box;
  const [left, top] = [x - width / 2, y - height / 2];
  const [fill, stroke] = colours[node.status];
  const radius = round.has(node.kind) ? height / 2 : 6;
  const dash = node.kind === "repeat" ? ' stroke-dasharray="4 3"' : "";
  const lines = linesOf(node).map(
    (line, k) =>
      `<text class="${k === 0 ? "name" : "more"}" x="${number(x)}" y="${number(top + 20 + k * lineHeight)}">${escaped(line)}</text>`,
  );
  return [
    `<g><title>${escaped(`${nodeWords(node)} ${node.detail}, turn ${node.turn}, ${new Date(node.at).toISOString()}`)}</title>`,
    `<rect x="${number(left)}" y="${number(top)}" width="${number(width)}" height="${number(height)}" rx="${number(radius)}" fill="${fill}" stroke="${stroke}"${dash}/>`,
    ...lines,
    "</g>",
  ].join("");
}

const dashed: ReadonlySet<string> = new Set(["undoes", "supersedes", "serves", "told of", "reads"]);

function drawEdge({ reason }: GraphEdge, line: Layout["lines"][number] | undefined): string {
  const [first, ...rest] = line?.points ?? [];
  if (first === undefined || line === undefined) return "";
  const path = [`M${pair(first)}`, ...rest.map((point) => `L${pair(point)}`)].join("");
  const dash = dashed.has(reason) ? ' stroke-dasharray="5 4"' : "";
  return [
    `<path class="edge" d="${path}"${dash} marker-end="url(#tip)"/>`,
    `<text class="why" x="${number(line.x)}" y="${number(line.y + 3)}">${escaped(reason)}</text>`,
  ].join("");
}

const number = (value: number): string => String(Math.round(value * 10) / 10);
const pair = ({ x, y }: Point): string => `${number(x)} ${number(y)}`;

/** GV1. */
const escaped = (text: string): string =>
  oneLine(text)
    .replaceAll(
      /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\ufffe\uffff]/g,
      "\ufffd",
    )
    .replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

const style = [
  "text{font-family:ui-monospace,Menlo,Consolas,monospace;text-anchor:middle;fill:#1f2933}",
  ".name{font-size:12px;font-weight:600}",
  ".more{font-size:11px;fill:#3e4c59}",
  ".why{font-size:10px;fill:#52606d;paint-order:stroke;stroke:#ffffff;stroke-width:3px}",
  ".edge{fill:none;stroke:#7b8794;stroke-width:1.2}",
].join("");

const colours: Readonly<Record<GraphStatus, readonly [fill: string, stroke: string]>> = {
  succeeded: ["#e6f4ea", "#2e7d32"],
  taken: ["#eef2f7", "#52606d"],
  open: ["#fff8e1", "#b7791f"],
  failed: ["#fdecea", "#b3261e"],
  denied: ["#fdecea", "#b3261e"],
  in_doubt: ["#fff3e0", "#d9480f"],
  cancelled: ["#f1f3f5", "#868e96"],
  superseded: ["#f1f3f5", "#868e96"],
  undone: ["#f3e8fd", "#7b1fa2"],
};
