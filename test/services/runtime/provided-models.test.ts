/**
 * Goal: an agent whose model has a name of Anthropic's needs a key and nothing else, and is told so where there is none.
 * Method: applications are loaded with and without a key; what is asked is heard in place of the network.
 */
import { startHost } from "sagamesh";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import type { ModelContext, ModelRequest } from "../../../protocol/model.ts";
import type { AppConfig } from "../../../services/app/app-config.ts";
import { assertServable, defineApp } from "../../../services/app/app.ts";
import { modelFallback } from "../../../services/app/fallback.ts";
import { scriptedModel } from "../../../services/models/scripted.ts";
import { readConfig } from "../../../services/runtime/config.ts";
import { withProvidedModels } from "../../../services/runtime/provided-models.ts";
import { replayPort } from "../../../services/runtime/replay-port.ts";

const name = "claude-sonnet-5-5";
const config = readConfig({}, { ANTHROPIC_API_KEY: "key-of-a-test" });
const keyless = readConfig({}, { ANTHROPIC_API_KEY: "" });

const agentOf = (model: string, budget = {}) =>
  defineAgent({
    ...{ name: "helper", version: 1, description: "Helps.", model, instructions: "Help.", budget },
    ...{ input: z.json(), output: z.json(), signals: {}, tools: [] },
  });
const appOf = (more: Partial<AppConfig> = {}, agent = agentOf(name)) =>
  defineApp({ sagas: [agent], ...more });

const request: ModelRequest = {
  ...{
    saga: "helper-1",
    step: 1,
    now: Date.UTC(2026, 0, 1),
    model: name,
    instructions: "Help.",
    signals: [],
    tools: [],
  },
  messages: [{ role: "user", at: Date.UTC(2026, 0, 1), parts: [{ type: "text", text: "Hello" }] }],
};
const context: ModelContext = {
  abort: new AbortController().signal,
  ...{ live: () => undefined, spent: () => undefined },
};

/** The requests that went to the network, which refuses them all. */
const asked: { url: string; key: string | null; body: { model?: string } }[] = [];
beforeEach(() => {
  asked.length = 0;
  vi.stubGlobal("fetch", async (url: string, init: { headers: Headers; body: string }) => {
    asked.push({
      ...{ url, key: new Headers(init.headers).get("authorization") },
      body: JSON.parse(init.body) as { model?: string },
    });
    return new Response(`{"type":"error","error":{"type":"api_error","message":"no"}}`, { status: 400 });
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});

test("a model named claude-… that is not under models is Anthropic's, with the key of the environment", async () => {
  const app = await withProvidedModels(appOf(), config);
  assertServable(app, "host");
  await expect(app.models.get(name)?.decide(request, context)).rejects.toThrow("400");
  expect(asked).toMatchObject([
    { url: "https://api.anthropic.com/v1/messages", key: "Bearer key-of-a-test", body: { model: name } },
  ]);
});

test("without a key the application is refused with what to set, and a host is not started", async () => {
  const says = { code: "APP_INVALID", message: expect.stringContaining("set ANTHROPIC_API_KEY") as string };
  const app = await withProvidedModels(appOf(), keyless);
  expect(() => assertServable(app, "host")).toThrow(expect.objectContaining(says) as Error);
  vi.stubEnv("ANTHROPIC_API_KEY", "");
  await expect(startHost({ app: appOf() })).rejects.toMatchObject(says);
});

test("a host of such an application goes on to its server once there is a key", async () => {
  vi.stubEnv("ANTHROPIC_API_KEY", "key-of-a-test");
  const starting = startHost({
    app: appOf(),
    servers: "nats://127.0.0.1:1",
    signal: AbortSignal.timeout(300),
  });
  await expect(starting).rejects.not.toMatchObject({ code: "APP_INVALID" });
});

test("a port under models stands before the provider, and is asked without a key", async () => {
  const own = scriptedModel("own", () => ({ text: "x" }));
  for (const one of [config, keyless])
    expect((await withProvidedModels(appOf({ models: { [name]: own } }), one)).models.get(name)).toBe(own);
});

test("a model that only stands in for another is provided, too", async () => {
  const models = { main: modelFallback("claude-opus-5-5", "claude-haiku-4-5") };
  const bare = appOf({ models }, agentOf("main"));
  const faults = "which is no model port under models, and ANTHROPIC_API_KEY is not set";
  expect(bare.faults).toEqual([expect.stringContaining(faults), expect.stringContaining(faults)]);
  const app = await withProvidedModels(bare, config);
  assertServable(app, "host");
  expect([...app.models.keys()]).toEqual(["claude-opus-5-5", "claude-haiku-4-5"]);
});

test("a budget in dollars holds by the published price, and a model without one is told", async () => {
  const usd = { usd: 1 };
  assertServable(await withProvidedModels(appOf({}, agentOf(name, usd)), config), "host");
  const unheard = await withProvidedModels(appOf({}, agentOf("claude-unheard-of", usd)), config);
  expect(() => assertServable(unheard, "host")).toThrow(/model "claude-unheard-of" has no price/);
});

test("no other name is provided, and an application that lacks nothing is the same one", async () => {
  const other = appOf({}, agentOf("gpt-9"));
  expect(await withProvidedModels(other, config)).toBe(other);
  expect(() => assertServable(other, "host")).toThrow('no model port is named "gpt-9"; add it under models');
});

test("a replay with the application's own models asks the same one", () => {
  const intent = { name } as Parameters<ReturnType<typeof replayPort>>[0]["intent"]; // Proof: only the name is read.
  const port = replayPort(appOf(), "own", config)({ intent } as never);
  expect(port.name).toBe(name);
});
