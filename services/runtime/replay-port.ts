/**
 * Replay port: the model that a replay asks, by name.
 */
import { digestOfRequest } from "../../actors/request/conversation.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { ModelPort } from "../../protocol/model.ts";
import type { App } from "../app/app.ts";
import { isAnthropicName } from "../app/provider-models.ts";
import { anthropicModel } from "../models/anthropic.ts";
import { recordedModel } from "../models/recorded.ts";
import type { PortOf } from "../replay/step-by-step.ts";
import type { Config } from "./config.ts";

/**
 * `recorded` answers from the ledger; `own` has each call answered by the model of its name, as a host would ask it; else
 * a model of the application, of several that stand in for one another the first; else, by the provider's own name, one
 * of the provider with the key from the environment. Throws MODEL_UNKNOWN.
 */
export function replayPort(app: App, model: string, config: Config): PortOf {
  const known = ["own", "recorded"];
  if (model === "recorded") return fromLedger;
  if (model === "own") return ({ intent }) => modelNamed(app, intent.name, config, known);
  const port = modelNamed(app, model, config, known);
  return () => port;
}

/** A model of the application, or one of the provider by its own name. Throws MODEL_UNKNOWN. */
export function modelNamed(
  app: App,
  model: string,
  { anthropicApiKey }: Config,
  known: readonly string[] = [],
): ModelPort {
  const one = ownPort(app, model);
  if (one !== undefined) return one;
  if (!isAnthropicName(model)) return unknownModel(app, model, known);
  if (anthropicApiKey === undefined)
    throw new MeshError("MODEL_UNKNOWN", `${model} needs ANTHROPIC_API_KEY`, {
      remedy: "Set ANTHROPIC_API_KEY, or name a model of the application.",
    });
  return anthropicModel({ model, apiKey: anthropicApiKey });
}

const ownPort = ({ models, fallbacks }: App, name: string): ModelPort | undefined =>
  models.get(name) ?? models.get(fallbacks.get(name)?.[0] ?? "");

function unknownModel({ models, fallbacks }: App, model: string, more: readonly string[]): never {
  const known = [...models.keys(), ...fallbacks.keys(), ...more].join(", ") || "none";
  throw new MeshError("MODEL_UNKNOWN", `the application has no model "${model}"; it has ${known}`);
}

/**
 * One decision's own reply, to exactly its own request; where the request was varied on purpose, to that one: what was
 * decided then, under what is asked now.
 */
const fromLedger: PortOf = ({ request, digest, intent, reply, isVaried }): ModelPort =>
  recordedModel(
    "recorded",
    reply === undefined ? [] : [{ step: request.step, request: intent.request, reply }],
    // What was cut by a policy does not tell its digest: the walk that rebuilt it does.
    { digest: (asked) => (isVaried ? intent.request : asked === request ? digest : digestOfRequest(asked)) },
  );
