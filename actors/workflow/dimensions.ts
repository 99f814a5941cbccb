/**
 * Dimensions: a saga's state as what it is about (application), what was done (operation) and what rests on what
 * (dependency). Pure functions of a folded state; restoring one is folding to its turn.
 *
 * DM1 Nothing is kept for these: what they say was in the ledger, or follows from it.
 */
import { type Json, toJson } from "../../protocol/json.ts";
import type { ApplicationState, DependencyState, OperationState } from "../../protocol/documents/state.ts";
import { judged } from "../values/condition.ts";
import type { Definition } from "../contract/definition.ts";
import type { SagaState, StandingEffect } from "../contract/state.ts";
import { contextOfState, truthOf } from "./context.ts";
import { isWorkflow } from "./kind.ts";
import { graphNow } from "./plan.ts";
import type { NodeState, NodeStatus } from "./spec.ts";

type Folded = { readonly definition: Definition; readonly state: SagaState };

/** What the state says of the application; the checkpoints are the ledger's, and so is which calls were undone. */
export function applicationOf(
  { definition, state }: Folded,
  undone: ReadonlySet<string>,
): Pick<ApplicationState, "entities" | "memory" | "signals" | "changes"> {
  const memory = state.memory === undefined ? {} : { memory: state.memory };
  if (!isWorkflow(definition)) return { entities: {}, ...memory, signals: {}, changes: {} };
  const { nodes, heard, changes } = contextOfState(state);
  const entities = Object.entries(nodes).flatMap(([name, node]) =>
    statusOf(node, undone) === "committed" ? [[name, node.log ?? node.output ?? null] as const] : [],
  );
  return { entities: Object.fromEntries(entities), ...memory, signals: heard, changes: jsonRecord(changes) };
}

const jsonRecord = (of: object): Record<string, Json> => toJson(of) as Record<string, Json>;

/** Whether and how what an intent did can be taken back. `wasUndone` says the ledger. */
export function recoveryOf(
  effect: StandingEffect | undefined,
  wasUndone: boolean,
): Pick<OperationState["transactions"][number], "compensation" | "recovery"> {
  if (effect === undefined) return { recovery: wasUndone ? "undone" : "none" };
  const { undo, undoing, stuck } = effect;
  if (undo === undefined) return { recovery: "none" };
  const compensation = { name: undo.tool, input: undo.input };
  const recovery = stuck === true ? "stuck" : undoing === undefined ? "registered" : "undoing";
  return { compensation, recovery };
}

/** The runs of a workflow's nodes that have committed, and stand. */
export const committedRuns = ({ state }: Pick<Folded, "state">): string[] =>
  Object.values(contextOfState(state).nodes).flatMap(({ status, call }) =>
    status === "committed" && call !== undefined ? [call] : [],
  );

/** The machine hears of an undoing once all of its plan is undone, and of one after its end never. */
const statusOf = ({ status, call }: NodeState, undone: ReadonlySet<string>): NodeStatus =>
  call !== undefined && undone.has(call) && ["committed", "undoing", "stuck"].includes(status)
    ? "undone"
    : status;

/** What rests on what, with the evidence. `undone`: the calls whose effects were. */
export function dependencyOf(
  { definition, state }: Folded,
  undone: ReadonlySet<string>,
): Pick<DependencyState, "nodes" | "edges" | "effects"> {
  const effects = state.effects.map(({ intent, call, dependsOn }) => ({
    intent,
    ...(call === undefined ? {} : { call }),
    ...(dependsOn === undefined ? {} : { dependsOn: [...dependsOn] }),
  }));
  if (!isWorkflow(definition)) return { nodes: [], edges: [], effects };
  const workflow = definition.own;
  const context = contextOfState(state);
  const graph = graphNow(workflow, context);
  const runOf = (node: string) => {
    const call = context.nodes[node]?.call;
    return { node, ...(call === undefined ? {} : { call }) };
  };
  const nodes = graph.order.flatMap((name) => {
    const node = graph.nodes.get(name);
    const known = context.nodes[name];
    if (node === undefined || known === undefined) return [];
    return [
      {
        ...{ node: name, status: statusOf(known, undone), condition: node.when },
        satisfied: judged(node.when, (atom) => truthOf(workflow, context, atom)),
        evidence: (known.evidence ?? []).map(runOf),
        ...(known.reads === undefined ? {} : { reads: known.reads.map(runOf) }),
        ...(known.reason === undefined ? {} : { reason: known.reason }),
        ...(known.verdicts === undefined
          ? {}
          : { verdicts: known.verdicts.map(({ judged: _digest, ...verdict }) => verdict) }),
      },
    ];
  });
  const edges = [...graph.restsOn].flatMap(([to, named]) => {
    const read = context.nodes[to]?.reads ?? [];
    return [...new Set([...named, ...read])].map((from) => ({
      ...{ from, to, satisfied: truthOf(workflow, context, { node: from }) },
      of: [
        ...(named.includes(from) ? (["condition"] as const) : []),
        ...(read.includes(from) ? (["data"] as const) : []),
      ],
    }));
  });
  return { nodes, edges, effects };
}
