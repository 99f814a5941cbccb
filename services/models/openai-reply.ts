/**
 * What the Chat Completions API said, as a model's answer.
 *
 * OR1 Every finish reason is an outcome of its own. One that is not known here is a failure: to guess what it means
 *     could make a half answer look whole.
 * OR2 An answer that was cut off has no calls: the last one may be half of what the model meant.
 * OR3 A server that tells no usage is not free: what it cost is estimated by the bytes, and marked as estimated, so
 *     that a budget of tokens holds.
 */
import { ModelFailure, type ModelAnswer, type Stop } from "../../protocol/model.ts";
import type { Usage } from "../../protocol/result.ts";
import type { Origin } from "./one-answer.ts";
import { keepMessage } from "./openai-message.ts";
import type { ChatUsage, Completion } from "./openai-stream.ts";

const stops: Readonly<Record<string, Stop>> = {
  stop: "end",
  end_turn: "end",
  eos_token: "end",
  stop_sequence: "end",
  tool_calls: "calls",
  function_call: "calls",
  length: "length",
  max_tokens: "length",
  model_length: "context_full",
  content_filter: "refusal",
};

/** Reasons that say that the server broke off: another attempt may do better. */
const broken: Readonly<Record<string, ModelFailure["kind"]>> = {
  error: "retry",
  abort: "retry",
  insufficient_system_resource: "wait",
};

export interface Answered {
  readonly origin: Origin;
  /** Bytes of the request, for a server that tells no usage. */
  readonly requestBytes: number;
}

/** The answer in a complete message. Throws ModelFailure where it is none. See OR1, OR2. */
export function readChat(completion: Completion, { origin, requestBytes }: Answered): ModelAnswer {
  const { message, finish, model } = completion;
  if (finish === undefined)
    throw new ModelFailure("retry", "the Chat Completions API ended its answer without a finish reason");
  const stop = stopOf(finish, completion);
  const isComplete = stop === "end" || stop === "calls";
  const reason = stop === "refusal" ? message.refusal || finish : undefined;
  return {
    ...(isComplete
      ? keepMessage(message, origin)
      : { calls: [], ...(message.text === "" ? {} : { text: message.text }) }),
    stop,
    ...(reason === undefined ? {} : { reason }),
    usage: readChatUsage(completion.usage) ?? estimateUsage(requestBytes, sizeOf(completion)),
    model: model || origin.model,
  };
}

function stopOf(finish: string, { message }: Completion): Stop {
  if (message.refusal !== "") return "refusal";
  const kind = broken[finish];
  if (kind !== undefined) throw new ModelFailure(kind, `the Chat Completions API broke off: ${finish}`);
  const stop = stops[finish];
  if (stop === undefined)
    throw new ModelFailure("fail", `the Chat Completions API stopped for a reason unknown here: ${finish}`);
  // Many servers say "stop" behind calls, and some "tool_calls" behind none.
  if (stop === "end" || stop === "calls") return message.calls.length > 0 ? "calls" : "end";
  return stop;
}

/** Tokens as the server counts them; those that a cache gave apart. Undefined where it counted none. */
export function readChatUsage(usage: ChatUsage | undefined): Usage | undefined {
  const asked = usage?.prompt_tokens ?? 0;
  const outputTokens = usage?.completion_tokens ?? 0;
  if (usage === undefined || asked + outputTokens === 0) return undefined;
  const cached = usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? 0;
  const cacheReadTokens = Math.min(cached, asked);
  return { inputTokens: asked - cacheReadTokens, outputTokens, cacheReadTokens };
}

/** Bytes that make a token, of English text and JSON; fewer of other languages. */
const bytesPerToken = 4;

/** OR3. */
export const estimateUsage = (requestBytes: number, answerBytes: number): Usage => ({
  inputTokens: Math.ceil(requestBytes / bytesPerToken),
  outputTokens: Math.ceil(answerBytes / bytesPerToken),
  estimated: true,
});

/** Bytes of what a model wrote, reasoning included. */
export const sizeOf = ({ message }: Pick<Completion, "message">): number =>
  Buffer.byteLength(message.text) +
  Buffer.byteLength(message.refusal) +
  message.calls.reduce((sum, call) => sum + Buffer.byteLength(call.name + call.arguments), 0) +
  Object.values(message.rest).reduce<number>(
    (sum, member) => sum + Buffer.byteLength(typeof member === "string" ? member : JSON.stringify(member)),
    0,
  );
