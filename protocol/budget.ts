/**
 * Budget: what a saga and all sagas below it may use, what they used, what a token costs, and what of this a parent
 * gives to a child and hears back from it.
 *
 * A member that is absent is not bounded. Dollars are rounded to billionths, so that hosts agree on every sum.
 */
import { z } from "zod";
import { SagaId } from "./ids.ts";

const count = z.int().nonnegative();

/** Amounts of what a budget counts over a tree of sagas: a pool, a slice of one, a reservation. */
export const Amounts = z.object({
  /** Askings of models: decisions, and each further attempt of one. */
  steps: count.optional(),
  /** Input and output tokens, cached ones too. */
  tokens: count.optional(),
  usd: z.number().nonnegative().optional(),
  /** Calls of tools that models or machines proposed; what undoes them is not counted. */
  toolCalls: count.optional(),
  /** Sagas opened below. */
  children: count.optional(),
});
export type Amounts = z.infer<typeof Amounts>;
/** One of the things that a budget counts. */
export type AmountName = keyof Amounts;
/** All of them, in the order in which they are checked and printed. */
export const amountNames = ["steps", "tokens", "usd", "toolCalls", "children"] as const;

const more = z.int().positive().optional();

/**
 * Body of the signal `budget`, and a person's answer to a task about a budget: what is added to a saga's limits.
 * At least one member is given, and each is greater than 0.
 */
export const BudgetRaise = z
  .strictObject({
    steps: more,
    tokens: more,
    usd: z.number().positive().optional(),
    /** Milliseconds more; counted from now where the time is over already. */
    wallClockMs: more,
    toolCalls: more,
    children: more,
  })
  .refine((raise) => Object.values(raise).some((each) => each !== undefined), "it adds nothing");
export type BudgetRaise = z.infer<typeof BudgetRaise>;

/**
 * What a saga has used, with all sagas below it that have ended. A child reports it with its end, and the parent adds
 * it to its own.
 */
export const Spending = z.object({
  steps: count,
  inputTokens: count,
  outputTokens: count,
  usd: z.number().nonnegative(),
  toolCalls: count,
  children: count,
  /** Reserved for model calls whose cost was never reported, because their host died. Their dollars are in `usd`. */
  unreportedTokens: count.default(0),
  /** What signals added to the limits of the saga and of those below: new to its parent's pool. */
  raised: Amounts.optional(),
});
export type Spending = z.infer<typeof Spending>;

/**
 * What a model costs, in US dollars for a million tokens. Where a cache's prices are absent, reading costs 0.1 of the
 * input's price and writing 1.25 of it, which is what providers with a prompt cache ask.
 */
export const ModelPrice = z.strictObject({
  inputPerMillion: z.number().nonnegative(),
  outputPerMillion: z.number().nonnegative(),
  cacheReadPerMillion: z.number().nonnegative().optional(),
  cacheWritePerMillion: z.number().nonnegative().optional(),
});
export type ModelPrice = z.infer<typeof ModelPrice>;
/** Prices by the model's name. A saga whose budget counts dollars is started with those of its models. */
export const ModelPrices = z.record(z.string(), ModelPrice);
export type ModelPrices = z.infer<typeof ModelPrices>;

/** A child's place in its tree of sagas, and its slice of the pool. The root is the saga that has no parent. */
export const TreePlace = z.object({
  root: SagaId,
  /** The root's is 0. */
  depth: count,
  /** No saga deeper than this is opened below. */
  depthMax: count,
  budget: Amounts.optional(),
  /** Milliseconds since the epoch: when the first of the sagas above has used up its time. */
  deadline: z.number().optional(),
});
export type TreePlace = z.infer<typeof TreePlace>;

/** A sum of US dollars, rounded to the billionth. */
export const dollars = (usd: number): number => Math.round(usd * 1e9) / 1e9;
