/**
 * Attributes: what of a ledger may stand in a span that others read, and in which form.
 *
 * YV1 Without content there is nothing of what people, models, tools and the outside said: names that an application declares,
 *     ids, numbers, words of closed lists, and codes that look like codes.
 */
import { reservedSignals } from "../../actors/contract/reserved-signals.ts";
import type { SpanAttributes, SpanValue } from "../../protocol/documents/trace.ts";
import type { Json } from "../../protocol/json.ts";
import type { Usage } from "../../protocol/result.ts";
import { attribute, other } from "./names.ts";

/** Those that are there. */
export function attributesOf(given: Readonly<Record<string, SpanValue | undefined>>): SpanAttributes {
  const told: SpanAttributes = {};
  for (const [name, value] of Object.entries(given)) if (value !== undefined) told[name] = value;
  return told;
}

const codeForm = /^[A-Z][A-Z0-9_]{1,47}$/;

/** YV1: a body, or the outside, may give any text as a code. */
export const codeShown = (code: string): string => (codeForm.test(code) ? code : other);

const modelForm = /^[\w.:/@-]{1,128}$/;

/** What a provider calls the model that answered; undefined for what is no model's name. */
export const modelShown = (model: string): string | undefined => (modelForm.test(model) ? model : undefined);

/** A signal's name comes from outside; those that every saga takes are ours. */
export const signalShown = (name: string): string => (Object.hasOwn(reservedSignals, name) ? name : other);

/** Who asks a provider goes by the model's name, which the ledger has; the provider it does not have. */
const providers: readonly (readonly [RegExp, string])[] = [
  [/^claude/, "anthropic"],
  [/^(gpt|chatgpt|o\d)/, "openai"],
  [/^gemini/, "gcp.gemini"],
  [/^(mistral|mixtral|codestral|ministral)/, "mistral_ai"],
  [/^deepseek/, "deepseek"],
  [/^grok/, "x_ai"],
  [/^command/, "cohere"],
];

/** The provider by its well-known name, as far as the model's name tells it. */
export const providerOf = (model: string): string =>
  providers.find(([form]) => form.test(model.toLowerCase()))?.[1] ?? other;

/** What several attempts of one call have used together. */
export function usageSum(one: Usage | undefined, more: Usage | undefined): Usage | undefined {
  if (one === undefined || more === undefined) return one ?? more;
  const sum = {
    ...one,
    inputTokens: one.inputTokens + more.inputTokens,
    outputTokens: one.outputTokens + more.outputTokens,
  };
  for (const name of ["cacheReadTokens", "cacheWriteTokens", "usd"] as const)
    if (more[name] !== undefined) sum[name] = (one[name] ?? 0) + more[name];
  if (more.estimated === true) sum.estimated = true;
  return sum;
}

export const usageAttributes = (usage: Usage | undefined): SpanAttributes =>
  usage === undefined
    ? {}
    : attributesOf({
        [attribute.inputTokens]:
          usage.inputTokens + (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0),
        [attribute.outputTokens]: usage.outputTokens,
        [attribute.cacheReadTokens]: usage.cacheReadTokens,
        [attribute.cacheWriteTokens]: usage.cacheWriteTokens,
        [attribute.usd]: usage.usd,
        [attribute.cost]: usage.usd,
        [attribute.estimated]: usage.estimated,
      });

/** A value as an attribute has it: as JSON, cut where a receiver would refuse it. */
export function contentOf(value: Json | undefined): string | undefined {
  if (value === undefined) return undefined;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= contentCharactersMax
    ? text
    : `${text.slice(0, contentCharactersMax).toWellFormed()}… (${text.length} characters)`;
}

/** Receivers take some megabytes in a request of many spans. */
const contentCharactersMax = 32_768;
