/**
 * Graph layout: where boxes and the lines between them lie, in layers from top to bottom.
 *
 * The library is loaded with this file, so only who draws pays for it.
 */
import * as dagre from "@dagrejs/dagre";

export interface Box {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}

/** A line between two boxes, with room for its words. */
export interface Line {
  readonly from: string;
  readonly to: string;
  readonly width: number;
  readonly height: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  /** The middle of each box, in the order given. */
  readonly boxes: readonly (Box & Point)[];
  /** Each line's bends and the middle of its words, in the order given. */
  readonly lines: readonly (Line & Point & { readonly points: readonly Point[] })[];
}

/** What is used of the library, whose own types are not written for Node's resolution of modules. */
interface Library {
  readonly Graph: new (options: { readonly multigraph: true }) => Drawing;
  readonly layout: (drawing: Drawing) => void;
}
interface Drawing {
  setGraph(label: object): void;
  graph(): { readonly width?: number; readonly height?: number };
  setNode(id: string, label: object): void;
  node(id: string): Point;
  setEdge(from: string, to: string, label: object, name: string): void;
  edge(from: string, to: string, name: string): Partial<Point> & { readonly points?: readonly Point[] };
}

/** The same boxes and lines in the same order lie in the same places. */
export function layoutOf(boxes: readonly Box[], lines: readonly Line[]): Layout {
  const { Graph, layout } = dagre as unknown as Library; // As its documentation says; the pictures' tests run it.
  const drawing = new Graph({ multigraph: true });
  drawing.setGraph({ rankdir: "TB", nodesep: 28, ranksep: 44, edgesep: 16 });
  for (const { id, width, height } of boxes) drawing.setNode(id, { width, height });
  for (const [k, { from, to, width, height }] of lines.entries())
    drawing.setEdge(from, to, { width, height, labelpos: "c" }, String(k));
  layout(drawing);
  const { width = 0, height = 0 } = drawing.graph();
  return {
    width,
    height,
    boxes: boxes.map((box) => {
      const { x, y } = drawing.node(box.id);
      return { ...box, x, y };
    }),
    lines: lines.map((line, k) => {
      const { x = 0, y = 0, points = [] } = drawing.edge(line.from, line.to, String(k));
      return { ...line, x, y, points };
    }),
  };
}
