/**
 * Replay port: the model that a replay asks, by name.
 */
import { digestOfRequest } from "../../actors/conversation.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { ModelPort } from "../../protocol/model.ts";
import type { App } from "../app.ts";
import type { RecordedDecision } from "../client/replay.ts";
import { anthropicModel } from "../models/anthropic.ts";
import { recordedModel } from "../models/recorded.ts";
import type { Config } from "./config.ts";

/**
 * `recorded` answers from the ledger; else a model of the application, of several that stand in for one another the
 * first; else, by the provider's own name, one
 * of the provider with the key from the environment. Throws MODEL_UNKNOWN.
 */
export function replayPort(
  app: App,
  model: string,
  { anthropicApiKey }: Config,
): (decision: RecordedDecision) => ModelPort {
  if (model === "recorded") return fromLedger;
  const own = app.models.get(model) ?? app.models.get(app.fallbacks.get(model)?.[0] ?? "");
  if (own !== undefined) return () => own;
  if (!model.startsWith("claude-"))
    throw new MeshError(
      "MODEL_UNKNOWN",
      `the application has no model "${model}"; it has ${[...app.models.keys(), ...app.fallbacks.keys(), "recorded"].join(", ")}`,
    );
  if (anthropicApiKey === undefined)
    throw new MeshError("MODEL_UNKNOWN", `${model} needs ANTHROPIC_API_KEY`, {
      remedy: "Set ANTHROPIC_API_KEY, or name a model of the application.",
    });
  const port = anthropicModel({ model, apiKey: anthropicApiKey });
  return () => port;
}

/** One decision's own reply, to exactly its own request. */
const fromLedger = ({ request, digest, intent, reply }: RecordedDecision): ModelPort =>
  recordedModel(
    "recorded",
    reply === undefined ? [] : [{ step: request.step, request: intent.request, reply }],
    // What was cut by a policy does not tell its digest: the walk that rebuilt it does.
    { digest: (asked) => (asked === request ? digest : digestOfRequest(asked)) },
  );
