/**
 * Goal: dollars are counted by a table that anybody can replace, and a saga keeps the prices it was started with.
 * Method: applications with and without prices; starts read as a host reads them; calls to ports that know no price.
 */
import { describe, expect, test } from "vitest";
import { defineAgent } from "../../../actors/agent/define.ts";
import { digestOfRequest } from "../../../actors/request/conversation.ts";
import type { Usage } from "../../../protocol/result.ts";
import type { ModelRequest } from "../../../protocol/model.ts";
import { type App, assertServable, defineApp } from "../../../services/app/app.ts";
import type { AppConfig } from "../../../services/app/app-config.ts";
import { modelFallback } from "../../../services/app/fallback.ts";
import { readEvent } from "../../../services/host/intake.ts";
import { routingAlone } from "../../../services/host/routing.ts";
import { encodeBody } from "../../../services/wire/messages.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { anthropicModel } from "../../../services/models/anthropic.ts";
import { openaiModel } from "../../../services/models/openai.ts";
import { scriptedModel } from "../../../services/models/scripted.ts";
import { decide } from "../../../services/perform/decide.ts";
import { CutOff } from "../../../services/perform/cut-off.ts";
import type { Delivery } from "../../../services/wire/ports.ts";
import { publishedPrices } from "../../../services/app/prices.ts";
import { agentOf, finish, Of } from "../../support/workbench.ts";

const agent = agentOf({ budget: { usd: 1 } });
const price = { inputPerMillion: 3, outputPerMillion: 15 };
const appOf = (more: Partial<AppConfig> = {}): App =>
  defineApp({ sagas: [agent], models: { scripted: scriptedModel("scripted", () => finish) }, ...more });

describe("an application", () => {
  test("with a budget in dollars on a model without a price is refused, and says which", () => {
    expect(() => assertServable(appOf(), "host")).toThrow(/agent helper: .* model "scripted" has no price/);
    expect(() => assertServable(appOf({ prices: { scripted: price } }), "host")).not.toThrow();
    expect(() => assertServable(appOf(), "worker")).not.toThrow();
  });

  test("is refused for a sub-agent's model, too, which the budget bounds", () => {
    const parent = defineAgent({
      ...{
        name: "above",
        version: 1,
        description: "",
        model: "scripted",
        instructions: "",
        signals: {},
        tools: [],
      },
      ...{ input: Of, output: Of, budget: { usd: 1 }, agents: [agentOf({ model: "other" })] },
    });
    const models = {
      scripted: scriptedModel("scripted", () => finish),
      other: scriptedModel("other", () => finish),
    };
    const app = defineApp({ sagas: [parent], models, prices: { scripted: price } });
    expect(() => assertServable(app, "host")).toThrow(/agent above: .* model "other" has no price/);
  });

  test("with a table that is none is refused", () => {
    const prices = { scripted: { inputPerMillion: -1, outputPerMillion: 1 } };
    expect(() => assertServable(appOf({ prices }), "host")).toThrow(/prices:/);
  });

  test("reserves for models that stand in for one another what the dearest of them costs", () => {
    const models = {
      cheap: scriptedModel("cheap", () => finish),
      dear: scriptedModel("dear", () => finish),
      scripted: modelFallback("cheap", "dear"),
    };
    const cheap = { inputPerMillion: 1, outputPerMillion: 30 };
    const app = appOf({ models, prices: { cheap, dear: price } });
    expect(app.priceOf("scripted")).toMatchObject({ inputPerMillion: 3, outputPerMillion: 30 });
    expect(() => assertServable(app, "host")).not.toThrow();
    expect(() => assertServable(appOf({ models, prices: { cheap } }), "host")).toThrow(/has no price/);
  });

  test("finds a price by the agents' name for a model, by its port's, and in the published table last", () => {
    const models = { big: scriptedModel("claude-opus-5", () => finish) };
    expect(appOf({ models }).priceOf("big")).toEqual(publishedPrices["claude-opus-5"]);
    expect(appOf({ models, prices: { "claude-opus-5": price } }).priceOf("big")).toEqual(price);
    expect(appOf({ models, prices: { big: price } }).priceOf("big")).toEqual(price);
    expect(appOf({ models }).priceOf("constructor")).toBeUndefined();
  });

  test("puts its own table over an adapter's price, and that over the published one", () => {
    const dear = { inputPerMillion: 300, outputPerMillion: 1_500 };
    const models = {
      big: anthropicModel({ model: "claude-opus-5", price: dear }),
      chat: openaiModel({ model: "local", price: dear }),
    };
    for (const name of ["big", "chat"]) {
      expect(appOf({ models }).priceOf(name)).toEqual(dear);
      expect(appOf({ models, prices: { [name]: price } }).priceOf(name)).toEqual(price);
    }
    expect(appOf({ models, prices: { local: price } }).priceOf("chat")).toEqual(price);
  });
});

