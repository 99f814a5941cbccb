/**
 * A model request as the parameters of a call of the Messages API. Pure.
 *
 * NQ1 A prefix of `messages` gives a prefix of the parameters, byte for byte: nothing earlier changes when
 *     the conversation grows. Caches and thinking blocks live on that. So the time of every user message is
 *     told in it, not only the last one's.
 * NQ2 Every `tool_use` gets its one `tool_result` in the next user message, before any text: the result, or
 *     the word that it is pending. What becomes known later is told as text.
 * NQ3 What the model sees of the outside (results, signals) is one line of JSON, so no data can pose as
 *     another message.
 */
import type Anthropic from "@anthropic-ai/sdk";
import { sha256 } from "../../protocol/digest.ts";
import { limits } from "../../protocol/limits.ts";
import type { ModelMessage, ModelRequest, MessagePart } from "../../protocol/model.ts";
import { rebuildContent, type DropReason } from "./anthropic-blocks.ts";
import { asLine, outcomeOf, partText, timeText } from "./part-text.ts";
import { narrowSchema } from "./tool-schema.ts";

/** What the request to a model is sent with; all of it is the application's choice. */
export interface RequestOptions {
  /** The provider's name of the model, for example `claude-sonnet-5`. */
  readonly model: string;
  /** The longest answer, thinking included. */
  readonly maxTokens?: number;
  readonly thinking?: Anthropic.ThinkingConfigParam;
  readonly effort?: NonNullable<Anthropic.OutputConfig["effort"]>;
}

/** Opaque blocks of one message that are not sent back. */
export interface Dropped {
  /** Index in `request.messages`. */
  readonly message: number;
  readonly blocks: number;
  readonly because: DropReason;
}

export interface PlannedRequest {
  readonly params: Anthropic.MessageStreamParams;
  /** SHA-256 of all that the model reads before it answers: the origin of its answer. */
  readonly prefix: string;
  /** What was left out, message by message. The ledger and this function give it again at any time. */
  readonly dropped: readonly Dropped[];
}

/** Room for a long answer; every model of the provider takes it, and a stream has no deadline to fear. */
const maxTokensDefault = limits.outputTokensMax;

/** The call of the API for a request. The same request and options give the same bytes. */
export function planRequest(request: ModelRequest, options: RequestOptions): PlannedRequest {
  const head = {
    ...(request.instructions.trim() === "" ? {} : { system: request.instructions }),
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map(planTool) }),
  };
  const conversation = planMessages(request.messages, options.model, sha256(JSON.stringify(head)));
  const params: Anthropic.MessageStreamParams = {
    model: options.model,
    max_tokens: Math.min(
      options.maxTokens ?? maxTokensDefault,
      request.outputTokensMax ?? Number.POSITIVE_INFINITY,
    ),
    ...head,
    messages: conversation.messages,
    // One mark that moves with the end: each call reads what the last one wrote.
    cache_control: { type: "ephemeral" },
    ...(options.thinking === undefined ? {} : { thinking: options.thinking }),
    ...(options.effort === undefined ? {} : { output_config: { effort: options.effort } }),
  };
  return { params, prefix: conversation.prefix, dropped: conversation.dropped };
}

const planTool = ({ name, description, schema }: ModelRequest["tools"][number]): Anthropic.Tool => ({
  name,
  ...(description === "" ? {} : { description }),
  input_schema: narrowSchema(schema),
});

interface Conversation {
  readonly messages: Anthropic.MessageParam[];
  readonly prefix: string;
  readonly dropped: Dropped[];
}

/** Walks the messages once. `open` are the calls of the assistant turns since the last user message. */
function planMessages(messages: readonly ModelMessage[], model: string, head: string): Conversation {
  const planned: Anthropic.MessageParam[] = [];
  const dropped: Dropped[] = [];
  let prefix = head;
  let open = new Map<string, OpenCall>();
  for (const [index, message] of messages.entries()) {
    let param: Anthropic.MessageParam;
    if (message.role === "user") {
      param = { role: "user", content: planUser(message, open) };
      open = new Map();
    } else {
      const rebuilt = rebuildContent(message, { model, prefix });
      if (rebuilt.dropped !== undefined) dropped.push({ message: index, ...rebuilt.dropped });
      for (const [id, providerId] of rebuilt.ids) open.set(id, { providerId });
      // Nothing is left of a turn that was all thinking, and the API refuses an empty one.
      if (rebuilt.content.length === 0) continue;
      param = { role: "assistant", content: rebuilt.content };
    }
    planned.push(param);
    prefix = sha256(prefix + JSON.stringify(param));
  }
  return { messages: planned, prefix, dropped };
}

interface OpenCall {
  readonly providerId: string;
}

type ResultPart = MessagePart & { type: "result" };

function planUser(
  message: ModelMessage & { role: "user" },
  open: ReadonlyMap<string, OpenCall>,
): Anthropic.ContentBlockParam[] {
  const results: Anthropic.ToolResultBlockParam[] = [];
  const told = new Set<MessagePart>();
  for (const [call, { providerId }] of open) {
    const part = message.parts.find((candidate) => candidate.type === "result" && candidate.call === call);
    if (part !== undefined) told.add(part);
    results.push(
      planResult(
        providerId,
        part?.type === "result" ? part : { type: "result", call, tool: "", outcome: "pending" },
      ),
    );
  }
  const texts = message.parts.filter((part) => !told.has(part)).map(partText);
  return [
    ...results,
    ...[...texts, timeText(message.at)]
      .filter((text) => text.trim() !== "")
      .map((text) => ({ type: "text" as const, text })),
  ];
}

/** The one `tool_result` of a call. It holds our id of the call, by which the model can name it later. */
const planResult = (providerId: string, part: ResultPart): Anthropic.ToolResultBlockParam => ({
  type: "tool_result",
  tool_use_id: providerId,
  content: asLine({ call: part.call, ...outcomeOf(part) }),
  ...(part.outcome === "succeeded" || part.outcome === "pending" ? {} : { is_error: true }),
});
