/**
 * The model port on Anthropic's Messages API.
 *
 * AN1 One call of `decide` is one request, whatever happens: the API knows no idempotency key, so a
 *     second request may be paid twice. Attempts belong to the ledger.
 * AN2 A stream is one answer. Its tokens are shown as they come, its cost is reported as it grows, and only
 *     the complete message is returned.
 * AN3 Nothing is read from the environment: not the key, not the address. What an answer came from is what
 *     the application says.
 * AN4 There is no sampling to control, so the same request may get another answer; only the ledger repeats.
 *
 * The awaits: the SDK's first import, the events of the stream, the complete message.
 */
import type Anthropic from "@anthropic-ai/sdk";
import type { ModelPrice } from "../../protocol/budget.ts";
import { limits } from "../../protocol/limits.ts";
import {
  ModelFailure,
  type ModelAnswer,
  type ModelContext,
  type ModelPort,
  type ModelRequest,
} from "../../protocol/model.ts";
import { failureOf } from "./anthropic-failure.ts";
import { readReply, readUsage, type Spent } from "./anthropic-reply.ts";
import { oneAnswer } from "./one-answer.ts";
import { planRequest, type RequestOptions } from "./anthropic-request.ts";

/** Which model of Anthropic, and how it is asked. */
export interface AnthropicModelOptions extends RequestOptions {
  /** What the application file calls the model; the provider's name if left out. */
  readonly name?: string;
  /** Without a key every decision fails with words that say so, and everything else works. */
  readonly apiKey?: string | undefined;
  readonly baseURL?: string;
  /** What its tokens cost, where the application's `prices` do not say; else the published price by its name. */
  readonly price?: ModelPrice;
  /** How long one answer may take, from the request to its last byte. */
  readonly timeoutMs?: number;
}

/** A model port on the Messages API. Makes no request and reads no key before the first decision. */
export function anthropicModel(options: AnthropicModelOptions): ModelPort {
  const name = options.name ?? options.model;
  let client: Promise<Anthropic> | undefined;
  return {
    name,
    ...(options.price === undefined ? {} : { price: options.price }),
    leavesOut: (request) => planRequest(request, options).dropped,
    decide: async (request, context) => {
      context.abort.throwIfAborted();
      if (options.apiKey === undefined || options.apiKey === "")
        throw new ModelFailure("fail", `model ${name} has no API key: give anthropicModel an apiKey`);
      client ??= createClient(options.apiKey, options);
      return ask(await client, request, context, options);
    },
  };
}

/** The SDK takes 0.2 s and 15 MB to load, so a process that never asks this model does not load it. */
async function createClient(apiKey: string, options: AnthropicModelOptions): Promise<Anthropic> {
  const { default: Client } = await import("@anthropic-ai/sdk");
  return new Client({
    apiKey,
    // null, where undefined would make the SDK read the environment.
    baseURL: options.baseURL ?? null,
    webhookKey: null,
    maxRetries: 0,
    timeout: options.timeoutMs ?? limits.modelTimeoutMs,
    // Spans of model calls are the worker's to make; and its log is ours, so the SDK keeps no second one.
    openTelemetry: false,
    logLevel: "off",
  });
}

async function ask(
  client: Anthropic,
  request: ModelRequest,
  context: ModelContext,
  options: AnthropicModelOptions,
): Promise<ModelAnswer> {
  const { params, prefix } = planRequest(request, options);
  // The SDK's own timeout ends with the head of the response; this one covers the stream as well.
  const answer = async (signal: AbortSignal) => {
    const stream = client.messages.stream(params, { signal });
    const inputs = createInputCheck();
    let spent: Spent = {};
    for await (const event of stream) {
      inputs.take(event);
      if (event.type === "message_start") spent = event.message.usage;
      else if (event.type === "message_delta") spent = { ...spent, ...withoutNulls(event.usage) };
      else if (event.type === "content_block_delta") showToken(event.delta, context.live);
      if (event.type === "message_start" || event.type === "message_delta") context.spent(readUsage(spent));
    }
    const message = await stream.finalMessage();
    if (message.stop_reason === "tool_use") inputs.assertWhole();
    return readReply(message, { model: options.model, prefix });
  };
  return oneAnswer(context, options.timeoutMs, answer, (error) => failureOf(error, Date.now()));
}

function showToken(delta: Anthropic.RawContentBlockDelta, live: ModelContext["live"]): void {
  if (delta.type === "text_delta") live({ text: delta.text });
  else if (delta.type === "thinking_delta") live({ thinking: delta.thinking });
}

/** Counters that an event leaves out are null; they keep what an earlier event said. */
const withoutNulls = (usage: Anthropic.MessageDeltaUsage): Spent =>
  Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== null));

/**
 * Watches the JSON of calls. The SDK completes broken JSON by guessing, which would turn half an amount of
 * money into a whole smaller one; a call that does not parse by itself is not taken.
 */
function createInputCheck(): {
  take: (event: Anthropic.MessageStreamEvent) => void;
  assertWhole: () => void;
} {
  const texts = new Map<number, string>();
  return {
    take: (event) => {
      if (event.type === "content_block_delta" && event.delta.type === "input_json_delta")
        texts.set(event.index, (texts.get(event.index) ?? "") + event.delta.partial_json);
    },
    assertWhole: () => {
      for (const text of texts.values())
        try {
          if (text !== "") JSON.parse(text);
        } catch (cause) {
          throw new ModelFailure("retry", "the Messages API sent a call whose input is not JSON", { cause });
        }
    },
  };
}