describe("a start", () => {
  const { ports } = createMemoryMesh({ seed: 1 }).spawn("host");
  const read = async (app: App, more: object) => {
    const { data, contentType } = await encodeBody(ports.blobs, {
      name: "helper",
      input: { of: "x" },
      ...more,
    });
    const delivery = { data, headers: { "Content-Type": contentType } } as unknown as Delivery;
    const reading = { ports, app, routing: routingAlone(app) };
    return readEvent(reading, { kind: "start", saga: "s" } as never, delivery);
  };
  const tree = { root: "above", depth: 1, depthMax: 8, budget: { usd: 1 } };
  const parent = { saga: "above", intent: "1-0" };

  test("records the prices of its models where dollars are counted", async () => {
    const app = appOf({ prices: { scripted: price } });
    expect(await read(app, {})).toMatchObject({ prices: { scripted: price } });
    const free = defineApp({ ...app.config, sagas: [agentOf()] });
    expect(await read(free, {})).not.toHaveProperty("prices");
    expect(await read(free, { parent, tree })).toMatchObject({ prices: { scripted: price }, tree });
  });

  test("that nobody opened lies in no tree, whatever it says", async () => {
    expect(await read(appOf(), { tree })).not.toHaveProperty("tree");
  });
});

describe("a call's cost", () => {
  const request: ModelRequest = {
    ...{ saga: "s", step: 1, now: 0, model: "m", instructions: "", messages: [], tools: [], signals: [] },
  };
  const { clock } = createMemoryMesh({ seed: 1 }).spawn("host");
  const usage = { inputTokens: 1_000, outputTokens: 100, cacheReadTokens: 10_000 };
  const ask = async (cost: Usage, withPrice?: typeof price) =>
    decide(
      { clock, live: () => undefined },
      scriptedModel("m", () => ({ ...finish, usage: cost })),
      { request, digest: digestOfRequest(request), sent: undefined },
      { digest: digestOfRequest(request), cutOff: new CutOff(), price: withPrice },
    );

  test("in dollars is the price's, and a port that says less changes nothing", async () => {
    expect(await ask(usage, price)).toMatchObject({ output: { usage: { ...usage, usd: 0.0075 } } });
    expect(await ask({ ...usage, usd: 0.001 }, price)).toMatchObject({ output: { usage: { usd: 0.0075 } } });
  });

  test("is what a port says itself where that is more, or where there is no price", async () => {
    expect(await ask({ ...usage, usd: 0.5 }, price)).toMatchObject({ output: { usage: { usd: 0.5 } } });
    const thirds = await ask({ ...usage, usd: 0.1 + 0.2 });
    expect(thirds).toMatchObject({ output: { usage: { usd: 0.3 } } });
  });

  test("is none where there is no price", async () => {
    const result = await ask(usage);
    expect(result).toMatchObject({ output: { usage } });
    expect(result).not.toMatchObject({ output: { usage: { usd: expect.any(Number) } } });
  });
});
