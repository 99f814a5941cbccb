/** What tokens cost. */
import type { Usage } from "../../protocol/result.ts";

/** Dollars for a million tokens. What a cache's tokens cost, if left out, is the adapter's to say. */
export interface Prices {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

/** What the tokens of a cache cost where the prices do not say, as a share of `input`. */
export interface CacheShares {
  readonly read: number;
  readonly write: number;
}

/** No cheaper than other tokens: providers differ, and a budget must not be overrun by a guess. */
const noDiscount: CacheShares = { read: 1, write: 1 };

/** The tokens with their price, where prices are known. */
export function costOf(tokens: Usage, prices: Prices | undefined, shares = noDiscount): Usage {
  if (prices === undefined) return tokens;
  const micros =
    tokens.inputTokens * prices.input +
    tokens.outputTokens * prices.output +
    (tokens.cacheReadTokens ?? 0) * (prices.cacheRead ?? prices.input * shares.read) +
    (tokens.cacheWriteTokens ?? 0) * (prices.cacheWrite ?? prices.input * shares.write);
  return { ...tokens, usd: micros / 1e6 };
}
