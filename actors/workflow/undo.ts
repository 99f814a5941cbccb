/**
 * Workflow undo: what undoes a node, where the workflow says so, and in what order things are undone of which somebody
 * said what they rest on.
 *
 * WU1 A node's own compensation goes before that of the tool it runs.
 * WU2 What rests on an effect is undone before it. Who says nothing of what he rests on rests on all that was settled
 *     before he was decided (V2).
 */
import { childSagaId, type IntentId, turnOf } from "../../protocol/ids.ts";
import { toJson } from "../../protocol/json.ts";
import { isSagaKind } from "../machine/callable.ts";
import type { Definition } from "../contract/definition.ts";
import { type Folding, newId, openIntent } from "../kernel/folding.ts";
import { decider, isInherited } from "../kernel/lineage.ts";
import type { StandingEffect } from "../contract/state.ts";
import type { Effected } from "../contract/tool.ts";
import { contextOfState, nodeOfCall } from "./context.ts";
import { graphNow } from "./plan.ts";
import type { GraphNode } from "./spec.ts";

/** The node that a call is a run of, in the graph as it is now. */
function nodeOf(
  { definition, state }: Pick<Folding, "definition" | "state">,
  call: string | undefined,
): GraphNode | undefined {
  const { workflow } = definition;
  if (workflow === undefined || call === undefined) return undefined;
  return graphNow(workflow, contextOfState(state)).nodes.get(nodeOfCall(call));
}

/** WU1. What its workflow says of the undoing of a call; undefined: nothing, `none`: nothing undoes it. */
export function nodeUndo(
  f: Folding,
  call: string | undefined,
  effect: Effected<unknown, unknown>,
): NonNullable<StandingEffect["undo"]> | "none" | undefined {
  const node = nodeOf(f, call);
  if (node === undefined) return undefined;
  if (node.pointOfNoReturn) return "none";
  if (node.compensation === undefined) return undefined;
  const { run, input } = node.compensation;
  try {
    const made = toJson((input as (of: Effected<unknown, unknown>) => unknown)(effect)); // Its own node's effect.
    return { tool: run.name, input: made, ...(isSagaKind(run.kind) ? { starts: true as const } : {}) };
  } catch {
    return "none"; // As with a tool's: it would throw again at each fold. The effect stands, and the end says so.
  }
}

/** Starts the saga that undoes an effect by what it does. */
export function issueUndoingSaga(
  f: Folding,
  { intent: undoes }: StandingEffect,
  { tool, input }: NonNullable<StandingEffect["undo"]>,
): IntentId {
  const id = newId(f);
  // What a fork inherited is undone by one and the same saga, whichever fork undoes it: the second finds it taken.
  const saga = isInherited(f.state, undoes)
    ? childSagaId(decider(f.state, turnOf(undoes)), undoes, tool)
    : childSagaId(decider(f.state), id, tool);
  openIntent(f, {
    intent: { kind: "saga", id, name: tool, saga, undoes, starts: true, input },
    input,
    attempt: 1,
  });
  return id;
}

/** WU2. Whether an effect of a plan must wait, given all members of the plan. */
export function waiting(members: readonly StandingEffect[]): (effect: StandingEffect) => boolean {
  // One pass over the members: there may be thousands.
  const rested = new Set<string>();
  let latest = 0;
  for (const { intent, dependsOn } of members)
    if (dependsOn === undefined) latest = Math.max(latest, turnOf(intent));
    else for (const call of dependsOn) rested.add(call);
  return ({ intent, settledAt, call }) =>
    (latest >= settledAt && latest > turnOf(intent)) || (call !== undefined && rested.has(call));
}

/** The calls of effects that a plan left standing: their compensation got stuck, or there is none. */
export const leftOf = (
  { kind }: Pick<Definition, "kind">,
  standing: readonly StandingEffect[],
): { readonly left?: string[] } =>
  kind === "workflow" ? { left: standing.flatMap(({ call }) => call ?? []) } : {};
