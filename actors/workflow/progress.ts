/**
 * Workflow progress: how a workflow goes on. Pure: (spec, context, what happened) → (context, what to start).
 *
 * WR1 What becomes ready together starts together, in the order of the graph; each result is taken as it comes.
 * WR2 A run that failed is undone before anything follows from its failure: it may have left something.
 * WR3 A failure is the workflow's only if a node that nothing rests on can no longer be reached by it.
 * WR4 What falls is undone by one plan, once: what is being undone is only waited for.
 */
import { describeError } from "../../protocol/errors.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import type { Invalidation } from "../../protocol/workflow.ts";
import type { CallError, NewCall } from "../contract/calls.ts";
import { judged } from "../values/condition.ts";
import { readWith } from "../values/schema.ts";
import { hopeOf, nodeOfCall, truthOf, viewOf } from "./context.ts";
import { type Advanced, change, type Going, graphOf, groundNow, set, stateOf, untried } from "./step.ts";
import { affectedBy, groundOf } from "./graph.ts";
import { isJudged, isJudgesCall, isPlanJudged, judgementOf, type Ruled, unjudged } from "./judging.ts";
import { again, mayReplan, takePatch, takePlan } from "./replan.ts";
import type { NodeState, WorkflowContext, WorkflowSpec } from "./spec.ts";

/** Where a workflow that has just been started begins. */
export function begin(spec: WorkflowSpec, input: Json, at: number, hearsOnce?: true): Advanced {
  const nodes = Object.fromEntries([...spec.graph.nodes.keys()].map((name) => [name, untried]));
  const begun = { input, nodes, changes: {}, heard: {}, undos: 0, replans: 0 };
  const context = { ...begun, ...(hearsOnce && { hearsOnce }) };
  return going(spec, context, at, (g) => {
    if (!isPlanJudged(g, spec.graph)) goOn(g);
  });
}

function going(spec: WorkflowSpec, context: WorkflowContext, at: number, body: (g: Going) => void): Advanced {
  const g: Going = { spec, at, context, starts: [] };
  if (context.over === undefined) body(g);
  return { context: g.context, starts: g.starts };
}

/** A call has ended. */
export const settled = (
  spec: WorkflowSpec,
  context: WorkflowContext,
  { call, output, error, at }: { call: string; output?: unknown; error?: CallError | undefined; at: number },
): Advanced =>
  going(spec, context, at, (g) => {
    if (call.startsWith("undo.")) return takeUndone(g, call, output);
    if (isJudgesCall(call)) {
      const ruled = judgementOf(g, call, output, error);
      return ruled === undefined ? undefined : follow(g, ruled);
    }
    if (call.startsWith("plan.")) {
      const why = takePlan(g, call, output, error);
      return why === undefined ? goOn(g) : end(g, { status: "failed", ...why }, g.spec.atEnd);
    }
    const name = nodeOfCall(call);
    if (stateOf(g, name).call !== call || stateOf(g, name).status !== "running") return;
    if (error === undefined) hasRun(g, name, toJson(output));
    else fail(g, name, error);
    goOn(g);
  });

/** WJ1 of workflow-judging.ts. */
function hasRun(g: Going, name: string, output: Json): void {
  if (!isJudged(g, name, "output", output)) mayCommit(g, name, output);
}
function mayCommit(g: Going, name: string, output: Json): void {
  if (!isJudged(g, name, "commit", output)) commit(g, name, output);
}

/** What was judged goes on, or fails. */
function follow(g: Going, { judgement, name, item, rejected }: Ruled): void {
  if (name === undefined) followPlan(g, judgement, rejected);
  else if (rejected !== undefined)
    fail(g, name, { outcome: judgement.stage === "before" ? "denied" : "failed", ...rejected });
  else if (judgement.stage === "before") g.starts.push(runOf(g, name, item));
  else if (judgement.stage === "output") mayCommit(g, name, item);
  else commit(g, name, item);
  goOn(g);
}

/** A plan that is refused is none, like one that has faults; the first of all cannot be made anew. */
function followPlan(
  g: Going,
  { patch, nodes = [], reason = "", told }: Ruled["judgement"],
  rejected: Ruled["rejected"],
): void {
  if (rejected === undefined) {
    if (patch !== undefined) takePatch(g, patch, nodes, told);
  } else if (patch !== undefined && mayReplan(g)) {
    g.context = { ...g.context, replans: g.context.replans + 1 };
    again(g, nodes, reason, [rejected.reason]);
  } else end(g, { status: "failed", ...rejected }, g.spec.atEnd);
}

/** The compensation of a run has said how it went. */
export const undoneBy = (
  spec: WorkflowSpec,
  context: WorkflowContext,
  { call, output, at }: { call: string; output: Json; at: number },
): Advanced =>
  going(spec, context, at, (g) => {
    const name = nodeOfCall(call);
    if (stateOf(g, name).call === call) change(g, name, { undone: output });
  });

