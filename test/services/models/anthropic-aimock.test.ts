/**
 * Goal: the adapter works with a server of the Messages API that somebody else wrote. Method: aimock with
 * fixtures. It is lenient, so nothing here says that a request was right in every detail; the strict server
 * of our own is for that.
 */
import { LLMock } from "@copilotkit/aimock";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  ModelReply,
  type ModelMessage,
  type ModelContext,
  type ModelRequest,
} from "../../../protocol/model.ts";
import { anthropicModel } from "../../../services/models/anthropic.ts";

const at = Date.UTC(2026, 0, 1);
const mock = new LLMock({ port: 0, logLevel: "silent" });
beforeAll(() => mock.start());
afterAll(() => mock.stop());

let live = "";
let thought = "";
let before = 0;
const requestsMade = (): number => mock.getRequests().length - before;
beforeEach(() => {
  [live, thought] = ["", ""];
  before = mock.getRequests().length;
});
afterEach(() => void mock.clearFixtures().clearChaos());

const tool = {
  name: "weather",
  description: "Weather.",
  schema: { type: "object", properties: { city: { type: "string" } } },
};
const contextOf = (abort = new AbortController().signal): ModelContext => ({
  abort,
  live: (token) => void ([live, thought] = [live + (token.text ?? ""), thought + (token.thinking ?? "")]),
  spent: () => {},
});
const decide = async (messages: readonly ModelMessage[], context = contextOf()): Promise<ModelReply> => {
  const request: ModelRequest = {
    saga: "trip-1",
    step: 1,
    now: at,
    model: "m",
    instructions: "Help.",
    signals: [],
    messages,
    tools: [tool],
  };
  const model = anthropicModel({ model: "claude-sonnet-5", apiKey: "sk-test", baseURL: mock.url });
  return ModelReply.parse(await model.decide(request, context));
};
const ask = (text: string): ModelMessage => ({ role: "user", at, parts: [{ type: "text", text }] });

describe("against a server that somebody else wrote", () => {
  test("a text comes whole, token by token, with its usage", async () => {
    mock.addFixture({
      match: {},
      chunkSize: 4,
      response: { content: "Hello from afar.", usage: { input_tokens: 12, output_tokens: 7 } },
    });
    const reply = await decide([ask("hello")]);
    expect(reply).toMatchObject({
      text: "Hello from afar.",
      stop: "end",
      usage: { inputTokens: 12, outputTokens: 7 },
    });
    expect(live).toBe("Hello from afar.");
  });

  test("parallel calls come as one batch, and their results bring the next answer", async () => {
    const calls = ["Rome", "Oslo"].map((city) => ({ name: "weather", arguments: JSON.stringify({ city }) }));
    mock.addFixture({
      match: { predicate: ({ messages }) => messages.some(({ role }) => role === "tool") },
      response: { content: "Rome is warmer." },
    });
    mock.addFixture({ match: {}, response: { toolCalls: calls } });
    const first = await decide([ask("compare")]);
    expect(first).toMatchObject({
      stop: "calls",
      calls: [
        { tool: "weather", input: { city: "Rome" } },
        { tool: "weather", input: { city: "Oslo" } },
      ],
    });
    const turn: ModelMessage = {
      role: "assistant",
      ...first,
      calls: first.calls.map((call, k) => ({ id: `1.${k}`, ...call })),
    };
    const results: ModelMessage = {
      role: "user",
      at,
      parts: turn.calls.map(({ id }) => ({
        type: "result",
        call: id,
        tool: "weather",
        outcome: "succeeded",
        output: { degrees: 9 },
      })),
    };
    expect(await decide([ask("compare"), turn, results])).toMatchObject({
      text: "Rome is warmer.",
      stop: "end",
    });
    expect(requestsMade()).toBe(2);
  });

  test("thinking is shown, kept verbatim and signed, and apart from the text", async () => {
    mock.addFixture({
      match: {},
      response: {
        content: "Four.",
        reasoning: "Two and two.",
        reasoningSignature: "sig-1",
        redactedThinking: ["enc-1"],
      },
    });
    const reply = await decide([ask("2+2")]);
    expect(reply.text).toBe("Four.");
    expect(thought).toBe("Two and two.");
    expect(reply.blocks).toContainEqual({
      kind: "verbatim",
      block: { type: "thinking", thinking: "Two and two.", signature: "sig-1" },
    });
    expect(reply.blocks).toContainEqual({
      kind: "verbatim",
      block: { type: "redacted_thinking", data: "enc-1" },
    });
  });

  test.each([
    [529, "overloaded_error", "wait"],
    [429, "rate_limit_error", "wait"],
    [500, "api_error", "retry"],
    [400, "invalid_request_error", "fail"],
  ])("an error %i is exactly one request and means: %s %s", async (status, type, kind) => {
    mock.addFixture({ match: {}, response: { content: "Never seen." } });
    mock.nextRequestError(status, { type, message: "no" });
    await expect(decide([ask("hello")])).rejects.toMatchObject({ name: "ModelFailure", kind });
    expect(requestsMade()).toBe(1);
  });

  test("a rate limit carries how long to wait", async () => {
    mock.addFixture({
      match: {},
      response: { error: { message: "slow down", type: "rate_limit_error" }, status: 429, retryAfter: 9 },
    });
    await expect(decide([ask("hello")])).rejects.toMatchObject({ kind: "wait", retryAfterMs: 9_000 });
  });

  test("a connection lost in the middle of a stream is one request and worth another attempt", async () => {
    mock.addFixture({
      match: {},
      chunkSize: 2,
      latency: 10,
      truncateAfterChunks: 5,
      response: { content: "This will never be heard to its end." },
    });
    await expect(decide([ask("hello")])).rejects.toMatchObject({ name: "ModelFailure", kind: "retry" });
    expect(requestsMade()).toBe(1);
    expect(live).not.toBe("");
  });

  test("a connection that is never answered is worth another attempt", async () => {
    mock.addFixture({ match: {}, response: { content: "x" }, chaos: { disconnectRate: 1 } });
    await expect(decide([ask("hello")])).rejects.toMatchObject({ name: "ModelFailure", kind: "retry" });
    expect(requestsMade()).toBe(1);
  });

  test("an abort in the middle of a slow stream ends the call long before the stream would have ended", async () => {
    mock.addFixture({
      match: {},
      chunkSize: 1,
      latency: 100,
      response: { content: "A very long story that takes its time. ".repeat(20) },
    });
    const abort = new AbortController();
    const decision = decide([ask("story")], { ...contextOf(abort.signal), live: () => abort.abort() });
    const failed = decision.catch((error: unknown) => error);
    await new Promise<void>((resolve) => abort.signal.addEventListener("abort", () => resolve()));
    const from = performance.now();
    expect(await failed).toMatchObject({ name: "AbortError" });
    expect(performance.now() - from).toBeLessThan(30_000);
  });
});
