/**
 * States: a machine's states, nested, with those that a saga is in, as text or Mermaid.
 *
 * JX1 Every name stands in a quoted label with all that Mermaid could read as its own written as a code, as `mermaid.ts` does by GM1.
 */
import type { StatesDocument } from "../../../protocol/documents/states.ts";
import { escaped } from "./mermaid.ts";
import { oneLine } from "./text.ts";

type State = StatesDocument["states"][number];
type Transition = StatesDocument["transitions"][number];

const childrenOf = ({ states }: StatesDocument, id: string | undefined): State[] =>
  states.filter(({ parent }) => parent === id);
const isPresent = ({ present }: State): boolean => present === true;

/** A state a line, with its transitions below it; `*` before those that the saga is in. */
export function statesText(document: StatesDocument): string {
  const names = new Map(document.states.map(({ id, name }) => [id, name]));
  const linesOf = (state: State, depth: number): string[] => {
    const pad = "  ".repeat(depth);
    const leaving = document.transitions.filter(({ from }) => from === state.id);
    return [
      `${isPresent(state) ? "*" : " "} ${pad}${stateLine(document, state)}`,
      ...leaving.map((one) => `    ${pad}${transitionWords(one)}${targetWords(one, names)}`),
      ...childrenOf(document, state.id).flatMap((child) => linesOf(child, depth + 1)),
    ];
  };
  return childrenOf(document, undefined)
    .flatMap((root) => linesOf(root, 0))
    .map(oneLine)
    .join("\n");
}

function stateLine({ states }: StatesDocument, { id, name, type, parent, invokes }: State): string {
  const begins = states.some((state) => state.id === parent && state.initial === id);
  const words = [type === "atomic" || type === "compound" ? "" : type, begins ? "first" : ""].filter(Boolean);
  const runs = invokes.length === 0 ? "" : `: ${invokes.join(", ")}`;
  return `${name}${words.length === 0 ? "" : ` (${words.join(", ")})`}${runs}`;
}

const transitionWords = ({ on, guard }: Transition): string =>
  guard === undefined ? on : `${on} [${guard}]`;

const targetWords = ({ to }: Transition, names: ReadonlyMap<string, string>): string =>
  to.length === 0 ? "" : ` -> ${to.map((id) => names.get(id) ?? id).join(" and ")}`;

/** As Mermaid's state diagram; the states that the saga is in are filled. */
export function statesMermaid(document: StatesDocument): string {
  const names = new Map(document.states.map(({ id }, k) => [id, `s${k}`]));
  const nameOf = (id: string) => names.get(id) ?? "";
  const linesOf = (state: State, pad: string): string[] => {
    const children = childrenOf(document, state.id);
    const label = [state.name, ...state.invokes].map(escaped).join("<br/>");
    const own = `${pad}state "${label}" as ${nameOf(state.id)}`;
    if (children.length === 0)
      return [own, ...(state.type === "final" ? [`${pad}${nameOf(state.id)} --> [*]`] : [])];
    const begins = state.initial === undefined ? [] : [`${pad}  [*] --> ${nameOf(state.initial)}`];
    const parts = children.map((child) => linesOf(child, `${pad}  `));
    const inner =
      state.type === "parallel"
        ? parts.flatMap((part, k) => (k === 0 ? part : [`${pad}  --`, ...part]))
        : parts.flat();
    return [`${own} {`, ...begins, ...inner, `${pad}}`];
  };
  const present = document.states.filter(
    (one) => isPresent(one) && childrenOf(document, one.id).length === 0,
  );
  return [
    "stateDiagram-v2",
    ...childrenOf(document, undefined).flatMap((root) => linesOf(root, "  ")),
    ...document.transitions.flatMap((one) =>
      (one.to.length === 0 ? [one.from] : one.to).map(
        (to) => `  ${nameOf(one.from)} --> ${nameOf(to)} : ${escaped(transitionWords(one))}`,
      ),
    ),
    "  classDef present fill:#fff8e1,stroke:#b7791f,stroke-width:3px",
    ...(present.length === 0 ? [] : [`  class ${present.map(({ id }) => nameOf(id)).join(",")} present`]),
    "",
  ].join("\n");
}
