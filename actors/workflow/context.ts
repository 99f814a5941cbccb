/**
 * Workflow context: what the machine of a workflow remembers, and what of it a node's functions are shown.
 */
import type { Condition } from "../../protocol/workflow.ts";
import type { Callable } from "../machine/callable.ts";
import { holdsOf, type Truth } from "../values/condition.ts";
import { readWith } from "../values/schema.ts";
import type { SagaState } from "../contract/state.ts";
import type { Feedback, FeedbackByKey } from "./judgement.ts";
import type { WorkflowContext, WorkflowSpec, WorkflowView } from "./spec.ts";

/** `onRead` hears of each commit that was built upon. Throws what the functions of the definition throw. */
export function viewOf(
  spec: Pick<WorkflowSpec, "input">,
  context: WorkflowContext,
  now: number,
  onRead: (node: string) => void = () => undefined,
): WorkflowView {
  const has = (node: string): boolean => {
    if (context.nodes[node]?.status !== "committed") return false;
    onRead(node);
    return true;
  };
  const input = readWith(spec.input, context.input);
  return {
    input: input.success ? input.data : context.input,
    has,
    output: (node: string, of?: Pick<Callable, "output">) => {
      const said = context.nodes[node]?.output;
      if (!has(node) || said === undefined)
        throw new Error(
          `the node "${node}" has not committed: name it in "after", or ask has("${node}") before`,
        );
      if (of === undefined) return said;
      const read = readWith(of.output, said);
      if (!read.success) throw new Error(`what the node "${node}" said does not fit: ${read.reason}`);
      return read.data as never; // Proof: read with the schema whose type is asked for.
    },
    attempts: (node) => context.nodes[node]?.before ?? [],
    signals: context.heard,
    changes: context.changes,
    feedback: feedbackIn(context.feedback),
    now,
  };
}

/** What judges said, as it is told. */
export const feedbackIn = (feedback: FeedbackByKey = {}): Feedback[] =>
  Object.entries(feedback).map(([from, said]) => ({ from, ...said }));

/** What can be said of a node by now. */
export function truthOf(
  { predicates }: Pick<WorkflowSpec, "predicates">,
  { nodes }: WorkflowContext,
  atom: Extract<Condition, { node: string }>,
): Truth {
  const node = nodes[atom.node];
  if (node?.status === "committed") return holdsOf(atom, node.output ?? null, predicates) ? "yes" : "no";
  const isOver = node === undefined || ["failed", "skipped", "undone", "stuck"].includes(node.status);
  return isOver ? "no" : "open";
}

/** The same as if what failed could still come right: a condition that is "no" even so was never to hold. */
export function hopeOf(
  spec: Pick<WorkflowSpec, "predicates">,
  context: WorkflowContext,
  atom: Extract<Condition, { node: string }>,
): Truth {
  const node = context.nodes[atom.node];
  const isFailure =
    node?.status === "failed" ||
    node?.status === "stuck" ||
    node?.status === "undone" ||
    (node?.status === "skipped" && node.by === "failure");
  return isFailure ? "open" : truthOf(spec, context, atom);
}

/** The context in a saga's state. */
export const contextOfState = ({ snapshot }: Pick<SagaState, "snapshot">): WorkflowContext =>
  snapshot.context as WorkflowContext; // Proof: asked of a workflow's state, whose machine has this context.

/** The node a call is a run of. */
export const nodeOfCall = (call: string): string => call.slice(0, call.lastIndexOf("."));
