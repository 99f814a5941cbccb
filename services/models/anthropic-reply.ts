/**
 * What the Messages API said, as a model's answer.
 *
 * NR1 Every stop reason is an outcome of its own. One that is not known here is a failure: to guess what it
 *     means could make a half answer look whole.
 * NR2 An answer that was cut off has no calls: the last one may be half of what the model meant, and the
 *     thinking that led to it may lack its signature.
 */
import type Anthropic from "@anthropic-ai/sdk";
import { ModelFailure, type ModelAnswer, type Stop } from "../../protocol/model.ts";
import type { Usage } from "../../protocol/result.ts";
import { keepContent } from "./anthropic-blocks.ts";
import type { Origin } from "./one-answer.ts";

const stops: { readonly [reason: string]: Stop } = {
  end_turn: "end",
  stop_sequence: "end",
  tool_use: "calls",
  max_tokens: "length",
  pause_turn: "pause",
  refusal: "refusal",
  model_context_window_exceeded: "context_full",
} satisfies Record<Anthropic.StopReason, Stop>;

const cutOff: ReadonlySet<Stop> = new Set(["length", "refusal", "context_full"]);

/** The answer in a complete message. Throws ModelFailure for a stop reason that is not known. See NR1, NR2. */
export function readReply(message: Anthropic.Message, origin: Origin): ModelAnswer {
  const stop = message.stop_reason === null ? undefined : stops[message.stop_reason];
  if (stop === undefined)
    throw new ModelFailure(
      "fail",
      `the Messages API stopped for a reason unknown here: ${String(message.stop_reason)}`,
    );
  const complete = !cutOff.has(stop);
  const content = complete ? message.content : message.content.filter((block) => block.type === "text");
  const reason = explainStop(message);
  return {
    ...keepContent(content, origin),
    stop,
    ...(reason === undefined ? {} : { reason }),
    usage: readUsage(message.usage),
    model: message.model,
  };
}

/** What the API says of a stop beside its reason: so far only what a refusal is about. */
function explainStop({ stop_details: details }: Anthropic.Message): string | undefined {
  // Servers that speak an older version of the API leave the member out.
  if (details === null || details === undefined) return undefined;
  const said = [details.category, details.explanation].filter((part) => typeof part === "string");
  return said.length > 0 ? said.join(": ") : undefined;
}

/** The members of a usage that have a price, in any event that carries one. */
export type Spent = Partial<
  Pick<
    Anthropic.Usage,
    "input_tokens" | "output_tokens" | "cache_read_input_tokens" | "cache_creation_input_tokens"
  >
>;

/** Tokens as the provider counts them: `inputTokens` are those that no cache had a part in. */
export const readUsage = (usage: Spent): Usage => ({
  inputTokens: usage.input_tokens ?? 0,
  outputTokens: usage.output_tokens ?? 0,
  cacheReadTokens: usage.cache_read_input_tokens ?? 0,
  cacheWriteTokens: usage.cache_creation_input_tokens ?? 0,
});
