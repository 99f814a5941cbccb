/**
 * The chunks of a streamed answer of the Chat Completions API, put together. Pure but for what it has gathered.
 *
 * OS1 A call is its index, its id or, where a server gives neither, its name: whatever says that another one begins.
 *     Two calls are never made one, and no guess completes what a model left unfinished.
 * OS2 What is not known here is kept: texts are joined, lists and objects merged, the rest replaced.
 */
import { z } from "zod";
import { Payload, type Json } from "../../protocol/json.ts";
import type { ChatCall, ChatMessage } from "./openai-message.ts";

type Members = Record<string, Json>;

/** Some servers write a call's arguments as an object, where the API has them as text. */
const Arguments = z
  .union([z.string(), z.record(z.string(), Payload).transform((value) => JSON.stringify(value))])
  .nullish();

const CallDelta = z.looseObject({
  index: z.int().nullish(),
  id: z.string().nullish(),
  type: z.string().nullish(),
  function: z.looseObject({ name: z.string().nullish(), arguments: Arguments }).nullish(),
});
type CallDelta = z.infer<typeof CallDelta>;

/** A text, or parts of which only the texts are read. */
const Content = z
  .union([
    z.string(),
    z
      .array(z.looseObject({ text: z.string().optional() }))
      .transform((parts) => parts.map(({ text = "" }) => text).join("")),
  ])
  .nullish();

const Delta = z.looseObject({
  role: z.string().nullish(),
  content: Content,
  refusal: z.string().nullish(),
  tool_calls: z.array(CallDelta).nullish(),
});

/** Tokens as the API counts them; `prompt_tokens` holds those that a cache gave. */
export const ChatUsage = z.looseObject({
  prompt_tokens: z.int().nonnegative().nullish(),
  completion_tokens: z.int().nonnegative().nullish(),
  prompt_tokens_details: z.looseObject({ cached_tokens: z.int().nonnegative().nullish() }).nullish(),
  prompt_cache_hit_tokens: z.int().nonnegative().nullish(),
});
export type ChatUsage = z.infer<typeof ChatUsage>;

const choice = { finish_reason: z.string().nullish(), index: z.int().nullish() };

/** A chunk of a stream, or a whole answer: they differ in `delta` and `message` only. */
export const ChatChunk = z.looseObject({
  model: z.string().nullish(),
  choices: z.array(z.looseObject({ ...choice, delta: Delta.nullish(), message: Delta.nullish() })).nullish(),
  usage: ChatUsage.nullish().catch(undefined),
  error: Payload.optional(),
});
export type ChatChunk = z.infer<typeof ChatChunk>;

/** What a whole answer comes to. */
export interface Completion {
  readonly model: string | undefined;
  readonly message: ChatMessage;
  /** Undefined: the stream ended without a word why. */
  readonly finish: string | undefined;
  readonly usage: ChatUsage | undefined;
}

/** What a chunk adds for the readers of the live lane. */
export interface Shown {
  readonly text?: string;
  readonly thinking?: string;
}

export interface Gathering {
  /** Takes a chunk and returns what it adds to the text and to the reasoning. */
  take(chunk: ChatChunk): Shown;
  completion(): Completion;
}

/** Reasoning in a form that the server can check is said once more as plain text, and by gateways a third time. */
function unrepeated({ provider_specific_fields: _gateway, ...rest }: Members): Members {
  if (rest["reasoning_details"] === undefined && rest["thinking_blocks"] === undefined) return rest;
  const { reasoning: _reasoning, reasoning_content: _content, ...checked } = rest;
  return checked;
}

interface OpenCall {
  readonly index: number | undefined;
  id: string;
  name: string;
  arguments: string;
  rest: Members;
}

export function createGathering(): Gathering {
  let model: string | undefined;
  let finish: string | undefined;
  let usage: ChatUsage | undefined;
  let text = "";
  let refusal = "";
  let rest: Members = {};
  const calls: OpenCall[] = [];
  return {
    take: (chunk) => {
      model ??= chunk.model ?? undefined;
      usage = chunk.usage ?? usage;
      const first = chunk.choices?.find(({ index }) => (index ?? 0) === 0);
      finish = first?.finish_reason || finish;
      const delta = first?.delta ?? first?.message;
      if (delta === undefined || delta === null) return {};
      const { role: _role, content, refusal: refused, tool_calls: called, ...others } = delta;
      text += content ?? "";
      refusal += refused ?? "";
      for (const call of called ?? []) addCall(calls, call);
      rest = mergeMembers(rest, said(others));
      const thinking = others["reasoning_content"] ?? others["reasoning"];
      return {
        ...(content ? { text: content } : {}),
        ...(typeof thinking === "string" && thinking !== "" ? { thinking } : {}),
      };
    },
    completion: () => ({
      model,
      finish,
      usage,
      message: { text, refusal, calls: calls.map(closed), rest: unrepeated(rest) },
    }),
  };
}

/** OS1. */
function addCall(
  calls: OpenCall[],
  { index, id, type: _type, function: called, ...others }: CallDelta,
): void {
  const known = typeof index === "number" ? calls.findLast((call) => call.index === index) : calls.at(-1);
  const isAnother =
    known === undefined ||
    (id ? known.id !== "" && known.id !== id : typeof index !== "number" && Boolean(called?.name));
  const call = isAnother ? { index: index ?? undefined, id: "", name: "", arguments: "", rest: {} } : known;
  if (isAnother) calls.push(call);
  call.id ||= id ?? "";
  call.name ||= called?.name ?? "";
  call.arguments += called?.arguments ?? "";
  const { name: _name, arguments: _arguments, ...inFunction } = called ?? {};
  call.rest = mergeMembers(call.rest, said({ ...others, ...inFunction }));
}

/** A server may leave the id out: the call's place says which one it is. */
const closed = ({ id, name, arguments: text, rest }: OpenCall, place: number): ChatCall => ({
  id: id === "" ? `call_${place}` : id,
  name,
  arguments: text,
  rest,
});

/** Members that say something: many servers fill up with null, nothing and empty lists. */
const said = (members: object): Members =>
  Object.fromEntries(
    Object.entries(members as Members).filter(
      ([, member]) =>
        member !== null &&
        member !== undefined &&
        member !== "" &&
        !(typeof member === "object" && Object.keys(member).length === 0),
    ),
  );

function mergeMembers(before: Members, added: Members): Members {
  const merged: Members = { ...before };
  for (const [name, value] of Object.entries(added)) merged[name] = merge(merged[name], value, name);
  return merged;
}

/** Members that a chunk repeats instead of continuing. */
const isRepeated: ReadonlySet<string> = new Set(["type", "id", "format", "index", "signature", "data"]);

function merge(before: Json | undefined, added: Json, name: string): Json {
  if (before === undefined || before === null || isRepeated.has(name)) return added;
  if (typeof before === "string" && typeof added === "string") return before + added;
  if (Array.isArray(before) && Array.isArray(added)) return added.reduce<Json[]>(addItem, before);
  return isMembers(before) && isMembers(added) ? mergeMembers(before, added) : added;
}

/** An item continues the last one if it is of its kind and that one is not signed yet. */
function addItem(items: readonly Json[], item: Json): Json[] {
  const last = items.at(-1);
  const continues =
    isMembers(last) &&
    isMembers(item) &&
    last["type"] === item["type"] &&
    last["index"] === item["index"] &&
    !last["signature"] &&
    last["data"] === undefined;
  return continues ? [...items.slice(0, -1), mergeMembers(last, said(item))] : [...items, item];
}

const isMembers = (value: Json | undefined): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);
