/**
 * Budget documents: how `inspect` tells what was spent, and of how much.
 */
import { z } from "zod";
import { Amounts } from "../budget.ts";

/** What one saga has spent. Tokens are counted as the providers report them, dollars are US dollars. */
export const SpentDocument = z.object({
  steps: z.int(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  usd: z.number(),
  toolCalls: z.int().default(0),
  children: z.int().default(0),
});

/** Of each amount that is limited: what the saga and all sagas below it may use and have used. */
export const BudgetDocument = z.object({
  /** Declared, cut to the slice, and raised. */
  limits: Amounts,
  used: Amounts,
  /** For model calls and sub-agents that run now. */
  reserved: Amounts,
  /** Below zero where a model's port reported more than was reserved. */
  left: z.record(z.string(), z.number()),
  /** Milliseconds since the epoch. */
  deadline: z.number().optional(),
  /** What calls have cost beyond what was reserved for them: a model's port is dearer than its price, or wrote more. */
  exceeded: Amounts.optional(),
  /** Added by signals and by answers to tasks. */
  raised: Amounts.optional(),
  /** What its parent gave it. */
  slice: Amounts.optional(),
});
export type BudgetDocument = z.infer<typeof BudgetDocument>;
