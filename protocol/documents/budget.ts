/**
 * Budget documents: how `inspect` tells what was spent, and of how much.
 */
import { z } from "zod";
import { Amounts } from "../budget.ts";

export const SpentDocument = z.object({
  steps: z.int(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  usd: z.number(),
  toolCalls: z.int().default(0),
  children: z.int().default(0),
});

/** Of what is limited: by the saga and all below it. Times in milliseconds since the epoch. */
export const BudgetDocument = z.object({
  /** Declared, cut to the slice, and raised. */
  limits: Amounts,
  used: Amounts,
  /** For calls and sub-agents that run. */
  reserved: Amounts,
  /** Below zero where a model's port reported more than was reserved. */
  left: z.record(z.string(), z.number()),
  deadline: z.number().optional(),
  /** What calls have cost beyond what was reserved for them: a model's port is dearer than its price, or wrote more. */
  exceeded: Amounts.optional(),
  /** Added by signals and answers. */
  raised: Amounts.optional(),
  /** What its parent gave it. */
  slice: Amounts.optional(),
});
export type BudgetDocument = z.infer<typeof BudgetDocument>;
