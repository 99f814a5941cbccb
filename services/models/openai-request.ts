/**
 * A model request as the body of a call of the Chat Completions API. Pure.
 *
 * OQ1 A prefix of `messages` gives a prefix of the body's messages, byte for byte: nothing earlier changes when the
 *     conversation grows. Caches and reasoning live on that. So the time of every user message is told in it.
 * OQ2 Every call gets its one `tool` message right behind the message that made it: the result, or the word that it
 *     is pending. What becomes known later is told as text.
 * OQ3 What the model sees of the outside (results, signals) is one line of JSON, so no data can pose as another
 *     message.
 */
import { sha256 } from "../../protocol/digest.ts";
import type { Json } from "../../protocol/json.ts";
import type { ModelMessage, ModelRequest, MessagePart } from "../../protocol/model.ts";
import { asLine, outcomeOf, partText, timeText } from "./part-text.ts";
import { rebuildMessage, type AssistantParam } from "./openai-message.ts";
import { narrowSchema } from "./tool-schema.ts";

/** What the request to a model is sent with; all of it is the application's choice. */
export interface ChatOptions {
  /** The server's name of the model. */
  readonly model: string;
  /** The longest answer, reasoning included. Left out: the server's own limit. */
  readonly maxTokens?: number;
  /**
   * What that limit is called. Default: `max_completion_tokens` for OpenAI and Azure, whose newer models take
   * nothing else; `max_tokens` for any other server, many of which know nothing else.
   */
  readonly maxTokensMember?: "max_completion_tokens" | "max_tokens";
  /** Default true. False for a server that cannot stream, or not with tools; then tokens are shown at the end. */
  readonly stream?: boolean;
  /** Default true: asks for the usage of a streamed answer. False for a server that refuses to be asked. */
  readonly streamUsage?: boolean;
  /** More members of the body, such as `reasoning_effort` or `temperature`; what is named here otherwise wins. */
  readonly body?: Readonly<Record<string, Json>>;
  /**
   * Members of an answer that the server wants to see again, besides text and calls. Default:
   * `reasoning_content`, `reasoning_details`, `thinking_blocks`. Everything else is kept in the ledger only.
   */
  readonly sendBack?: readonly string[];
}

const sendBackDefault = ["reasoning_content", "reasoning_details", "thinking_blocks"];

type ChatParam =
  | { readonly role: "system" | "user"; readonly content: string }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string }
  | AssistantParam;

export interface PlannedChat {
  readonly body: { readonly messages: readonly ChatParam[]; readonly [member: string]: unknown };
  /** SHA-256 of all that the model reads before it answers: the origin of its answer. */
  readonly prefix: string;
}

/** The body of the call for a request. The same request and options give the same bytes. */
export function planChat(request: ModelRequest, options: ChatOptions): PlannedChat {
  const { stream = true, streamUsage = true } = options;
  const maxTokens = Math.min(options.maxTokens ?? Infinity, request.outputTokensMax ?? Infinity);
  const tools = request.tools.map(planTool);
  const system: ChatParam[] =
    request.instructions.trim() === "" ? [] : [{ role: "system", content: request.instructions }];
  const conversation = planMessages(request.messages, options, sha256(JSON.stringify([system, tools])));
  const body = {
    ...options.body,
    model: options.model,
    messages: [...system, ...conversation.messages],
    ...(tools.length === 0 ? {} : { tools }),
    ...(maxTokens === Infinity ? {} : { [options.maxTokensMember ?? "max_tokens"]: maxTokens }),
    stream,
    ...(stream && streamUsage ? { stream_options: { include_usage: true } } : {}),
  };
  return { body, prefix: conversation.prefix };
}

const planTool = ({ name, description, schema }: ModelRequest["tools"][number]) => ({
  type: "function",
  function: {
    name,
    ...(description === "" ? {} : { description }),
    parameters: narrowSchema(schema),
  },
});

/** Walks the messages once. `open` are the calls of the last assistant message: our id to the server's. */
function planMessages(
  messages: readonly ModelMessage[],
  { model, sendBack = sendBackDefault }: ChatOptions,
  head: string,
): { messages: ChatParam[]; prefix: string } {
  const planned: ChatParam[] = [];
  let prefix = head;
  let open: ReadonlyMap<string, string> = new Map();
  const add = (...params: readonly ChatParam[]) => {
    planned.push(...params);
    for (const param of params) prefix = sha256(prefix + JSON.stringify(param));
  };
  for (const message of messages) {
    if (message.role === "user") {
      add(...planUser(message, open));
      open = new Map();
      continue;
    }
    add(...planResults([], open));
    open = new Map();
    const rebuilt = rebuildMessage(message, { model, prefix }, sendBack);
    if (rebuilt === undefined) continue;
    add(rebuilt.param);
    open = rebuilt.ids;
  }
  add(...planResults([], open));
  return { messages: planned, prefix };
}

type ResultPart = MessagePart & { type: "result" };

function planUser(
  { at, parts }: ModelMessage & { role: "user" },
  open: ReadonlyMap<string, string>,
): readonly ChatParam[] {
  const isTold = (part: MessagePart): part is ResultPart => part.type === "result" && open.has(part.call);
  // Of two parts about one call the first is its result, and the second is news of it.
  const told = new Map(
    parts
      .filter(isTold)
      .map((part) => [part.call, part] as const)
      .reverse(),
  );
  const texts = parts.filter((part) => !isTold(part) || told.get(part.call) !== part).map(partText);
  const content = [...texts, timeText(at)].filter((text) => text.trim() !== "").join("\n\n");
  return [...planResults([...told.values()], open), { role: "user", content }];
}

/** OQ2. It holds our id of the call, by which the model can name it later. */
const planResults = (parts: readonly ResultPart[], open: ReadonlyMap<string, string>): ChatParam[] =>
  [...open].map(([call, id]) => {
    const part = parts.find((one) => one.call === call) ?? {
      type: "result",
      call,
      tool: "",
      outcome: "pending",
    };
    return { role: "tool", tool_call_id: id, content: asLine({ call, ...outcomeOf(part) }) };
  });
