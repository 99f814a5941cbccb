/**
 * Spending: sums of what was used, and what it costs. Pure arithmetic, shared by the fold, by hosts and by views.
 *
 * SP1 Dollars are reckoned here and nowhere else, once: when a call's cost is observed, by the price in force
 *     (`priced`), and recorded with it. What adds up later takes the recorded number.
 * SP2 What a port reports in dollars itself counts only where there is no price, or where it is more: the price is a
 *     promise of the application's, and a bill that is higher was paid all the same.
 */
import {
  type AmountName,
  amountNames,
  type Amounts,
  dollars,
  type ModelPrice,
  type Spending,
} from "../../protocol/budget.ts";
import type { Usage } from "../../protocol/result.ts";
import type { SagaState, Spent } from "../contract/state.ts";

export const nothingSpent: Spent = {
  steps: 0,
  inputTokens: 0,
  outputTokens: 0,
  usd: 0,
  toolCalls: 0,
  children: 0,
};

/** Every token of a prompt, wherever it came from. */
export const promptTokens = ({ inputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 }: Usage): number =>
  inputTokens + cacheReadTokens + cacheWriteTokens;

/** What is spent with a model call's cost; in dollars as recorded, else by the price. */
export const spentWith = (spent: Spent, usage: Usage, price?: ModelPrice): Spent => ({
  ...spent,
  inputTokens: spent.inputTokens + promptTokens(usage),
  outputTokens: spent.outputTokens + usage.outputTokens,
  usd: dollars(spent.usd + chargedUsd(usage, price)),
});

const chargedUsd = (usage: Usage, price: ModelPrice | undefined): number =>
  usage.usd ?? (price === undefined ? 0 : usdOf(usage, price));

/** What a call has cost beyond what was reserved for it, of what was reserved; undefined where it kept within that. */
export function excessOf(
  reserved: Pick<Amounts, "tokens" | "usd"> | undefined,
  usage: Usage | undefined,
  price?: ModelPrice,
): Pick<Amounts, "tokens" | "usd"> | undefined {
  if (reserved === undefined || usage === undefined) return undefined;
  const tokens = promptTokens(usage) + usage.outputTokens - (reserved.tokens ?? Infinity);
  const usd = dollars(chargedUsd(usage, price) - (reserved.usd ?? Infinity));
  if (tokens <= 0 && usd <= 0) return undefined;
  return { ...(tokens > 0 ? { tokens } : {}), ...(usd > 0 ? { usd } : {}) };
}

/** What a cache's token costs beside one of the input: read, and written for five minutes. */
const cacheReadShare = 0.1;
const cacheWriteShare = 1.25;

export const cacheReadPrice = (price: ModelPrice): number =>
  price.cacheReadPerMillion ?? price.inputPerMillion * cacheReadShare;
export const cacheWritePrice = (price: ModelPrice): number =>
  price.cacheWritePerMillion ?? price.inputPerMillion * cacheWriteShare;

/** What a call costs in dollars. */
export const usdOf = (usage: Usage, price: ModelPrice): number =>
  dollars(
    (usage.inputTokens * price.inputPerMillion +
      usage.outputTokens * price.outputPerMillion +
      (usage.cacheReadTokens ?? 0) * cacheReadPrice(price) +
      (usage.cacheWriteTokens ?? 0) * cacheWritePrice(price)) /
      1e6,
  );

/** The most that a token of the input may cost, in dollars. */
export const inputPriceMax = (price: ModelPrice): number =>
  Math.max(price.inputPerMillion, cacheReadPrice(price), cacheWritePrice(price)) / 1e6;

/** A usage with the dollars that are charged for it (SP2); without any where neither price nor port knows. */
export function priced(usage: Usage, price: ModelPrice | undefined): Usage {
  const told = usage.usd === undefined ? undefined : dollars(usage.usd);
  if (price === undefined) return told === undefined ? usage : { ...usage, usd: told };
  return { ...usage, usd: Math.max(told ?? 0, usdOf(usage, price)) };
}

export const noSpending: Spending = { ...nothingSpent, unreportedTokens: 0 };

export const sumOf = (a: Spending = noSpending, b: Spending = noSpending): Spending => {
  const raised = addAmounts(a.raised, b.raised);
  return {
    steps: a.steps + b.steps,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    usd: dollars(a.usd + b.usd),
    toolCalls: a.toolCalls + b.toolCalls,
    children: a.children + b.children,
    unreportedTokens: a.unreportedTokens + b.unreportedTokens,
    ...(raised === undefined ? {} : { raised }),
  };
};

/** Amounts added up; a member that both lack stays absent. */
export function addAmounts(a: Amounts | undefined, b: Amounts | undefined): Amounts | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const sum: { -readonly [K in AmountName]?: number } = { ...a };
  for (const name of amountNames) {
    const more = b[name];
    if (more === undefined) continue;
    const total = (sum[name] ?? 0) + more;
    sum[name] = name === "usd" ? dollars(total) : total;
  }
  return sum;
}

/** What the saga and all below it have used, calls included whose cost is still to come: they count as reserved. */
export function spendingOf({
  spent,
  below,
  budget,
}: Pick<SagaState, "spent" | "below" | "budget">): Spending {
  const unreported = (budget?.late ?? []).reduce(
    (sum, call) => ({ tokens: sum.tokens + call.tokens, usd: sum.usd + call.usd }),
    budget?.lost ?? { tokens: 0, usd: 0 },
  );
  const own: Spending = {
    ...spent,
    usd: dollars(spent.usd + unreported.usd),
    unreportedTokens: unreported.tokens,
    ...(budget?.raised === undefined ? {} : { raised: budget.raised }),
  };
  // What was raised below is among what was raised here already.
  const { raised: _raised, ...under } = below ?? noSpending;
  return sumOf(own, under);
}

/** The same as a pool counts it. */
export const usedOf = (state: Pick<SagaState, "spent" | "below" | "budget">): Required<Amounts> =>
  asAmounts(spendingOf(state));

export const asAmounts = (spending: Spending): Required<Amounts> => ({
  steps: spending.steps,
  tokens: spending.inputTokens + spending.outputTokens + spending.unreportedTokens,
  usd: spending.usd,
  toolCalls: spending.toolCalls,
  children: spending.children,
});
