/**
 * The kind of workflows: a graph says what runs; what undoes a node is the node's own, and what was undone may be done
 * again.
 */
import { toJson } from "../../protocol/json.ts";
import type { Invalidation } from "../../protocol/workflow.ts";
import { builtInMachine } from "../contract/built-in.ts";
import type { Definition, DoorRefusal, Kind } from "../contract/definition.ts";
import type { SagaState, StandingEffect } from "../contract/state.ts";
import type { EffectToUndo } from "../contract/tool.ts";
import { plainCalls } from "../request/plain.ts";
import { contextOfState } from "./context.ts";
import { nodeThatRan } from "./plan.ts";
import type { WorkflowSpec } from "./spec.ts";

/** The kind's record. */
export const workflowKind: Kind<WorkflowSpec> = {
  name: "workflow",
  takes: ["invalidate", "conclude"],
  calls: "given",
  hears: "given",
  decision: undefined,
  redoes: true,
  tellsIgnored: false,
  // Sagas of former versions told every planner of all that was ever said.
  machineInput: (given, _read, at, follows) => ({
    ...{ input: given, at },
    ...(follows === undefined ? {} : { hearsOnce: true }),
  }),
  ...builtInMachine,
  refusalOf: (_, state, { name, data }) =>
    // Proof: the door has read it by its schema.
    name === "invalidate" ? refusalOfInvalidation(state, data as unknown as Invalidation) : undefined,
  undoOf: ({ own }, state, call, effect) => nodeUndo(own, state, call, effect),
  ...plainCalls,
};

/** Whether a definition is a workflow's. */
export const isWorkflow = (definition: Definition): definition is Definition<WorkflowSpec> =>
  definition.kind === workflowKind;

/** Only of nodes that the graph has as it is now. A node that did nothing yet may still be told of. */
function refusalOfInvalidation(state: SagaState, { node, keep = [] }: Invalidation): DoorRefusal | undefined {
  const { nodes } = contextOfState(state);
  const unknown = [node, ...keep].filter((name) => !Object.hasOwn(nodes, name));
  const refused = (why: string): DoorRefusal => ({ code: "INPUT_INVALID", reason: `${state.saga}: ${why}` });
  if (unknown.length > 0)
    return refused(`it has no node "${unknown.join('", "')}"; it has ${Object.keys(nodes).join(", ")}`);
  return keep.includes(node) ? refused(`"${node}" cannot hold no more and be kept`) : undefined;
}

/** A node's own compensation goes before that of the tool it runs. */
function nodeUndo(
  spec: WorkflowSpec,
  state: SagaState,
  call: string,
  effect: EffectToUndo<unknown, unknown>,
): NonNullable<StandingEffect["undo"]> | "none" | undefined {
  const node = nodeThatRan(spec, contextOfState(state), call);
  if (node === undefined) return undefined;
  if (node.pointOfNoReturn) return "none";
  if (node.compensation === undefined) return undefined;
  const { run, input } = node.compensation;
  try {
    const made = toJson((input as (of: EffectToUndo<unknown, unknown>) => unknown)(effect)); // Its own node's effect.
    return { tool: run.name, input: made, ...(run.kind === "saga" ? { starts: true as const } : {}) };
  } catch {
    return "none"; // As with a tool's: it would throw again at each fold. The effect stands, and the end says so.
  }
}
