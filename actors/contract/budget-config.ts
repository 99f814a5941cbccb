/**
 * Budget configuration: what of a budget is known when its definition is.
 */
import { limits } from "../../protocol/limits.ts";
import type { AgentBudget } from "./definition.ts";

/** The largest value of each member; all but dollars are whole numbers. */
const bounds = {
  steps: Number.MAX_SAFE_INTEGER,
  tokens: Number.MAX_SAFE_INTEGER,
  // Sums of billionths of a dollar stay exact up to here.
  usd: 1_000_000,
  wallClockMs: limits.timerMaxMs,
  toolCalls: Number.MAX_SAFE_INTEGER,
  children: Number.MAX_SAFE_INTEGER,
  depthMax: limits.depthMax,
  childrenOpenMax: limits.childrenOpenMax,
} as const;
const mayBeNone: ReadonlySet<string> = new Set(["toolCalls", "children", "depthMax", "childrenOpenMax"]);

/** What is wrong with a definition's bounds. */
export function budgetFaults(
  where: string,
  {
    budget = {},
    outputTokensMax,
  }: { budget?: AgentBudget | undefined; outputTokensMax?: number | undefined },
): string[] {
  const faults: string[] = [];
  for (const [name, value] of Object.entries(budget) as [string, unknown][]) {
    if (value === undefined) continue;
    if (name === "atLimit") {
      if (value !== "end" && value !== "ask")
        faults.push(`${where}: budget.atLimit is "end" or "ask", not ${JSON.stringify(value)}`);
      continue;
    }
    if (!Object.hasOwn(bounds, name)) {
      faults.push(`${where}: a budget has no "${name}"; it has ${Object.keys(bounds).join(", ")}, atLimit`);
      continue;
    }
    const max = bounds[name as keyof typeof bounds];
    const isWhole = name === "usd" || Number.isInteger(value);
    const least = mayBeNone.has(name) ? 0 : Number.MIN_VALUE;
    if (typeof value !== "number" || !isWhole || !(value >= least && value <= max))
      faults.push(
        `${where}: budget.${name} is ${JSON.stringify(value)}, not ${name === "usd" ? "a number" : "a whole number"} ${mayBeNone.has(name) ? "from 0" : "above 0"} to ${max}`,
      );
  }
  if (outputTokensMax !== undefined && !(Number.isInteger(outputTokensMax) && outputTokensMax >= 1))
    faults.push(`${where}: outputTokensMax is ${outputTokensMax}, not a whole number above 0`);
  return faults;
}
