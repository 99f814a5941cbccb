/** What `inspect --graph` prints and writes. */
import type { Graph } from "../../views/graph/graph.ts";
import { legible } from "../../views/graph/collapse.ts";
import { mermaidOf } from "../../views/graph/mermaid.ts";
import { textOf } from "../../views/graph/text.ts";
import { writeTextFile } from "../frame/file.ts";
import type { Output } from "../frame/output.ts";

/** Writes the files named, else prints the graph; with --json the whole graph in any case. Throws USAGE. */
export async function printGraph(
  output: Output,
  graph: Graph,
  { mermaid, svg }: { mermaid: string | undefined; svg: string | undefined },
): Promise<number> {
  const drawn = legible(graph);
  if (mermaid !== undefined) writeTextFile(mermaid, mermaidOf(drawn));
  if (svg !== undefined) {
    const { svgOf } = await import("../../views/graph/svg.ts"); // With it comes the library that lays graphs out.
    writeTextFile(svg, svgOf(drawn));
  }
  const files = [mermaid, svg].filter((file) => file !== undefined);
  const hidden = graph.nodes.length - drawn.nodes.filter(({ kind }) => kind !== "repeat").length;
  const together = hidden === 0 ? [] : [`${hidden} nodes that repeat are laid together; --json has them all`];
  output.print(graph, () =>
    [...(files.length === 0 ? [textOf(drawn)] : files.map((file) => `${file} is written`)), ...together].join(
      "\n",
    ),
  );
  return 0;
}
