/**
 * Messages: a recording as a list of messages with roles, as Chat Completions has them and as benchmarks of agents with
 * a user and tools write them: the list alone, or under `traj` or `messages` beside the task and how it was judged.
 */
import { z } from "zod";
import type { Json } from "../../protocol/json.ts";
import { toValue } from "../../protocol/value.ts";
import { type ChatCall, keepMessage } from "../models/openai-message.ts";
import { aboutOf } from "./anthropic.ts";
import {
  type Conversation,
  createNotes,
  type Entry,
  faultIn,
  type Notes,
  type Place,
  readPart,
  type RecordedTool,
  readTime,
} from "./conversation.ts";

const Part = z.looseObject({ type: z.string(), text: z.string().optional() });
const Content = z.union([z.string(), z.array(Part)]).nullish();
const Call = z.looseObject({
  id: z.string().nullish(),
  function: z.looseObject({ name: z.string(), arguments: z.unknown().optional() }).optional(),
  name: z.string().optional(),
  arguments: z.unknown().optional(),
});
const Message = z.looseObject({
  role: z.enum(["system", "developer", "user", "assistant", "tool", "function"]),
  content: Content,
  tool_calls: z.array(Call).nullish(),
  tool_call_id: z.string().nullish(),
});
const Tool = z.looseObject({
  function: z
    .looseObject({
      name: z.string(),
      description: z.string().default(""),
      parameters: z.record(z.string(), z.unknown()).default({ type: "object" }),
    })
    .optional(),
});
type Message = z.infer<typeof Message>;

/** Under what names lists of messages stand. */
const listed = ["traj", "trajectory", "messages"] as const;

/** Reads one. Throws RECORDING_INVALID with the message's number. */
export function readMessages(value: unknown, at: Place): Conversation {
  const given = Array.isArray(value) ? { messages: value } : (value as Record<string, unknown>);
  const list = listed.map((name) => given[name]).find((one) => Array.isArray(one)) as unknown[] | undefined;
  if (list === undefined) throw faultIn(at, `it has no list of messages (${listed.join(", ")})`);
  const notes = createNotes();
  const model = typeof given["model"] === "string" ? given["model"] : "recorded";
  const instructions: string[] = [];
  const entries: Entry[] = [];
  for (const [index, one] of list.entries()) {
    const place = index + 1;
    const message = readPart(Message, one, at, place);
    const time = readTime(message["timestamp"]);
    const text = textOf(message.content, place, notes);
    const { role } = message;
    if (role === "system" || role === "developer") {
      if (entries.length === 0) instructions.push(text);
      else notes.add("instructions in the middle are left out", place);
    } else if (role === "user") {
      if ((message.tool_calls ?? []).length > 0) notes.add("calls of the user's own are left out", place);
      if (text !== "") entries.push({ type: "user", text, place, at: time });
    } else if (role === "assistant")
      entries.push(readAssistant(message, text, { model, place, at: time }, notes));
    else entries.push(readResult(message, text, { place, at: time, before: entries }, at));
  }
  const about = aboutOf(given, [...listed, "tools", "model"]);
  return {
    from: { ...at, format: "messages", ...(about === undefined ? {} : { about }) },
    model,
    instructions: instructions.join("\n\n"),
    tools: toolsOf(given["tools"], at),
    entries,
    notes: notes.all(),
  };
}

function textOf(content: z.infer<typeof Content>, place: number, notes: Notes): string {
  if (typeof content === "string") return content;
  const parts = content ?? [];
  for (const { type, text } of parts)
    if (text === undefined) notes.add(`a part "${type}" of a message is left out`, place);
  return parts.flatMap(({ text }) => text ?? []).join("\n\n");
}

/** What a message has a place for elsewhere; the rest is kept as it stands, reasoning above all. */
const placed: ReadonlySet<string> = new Set([
  ...["role", "content", "tool_calls", "tool_call_id", "function_call", "name", "refusal"],
  ...["timestamp", "turn_idx", "usage", "cost", "raw_data", "audio", "annotations"],
]);

function readAssistant(
  message: Message,
  text: string,
  { model, place, at }: { model: string; place: number; at: number | undefined },
  notes: Notes,
): Entry {
  const legacy = message["function_call"] as { name?: unknown; arguments?: unknown } | null | undefined;
  const given: readonly z.infer<typeof Call>[] =
    message.tool_calls ??
    (typeof legacy?.name === "string" ? [{ name: legacy.name, arguments: legacy.arguments }] : []);
  const calls = given.map((call, k): ChatCall => {
    const { name = "", arguments: input } = call.function ?? call;
    const written = typeof input === "string" ? input : JSON.stringify(input ?? {});
    return { id: call.id ?? `${place}.${k}`, name, arguments: written, rest: {} };
  });
  const rest = Object.fromEntries(
    Object.entries(message).filter(([name, member]) => !placed.has(name) && member !== null),
  );
  const kept = keepMessage(
    { text, refusal: "", calls, rest: toValue(rest) as Record<string, Json> },
    { model, prefix: "imported" },
  );
  if (text === "" && calls.length === 0) notes.add("a reply says nothing and calls nothing", place);
  const usage = usageOf(message["usage"]);
  const reply = { ...kept, ...(usage === undefined ? {} : { usage }), model };
  return { type: "reply", reply, ids: calls.map(({ id }) => id), hasUsage: usage !== undefined, place, at };
}

const Used = z.object({ prompt_tokens: z.int().nonnegative(), completion_tokens: z.int().nonnegative() });

function usageOf(value: unknown) {
  const read = Used.safeParse(value);
  return read.success
    ? { inputTokens: read.data.prompt_tokens, outputTokens: read.data.completion_tokens }
    : undefined;
}

/** By the id of its call; where there is none, by the place of the first call that has no result yet. */
function readResult(
  message: Message,
  text: string,
  { place, at: time, before }: { place: number; at: number | undefined; before: readonly Entry[] },
  at: Place,
): Entry {
  const own = message.tool_call_id ?? message["id"];
  const last = before.findLastIndex(({ type }) => type === "reply");
  const reply = before[last];
  const answered = before.slice(last).filter(({ type }) => type === "result").length;
  const id = typeof own === "string" ? own : reply?.type === "reply" ? reply.ids[answered] : undefined;
  if (id === undefined) throw faultIn(at, `message ${place}: a result of a call that was never made`);
  return { type: "result", id, output: text, isError: message["error"] === true, place, at: time };
}

function toolsOf(given: unknown, at: Place): RecordedTool[] | undefined {
  if (!Array.isArray(given)) return undefined;
  return given.flatMap((one) => {
    const { function: tool } = readPart(Tool, one, at);
    return tool === undefined
      ? []
      : [
          {
            name: tool.name,
            description: tool.description,
            schema: toValue(tool.parameters) as Record<string, Json>,
          },
        ];
  });
}
