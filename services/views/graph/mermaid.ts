/**
 * Graph as Mermaid: text that renderers of Markdown draw.
 *
 * GM1 What comes from a model or from outside stands in quoted labels, every character that Mermaid or HTML could read
 *     written as its code. Names of nodes are numbers of our own. So nothing hostile breaks the diagram or adds to it.
 */
import type { GraphNode, GraphNodeKind } from "../../../protocol/documents/graph.ts";
import type { Graph } from "./graph.ts";
import { nodeWords, oneLine, statusWords } from "./text.ts";

/** Brackets around a label are Mermaid's shapes. */
const shapes: Readonly<Partial<Record<GraphNodeKind, readonly [string, string]>>> = {
  start: ["([", "])"],
  end: ["([", "])"],
  decision: ["{{", "}}"],
  model: ["{{", "}}"],
  fork: ["{{", "}}"],
  signal: [">", "]"],
  sent: [">", "]"],
  task: ["[/", "/]"],
  child: ["[[", "]]"],
  timer: ["(", ")"],
  repeat: ["[(", ")]"],
};

const dashed: ReadonlySet<string> = new Set(["undoes", "supersedes", "serves", "told of"]);

export function mermaidOf(graph: Graph): string {
  const names = new Map(graph.nodes.map(({ id }, k) => [id, `n${k}`]));
  const used = [...new Set(graph.nodes.map(({ status }) => status))].sort();
  return [
    "flowchart TD",
    ...graph.nodes.map((node) => `  ${names.get(node.id) ?? ""}${shaped(node)}:::${node.status}`),
    ...graph.edges.map(
      ({ from, to, reason }) =>
        `  ${names.get(from) ?? ""} ${dashed.has(reason) ? "-.->" : "-->"}|"${reason}"| ${names.get(to) ?? ""}`,
    ),
    ...used.map((status) => `  classDef ${status} ${styles[status]}`),
    "",
  ].join("\n");
}

function shaped(node: GraphNode): string {
  const [open, close] = shapes[node.kind] ?? ["[", "]"];
  const name = node.intent === undefined ? "" : `${node.intent} `;
  const lines = [`${name}${nodeWords(node)}`, node.detail, statusWords(node)].filter((line) => line !== "");
  return `${open}"${lines.map(escaped).join("<br/>")}"${close}`;
}

/** GM1. `#` and `;` are Mermaid's own escapes, a backtick begins its Markdown. */
export const escaped = (text: string): string =>
  oneLine(text).replaceAll(/[^\p{L}\p{N} .,:_@…-]/gu, (sign) => `#${sign.codePointAt(0) ?? 0};`);

const styles = {
  succeeded: "fill:#e6f4ea,stroke:#2e7d32",
  taken: "fill:#eef2f7,stroke:#52606d",
  open: "fill:#fff8e1,stroke:#b7791f",
  failed: "fill:#fdecea,stroke:#b3261e",
  denied: "fill:#fdecea,stroke:#b3261e",
  in_doubt: "fill:#fff3e0,stroke:#d9480f",
  cancelled: "fill:#f1f3f5,stroke:#868e96",
  superseded: "fill:#f1f3f5,stroke:#868e96",
  undone: "fill:#f3e8fd,stroke:#7b1fa2",
} as const;
