/**
 * An assistant turn of the Messages API, in the ledger and back.
 *
 * NB1 Each byte stands once: text in `text`, a call's tool and input in `calls`, everything else verbatim in
 *     `blocks`, in which stand-ins hold the places of text and calls.
 * NB2 `rebuildContent` gives back what `keepContent` was given, key for key, except for text that is blank:
 *     the API returns such blocks and refuses them.
 * NB3 What only the provider can read (thinking above all) is bound to the model that wrote it and to every
 *     byte before it. It is sent back to that model behind that prefix, or it is left out, never changed.
 */
import type Anthropic from "@anthropic-ai/sdk";
import { z } from "zod";
import { Payload, toJson, type Json } from "../../protocol/json.ts";
import { type Block, type Call, type ModelMessage, readCallInput } from "../../protocol/model.ts";
import type { Origin } from "./one-answer.ts";

/** Why the opaque blocks of a turn are not sent back. */
export type DropReason = "another model" | "another prefix" | "another provider" | "calls missing";

const Kept = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("origin"),
    provider: z.literal("anthropic"),
    model: z.string(),
    prefix: z.string(),
  }),
  z.object({
    kind: z.literal("text"),
    start: z.int(),
    end: z.int(),
    rest: z.record(z.string(), Payload).optional(),
  }),
  z.object({
    kind: z.literal("call"),
    call: z.int(),
    id: z.string(),
    rest: z.record(z.string(), Payload).optional(),
  }),
  z.object({ kind: z.literal("verbatim"), block: z.record(z.string(), Payload) }),
]);
type Kept = z.infer<typeof Kept>;

/** What the ledger keeps of an assistant turn. `blocks` is left out where text alone says it all. */
export interface KeptContent {
  readonly text?: string;
  readonly calls: { tool: string; input: Json }[];
  readonly blocks?: Block[];
}

/** Takes a turn's content apart. See NB1. */
export function keepContent(content: readonly Anthropic.ContentBlock[], origin: Origin): KeptContent {
  const calls: { tool: string; input: Json }[] = [];
  const blocks: Kept[] = [{ kind: "origin", provider: "anthropic", ...origin }];
  let text = "";
  for (const block of content) {
    if (block.type === "text") {
      const { type: _type, text: said, ...rest } = block;
      // A gap where something stood between two texts; ranges make it invisible to the API.
      if (text !== "" && blocks.at(-1)?.kind !== "text") text += "\n\n";
      blocks.push({ kind: "text", start: text.length, end: text.length + said.length, ...keepRest(rest) });
      text += said;
    } else if (block.type === "tool_use") {
      const { type: _type, id, name, input, ...rest } = block;
      blocks.push({ kind: "call", call: calls.length, id, ...keepRest(rest) });
      calls.push({ tool: name, ...readCallInput(input) });
    } else {
      blocks.push({ kind: "verbatim", block: toJson(block) as Block });
    }
  }
  const textAlone = blocks.every(
    (block) => block.kind === "origin" || (block.kind === "text" && block.rest === undefined),
  );
  return { ...(text === "" ? {} : { text }), calls, ...(textAlone ? {} : { blocks }) };
}

/** The members of a block that have no place of their own; null ones say nothing and are left out. */
function keepRest(rest: object): { rest?: Block } {
  const said = Object.entries(rest).filter(([, member]) => member !== null && member !== undefined);
  return said.length === 0 ? {} : { rest: toJson(Object.fromEntries(said)) as Block };
}

/** An assistant turn as it is sent, the ids its calls have there, and what had to stay behind. */
export interface RebuiltContent {
  readonly content: Anthropic.ContentBlockParam[];
  /** Our id of a call to the provider's. */
  readonly ids: ReadonlyMap<string, string>;
  readonly dropped?: { readonly blocks: number; readonly because: DropReason };
}

/** Puts a turn together again, for `origin.model` behind a prefix with the hash `origin.prefix`. See NB2, NB3. */
export function rebuildContent(
  message: ModelMessage & { role: "assistant" },
  origin: Origin,
): RebuiltContent {
  const kept = z.array(Kept).safeParse(message.blocks ?? []);
  const refusal = kept.success ? whyNotVerbatim(kept.data, message, origin) : "another provider";
  const fits = kept.success && refusal !== "calls missing" && kept.data.length > 0;
  const places = fits ? kept.data : placesOf(message);
  const content: Anthropic.ContentBlockParam[] = [];
  const ids = new Map<string, string>();
  for (const place of places) {
    if (place.kind === "text") {
      const text = (message.text ?? "").slice(place.start, place.end);
      if (text.trim() !== "") content.push({ type: "text", text, ...place.rest });
    } else if (place.kind === "call") {
      const call = message.calls[place.call];
      if (call === undefined) continue;
      ids.set(call.id, place.id);
      content.push({
        type: "tool_use",
        id: place.id,
        name: call.tool,
        input: asObject(call.input),
        ...place.rest,
      });
    } else if (place.kind === "verbatim" && refusal === undefined) {
      // The block came from the API as it is; no type of ours describes all it may be.
      content.push(place.block as unknown as Anthropic.ContentBlockParam);
    }
  }
  const opaque = kept.success
    ? kept.data.filter((block) => block.kind === "verbatim").length
    : (message.blocks?.length ?? 0);
  return {
    content,
    ids,
    ...(refusal !== undefined && opaque > 0 ? { dropped: { blocks: opaque, because: refusal } } : {}),
  };
}

function whyNotVerbatim(
  kept: readonly Kept[],
  message: ModelMessage & { role: "assistant" },
  origin: Origin,
): DropReason | undefined {
  const calls = kept.flatMap((block) => (block.kind === "call" ? [block.call] : []));
  if (
    kept.length > 0 &&
    (calls.length !== message.calls.length || calls.some((call) => message.calls[call] === undefined))
  )
    return "calls missing";
  const written = kept.find((block) => block.kind === "origin");
  if (written === undefined) return kept.length > 0 ? "another provider" : undefined;
  if (written.model !== origin.model) return "another model";
  return written.prefix === origin.prefix ? undefined : "another prefix";
}

/** The places of a turn that this adapter did not write: its text, then its calls under our own ids. */
const placesOf = (message: ModelMessage & { role: "assistant" }): Kept[] => [
  { kind: "text", start: 0, end: message.text?.length ?? 0 },
  ...message.calls.map((call: Call, index): Kept => ({ kind: "call", call: index, id: foreignId(call.id) })),
];

/** The API takes letters, digits, - and _ in an id; ours are `<decision>.<position>`, so no two become one. */
const foreignId = (id: string): string => `call_${id.replaceAll(/[^a-zA-Z0-9_-]/g, "_")}`;

/** The API takes objects alone: what could not be read of a call, and was kept as a text, is wrapped. */
const asObject = (input: Json): Json =>
  typeof input === "object" && input !== null && !Array.isArray(input) ? input : { malformed: input };
