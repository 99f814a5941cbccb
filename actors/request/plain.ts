/**
 * Plain: a machine's single call of a model, as every kind makes it whose model does not decide.
 */
import { type Json, toJson } from "../../protocol/json.ts";
import type { ModelReply, ModelRequest } from "../../protocol/model.ts";
import type {
  BuiltRequest,
  Definition,
  ModelAsker,
  ModelQuery,
  RecordedQuery,
} from "../contract/definition.ts";
import type { OpenIntent, SagaState } from "../contract/state.ts";
import type { Callable, ModelCall } from "../machine/callable.ts";
import { digestOfRequest } from "./conversation.ts";
import { varied } from "./variant.ts";

/** The request, rebuilt from its intent. */
const modelCallRequest = (saga: string, call: ModelCall, input: Json, now: number): ModelRequest => ({
  saga,
  step: 1,
  now,
  model: call.model,
  instructions: call.instructions,
  messages: [
    { role: "user", at: now, parts: [{ type: "text", text: (input as { prompt: string }).prompt }] },
  ],
  tools: [],
  signals: [],
});

/** The same with its digest, which says all that is sent. */
export function plainRequest(
  saga: string,
  call: ModelCall,
  input: Json,
  { now, outputTokensMax }: { readonly now: number; readonly outputTokensMax?: number | undefined },
): BuiltRequest {
  const bound = outputTokensMax === undefined ? {} : { outputTokensMax };
  const request = { ...modelCallRequest(saga, call, input, now), ...bound };
  return { request, digest: digestOfRequest(request), sent: undefined };
}

/** What of a kind makes single calls of models: the part of its record that has `query`, `requestOf`, `heard`, `again`. */
export const plainCalls = {
  query: (_: Definition, callable: Callable, input: Json, { saga, at, variant }: ModelAsker): ModelQuery => {
    const call = varied(callable as ModelCall, variant); // Proof: a callable of kind "model" is one.
    return {
      model: call.model,
      counts: "single",
      request: modelCallRequest(saga, call, input, at),
      intentOf: (now, outputTokensMax) => ({
        request: plainRequest(saga, call, input, { now, outputTokensMax }).digest,
        input,
        open: toJson({ now, outputTokensMax }),
      }),
    };
  },
  /** A machine may bind several calls of one model; the digest recorded tells which one it is. */
  requestOf: (
    { modelCalls }: Definition,
    { saga, variant, intent, open }: RecordedQuery,
  ): BuiltRequest | undefined => {
    const asked = open as { readonly now: number; readonly outputTokensMax?: number }; // Proof: `intentOf` made it.
    const built = modelCalls.flatMap((call, place) => {
      const made = varied(call, variant);
      return made.model === intent.name
        ? [{ ...plainRequest(saga, made, intent.input ?? null, asked), place }]
        : [];
    });
    return built.find(({ digest }) => digest === intent.request) ?? built[0];
  },
  heard: ({ text = "" }: ModelReply): unknown => ({ text }),
  again: (_: Definition, __: SagaState, { intent }: OpenIntent): Json =>
    intent.kind === "model" ? (intent.input ?? null) : null,
};
