/** What `inspect --graph` prints and writes. */
import { writeFileSync } from "node:fs";
import { describeError, MeshError } from "../../../protocol/errors.ts";
import type { Graph } from "../../views/graph/graph.ts";
import { legible } from "../../views/graph/collapse.ts";
import { mermaidOf } from "../../views/graph/mermaid.ts";
import { textOf } from "../../views/graph/text.ts";
import type { Output } from "../frame/output.ts";

/** Writes the files named, else prints the graph; with --json the whole graph in any case. Throws USAGE. */
export async function printGraph(
  output: Output,
  graph: Graph,
  { mermaid, svg }: { mermaid: string | undefined; svg: string | undefined },
): Promise<number> {
  const drawn = legible(graph);
  if (mermaid !== undefined) write(mermaid, mermaidOf(drawn));
  if (svg !== undefined) {
    const { svgOf } = await import("../../views/graph/svg.ts"); // With it comes the library that lays graphs out.
    write(svg, svgOf(drawn));
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

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new MeshError("USAGE", `${file} cannot be written: ${describeError(error)}`);
  }
}
