/**
 * Variation: what a replayed run is given other than the recorded one, beside the model.
 *
 * VR1 The recorded request is proven before the varied one is built from the same conversation.
 * VR2 Another definition supplies tools, context policy, policies, instructions and the first message's words. What was
 *     said after that is said: the conversation is the recorded one.
 */
import { type AgentOwn, isAgent } from "../../actors/agent/kind.ts";
import { cutOf } from "../../actors/agent/retention.ts";
import type { Definition, BuiltRequest } from "../../actors/contract/definition.ts";
import { decideTurn } from "../../actors/kernel/fold.ts";
import { plainRequest } from "../../actors/request/plain.ts";
import { buildRequest } from "../../actors/request/request.ts";
import { framed } from "../../actors/request/variant.ts";
import { shortDigestOf } from "../../protocol/digest.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { ModelMessage } from "../../protocol/model.ts";
import type { ReplayDocument } from "../../protocol/documents/replay.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import type { RecordedRequest } from "../views/requests.ts";

export interface Variation {
  readonly prompt?: { readonly file: string; readonly text: string } | undefined;
  readonly with?: { readonly file: string; readonly app: App } | undefined;
}

export const isVaried = (variation: Variation): boolean =>
  variation.prompt !== undefined || variation.with !== undefined;

/** The definition that decides the replayed run. Throws AGENT_UNKNOWN and USAGE, each with its remedy. */
export function variedDefinition(recorded: Definition, variation: Variation): Definition {
  const base = variation.with === undefined ? recorded : otherDefinition(recorded, variation.with);
  const { prompt } = variation;
  if (prompt === undefined) return base;
  if (!isAgent(base))
    throw new MeshError("USAGE", `${base.name} is no agent and has no instructions of its own`, {
      remedy: "Leave --prompt out, or give another machine by --with.",
    });
  const varied = { ...framed(base.own, { instructions: prompt.text }), instructions: prompt.text };
  const definition: Definition<AgentOwn> = { ...base, own: { ...base.own, ...varied } };
  return definition;
}

function otherDefinition({ name, kind }: Definition, { file, app }: { file: string; app: App }): Definition {
  const other = app.latest(name) ?? app.definitions.find((one) => one.name === name);
  if (other === undefined)
    throw new MeshError("AGENT_UNKNOWN", `${file} defines no ${name}`, {
      remedy: `Give an application file with a definition of this name; this one has ${app.definitions.map((one) => one.name).join(", ") || "none"}.`,
    });
  if (other.kind !== kind)
    throw new MeshError(
      "USAGE",
      `${name} is a ${kind.name} in the ledger and a ${other.kind.name} in ${file}`,
      {
        remedy: "Compare like with like: a conversation can be put only to another agent.",
      },
    );
  return other;
}

/** What a report says of it. */
export function variationDocument(
  variation: Variation,
  definition: Definition,
): Pick<ReplayDocument, "variation"> {
  if (!isVaried(variation)) return {};
  const { prompt, with: other } = variation;
  return {
    variation: {
      ...(prompt === undefined ? {} : { prompt: { file: prompt.file, digest: shortDigestOf(prompt.text) } }),
      ...(other === undefined
        ? {}
        : { with: { file: other.file, version: definition.version, hash: definition.hash } }),
    },
  };
}

/**
 * The request that another definition would make of a recorded conversation (VR2). Undefined where it asks no such
 * call. A summary that its context policy would ask for first is left out, as the request's head then says.
 */
export function variedRequest(
  definition: Definition,
  first: Turn,
  { intent, request, place, said }: RecordedRequest,
): BuiltRequest | undefined {
  const { saga, now, step, outputTokensMax } = request;
  const bound = outputTokensMax === undefined ? {} : { outputTokensMax };
  const { modelCalls } = definition;
  const frame = isAgent(definition) ? definition.own.frame : undefined;
  if (!isAgent(definition) || frame === undefined) {
    const call = modelCalls[place ?? 0] ?? modelCalls.find(({ model }) => model === intent.name);
    return call && plainRequest(saga, call, intent.input ?? null, { now, outputTokensMax });
  }
  const messages = begunAnew(definition, first, said);
  const cut = cutOf(definition.own.context, messages);
  return buildRequest(
    { ...definition.own, frame },
    saga,
    { step, now, ...bound, ...(cut === undefined ? {} : { cut }) },
    messages,
  );
}

/** The conversation with the first message as this definition words it. */
function begunAnew(definition: Definition, first: Turn, said: readonly ModelMessage[]): ModelMessage[] {
  const [began, ...rest] = said;
  const start = first.steps[0]?.event;
  if (start?.type !== "start" || began?.role !== "user") return [...said];
  const { saga, at } = first;
  const own = decideTurn(definition, undefined, { saga, at, events: [start] }).said[0];
  const words = own?.role === "user" ? own.parts.find(({ type }) => type === "text") : undefined;
  const at0 = began.parts.findIndex(({ type }) => type === "text");
  return [{ ...began, parts: began.parts.map((part, k) => (k === at0 ? (words ?? part) : part)) }, ...rest];
}
