/**
 * Provided models: an application with the ports that its models' names and the environment give.
 */
import { isAnthropicName } from "../app/provider-models.ts";
import { type App, defineApp } from "../app/app.ts";
import type { Config } from "./config.ts";

/**
 * The application with a port of Anthropic's for each model `claude-…` that it names and has no port for, if there is a
 * key; else as it is, and `assertServable` says what to set. What stands under `models` stays.
 */
export async function withProvidedModels(app: App, { anthropicApiKey: apiKey }: Config): Promise<App> {
  const named = new Set([
    ...app.definitions.flatMap(({ models }) => models),
    ...[...app.fallbacks.values()].flat(),
  ]);
  const lacking = [...named].filter(
    (model) => isAnthropicName(model) && !app.models.has(model) && !app.fallbacks.has(model),
  );
  if (apiKey === undefined || lacking.length === 0) return app;
  const { anthropicModel } = await import("../models/anthropic.ts");
  const provided = Object.fromEntries(lacking.map((model) => [model, anthropicModel({ model, apiKey })]));
  return defineApp({ ...app.config, models: { ...provided, ...app.config.models } });
}
