/**
 * Anthropic: a recording in the shape of the Messages API: a request with its messages, and perhaps the answer to it.
 *
 * What a request holds of earlier answers is their content, so usage and the reason of a stop are known of the last
 * one alone, if it is there.
 */
import type Anthropic from "@anthropic-ai/sdk";
import { z } from "zod";
import { describeError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import { toValue } from "../../protocol/value.ts";
import { keepContent } from "../models/anthropic-blocks.ts";
import { readReply } from "../models/anthropic-reply.ts";
import {
  type Conversation,
  createNotes,
  type Entry,
  faultIn,
  type Notes,
  type Place,
  readPart,
  readTime,
} from "./conversation.ts";

const Block = z.looseObject({ type: z.string() });
const Content = z.union([z.string(), z.array(Block)]);
const Tool = z.looseObject({
  name: z.string(),
  description: z.string().default(""),
  input_schema: z.record(z.string(), z.unknown()).optional(),
});
const Request = z.looseObject({
  model: z.string().optional(),
  system: Content.optional(),
  tools: z.array(Tool).optional(),
  messages: z.array(z.unknown()),
});
const Message = z.looseObject({ role: z.enum(["user", "assistant", "system"]), content: Content });
const Answer = z.looseObject({
  content: z.array(Block),
  model: z.string().optional(),
  stop_reason: z.string().nullish(),
  usage: z.record(z.string(), z.unknown()).nullish(),
});

/** Where recorders put request and answer, and what else they say. */
const wrapped = ["request", "params", "body"] as const;
const answered = ["response", "completion"] as const;

/** Reads one. Throws RECORDING_INVALID with the message's number. */
export function readAnthropic(value: unknown, at: Place): Conversation {
  const given = Array.isArray(value) ? { messages: value } : (value as Record<string, unknown>);
  const inner = wrapped.map((name) => given[name]).find((one) => typeof one === "object" && one !== null);
  const request = readPart(Request, inner ?? given, at);
  const answer = answered.map((name) => given[name]).find((one) => typeof one === "object" && one !== null);
  const notes = createNotes();
  const origin = { model: request.model ?? "recorded", prefix: "imported" };
  const entries: Entry[] = [];
  for (const [index, one] of request.messages.entries()) {
    const place = index + 1;
    const { role, content, ...rest } = readPart(Message, one, at, place);
    const time = readTime(rest["timestamp"] ?? rest["created_at"]);
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    if (role === "system") notes.add("instructions in the middle are left out", place);
    else if (role === "user") entries.push(...readUser(blocks, place, notes, time));
    else entries.push(readAssistant(blocks, origin, place, time));
  }
  if (answer !== undefined) entries.push(readAnswer(answer, origin, entries.length + 1, at));
  const about = aboutOf(given, [...wrapped, ...answered, "messages", "system", "tools", "model"]);
  return {
    from: { ...at, format: "anthropic", ...(about === undefined ? {} : { about }) },
    model: origin.model,
    instructions: textOf(request.system ?? ""),
    tools: request.tools?.flatMap(({ name, description, input_schema: schema }) => {
      if (schema === undefined)
        notes.add(`${name} is a tool of the provider's own, whose calls are not in a ledger`, 0);
      return schema === undefined
        ? []
        : [{ name, description, schema: toValue(schema) as Record<string, Json> }];
    }),
    entries,
    notes: notes.all(),
  };
}

const textOf = (content: z.infer<typeof Content>): string =>
  typeof content === "string"
    ? content
    : content.flatMap((block) => (typeof block["text"] === "string" ? [block["text"]] : [])).join("\n\n");

function readUser(
  blocks: readonly z.infer<typeof Block>[],
  place: number,
  notes: Notes,
  at: number | undefined,
): Entry[] {
  const results: Entry[] = [];
  const texts: string[] = [];
  for (const block of blocks)
    if (block.type === "tool_result")
      results.push({
        type: "result",
        id: String(block["tool_use_id"]),
        output: outputOf(block["content"]),
        isError: block["is_error"] === true,
        ...{ place, at },
      });
    else if (block.type === "text" && typeof block["text"] === "string") texts.push(block["text"]);
    else notes.add(`a block "${block.type}" of the user's is left out`, place);
  const text = texts.join("\n\n");
  return text === "" ? results : [...results, { type: "user", text, place, at }];
}

/** One text is itself; anything else is kept as it stood. */
function outputOf(content: unknown): Json {
  if (!Array.isArray(content)) return toValue(content ?? null);
  const [only, ...more] = content as readonly { type?: unknown; text?: unknown }[];
  return more.length === 0 && only?.type === "text" && typeof only.text === "string"
    ? only.text
    : toValue(content);
}

interface Origin {
  readonly model: string;
  readonly prefix: string;
}

function readAssistant(
  blocks: readonly z.infer<typeof Block>[],
  origin: Origin,
  place: number,
  at: number | undefined,
): Entry {
  const content = blocks as unknown as Anthropic.ContentBlock[]; // Only the members named above are read.
  const reply = { ...keepContent(content, origin), model: origin.model };
  return { type: "reply", reply, ids: idsOf(blocks), hasUsage: false, place, at };
}

const idsOf = (blocks: readonly z.infer<typeof Block>[]): string[] =>
  blocks.flatMap((block) => (block.type === "tool_use" ? [String(block["id"])] : []));

function readAnswer(value: unknown, origin: Origin, place: number, at: Place): Entry {
  const answer = readPart(Answer, value, at, place);
  const { content, model = origin.model, stop_reason: stop, usage } = answer;
  const message = {
    ...answer,
    model,
    usage: usage ?? {},
    stop_reason: stop ?? (idsOf(content).length > 0 ? "tool_use" : "end_turn"),
  } as unknown as Anthropic.Message;
  try {
    const reply = readReply(message, origin);
    const ids = reply.calls === undefined || reply.calls.length === 0 ? [] : idsOf(content);
    return { type: "reply", reply, ids, hasUsage: usage !== undefined && usage !== null, place };
  } catch (error) {
    throw faultIn(at, `message ${place}: ${describeError(error)}`, error);
  }
}

/** What a recording says beside the conversation. */
export function aboutOf(
  given: Readonly<Record<string, unknown>>,
  without: readonly string[],
): Record<string, Json> | undefined {
  const said = Object.entries(given).filter(
    ([name, member]) => !without.includes(name) && member !== undefined,
  );
  return said.length === 0 ? undefined : (toValue(Object.fromEntries(said)) as Record<string, Json>);
}