/** The outside has said that these hold no more. One that did nothing is only remembered. */
export const invalidated = (
  spec: WorkflowSpec,
  context: WorkflowContext,
  invalidations: readonly Invalidation[],
  at: number,
): Advanced =>
  going(spec, context, at, (g) => {
    for (const one of invalidations) noteChange(g, one);
    if (g.context.ending !== undefined) return;
    const gone = invalidations.filter(({ node }) => isUp(g, node) && stateOf(g, node).kept !== true);
    const [first] = gone;
    if (first === undefined) return;
    for (const { node } of gone) change(g, node, { invalid: true });
    fall(
      g,
      gone.map(({ node }) => node),
      { code: "INVALIDATED", reason: first.reason },
    );
  });

export const heard = (
  spec: WorkflowSpec,
  context: WorkflowContext,
  { name, data, at }: { name: string; data: Json; at: number },
): Advanced => {
  const known = { ...context, heard: { ...context.heard, [name]: data } };
  const invalidates = Object.hasOwn(spec.on, name) ? spec.on[name] : undefined;
  if (invalidates === undefined || context.over !== undefined) return { context: known, starts: [] };
  return invalidated(spec, known, invalidates(data as never, viewOf(spec, known, at)), at);
};

/** Nothing will be invalidated any more: a workflow that has done all ends, any other once it has. */
export const concluded = (spec: WorkflowSpec, context: WorkflowContext, at: number): Advanced =>
  going(spec, { ...context, concluded: true }, at, goOn);

/** A person or a parent cancels the whole workflow. */
export const calledOff = (
  spec: WorkflowSpec,
  context: WorkflowContext,
  reason: string,
  at: number,
): Advanced =>
  going(spec, context, at, (g) => {
    if (g.context.ending === undefined) end(g, { status: "cancelled", code: "CANCELLED", reason }, "undo");
  });

const isUp = (g: Going, name: string): boolean =>
  ["committed", "running", "undoing"].includes(stateOf(g, name).status);

/** It is over and done with, and nothing that happens takes it back. */
const stays = (g: Going, name: string): boolean => {
  const { status, kept } = stateOf(g, name);
  if (kept === true) return true;
  return status === "committed" && graphOf(g).nodes.get(name)?.pointOfNoReturn === true;
};

/** Everything that follows at once. */
function goOn(g: Going): void {
  if (g.context.ending !== undefined || g.context.over !== undefined) return;
  const isHeld = g.context.judging !== undefined;
  for (let moved = !isHeld; moved;) moved = judgeWaiting(g);
  if (g.context.planning !== undefined || g.context.judging !== undefined) return;
  const failing = graphOf(g).sinks.filter((name) => isFailing(g, name));
  const stuck = Object.entries(g.context.nodes).find(([, { status }]) => status === "stuck");
  if (stuck !== undefined) return endFor(g, stuck[0], failing);
  if (failing.length > 0) return answerFailure(g, failing);
  if (Object.values(g.context.nodes).every(({ status }) => isSettled(status))) finish(g);
}

const isSettled = (status: NodeState["status"]): boolean =>
  status !== "waiting" && status !== "running" && status !== "undoing";

/** WR1. True if something was decided from which more may follow. */
function judgeWaiting(g: Going): boolean {
  const before = g.context;
  const ready: string[] = [];
  let moved = false;
  for (const name of graphOf(g).order) {
    const node = graphOf(g).nodes.get(name);
    if (node === undefined || stateOf(g, name).status !== "waiting") continue;
    const truth = judged(node.when, (atom) => truthOf(g.spec, before, atom));
    if (truth === "yes") ready.push(name);
    if (truth !== "no") continue;
    const hope = judged(node.when, (atom) => hopeOf(g.spec, before, atom));
    change(g, name, { status: "skipped", by: hope === "no" ? "choice" : "failure" });
    moved = true;
  }
  for (const name of ready) moved = start(g, name, before) || moved;
  return moved;
}

/** True if it failed before it began. */
function start(g: Going, name: string, context: WorkflowContext): boolean {
  const graph = graphOf(g);
  const node = graph.nodes.get(name);
  if (node === undefined) return false;
  const { tries, before, kept, told = [] } = stateOf(g, name);
  const attempt = tries + 1;
  const call = `${name}.${attempt}`;
  const hasCommitted = (other: string) => context.nodes[other]?.status === "committed";
  const state: NodeState = {
    ...{ status: "running", tries: attempt, call },
    evidence: (graph.restsOn.get(name) ?? []).filter(hasCommitted),
    ...(before === undefined ? {} : { before }),
    ...(kept === undefined ? {} : { kept }),
  };
  set(g, name, state);
  let input: Json;
  try {
    const reads = new Set<string>();
    const view = viewOf(g.spec, context, g.at, (other) => reads.add(other));
    input = toJson(node.input({ ...view, node: name, attempt, before: before ?? [], feedback: told }));
    if (reads.size > 0) change(g, name, { reads: [...reads] });
  } catch (error) {
    change(g, name, {
      ...{ status: "failed", code: "CALL_INVALID" },
      reason: `its input cannot be made: ${describeError(error)}`,
    });
    return true;
  }
  if (!isJudged(g, name, "before", input)) g.starts.push(runOf(g, name, input));
  return false;
}

