/**
 * Spending in a person's words: what a saga has used, of how much.
 */
import { type AmountName, amountNames, type Amounts } from "../../../protocol/budget.ts";
import type { BudgetDocument } from "../../../protocol/documents/budget.ts";
import type { InspectDocument } from "../../../protocol/documents/inspect.ts";
import { dateOf } from "./describe.ts";

/** In a column: tokens and dollars, of how many where they are limited. */
export function briefUse(used: Amounts | undefined, limits: Amounts = {}): string {
  if (used === undefined) return "";
  const parts = (["tokens", "usd"] as const).flatMap((name) =>
    (used[name] ?? 0) === 0 && limits[name] === undefined
      ? []
      : [amountOf(name, used[name] ?? 0, limits[name])],
  );
  return parts.join(", ");
}

const amountOf = (name: AmountName, amount: number, limit: number | undefined): string => {
  const of = limit === undefined ? "" : ` of ${limit}`;
  return name === "usd" ? `${amount}${of} USD` : `${amount}${of} ${words[name]}`;
};

const words = {
  steps: "decisions",
  tokens: "tokens",
  toolCalls: "calls of tools",
  children: "children",
} as const;

/** The lines of `inspect`. */
export function spendingLines({ spent, below, budget, tree }: InspectDocument): string[] {
  const of = (one: InspectDocument["spent"]) =>
    `${one.steps} decisions, ${one.inputTokens} + ${one.outputTokens} tokens, ${one.usd} USD`;
  return [
    ...(tree === undefined ? [] : [`tree     ${tree.depth} below ${tree.root}`]),
    `spent    ${of(spent)}`,
    ...(below === undefined
      ? []
      : [
          `below    ${of(below)}${below.unreportedTokens === 0 ? "" : `, ${below.unreportedTokens} tokens unreported`}`,
        ]),
    ...(budget === undefined ? [] : [`budget   ${budgetParts(budget).join("; ")}`]),
  ];
}

function budgetParts({ limits, used, reserved, exceeded = {}, deadline, slice }: BudgetDocument): string[] {
  const parts = amountNames
    .filter((name) => limits[name] !== undefined)
    .map((name) => {
      const held = reserved[name] ?? 0;
      return `${amountOf(name, used[name] ?? 0, limits[name])}${held === 0 ? "" : ` (${held} reserved)`}`;
    });
  const beyond = amountNames.flatMap((name) => {
    const amount = exceeded[name];
    return amount === undefined ? [] : [amountOf(name, amount, undefined)];
  });
  return [
    ...parts,
    ...(beyond.length === 0 ? [] : [`${beyond.join(" and ")} beyond what was reserved`]),
    ...(deadline === undefined ? [] : [`until ${dateOf(deadline)}`]),
    ...(slice === undefined ? [] : ["a slice of its parent's"]),
  ];
}
