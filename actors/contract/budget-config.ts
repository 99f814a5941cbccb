/**
 * Budget configuration: the bounds that a definition declares, and what is wrong with them.
 */
import { limits } from "../../protocol/limits.ts";
import { didYouMean } from "../../protocol/nearest.ts";

/**
 * Bounds of one saga and of all below it, which share them: each child gets a slice for as long as it runs. What is
 * not named is not bounded. The signal `budget` raises them.
 *
 * Tokens and dollars are reserved before a call and settled after it, so calls in parallel never use more than the
 * pool, whatever dies. The bound on a call's input takes a token for at least one byte of text; a port that reports
 * more than was reserved is charged all of it, and the pool closes.
 */
export interface Budget {
  /** Decisions of models. The last one is told so, and may only finish or undo. */
  readonly steps?: number;
  /** Input and output tokens of every call, superseded ones too. */
  readonly tokens?: number;
  /** As the port reports it, else by the application's `prices`. Each model asked needs a price. */
  readonly usd?: number;
  /** From the start. The first decision after it is the last one. */
  readonly wallClockMs?: number;
  /** Calls of tools. What undoes them is free. */
  readonly toolCalls?: number;
  /** Sub-agents and child sagas opened, at any depth. */
  readonly children?: number;
  /** Levels of sagas below this one: 8 at most, which is the default. 0: none. */
  readonly depthMax?: number;
  /** Children open at once: 64 at most, which is the default. */
  readonly childrenOpenMax?: number;
  /**
   * Children that stand in line for a place, first in, first out, where as many as may be open are: none unless given, then
   * one more is refused with BREADTH_EXCEEDED; 10,000 at most. Each counts among `intentsOpenMax`. In line nothing is
   * reserved for a child and no time of its own runs; its parent's does. One that is called off there never begins.
   */
  readonly childrenInLineMax?: number;
  /**
   * Calls, timers, tasks and whatever else this saga may have open at once: 1,000 unless given, 10,000 at most. A model's
   * call beyond it is refused with INTENTS_TOO_MANY; a machine's saga whose step asks for more fails with that code.
   */
  readonly intentsOpenMax?: number;
}

/** Of an agent, whose model can be told. */
export interface AgentBudget extends Budget {
  /**
   * After the last step: `end` (default) fails the saga with BUDGET_EXCEEDED and undoes what was done; `ask`
   * suspends it and asks a human, for a week at most, until the answer or the signal `budget` raises the limit.
   */
  readonly atLimit?: "end" | "ask";
}

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
  childrenInLineMax: limits.intentsOpenCeiling,
  intentsOpenMax: limits.intentsOpenCeiling,
} as const;
const mayBeNone: ReadonlySet<string> = new Set([
  "toolCalls",
  "children",
  "depthMax",
  "childrenOpenMax",
  "childrenInLineMax",
]);

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
      const near = didYouMean(name, [...Object.keys(bounds), "atLimit"]);
      faults.push(
        `${where}: a budget has no "${name}"${near}${near === "" ? `; it has ${Object.keys(bounds).join(", ")}, atLimit` : ""}`,
      );
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
