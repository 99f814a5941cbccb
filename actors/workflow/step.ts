/**
 * Workflow going: one step of a workflow while it is made.
 */
import type { NewCall } from "../contract/calls.ts";
import { graphNow } from "./plan.ts";
import type { Graph, NodeState, WorkflowContext, WorkflowSpec } from "./spec.ts";

export interface Advanced {
  readonly context: WorkflowContext;
  readonly starts: readonly NewCall[];
}

/** One step while it is made. Its context is replaced, never written into. */
export interface Going {
  readonly spec: WorkflowSpec;
  readonly at: number;
  context: WorkflowContext;
  readonly starts: NewCall[];
}

export const untried: NodeState = { status: "waiting", tries: 0 };

export const graphOf = (g: Going): Graph => graphNow(g.spec, g.context);
export const stateOf = (g: Going, name: string): NodeState => g.context.nodes[name] ?? untried;
export const set = (g: Going, name: string, state: NodeState): void => {
  g.context = { ...g.context, nodes: { ...g.context.nodes, [name]: state } };
};
export const change = (g: Going, name: string, more: Partial<NodeState>): void =>
  set(g, name, { ...stateOf(g, name), ...more });

/** All whose commits a node rests on, by what its condition and theirs were satisfied by, and by what was read. */
export function groundNow(g: Going, name: string): string[] {
  const ground = new Set<string>();
  const restingOn = ({ evidence = [], reads = [] }: NodeState) => [...evidence, ...reads];
  const open = restingOn(stateOf(g, name));
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    // What stays for good may rest on a former run of the node itself.
    if (next === name || ground.has(next)) continue;
    ground.add(next);
    open.push(...restingOn(stateOf(g, next)));
  }
  return [...ground];
}
