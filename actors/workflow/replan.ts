/**
 * Workflow replan: what is done again, by the same nodes or by those that a planner puts in their place.
 *
 * WL1 What is done again knows why: the runs before, and what the outside said.
 * WL2 Who plans is shown what stands. Of what was rolled back he sees that it was, why, and what undoing it said, and
 *     not what it had come to: that is true no more, and a model takes what stands in its prompt for true.
 */
import { toJson } from "../../protocol/json.ts";
import { GraphPatch } from "../../protocol/workflow.ts";
import type { CallError } from "../contract/calls.ts";
import { readWith } from "../values/schema.ts";
import { feedbackIn } from "./context.ts";
import { forget, isPlanJudged } from "./judging.ts";
import { change, type Going, graphOf, set, stateOf, untried } from "./step.ts";
import { groundOf } from "./graph.ts";
import { formerNodes, graphNow, triesOf, withPatch } from "./plan.ts";
import type { FeedbackByKey } from "./judgement.ts";
import type { NodeAttempt, NodeState, ReplanQuestion, WorkflowContext } from "./spec.ts";

export const mayReplan = ({ spec, context }: Going): boolean =>
  spec.onFailure === "replan" && context.replans < spec.replansMax;

/** WL1. The same is tried again, or a planner or a human says what instead. */
export function again(g: Going, names: readonly string[], reason: string, faults?: readonly string[]): void {
  const { replanner, name: workflow } = g.spec;
  if (replanner === undefined) return retriedBy(g, names);
  for (const name of names) if (stateOf(g, name).status === "undoing") change(g, name, { status: "undone" });
  const call = `plan.${g.context.replans}`;
  // What was asked before is asked with it: that answer would not know of this.
  const nodes = [...new Set([...(g.context.planning?.nodes ?? []), ...names])];
  const question: ReplanQuestion = {
    ...{ workflow, input: g.context.input, reason, affected: nodes },
    ...(faults === undefined ? {} : { faults }),
  };
  const { feedback, hearsOnce } = g.context;
  const shown = {
    ...question,
    ...(feedback === undefined ? {} : { feedback: feedbackIn(feedback) }),
    nodes: shownNodes(g.context.nodes),
    changes: g.context.changes,
    signals: g.context.heard,
  };
  g.context = { ...g.context, planning: { call, nodes, reason, ...(hearsOnce && { told: feedback ?? {} }) } };
  g.starts.push({ call, src: replanner.name, input: toJson(shown) });
}

/** WL2 */
const shownNodes = (nodes: WorkflowContext["nodes"]): WorkflowContext["nodes"] =>
  Object.fromEntries(
    Object.entries(nodes).map(([name, { before, ...state }]) => {
      const runs = before?.map(({ output: _rolledBack, ...attempt }) => attempt);
      return [name, { ...(isOfNow(state) ? state : bare(state)), ...(runs && { before: runs }) }];
    }),
  );
/** What is stuck stands all the same, and what runs has been given what it has been given. */
const isOfNow = ({ status }: NodeState): boolean =>
  status === "committed" || status === "stuck" || status === "running";
const bare = ({
  output: _output,
  log: _log,
  given: _given,
  verdicts: _verdicts,
  ...rest
}: NodeState): NodeState => rest;

/** Each plans for itself, told what judges said since anything was done again. */
function retriedBy(g: Going, names: readonly string[]): void {
  retry(g, names);
  const { feedback, hearsOnce } = g.context;
  if (hearsOnce !== true || feedback === undefined) return;
  for (const name of names) change(g, name, { told: feedbackIn(feedback) });
  forget(g, feedback);
}

function retry(g: Going, names: readonly string[]): void {
  const graph = graphOf(g);
  const reset = new Set(names);
  for (const name of names) set(g, name, waitingAgain(stateOf(g, name)));
  for (const [name, { status }] of Object.entries(g.context.nodes))
    if (status === "skipped" && [...groundOf(graph, name)].some((other) => reset.has(other)))
      set(g, name, waitingAgain(stateOf(g, name)));
}

function waitingAgain({
  status,
  tries,
  kept,
  before = [],
  call,
  code,
  reason,
  output,
  undone,
}: NodeState): NodeState {
  if (status === "skipped") return { status: "waiting", tries, ...(before.length === 0 ? {} : { before }) };
  const attempt: NodeAttempt = {
    reason: reason ?? "",
    ...(call === undefined ? {} : { call }),
    ...(code === undefined ? {} : { code }),
    ...(output === undefined ? {} : { output }),
    ...(undone === undefined ? {} : { undone }),
  };
  return { status: "waiting", tries, before: [...before, attempt], ...(kept === undefined ? {} : { kept }) };
}

/** A patch of the graph came, or none that can be taken: then how the workflow ends, unless it is asked for again. */
export function takePlan(
  g: Going,
  call: string,
  output: unknown,
  error: CallError | undefined,
): { readonly code: string; readonly reason: string } | undefined {
  const { planning } = g.context;
  if (planning?.call !== call || g.context.ending !== undefined) return undefined;
  const { planning: _answered, ...rest } = g.context;
  g.context = rest;
  const { nodes, reason, told } = planning;
  if (error !== undefined) return { code: error.code, reason: `${reason}; ${error.reason}` };
  const read = readWith(GraphPatch, output);
  if (read.success && read.data.giveUp !== undefined) return { code: "INFEASIBLE", reason: read.data.giveUp };
  const made = read.success ? withPatch(g.spec, g.context, read.data) : { faults: [read.reason] };
  if ("patch" in made) {
    const graph = graphNow(g.spec, { ...g.context, patch: made.patch });
    const then = { nodes, reason, ...(told && { told }) };
    if (!isPlanJudged(g, graph, { patch: made.patch, ...then })) takePatch(g, made.patch, nodes, told);
  } else if (!mayReplan(g)) return { code: "PLAN_INVALID", reason: made.faults.join("; ") };
  else {
    g.context = { ...g.context, replans: g.context.replans + 1 };
    again(g, nodes, reason, made.faults);
  }
  return undefined;
}

export function takePatch(
  g: Going,
  patch: NonNullable<WorkflowContext["patch"]>,
  nodes: readonly string[],
  told: FeedbackByKey | undefined,
): void {
  forget(g, told);
  const former = formerNodes(g.context, graphOf(g), graphNow(g.spec, { patch }));
  g.context = { ...g.context, patch, ...(former && { former }) };
  const known = graphOf(g).nodes;
  const left = Object.entries(g.context.nodes).filter(([name]) => known.has(name));
  const added = [...known.keys()].filter((name) => !Object.hasOwn(g.context.nodes, name));
  const begun = (name: string): NodeState => ({ ...untried, tries: triesOf(g.context, name) });
  g.context = {
    ...g.context,
    nodes: Object.fromEntries([...left, ...added.map((name) => [name, begun(name)] as const)]),
  };
  // What a patch puts in the place of something skipped is asked about anew as well.
  const planned = patch.nodes
    .filter(({ name }) => stateOf(g, name).status === "skipped")
    .map(({ name }) => name);
  retry(g, [...nodes.filter((name) => known.has(name)), ...planned]);
}
