/**
 * Open bound: how much a saga may have open at once.
 *
 * OB1 What a model calls beyond the bound is refused, each call by itself, and told to it. What a machine asks for is one
 *     step: where that would open too much, none of it begins, and the saga fails and undoes what stands.
 * OB2 What undoes, and what people are asked about it, is not bounded: every saga can be called off. Nor are the decisions
 *     of a built-in machine, which asks one model at a time.
 */
import { limits } from "../../protocol/limits.ts";
import type { MachineAction } from "../machine/actions.ts";
import { type Folding, openIndex } from "./folding.ts";
import { currentOf } from "./tell-child.ts";
import { isOverAtOnce } from "./undo.ts";

const mostOf = ({ definition }: Folding): number => definition.budget.intentsOpenMax ?? limits.intentsOpenMax;

const remedy = "Wait for some of them, or raise budget.intentsOpenMax.";

/** Why no other call may be opened now, or undefined. */
export function refusalOfMore(f: Folding): string | undefined {
  const { size } = openIndex(f);
  return size < mostOf(f) ? undefined : `${size} intents are open, and ${mostOf(f)} are the most. ${remedy}`;
}

/** Why a step of a machine that its author wrote asks for too much, or undefined (OB1). */
export function excessOf(f: Folding, actions: readonly MachineAction[]): string | undefined {
  if (f.definition.kind.calls !== "none") return undefined;
  const opening = actions.filter((action) => isOpening(f, action)).length;
  // Most steps ask for a thing or two, and need not know how much is open.
  if (opening === 0) return undefined;
  const { size } = openIndex(f);
  if (size + opening <= mostOf(f)) return undefined;
  const left = size + opening - actions.reduce((sum, action) => sum + closedBy(f, action), 0);
  if (left <= mostOf(f)) return undefined;
  return `${f.definition.name} would have ${left} intents open, and ${mostOf(f)} are the most. ${remedy}`;
}

/** Whether an action opens an intent; a delayed one opens a timer. */
const isOpening = (f: Folding, action: MachineAction): boolean =>
  action.type === "timer" ||
  action.type === "send" ||
  (action.type === "invoke" && f.definition.machine.bound(action.src)?.kind !== "compensation");

/** How many intents an action closes at once. */
function closedBy(f: Folding, action: MachineAction): number {
  if (action.type === "untimer") return openIndex(f).timers.get(action.id)?.size ?? 0;
  if (action.type !== "stop") return 0;
  const id = currentOf(f, action.id);
  const open = id === undefined ? undefined : f.state.open[id];
  return open !== undefined && isOverAtOnce(f, open) ? 1 : 0;
}
