/**
 * Workflow plan: nodes that are data, and how they change the graph of a workflow that runs.
 *
 * WP1 A patch is taken whole or not at all; what is wrong with it is told to its author.
 * WP2 What has committed or runs is not touched by one.
 * WP3 What a run did is undone as its node said when it ran, whatever stands in that one's place since; and no two runs
 *     are of one name, also of a node that was taken away and is planned again.
 */
import { maxOf } from "../../protocol/extremes.ts";
import { canonicalJson, type Json, toJson } from "../../protocol/json.ts";
import type { Edge, GraphPatch, PlannedNode } from "../../protocol/workflow.ts";
import type { Callable } from "../machine/callable.ts";
import type { Predicates } from "../values/condition.ts";
import { resolved } from "../values/reference.ts";
import type { EffectToUndo, Tool } from "../contract/tool.ts";
import { nodeOfCall } from "./context.ts";
import { graphFaults, graphOf, startOf } from "./graph.ts";
import type { Graph, GraphNode, NodeContext, Patched, WorkflowContext, WorkflowSpec } from "./spec.ts";

/** A planned node as the runtime has it; what it names must be in the catalogue. */
export function nodeOfPlan(
  planned: PlannedNode,
  edges: readonly Edge[],
  catalogue: ReadonlyMap<string, Callable>,
): GraphNode | { readonly faults: readonly string[] } {
  const { name, input, compensation } = planned;
  const run = catalogue.get(planned.run);
  const undoing = compensation === undefined ? undefined : catalogue.get(compensation.run);
  const faults = [
    ...(run === undefined ? [`node "${name}" runs "${planned.run}", which is not known`] : []),
    ...(compensation !== undefined && undoing === undefined
      ? [`node "${name}" is undone by "${compensation.run}", which is not known`]
      : []),
  ];
  if (run === undefined || faults.length > 0) return { faults };
  return {
    name,
    run,
    description: planned.description,
    input: input === undefined ? ({ input: given }) => given : (context) => fromTemplate(input, context),
    when: startOf(planned, edges),
    compensation:
      compensation === undefined || undoing === undefined
        ? undefined
        : { run: undoing, input: (effect) => fromEffect(compensation.input, effect) },
    pointOfNoReturn: planned.pointOfNoReturn === true,
    optional: planned.optional === true,
    planned,
  };
}

function fromTemplate(template: Json, context: NodeContext): Json {
  return whole(
    resolved(template, ({ of, name }) => {
      if (of === "input") return toJson(context.input);
      return of === "node" && context.has(name) ? context.output(name) : undefined;
    }),
  );
}

const fromEffect = (template: Json, effect: EffectToUndo<unknown, unknown>): Json =>
  whole(
    resolved(template, ({ of }) => {
      if (of === "output") return effect.output === undefined ? undefined : toJson(effect.output);
      if (of === "input") return toJson(effect.input);
      return of === "key" ? effect.key : of === "outcome" ? effect.outcome : undefined;
    }),
  );

function whole(made: { value: Json } | { unresolved: string }): Json {
  if ("value" in made) return made.value;
  throw new Error(made.unresolved);
}

/** What is wrong with a node: its name, and that nothing undoes what it does. */
export function nodeFaults(where: string, node: GraphNode): string[] {
  const { name, run, compensation, pointOfNoReturn } = node;
  const at = `${where}: node "${name}"`;
  const faults = reservedNodes.has(name) ? [`${at}: the name is reserved`] : [];
  const tool = run.kind === "tool" ? (run as Tool) : undefined;
  const isRead = tool?.effect === "read";
  if (isRead && compensation !== undefined)
    faults.push(`${at}: a read changes nothing, so nothing undoes it`);
  if (pointOfNoReturn && compensation !== undefined)
    faults.push(`${at}: it has a compensation and is a point of no return; it can only be one`);
  // A saga undoes what it did by itself, for it knows.
  const isUndone = compensation !== undefined || tool?.compensation !== undefined || tool === undefined;
  if (!isRead && !isUndone && !pointOfNoReturn)
    faults.push(`${at}: nothing undoes it: name a compensation, or say that it is a point of no return`);
  if (compensation?.run.kind === "tool") {
    const { effect, name: by } = compensation.run as Tool;
    if (effect !== "idempotent" && effect !== "probe")
      faults.push(
        `${at}: its compensation "${by}" is "${effect}"; only "idempotent" or "probe" can be retried until it is done`,
      );
  }
  return faults;
}

/** A call's name begins with its node's, and these are the workflow's own. */
const reservedNodes: ReadonlySet<string> = new Set(["undo", "plan", "judge"]);

