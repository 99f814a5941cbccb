/**
 * Slices: what a child may use of its parent's pool. It is reserved in the parent's ledger when the child is opened
 * and settled when it ends, so no message goes to and fro while they run.
 *
 * SC1 The slices of the children that run and what was used never add up to more than the pool.
 * SC2 Children of one batch share evenly what is left, their parent counted as one of them, and none gets more than it
 *     declares. Where all that they declare fits, each gets that.
 * SC3 What a parent needs for its own last step is not shared.
 */
import {
  type AmountName,
  amountNames,
  type Amounts,
  dollars,
  type Spending,
  type TreePlace,
} from "../../protocol/budget.ts";
import type { EventOf } from "../../protocol/event.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import { limits } from "../../protocol/limits.ts";
import { declaredOf, leftIn, leftOf, nameOf } from "./budget.ts";
import type { Definition } from "../contract/definition.ts";
import type { Folding } from "./folding.ts";
import { decider } from "./lineage.ts";
import type { MachineAction } from "../machine/actions.ts";
import { addAmounts, inputPriceMax, nothingSpent, sumOf } from "./spending.ts";
import type { OpenIntent, SagaState } from "../contract/state.ts";
import type { Budget } from "../contract/budget-config.ts";

/** Why a child may not be opened. */
export interface NoSlice {
  readonly code: "DEPTH_EXCEEDED" | "BREADTH_EXCEEDED" | "BUDGET_EXCEEDED" | "EFFECTS_FORBIDDEN";
  readonly reason: string;
}

/** Whether it lies so deep that nothing may be opened below it. */
export function depthRefusal(f: Folding): NoSlice | undefined {
  const place = placeOf(f.state, f.definition);
  if (place.depth + 1 <= place.depthMax) return undefined;
  return {
    code: "DEPTH_EXCEEDED",
    reason: `${decider(f.state)} lies ${place.depth} levels deep, and ${place.depthMax} are the most`,
  };
}

/** What a child may use, if it is opened now and those named are opened beside it. Undefined where nothing is bounded. */
export function sliceFor(
  f: Folding,
  child: string,
  beside: readonly string[],
): { readonly budget: Amounts | undefined } | NoSlice {
  const left = leftIn(f);
  if (left === undefined) return { budget: undefined };
  if (left.children !== undefined && left.children < 1)
    return {
      code: "BUDGET_EXCEEDED",
      reason: `another child reserves 1 of children, and ${leftOf(left, f.state.budget?.limits ?? {}, "children")}`,
    };
  const batch = [child, ...beside].map((name) => declaredBy(f.definition, name));
  const free = withoutOwn(f, {
    ...left,
    ...(left.children === undefined ? {} : { children: left.children - 1 }),
  });
  const slice: { -readonly [K in AmountName]?: number } = {};
  for (const name of amountNames) {
    const amount = free[name];
    if (amount === undefined) continue;
    slice[name] = shareOf(
      amount,
      batch.map((declared) => declared[name]),
    );
    if (name === "usd") slice.usd = Math.floor((slice.usd ?? 0) * 1e9) / 1e9;
    else slice[name] = Math.floor(slice[name] ?? 0);
    // The first of a batch rather than none.
    if (name === "steps" && amount >= 1) slice.steps = Math.max(1, slice.steps ?? 0);
    if (name !== "toolCalls" && name !== "children" && (slice[name] ?? 0) <= 0)
      return { code: "BUDGET_EXCEEDED", reason: noShare(f, { name, left, free, batch }) };
  }
  return { budget: slice };
}

interface Sharing {
  readonly name: AmountName;
  readonly left: Amounts;
  /** Without what the parent keeps. */
  readonly free: Amounts;
  readonly batch: readonly Amounts[];
}

/** Which reservation does not fit, and who else needs of the same. */
function noShare({ state }: Folding, { name, left, free, batch }: Sharing): string {
  const asked = batch[0]?.[name];
  const kept = (left[name] ?? 0) - (free[name] ?? 0);
  return [
    `a child reserves ${asked === undefined ? "a share" : `up to ${asked}`} of ${nameOf(name)}, and ${leftOf(left, state.budget?.limits ?? {}, name)}`,
    ...(kept > 0 ? [`${name === "usd" ? dollars(kept) : kept} is kept for the last step of this saga`] : []),
    ...(batch.length > 1 ? [`${batch.length} children share what remains`] : []),
  ].join("; ");
}