function runOf(g: Going, name: string, input: Json): NewCall {
  const dependsOn = groundNow(g, name).flatMap((other) => stateOf(g, other).call ?? []);
  const src = graphOf(g).nodes.get(name)?.run.name ?? "";
  const { call = "", reads } = stateOf(g, name);
  const inputFrom = reads?.flatMap((other) => stateOf(g, other).call ?? []);
  return { call, src, input, dependsOn, inputFrom };
}

function commit(g: Going, name: string, output: Json): void {
  const log = graphOf(g).nodes.get(name)?.log;
  try {
    const logged = log === undefined ? {} : { log: toJson(log.parse(output)) };
    change(g, name, { status: "committed", output, ...logged });
  } catch (error) {
    const reason = `its log does not fit: ${describeError(error)}`;
    fail(g, name, { outcome: "failed", code: "BAD_RESULT", reason });
  }
}

/** WR2. What was refused before it was an intent has left nothing. */
function fail(g: Going, name: string, { outcome, code, reason }: CallError): void {
  if (outcome === "denied") return change(g, name, { status: "failed", code, reason });
  change(g, name, { status: "undoing", then: "failed", code, reason });
  undo(g, [name], reason);
}

/** Asks the kernel to undo what these did; it orders them by what rests on what. */
function undo(g: Going, names: readonly string[], because: string, more: readonly string[] = []): string {
  const undos = g.context.undos + 1;
  const call = `undo.${undos}`;
  g.context = { ...g.context, undos };
  const judges = names.flatMap((name) => unjudged(g, name));
  const calls = [...names.flatMap((name) => stateOf(g, name).call ?? []), ...judges, ...more];
  for (const name of names) change(g, name, { undo: call });
  g.starts.push({ call, src: "sagamesh.compensation", input: { because, calls } });
  return call;
}

/** WR3 */
function isFailing(g: Going, name: string): boolean {
  const { status, by } = stateOf(g, name);
  if (graphOf(g).nodes.get(name)?.optional === true) return false;
  return status === "failed" || (status === "skipped" && by === "failure");
}

function answerFailure(g: Going, failing: readonly string[]): void {
  const graph = graphOf(g);
  const ground = failing.flatMap((name) => [name, ...groundOf(graph, name)]);
  const failed = graph.order.filter((name) => ground.includes(name) && stateOf(g, name).status === "failed");
  // What a tolerated undoing left behind may keep a sink from being reached, without a failure of its own.
  const cause = failed[0] ?? failing[0] ?? "";
  const reason = `${cause}: ${stateOf(g, cause).reason ?? "it cannot be reached any more"}`;
  if (!mayReplan(g) || failed.length === 0) return endFor(g, cause, failing);
  g.context = { ...g.context, replans: g.context.replans + 1 };
  again(g, failed, reason);
  goOn(g);
}

const affectedOf = (g: Going, gone: readonly string[]): string[] =>
  affectedBy(graphOf(g), gone, {
    isUp: (name) => ["committed", "running"].includes(stateOf(g, name).status),
    stays: (name) => stays(g, name),
    reads: (name) => stateOf(g, name).reads ?? [],
    groundOf: (name) => new Set(groundNow(g, name)),
    holds: (atom) => truthOf(g.spec, g.context, atom) === "yes",
  });

/** What falls with these is undone, and then done again or not. */
function fall(g: Going, gone: readonly string[], why: { code: string; reason: string }): void {
  const affected = affectedOf(g, gone);
  if (affected.length === 0) return;
  const { standby: _over, ...rest } = g.context;
  g.context = rest;
  if (!mayReplan(g)) {
    const { code, reason } = why;
    return end(g, { status: "failed", code, reason }, g.spec.atEnd, affected);
  }
  g.context = { ...g.context, replans: g.context.replans + 1 };
  // What is being undone already and rests on these goes first: it is waited for, and not undone again (WR4).
  const isBefore = (name: string) =>
    stateOf(g, name).status === "undoing" && groundNow(g, name).some((other) => affected.includes(other));
  const before = graphOf(g).order.filter(isBefore);
  for (const name of affected) change(g, name, { status: "undoing", then: "again", ...why });
  const { planning } = g.context;
  undo(g, [...affected, ...before], why.reason, planning === undefined ? [] : [planning.call]);
}