/** The graph as it is now. */
export function graphNow(spec: WorkflowSpec, { patch }: Pick<WorkflowContext, "patch">): Graph {
  if (patch === undefined) return spec.graph;
  const known = patched.get(patch);
  if (known !== undefined) return known;
  const graph = graphOf(nodesWith(spec, patch).flatMap((node) => ("faults" in node ? [] : [node])));
  patched.set(patch, graph);
  return graph;
}

const patched = new WeakMap<Patched, Graph>();

/** WP3. The node that a call is a run of, as it was when it ran. */
export function nodeThatRan(
  spec: WorkflowSpec,
  context: WorkflowContext,
  call: string,
): Pick<GraphNode, "compensation" | "pointOfNoReturn"> | undefined {
  const { former = {} } = context;
  const name = nodeOfCall(call);
  if (!Object.hasOwn(former, call)) return graphNow(spec, context).nodes.get(name);
  const planned = former[call];
  if (planned === null || planned === undefined) return spec.graph.nodes.get(name);
  const node = nodeOfPlan(planned, [], spec.catalogue);
  return "faults" in node ? undefined : node;
}

/** WP3. What is to be kept of nodes that ran and are changed or taken away. Former versions kept nothing. */
export function formerNodes(
  context: WorkflowContext,
  before: Graph,
  after: Graph,
): WorkflowContext["former"] {
  if (context.hearsOnce !== true) return undefined;
  const former = { ...context.former };
  for (const [name, { planned }] of before.nodes) {
    const kept = after.nodes.get(name);
    if (kept !== undefined && isSame(kept.planned, planned)) continue;
    for (let run = triesOf(context, name); run > 0 && !Object.hasOwn(former, `${name}.${run}`); run--)
      former[`${name}.${run}`] = planned ?? null;
  }
  return former;
}

const isSame = (one: PlannedNode | undefined, other: PlannedNode | undefined): boolean =>
  canonicalJson(toJson(one)) === canonicalJson(toJson(other));

/** WP3. How often a node of this name has run, in plans before too. */
export function triesOf({ nodes, former = {} }: WorkflowContext, name: string): number {
  const runs = Object.keys(former).filter((call) => nodeOfCall(call) === name);
  return maxOf(
    runs.map((call) => Number(call.slice(name.length + 1))),
    nodes[name]?.tries ?? 0,
  );
}

function nodesWith(spec: WorkflowSpec, { nodes, edges, remove }: Patched): ReturnType<typeof nodeOfPlan>[] {
  const replaced = new Set([...remove, ...nodes.map(({ name }) => name)]);
  const kept = [...spec.graph.nodes.values()].filter(({ name }) => !replaced.has(name));
  return [
    ...kept.map((node) => {
      const more = edges.filter(({ to }) => to === node.name);
      return more.length === 0 ? node : { ...node, when: startOf({ ...node, join: "all" }, more) };
    }),
    ...nodes.map((node) => nodeOfPlan(node, edges, spec.catalogue)),
  ];
}

/** WP1. The patches so far with one more, or all that is wrong with it. */
export function withPatch(
  spec: WorkflowSpec,
  context: WorkflowContext,
  patch: GraphPatch,
): { patch: Patched } | { faults: string[] } {
  const before = context.patch ?? { nodes: [], edges: [], remove: [] };
  const named = new Set([...patch.nodes.map(({ name }) => name), ...patch.remove]);
  const next: Patched = {
    nodes: [...before.nodes.filter(({ name }) => !named.has(name)), ...patch.nodes],
    edges: [
      ...before.edges.filter(({ from, to }) => !patch.remove.includes(from) && !named.has(to)),
      ...patch.edges,
    ],
    remove: [...new Set([...before.remove, ...patch.remove])].filter(
      (name) => !patch.nodes.some((node) => node.name === name),
    ),
  };
  const faults = [...named, ...patch.edges.map(({ to }) => to)].flatMap((name) => {
    const status = context.nodes[name]?.status;
    return status === "committed" || status === "running" || status === "undoing" || status === "stuck"
      ? [`the patch: "${name}" is ${status} and cannot be changed`]
      : [];
  });
  const made = nodesWith(spec, next);
  const nodes = made.flatMap((node) => {
    if (!("faults" in node)) return [node];
    faults.push(...node.faults);
    return [];
  });
  faults.push(...nodes.flatMap((node) => nodeFaults("the patch", node)));
  faults.push(...shapeFaults("the patch", nodes, spec.predicates));
  return faults.length > 0 ? { faults } : { patch: next };
}

/** What is wrong with nodes as a graph, two of one name included. */
export function shapeFaults(where: string, nodes: readonly GraphNode[], predicates: Predicates): string[] {
  const names = nodes.map(({ name }) => name);
  const twice = names.filter((name, k) => names.indexOf(name) < k);
  return [
    ...twice.map((name) => `${where}: two of its nodes are named "${name}"`),
    ...graphFaults(where, graphOf(nodes), predicates),
  ];
}
