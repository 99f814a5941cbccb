/**
 * An assistant message of the Chat Completions API, in the ledger and back.
 *
 * OM1 Each byte stands once: text in `text`, a call's tool and input in `calls`; in `blocks` only the provider's ids
 *     of the calls and what else it said, verbatim.
 * OM2 What only the server can read (reasoning, signatures) is bound to the model that wrote it and to every byte
 *     before it. It is sent back to that model behind that prefix, or it is left out, never changed.
 * OM3 A call's input that is no JSON is kept as the text it is. Sent back it is wrapped, so that no server chokes on
 *     a message that it once wrote itself.
 */
import { z } from "zod";
import { sha256 } from "../../protocol/digest.ts";
import { Payload, type Json } from "../../protocol/json.ts";
import { type Block, type ModelAnswer, type ModelMessage, readCallInput } from "../../protocol/model.ts";
import type { Origin } from "./one-answer.ts";

/** A call as the API writes it. `rest` is what else stood in it. */
export interface ChatCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as long as the model wrote any. */
  readonly arguments: string;
  readonly rest: Members;
}

type Members = Readonly<Record<string, Json>>;

/** An assistant message as the API writes it. `rest` is what else stood in it: reasoning above all. */
export interface ChatMessage {
  readonly text: string;
  readonly refusal: string;
  readonly calls: readonly ChatCall[];
  readonly rest: Members;
}

const Kept = z.object({
  kind: z.literal("chat"),
  ids: z.array(z.string()),
  origin: z.object({ model: z.string(), prefix: z.string() }).optional(),
  message: z.record(z.string(), Payload).optional(),
  calls: z.record(z.string(), z.record(z.string(), Payload)).optional(),
});
type Kept = z.infer<typeof Kept>;

/** Takes a message apart. See OM1. */
export function keepMessage(
  message: ChatMessage,
  origin: Origin,
): Pick<ModelAnswer, "text" | "calls" | "blocks"> {
  const rests = message.calls.flatMap(({ rest }, index): [string, Block][] =>
    isEmpty(rest) ? [] : [[String(index), rest]],
  );
  const opaque = {
    ...(isEmpty(message.rest) ? {} : { message: message.rest }),
    ...(rests.length === 0 ? {} : { calls: Object.fromEntries(rests) }),
  };
  const kept: Kept = {
    kind: "chat",
    ids: message.calls.map(({ id }) => id),
    ...(isEmpty(opaque) ? {} : { origin, ...opaque }),
  };
  return {
    ...(message.text === "" ? {} : { text: message.text }),
    calls: message.calls.map((call) => ({ tool: call.name, ...readInput(call.arguments) })),
    ...(kept.ids.length === 0 && isEmpty(opaque) ? {} : { blocks: [kept] }),
  };
}

const isEmpty = (members: object): boolean => Object.keys(members).length === 0;

/** A tool without parameters is called with nothing at all by some servers. */
function readInput(text: string): { input: Json; fault?: string } {
  if (text.trim() === "") return { input: {} };
  let written: unknown;
  try {
    written = JSON.parse(text);
  } catch (error) {
    return {
      input: text.toWellFormed(),
      fault: `the call's arguments are not JSON: ${(error as SyntaxError).message}`,
    };
  }
  return readCallInput(written);
}

/** An assistant message as it is sent. */
export interface AssistantParam {
  readonly role: "assistant";
  readonly content: string | null;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: "function";
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly [member: string]: unknown;
}

/** Puts a message together again, with the ids its calls have there; undefined where nothing is left of it. */
export function rebuildMessage(
  message: ModelMessage & { role: "assistant" },
  origin: Origin,
  sendBack: readonly string[],
): { readonly param: AssistantParam; readonly ids: ReadonlyMap<string, string> } | undefined {
  const kept = Kept.safeParse(message.blocks?.[0]).data;
  const isWhole = kept?.ids.length === message.calls.length;
  const isOwn = isWhole && kept.origin?.model === origin.model && kept.origin.prefix === origin.prefix;
  const ids = new Map(
    message.calls.map(({ id }, index) => [id, (isWhole ? kept.ids[index] : undefined) ?? foreignId(id)]),
  );
  const back = Object.entries((isOwn ? kept.message : undefined) ?? {}).filter(([name]) =>
    sendBack.includes(name),
  );
  const text = message.text?.trim() === "" ? undefined : message.text;
  if (text === undefined && message.calls.length === 0) return undefined;
  const calls = message.calls.map(({ id, tool, input }, index) => ({
    id: ids.get(id) ?? id,
    type: "function" as const,
    function: { name: tool, arguments: JSON.stringify(asObject(input)) },
    ...(isOwn ? kept.calls?.[String(index)] : undefined),
  }));
  return {
    param: {
      role: "assistant",
      content: text ?? null,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
      ...Object.fromEntries(back),
    },
    ids,
  };
}

/** OM3. Servers that fill a template with the arguments expect an object. */
const asObject = (input: Json): Json =>
  typeof input === "object" && input !== null && !Array.isArray(input) ? input : { malformed: input };

/** Nine letters and digits: what the strictest server takes. Of one conversation no two are alike. */
const foreignId = (id: string): string => sha256(id).slice(0, 9);
