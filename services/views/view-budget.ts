/**
 * View of a budget: what a saga may use, has used and has reserved, as its ledger tells it.
 *
 * VU1 With the folded state this is what the fold says. Without it the limits are those its definition was registered
 *     with, and a call whose cost is not reported counts as reserved: a call that was superseded, too.
 */
import { availableOf, cut, declaredOf, reservedOf } from "../../actors/kernel/budget.ts";
import type { Budget } from "../../actors/contract/budget-config.ts";
import { addAmounts, asAmounts, spendingOf, sumOf } from "../../actors/kernel/spending.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { type AmountName, amountNames, type Amounts, dollars, type Spending } from "../../protocol/budget.ts";
import type { Account } from "../ledger/account.ts";

/** Of what is limited. */
export interface BudgetView {
  /** Declared, cut to the slice, and raised. */
  readonly limits: Amounts;
  /** By the saga and all below it that has ended. */
  readonly used: Amounts;
  /** For calls and sub-agents that run. */
  readonly reserved: Amounts;
  readonly left: Amounts;
  /** Milliseconds since the epoch. */
  readonly deadline?: number;
  /** What calls have cost beyond what was reserved for them. */
  readonly exceeded?: Amounts;
  readonly raised?: Amounts;
  /** What its parent gave it. */
  readonly slice?: Amounts;
}

/** What the sagas below a saga have used, and its budget if it has one. */
export interface BudgetViews {
  readonly below?: Spending;
  readonly budget?: BudgetView;
}

export function budgetOf(
  account: Account,
  options: { readonly state?: SagaState | undefined; readonly declared?: Budget | undefined },
): BudgetViews {
  const { tree } = account.start;
  const slice = tree?.budget === undefined ? {} : { slice: tree.budget };
  const { state } = options;
  if (state === undefined) {
    const told = readBudget(account, options.declared ?? {});
    const used = asAmounts(sumOf({ ...account.spent, unreportedTokens: 0 }, told.below));
    return viewOf(told, used, told.reserved, slice);
  }
  const { budget, below } = state;
  const told = { ...(below === undefined ? {} : { below }), limits: {}, ...budget };
  return viewOf(told, asAmounts(spendingOf(state)), reservedOf(state), slice, availableOf(state));
}

interface Told {
  readonly below?: Spending;
  readonly limits: Amounts;
  readonly deadline?: number;
  readonly exceeded?: Amounts;
  readonly raised?: Amounts;
}

function viewOf(
  { below, limits, deadline, exceeded, raised }: Told,
  used: Amounts,
  reserved: Amounts,
  slice: { readonly slice?: Amounts },
  left: Amounts = rest(limits, used, reserved),
): BudgetViews {
  const under = below === undefined ? {} : { below };
  if (Object.keys(limits).length === 0 && deadline === undefined) return under;
  return {
    ...under,
    budget: {
      limits,
      used: named(limits, (name) => used[name]),
      reserved: named(limits, (name) => reserved[name]),
      left,
      ...(deadline === undefined ? {} : { deadline }),
      ...(exceeded === undefined ? {} : { exceeded }),
      ...(raised === undefined ? {} : { raised }),
      ...slice,
    },
  };
}

/** Amounts of what is limited. */
function named(limits: Amounts, amountOf: (name: AmountName) => number | undefined): Amounts {
  const entries = amountNames
    .filter((name) => limits[name] !== undefined)
    .map((name) => [name, amountOf(name)]);
  return Object.fromEntries(entries.filter(([, amount]) => amount !== undefined)) as Amounts;
}

const rest = (limits: Amounts, used: Amounts, reserved: Amounts): Amounts =>
  named(limits, (name) => dollars((limits[name] ?? 0) - (used[name] ?? 0) - (reserved[name] ?? 0)));

/** VU1. */
function readBudget(account: Account, declared: Budget): Told & { readonly reserved: Amounts } {
  const { start, startedAt, below, exceeded, reserved } = account;
  let limits = cut(declaredOf(declared), start.tree?.budget ?? {});
  let raised: Amounts | undefined;
  let deadline = Math.min(startedAt + (declared.wallClockMs ?? Infinity), start.tree?.deadline ?? Infinity);
  for (const { at, more, idleMs } of account.raises) {
    const limited = named(limits, (name) => more[name]);
    raised = addAmounts(raised, limited);
    limits = addAmounts(limits, limited) ?? limits;
    if (more.wallClockMs !== undefined) deadline = Math.max(deadline, at) + more.wallClockMs;
    deadline += idleMs;
  }
  return {
    limits,
    reserved: [...reserved.values()].reduce<Amounts>((sum, one) => addAmounts(sum, one) ?? sum, nothing),
    ...(below === undefined ? {} : { below }),
    ...(exceeded === undefined ? {} : { exceeded }),
    ...(raised === undefined || Object.keys(raised).length === 0 ? {} : { raised }),
    ...(deadline === Infinity ? {} : { deadline }),
  };
}

const nothing: Amounts = { steps: 0, tokens: 0, usd: 0, toolCalls: 0, children: 0 };
