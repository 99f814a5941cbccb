/**
 * Prices: what a token of a model costs, as the application says or as was published.
 *
 * PR1 A saga keeps the prices it was started with: they stand in its start. A table that changes later changes none.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { cacheReadPrice, cacheWritePrice } from "../../actors/kernel/spending.ts";
import { type ModelPrice, ModelPrices } from "../../protocol/budget.ts";
import { maxOf } from "../../protocol/extremes.ts";
import type { ModelPort } from "../../protocol/model.ts";
import { z } from "zod";

/**
 * Published prices of models by the provider's names, in US dollars per million tokens, as of November 2026. For
 * models with one price whatever the length of the prompt; of others, and of discounts, only the application knows.
 */
export const publishedPrices: ModelPrices = {
  "claude-fable-5-1": { inputPerMillion: 10, outputPerMillion: 50 },
  "claude-opus-5-5": { inputPerMillion: 4, outputPerMillion: 20 },
  "claude-opus-5": { inputPerMillion: 5, outputPerMillion: 25 },
  "claude-sonnet-5-5": { inputPerMillion: 2, outputPerMillion: 10 },
  "claude-opus-4-7": { inputPerMillion: 5, outputPerMillion: 25 },
  "claude-opus-4-6": { inputPerMillion: 5, outputPerMillion: 25 },
  "claude-sonnet-4-6": { inputPerMillion: 3, outputPerMillion: 15 },
  "claude-opus-4-5": { inputPerMillion: 5, outputPerMillion: 25 },
  "claude-haiku-4-5": { inputPerMillion: 1, outputPerMillion: 5 },
};

/**
 * The price of a model: what the application's table says by the name that agents use, else by its port's; else the
 * port's own `price`; else the published one, by the same names.
 */
export type PriceOf = (model: string) => ModelPrice | undefined;

export function pricesBy(
  own: ModelPrices,
  models: ReadonlyMap<string, ModelPort>,
  fallbacks: ReadonlyMap<string, readonly string[]>,
): PriceOf {
  const priceOf = (model: string): ModelPrice | undefined => {
    const order = fallbacks.get(model);
    if (order !== undefined && !Object.hasOwn(own, model)) return dearest(order.map(priceOf));
    const port = models.get(model);
    const names = [model, port?.name ?? model];
    const inTable = (table: ModelPrices) => names.find((name) => Object.hasOwn(table, name));
    const [said, known] = [inTable(own), inTable(publishedPrices)];
    if (said !== undefined) return own[said];
    return port?.price ?? (known === undefined ? undefined : publishedPrices[known]);
  };
  return priceOf;
}

/** The price to reserve at where any of several models may be asked; undefined if one has no price. */
function dearest(prices: readonly (ModelPrice | undefined)[]): ModelPrice | undefined {
  const known = prices.filter((price) => price !== undefined);
  if (known.length < prices.length || known.length === 0) return undefined;
  const most = (of: (price: ModelPrice) => number) => maxOf(known.map(of));
  return {
    inputPerMillion: most((price) => price.inputPerMillion),
    outputPerMillion: most((price) => price.outputPerMillion),
    cacheReadPerMillion: most(cacheReadPrice),
    cacheWritePerMillion: most(cacheWritePrice),
  };
}

/** The prices that a saga's start records, where dollars are counted: of those that stand in for its models, too. */
export function recordedPrices(
  { models }: Pick<Definition, "models">,
  { priceOf, fallbacks }: { priceOf: PriceOf; fallbacks: ReadonlyMap<string, readonly string[]> },
): ModelPrices {
  return Object.fromEntries(
    models
      .flatMap((model) => [model, ...(fallbacks.get(model) ?? [])])
      .flatMap((model) => {
        const price = priceOf(model);
        return price === undefined ? [] : [[model, price]];
      }),
  );
}

/** What is wrong with a table of prices. */
export function priceFaults(prices: unknown): string[] {
  const read = ModelPrices.safeParse(prices);
  return read.success ? [] : [`prices: ${z.prettifyError(read.error)}`];
}

/** A budget in dollars holds only where each model that may be asked below it has a price. */
export function unpricedFaults(definition: Definition, priceOf: PriceOf): string[] {
  if (definition.budget.usd === undefined) return [];
  const all = new Set([definition]);
  for (const one of all) for (const child of one.sagas.values()) all.add(child);
  const models = new Set([...all].flatMap((one) => one.models));
  return [...models]
    .filter((model) => priceOf(model) === undefined)
    .map(
      (model) =>
        `${definition.kind.name} ${definition.name}: its budget is in dollars, and model "${model}" has no price; add it under prices`,
    );
}
