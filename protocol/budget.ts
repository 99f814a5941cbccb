/**
 * Budget: what a saga and all below it may use, what they used, and what a token costs. What of it crosses from a
 * parent to its children and back.
 *
 * A member that is absent is not bounded. Dollars are numbers of whole billionths, so that sums are exact.
 */
import { z } from "zod";
import { SagaId } from "./ids.ts";

const count = z.int().nonnegative();

/** Amounts of what a budget counts over a tree of sagas: a pool, a slice of one, a reservation. */
export const Amounts = z.object({
  /** Decisions of models. */
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
export type AmountName = keyof Amounts;
export const amountNames = ["steps", "tokens", "usd", "toolCalls", "children"] as const;

const more = z.int().positive().optional();

/** Body of the signal `budget`, and the answer to a task about one: what is added to a saga's limits. */
export const Raise = z
  .strictObject({
    steps: more,
    tokens: more,
    usd: z.number().positive().optional(),
    /** From now on where the time is over already. */
    wallClockMs: more,
    toolCalls: more,
    children: more,
  })
  .refine((raise) => Object.values(raise).some((each) => each !== undefined), "it adds nothing");
export type Raise = z.infer<typeof Raise>;

/** What a saga has used, with all below it that has ended. */
export const Spending = z.object({
  steps: count,
  inputTokens: count,
  outputTokens: count,
  usd: z.number().nonnegative(),
  toolCalls: count,
  children: count,
  /** Reserved for calls whose cost nobody reported: a host died. The dollars for them are in `usd`. */
  unreportedTokens: count.default(0),
  /** What signals added to the limits of the saga and of those below: new to its parent's pool. */
  raised: Amounts.optional(),
});
export type Spending = z.infer<typeof Spending>;

/** US dollars for a million tokens. A cache's prices, where absent, are 0.1 and 1.25 of the input's. */
export const Price = z.strictObject({
  inputPerMillion: z.number().nonnegative(),
  outputPerMillion: z.number().nonnegative(),
  cacheReadPerMillion: z.number().nonnegative().optional(),
  cacheWritePerMillion: z.number().nonnegative().optional(),
});
export type Price = z.infer<typeof Price>;
export const Prices = z.record(z.string(), Price);
export type Prices = z.infer<typeof Prices>;

/** A child's place below the saga that nobody opened, and its slice of the pool. */
export const TreePlace = z.object({
  root: SagaId,
  /** The root's is 0. */
  depth: count,
  /** No saga deeper than this is opened below. */
  depthMax: count,
  budget: Amounts.optional(),
  /** Milliseconds since the epoch: when the time of somebody above is over. */
  deadline: z.number().optional(),
});
export type TreePlace = z.infer<typeof TreePlace>;

/** A sum of dollars to the billionth. */
export const dollars = (usd: number): number => Math.round(usd * 1e9) / 1e9;
