/** Rules of what a node rests on and of what is told of it, each broken by itself. */
import type { Plant } from "../../simulation/planted-rule.ts";

export const plants: readonly Plant[] = [
  {
    name: "read and not kept",
    rule: "every read of a commit is evidence",
    edits: [{ file: "actors/workflow/context.ts", find: "onRead(node);", replace: "" }],
  },
  {
    name: "read and standing",
    rule: "a node falls with what its input was made of, whatever its condition says",
    edits: [
      {
        file: "actors/workflow/graph.ts",
        find: "const hasRead = reads(name).some((other) => fallen.has(other));",
        replace: "const hasRead = false;",
      },
    ],
  },
  {
    name: "read and undone at any time",
    rule: "what a node read is among what its call rests on",
    edits: [
      {
        file: "actors/workflow/step.ts",
        find: "=> [...evidence, ...reads];",
        replace: "=> [...evidence, ...reads.slice(reads.length)];",
      },
    ],
  },
  {
    name: "read by the graph's order",
    rule: "what was read may stand behind its reader in the graph's order",
    edits: [
      {
        file: "actors/workflow/graph.ts",
        find: "[...namedBy(name), ...reads(name)]",
        replace: "namedBy(name)",
      },
    ],
  },
  {
    name: "held by its own reader",
    rule: "what itself rests on a node does not hold it",
    edits: [
      {
        file: "actors/workflow/graph.ts",
        find: ".filter((other) => grounds.get(other)?.has(name) !== true)",
        replace: "",
      },
    ],
  },
  {
    name: "undone and told as being undone",
    rule: "a node is called undone as soon as it is",
    edits: [
      {
        file: "actors/workflow/dimensions.ts",
        find: "call !== undefined && undone.has(call) &&",
        replace: "call === undefined && undone.has(call) &&",
      },
    ],
  },
  {
    name: "stuck and told as standing",
    rule: "what is stuck is told as stuck",
    edits: [{ file: "services/views/state-view.ts", find: "stuck === true", replace: "stuck === undefined" }],
  },
];
