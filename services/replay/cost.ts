/**
 * Cost: sums of what calls of models used, in tokens, dollars and time.
 */
import { promptTokens } from "../../actors/kernel/spending.ts";
import { dollars } from "../../protocol/budget.ts";
import type { ModelReply } from "../../protocol/model.ts";
import type { Cost } from "../../protocol/documents/replay.ts";

const nothing: Cost = { calls: 0, inputTokens: 0, outputTokens: 0, unpriced: 0 };

/** Of one call. A usage without dollars counts as unpriced, were it empty or not: what it cost is not known. */
export const costOf = ({ usage }: Pick<ModelReply, "usage">, latencyMs: number | undefined): Cost => ({
  calls: 1,
  inputTokens: promptTokens(usage),
  outputTokens: usage.outputTokens,
  unpriced: usage.usd === undefined ? 1 : 0,
  ...(usage.usd === undefined ? {} : { usd: usage.usd }),
  ...(latencyMs === undefined ? {} : { latencyMs }),
});

export const sumOfCosts = (costs: readonly (Cost | undefined)[]): Cost =>
  costs.reduce<Cost>((sum, cost) => (cost === undefined ? sum : added(sum, cost)), nothing);

function added(a: Cost, b: Cost): Cost {
  const usd = a.usd === undefined || b.usd === undefined ? (a.usd ?? b.usd) : dollars(a.usd + b.usd);
  const latencyMs =
    a.latencyMs === undefined || b.latencyMs === undefined
      ? (a.latencyMs ?? b.latencyMs)
      : a.latencyMs + b.latencyMs;
  return {
    calls: a.calls + b.calls,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    unpriced: a.unpriced + b.unpriced,
    ...(usd === undefined ? {} : { usd }),
    ...(latencyMs === undefined ? {} : { latencyMs }),
  };
}
