/** What must hold of fifty children's pool (test/support/fifty.ts), by the ledger and by the provider's own bill. */
import { expect } from "vitest";
import type { Turn } from "../../protocol/turn.ts";
import type { BudgetView } from "../../services/views/view-budget.ts";
import { type SagaView, viewOf } from "../../services/views/view.ts";
import { viewingByFold } from "../../services/views/folded.ts";
import { type Bill, clerksCount, fiftyApp, pool } from "../support/fifty.ts";
import { atOnce } from "../../services/wire/loop.ts";

const app = fiftyApp({ bill: () => undefined, think: async () => undefined });
/** All tokens that were billed. */
export const sumOf = (bills: readonly Bill[]): number => bills.reduce((sum, { tokens }) => sum + tokens, 0);
/** What a view says of a budget. */
export const budgetOf = (view: SagaView): BudgetView => {
  if (view.budget === undefined) throw new Error("the chief has a budget");
  return view.budget;
};

/** What the ledger says of the pool, against the bill. */
export function checkPool(turns: readonly Turn[], bills: readonly Bill[]): BudgetView {
  const folded = viewOf(turns, atOnce(viewingByFold(app, turns)));
  const budget = budgetOf(folded);
  expect(folded.intents.filter(({ intent }) => intent.kind === "saga")).toHaveLength(clerksCount);
  expect(sumOf(bills)).toBeLessThanOrEqual(pool.tokens);
  expect(sumOf(bills), "every call is accounted for").toBeLessThanOrEqual(budget.used.tokens ?? 0);
  expect(budget.used.tokens).toBeLessThanOrEqual(pool.tokens);
  expect(budget.used.usd).toBeLessThanOrEqual(pool.usd);
  expect(budget.reserved).toEqual({ tokens: 0, usd: 0 });
  return budget;
}
