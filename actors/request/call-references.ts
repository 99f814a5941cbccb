/**
 * Call references: how a model's call says what it rests on, and takes a part of an earlier result as an argument.
 *
 * Owns: what the model is told of it, and how its words are read. Does not own: the form of a reference (reference.ts),
 * nor what follows from what a call rests on (workflow-undo.ts).
 *
 * CR1 What a reference stood for is put in its place before the reply is recorded: the ledger holds the arguments as
 *     they were, and which call they came from. Nothing is resolved twice.
 * CR2 A call may rest only on calls of whose results the model was shown. One that names another is a fault of its own.
 * CR3 A call that says nothing of what it rests on rests on all that was settled before; one that does, on that alone.
 */
import type { z } from "zod";
import type { Json } from "../../protocol/json.ts";
import type { ModelMessage, ModelReply } from "../../protocol/model.ts";
import { referenceOf, resolved } from "../values/reference.ts";
import { shownSchema } from "./shown-schema.ts";

type Call = ModelReply["calls"][number];

/** What the model is told, after its instructions. */
export const referenceWords = [
  'In the arguments of a call, {"$ref": "call 3.0 /bookingId"} stands for what is at that JSON pointer in the output of the earlier call 3.0: it is put in its place for you.',
  'A call may hold the member "$after" beside its arguments: a list of earlier calls, ["3.0"], which are all that it rests on. What is undone later is undone in that order; a call without it rests on everything before.',
].join("\n");

/** What a call may hold beside its arguments, which a closed schema would forbid. It is taken away before they are read. */
const after = { type: "array", items: { type: "string" } };

/** A call's schema as a model is shown it that may say what the call rests on. */
export const shownWithAfter = (schema: z.ZodType): Record<string, unknown> => withMember(shownSchema(schema));

function withMember(shown: Record<string, unknown>): Record<string, unknown> {
  const { properties, anyOf, oneOf } = shown;
  const unions = Object.entries({ anyOf, oneOf }).filter(([, options]) => Array.isArray(options));
  return {
    ...shown,
    ...(properties === undefined ? {} : { properties: { ...(properties as object), $after: after } }),
    ...Object.fromEntries(
      unions.map(([key, options]) => [key, (options as Record<string, unknown>[]).map(withMember)]),
    ),
  };
}

/** The reply with every reference resolved, from the outputs in the messages that the model was sent. */
export const withReferences = (reply: ModelReply, messages: readonly ModelMessage[]): ModelReply => {
  const outputs = new Map<string, Json>();
  for (const { role, ...message } of messages)
    if (role === "user" && "parts" in message)
      for (const part of message.parts)
        if (part.type === "result" && part.outcome === "succeeded")
          outputs.set(part.call, part.output ?? null);
  return {
    ...reply,
    calls: reply.calls.map((call) => (call.fault === undefined ? readCall(call, outputs) : call)),
  };
};

function readCall({ dependsOn: _said, ...call }: Call, outputs: ReadonlyMap<string, Json>): Call {
  const { after, input } = withoutAfter(call.input);
  const refs = new Set<string>();
  const made = resolved(
    input,
    ({ of, name }) => {
      if (of === "call") refs.add(name);
      return of === "call" ? outputs.get(name) : undefined;
    },
    (value) => {
      // A tool's own argument may hold "$ref" and mean something else: only this form is ours.
      const reference = referenceOf(value);
      return reference !== undefined && reference !== "bad" && reference.of === "call";
    },
  );
  if ("unresolved" in made) return { ...call, fault: made.unresolved };
  const unknown = (after ?? []).filter((name) => !outputs.has(name));
  if (unknown.length > 0)
    return { ...call, fault: `"$after" names ${unknown.join(", ")}, of which no result was shown` };
  const rests = after === undefined ? {} : { dependsOn: [...new Set([...after, ...refs])] };
  const from = refs.size === 0 ? {} : { refs: [...refs] };
  return { ...call, input: made.value, ...rests, ...from };
}

function withoutAfter(input: Json): { after: readonly string[] | undefined; input: Json } {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return { after: undefined, input };
  const { $after: after, ...rest } = input;
  const isList = Array.isArray(after) && after.every((one) => typeof one === "string");
  return isList ? { after: after, input: rest } : { after: undefined, input };
}