/** WR4. What stayed behind of an undoing that is over. */
function takeUndone(g: Going, call: string, output: unknown): void {
  const left = (output as { left?: readonly string[] } | undefined)?.left ?? [];
  const redo: string[] = [];
  for (const [name, state] of Object.entries(g.context.nodes)) {
    if (state.status !== "undoing" || state.undo !== call) continue;
    const { undo: _undo, then, ...rest } = state;
    const isLeft = state.call !== undefined && left.includes(state.call);
    if (isLeft && !isVoid(g, name)) set(g, name, { ...rest, ...leftBehind(g, name) });
    else if (then === "again") redo.push(name);
    else set(g, name, { ...rest, status: then === "failed" ? "failed" : "undone" });
  }
  const { ending } = g.context;
  if (ending?.undo === call) g.context = { ...g.context, over: ending.status };
  if (ending !== undefined) return;
  const [first] = redo;
  const isStuck = Object.values(g.context.nodes).some(({ status }) => status === "stuck");
  if (isStuck) for (const name of redo) change(g, name, { status: "undone" });
  else if (first !== undefined) again(g, redo, stateOf(g, first).reason ?? "");
  goOn(g);
}

/** The outside took back what the workflow cannot undo. */
const isVoid = (g: Going, name: string): boolean =>
  stateOf(g, name).invalid === true && graphOf(g).nodes.get(name)?.pointOfNoReturn === true;

const leftBehind = (g: Going, name: string): Partial<NodeState> & Pick<NodeState, "status"> =>
  graphOf(g).nodes.get(name)?.pointOfNoReturn === true && stateOf(g, name).output !== undefined
    ? { status: "committed", kept: true }
    : { status: "stuck" };

/** The workflow fails for what became of a node. */
function endFor(g: Going, name: string, failing: readonly string[]): void {
  const { code, reason, status } = stateOf(g, name);
  const why = status === "stuck" ? "what it did could not be undone" : (reason ?? "it cannot be reached");
  const ending = { status: "failed", code: code ?? "NODE_FAILED", reason: `${name}: ${why}` } as const;
  end(g, ending, g.spec.atEnd, affectedOf(g, failing));
}

/** The last undoing: of all that did something, or of these alone. */
function end(
  g: Going,
  why: { status: "failed" | "cancelled"; code: string; reason: string },
  atEnd: "undo" | "keep",
  affected: readonly string[] = [],
): void {
  const { planning } = g.context;
  const all = graphOf(g).order.filter((name) => isUp(g, name) && !stays(g, name));
  // What runs ends with the workflow in any case, and what is being undone is waited for.
  const names =
    atEnd === "undo"
      ? all
      : all.filter((name) => affected.includes(name) || stateOf(g, name).status !== "committed");
  for (const name of names)
    if (stateOf(g, name).status !== "undoing")
      change(g, name, { status: "undoing", then: "undone", code: why.code, reason: why.reason });
    else if (stateOf(g, name).then === "again") change(g, name, { then: "undone" });
  const askedOf = [...unjudged(g, undefined), ...(planning === undefined ? [] : [planning.call])];
  const call = undo(g, names, why.reason, askedOf);
  g.context = { ...g.context, ending: { ...why, undo: call } };
}

/** All is done. */
function finish(g: Going): void {
  const { result, output, openForMs } = g.spec;
  if (g.context.standby === true && g.context.concluded !== true) return;
  const view = viewOf(g.spec, g.context, g.at);
  const said = toJson(result === undefined ? outputsOf(g.context) : result(view));
  const read = readWith(output, said);
  if (!read.success)
    return end(
      g,
      { status: "failed", code: "BAD_RESULT", reason: `the output does not fit: ${read.reason}` },
      "undo",
    );
  const openMs = typeof openForMs === "number" ? openForMs : openForMs(view);
  const isOpen = openMs > 0 && g.context.concluded !== true;
  const { standby: _standby, ...rest } = g.context;
  g.context = isOpen
    ? { ...rest, output: said, standby: true }
    : { ...rest, output: said, over: "completed" };
}

const outputsOf = ({ nodes }: WorkflowContext): Json =>
  Object.fromEntries(
    Object.entries(nodes).flatMap(([name, { status, output }]) =>
      status === "committed" ? [[name, output ?? null]] : [],
    ),
  );

function noteChange(g: Going, { node, reason, keep = [], data }: Invalidation): void {
  const known = { reason, at: g.at, ...(data === undefined ? {} : { data }) };
  g.context = { ...g.context, changes: { ...g.context.changes, [node]: known } };
  for (const name of keep) if (isUp(g, name)) change(g, name, { kept: true });
}