/** The share of the first of a batch (SC2). `declared` holds what each of them declares, the first one's first. */
export function shareOf(free: number, declared: readonly (number | undefined)[]): number {
  const [own] = declared;
  const open = declared.filter((one) => one === undefined).length;
  const named = declared.reduce<number>((sum, one) => sum + (one ?? 0), 0);
  const left = Math.max(0, free);
  if (named <= left) return own ?? (left - named) / (open + 1);
  return Math.min(own ?? Number.POSITIVE_INFINITY, left / (declared.length + 1));
}

/** SC3. */
function withoutOwn(f: Folding, left: Amounts): Amounts {
  if (f.definition.kind.decision === undefined) return left;
  const model = f.definition.models[0];
  const price = model === undefined ? undefined : f.state.budget?.prices?.[model];
  const input = (f.state.budget?.context ?? 0) + limits.messageTokens + limits.partTokens;
  const usd =
    price === undefined
      ? 0
      : input * inputPriceMax(price) + (limits.lastStepTokens * price.outputPerMillion) / 1e6;
  return {
    ...left,
    ...(left.steps === undefined ? {} : { steps: left.steps - 1 }),
    ...(left.tokens === undefined ? {} : { tokens: left.tokens - input - limits.lastStepTokens }),
    ...(left.usd === undefined ? {} : { usd: left.usd - usd }),
  };
}

const declaredBy = (definition: Definition, child: string): Amounts =>
  declaredOf(definition.sagas.get(child)?.budget ?? {});

/** Children that the same step of the machine opens after this one, so many at most. None where nothing is bounded. */
export function childrenAhead({ definition, state, asks, asksDone }: Folding, most = Infinity): string[] {
  const names: string[] = [];
  if (state.budget === undefined) return names;
  for (let k = asksDone; k < asks.length && names.length < most; k++) {
    const action = asks[k] as MachineAction; // Proof: a place of the list.
    const callable = definition.machine.bound(startedBy(action) ?? "");
    if (callable?.kind === "saga") names.push(callable.name);
  }
  return names;
}

function startedBy(action: MachineAction): string | undefined {
  if (action.type === "invoke") return action.src;
  if (action.type !== "builtin" || action.name !== "sagamesh.start") return undefined;
  return (action.params as { src: string }).src; // Proof: agent.ts gives it.
}

/** Where a saga lies. One without a parent is the root of its own tree. */
export function placeOf(
  { saga, tree }: Pick<SagaState, "saga" | "tree">,
  { budget }: { readonly budget: Budget },
): Pick<TreePlace, "root" | "depth" | "depthMax"> {
  const { root, depth, depthMax } = tree ?? { root: saga, depth: 0, depthMax: limits.depthMax };
  return { root, depth, depthMax: Math.min(depthMax, depth + (budget.depthMax ?? limits.depthMax)) };
}

/** What a child's start carries of its parent's tree. */
export function treeOfChild(
  state: SagaState,
  definition: Definition,
  { budget }: IntentOf<"saga">,
): TreePlace {
  const { root, depth, depthMax } = placeOf(state, definition);
  const deadline = state.budget?.deadline;
  return {
    root,
    depth: depth + 1,
    depthMax,
    ...(budget === undefined ? {} : { budget }),
    ...(deadline === undefined ? {} : { deadline }),
  };
}

export const countChild = (f: Folding): void => {
  f.state.spent = { ...f.state.spent, children: f.state.spent.children + 1 };
};

/** A child has ended: what it used is used, and the rest of its slice is free again once its intent is closed. */
export function settleSlice(f: Folding, { intent }: OpenIntent, { spent }: EventOf<"result">): void {
  if (intent.kind !== "saga") return;
  const used = spent ?? (intent.budget === undefined ? undefined : allOf(intent.budget));
  if (used === undefined) return;
  f.state.below = sumOf(f.state.below, used);
  if (used.raised !== undefined) raiseLimits(f, used.raised);
}

/** What it used is not reported, so it may have used all of it. */
const allOf = ({ steps = 0, tokens = 0, usd = 0, toolCalls = 0, children = 0 }: Amounts): Spending => ({
  ...nothingSpent,
  ...{ steps, usd, toolCalls, children },
  unreportedTokens: tokens,
});

/** Adds to what is limited; what is not has nothing to be raised. */
export function raiseLimits(f: Folding, more: Amounts): void {
  const { budget } = f.state;
  if (budget === undefined) return;
  const limited: { -readonly [K in AmountName]?: number } = {};
  for (const name of amountNames)
    if (more[name] !== undefined && budget.limits[name] !== undefined) limited[name] = more[name];
  if (Object.keys(limited).length === 0) return;
  const raised = addAmounts(budget.raised, limited);
  f.state.budget = {
    ...budget,
    limits: addAmounts(budget.limits, limited) ?? budget.limits,
    ...(raised === undefined ? {} : { raised }),
  };
}
