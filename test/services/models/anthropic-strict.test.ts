/**
 * Goal: the adapter holds to the Messages API to the letter, in good and bad weather, and makes one request
 * for one decision. Method: a strict server of our own, which refuses what the real one refuses, and the
 * SDK as it is.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import {
  ModelReply,
  type ModelMessage,
  type ModelContext,
  type ModelFailure,
  type ModelRequest,
} from "../../../protocol/model.ts";
import type { Usage } from "../../../protocol/result.ts";
import { anthropicModel, type AnthropicModelOptions } from "../../../services/models/anthropic.ts";
import { planRequest } from "../../../services/models/anthropic-request.ts";
import {
  startStrictMessagesApi,
  type ScriptedMessage,
  type StrictMessagesApi,
} from "../../support/strict-messages-api.ts";

const at = Date.UTC(2026, 0, 1);
const start: ModelMessage = { role: "user", at, parts: [{ type: "text", text: "Plan a trip." }] };
const Book = z.discriminatedUnion("by", [
  z.object({ by: z.literal("train"), city: z.string(), seats: z.int() }),
  z.object({ by: z.literal("plane"), city: z.string(), bags: z.int() }),
]);

const requestOf = (messages: readonly ModelMessage[], change: Partial<ModelRequest> = {}): ModelRequest => ({
  saga: "trip-1",
  step: 1,
  now: at,
  model: "m",
  instructions: "Book trips.",
  signals: [],
  messages,
  tools: [{ name: "book", description: "Books.", schema: z.toJSONSchema(Book) }],
  ...change,
});

/** A reply as it stands in the next request, after its trip through the ledger. */
function asMessage(reply: ModelReply, step: number): ModelMessage {
  const { text, calls, blocks, model } = JSON.parse(JSON.stringify(reply)) as ModelReply;
  return {
    role: "assistant",
    model,
    text,
    blocks,
    calls: calls.map((call, k) => ({ id: `${step}.${k}`, ...call })),
  };
}

let api: StrictMessagesApi;
beforeAll(async () => void (api = await startStrictMessagesApi()));
afterAll(() => api[Symbol.asyncDispose]());

let asked = 0;
let spent: Usage[] = [];
let live: { readonly text?: string; readonly thinking?: string }[] = [];
beforeEach(() => {
  asked = api.requests.length;
  spent = [];
  live = [];
});
const requestsMade = (): number => api.requests.length - asked;

const contextOf = (abort = new AbortController().signal): ModelContext => ({
  abort,
  live: (token) => void live.push(token),
  spent: (usage) => void spent.push(usage),
});
const modelOf = (change: Partial<AnthropicModelOptions> = {}) =>
  anthropicModel({ model: "claude-sonnet-5", apiKey: "sk-test", baseURL: api.url, ...change });

const decide = async (
  messages: readonly ModelMessage[],
  change: Partial<AnthropicModelOptions> = {},
): Promise<ModelReply> => ModelReply.parse(await modelOf(change).decide(requestOf(messages), contextOf()));
const failureOf = async (
  change: Partial<AnthropicModelOptions> = {},
  context = contextOf(),
): Promise<ModelFailure> =>
  modelOf(change)
    .decide(requestOf([start]), context)
    .then(
      () => expect.unreachable("the decision was expected to fail"),
      (error: unknown) => error as ModelFailure,
    );

const say = (text: string, change: Partial<ScriptedMessage> = {}): ScriptedMessage => ({
  content: [{ type: "text", text }],
  stop: "end_turn",
  ...change,
});
const train = { by: "train", city: "Rome", seats: 2 };
const plane = { by: "plane", city: "Oslo", bags: 1 };
const callBoth: ScriptedMessage = {
  stop: "tool_use",
  content: [
    { type: "thinking", thinking: "Two ways lead there." },
    { type: "text", text: "I book both." },
    { type: "tool_use", name: "book", input: train },
    { type: "redacted_thinking" },
    { type: "tool_use", name: "book", input: plane },
  ],
};

describe("an answer", () => {
  test("is returned whole, and its tokens are shown as they come", async () => {
    api.answer(say("Rome it is."));
    const reply = await decide([start]);
    expect(reply).toMatchObject({ text: "Rome it is.", calls: [], stop: "end", model: "claude-sonnet-5" });
    expect(reply.blocks).toBeUndefined();
    expect(live.map(({ text }) => text).join("")).toBe("Rome it is.");
    expect(live.length).toBeGreaterThan(1);
  });

  test("costs what the provider says, in tokens; dollars are reckoned outside, whatever its price", async () => {
    const usage = {
      input_tokens: 1_000,
      output_tokens: 200,
      cache_read_input_tokens: 10_000,
      cache_creation_input_tokens: 400,
    };
    api.answer(say("Yes.", { usage }));
    const reply = await decide([start], { price: { inputPerMillion: 3, outputPerMillion: 15 } });
    expect(reply.usage).toEqual({
      inputTokens: 1_000,
      outputTokens: 200,
      cacheReadTokens: 10_000,
      cacheWriteTokens: 400,
    });
    expect(spent.at(-1)).toEqual(reply.usage);
  });

  test("with two calls is one batch, and both results go back at once under the provider's ids", async () => {
    api.answer(callBoth, say("Booked."));
    const first = await decide([start]);
    expect(first).toMatchObject({
      stop: "calls",
      text: "I book both.",
      calls: [
        { tool: "book", input: train },
        { tool: "book", input: plane },
      ],
    });
    const results: ModelMessage = {
      role: "user",
      at: at + 1,
      parts: [
        { type: "signal", name: "note", data: "hurry", at, from: "anna" },
        { type: "result", call: "1.1", tool: "book", outcome: "succeeded", output: { seat: 4 } },
        { type: "result", call: "1.0", tool: "book", outcome: "failed", code: "TOOL_FAILED", reason: "full" },
      ],
    };
    expect(await decide([start, asMessage(first, 1), results])).toMatchObject({
      text: "Booked.",
      stop: "end",
    });
    const sent = api.requests.at(-1)?.["messages"] as { content: { type: string; tool_use_id?: string }[] }[];
    expect(sent[2]?.content.map(({ type }) => type)).toEqual(["tool_result", "tool_result", "text", "text"]);
    expect(sent[2]?.content[0]?.tool_use_id).toMatch(/^toolu_/);
  });

  test("is continued over pending calls, late results and signals without a request being refused", async () => {
    api.answer(callBoth, { ...callBoth, content: callBoth.content.slice(0, 3) }, say("All done."));
    const first = await decide([start]);
    const pending: ModelMessage = {
      role: "user",
      at: at + 1,
      parts: [
        { type: "result", call: "1.0", tool: "book", outcome: "pending" },
        { type: "signal", name: "note", data: { text: "hurry" }, at, from: "anna" },
      ],
    };
    const told = [start, asMessage(first, 1), pending];
    const second = await decide(told);
    const late: ModelMessage = {
      role: "user",
      at: at + 2,
      parts: [
        { type: "result", call: "1.0", tool: "book", outcome: "succeeded", output: 1 },
        {
          type: "result",
          call: "2.0",
          tool: "book",
          outcome: "in_doubt",
          code: "IN_DOUBT",
          reason: "nobody knows",
        },
      ],
    };
    expect(await decide([...told, asMessage(second, 2), late])).toMatchObject({ text: "All done." });
  });

  test("by another model is continued without its thinking, and the plan says what was left out", async () => {
    api.answer(callBoth, say("Fine."));
    const first = await decide([start]);
    const told: ModelMessage[] = [start, asMessage(first, 1), { role: "user", at, parts: [] }];
    expect(await decide(told, { model: "claude-haiku-5-5" })).toMatchObject({ text: "Fine." });
    const { dropped } = planRequest(requestOf(told), { model: "claude-haiku-5-5" });
    expect(dropped).toEqual([{ message: 1, blocks: 2, because: "another model" }]);
  });

  test("behind an edited prefix is continued without its thinking", async () => {
    api.answer(callBoth, say("Fine."));
    const first = await decide([start]);
    const edited: ModelMessage = { role: "user", at, parts: [{ type: "text", text: "Plan another trip." }] };
    const told: ModelMessage[] = [edited, asMessage(first, 1), { role: "user", at, parts: [] }];
    expect(await decide(told)).toMatchObject({ text: "Fine." });
  });

  test("thinking that is sent back unchecked would be refused by this server", async () => {
    api.answer(callBoth);
    const first = await decide([start]);
    const forged = JSON.parse(
      JSON.stringify(asMessage(first, 1)).replace("Two ways", "Three ways"),
    ) as ModelMessage;
    const request = requestOf([start, forged, { role: "user", at, parts: [] }]);
    await expect(modelOf().decide(request, contextOf())).rejects.toMatchObject({
      kind: "fail",
      message: expect.stringContaining("thinking"),
    });
  });
});

describe("a stop", () => {
  test.each([
    ["end_turn", "end"],
    ["stop_sequence", "end"],
    ["pause_turn", "pause"],
    ["max_tokens", "length"],
    ["refusal", "refusal"],
    ["model_context_window_exceeded", "context_full"],
  ])("for %s is the outcome %s", async (reason, stop) => {
    api.answer(say("So far.", { stop: reason }));
    expect(await decide([start])).toMatchObject({ stop, text: "So far." });
  });

  test.each(["max_tokens", "refusal", "model_context_window_exceeded"])(
    "for %s leaves no call and no thinking",
    async (reason) => {
      api.answer({ ...callBoth, stop: reason, rawInput: '{"by":"train","seats":1' });
      const reply = await decide([start]);
      expect(reply).toMatchObject({ text: "I book both.", calls: [] });
      expect(reply.blocks).toBeUndefined();
    },
  );

  test("by refusal says what was refused", async () => {
    api.answer(
      say("", {
        content: [],
        stop: "refusal",
        stopDetails: { type: "refusal", category: "cyber", explanation: "Not this." },
      }),
    );
    expect(await decide([start])).toMatchObject({ stop: "refusal", reason: "cyber: Not this." });
  });

  test.each(["a_new_reason", null])(
    "for a reason unknown here (%s) is a failure that ends the attempts",
    async (stop) => {
      api.answer(say("Hm.", { stop }));
      expect(await failureOf()).toMatchObject({
        kind: "fail",
        message: expect.stringContaining(String(stop)),
      });
    },
  );
});

describe("a failure", () => {
  const error = (status: number, type: string, headers = {}) => ({ status, type, message: "no", headers });

  test.each([
    [429, "rate_limit_error", "wait"],
    [500, "api_error", "retry"],
    [503, "api_error", "wait"],
    [504, "timeout_error", "retry"],
    [529, "overloaded_error", "wait"],
    [408, "timeout_error", "retry"],
    [409, "conflict_error", "retry"],
    [400, "invalid_request_error", "fail"],
    [401, "authentication_error", "fail"],
    [402, "billing_error", "fail"],
    [403, "permission_error", "fail"],
    [404, "not_found_error", "fail"],
    [413, "request_too_large", "fail"],
    [422, "invalid_request_error", "fail"],
  ])("with status %i (%s) is one request and means: %s", async (status, type, kind) => {
    api.answer(error(status, type));
    const failure = await failureOf();
    expect(failure).toMatchObject({
      name: "ModelFailure",
      kind,
      message: expect.stringContaining(`${status} ${type}: no (request req_test)`),
    });
    expect(requestsMade()).toBe(1);
  });

  test.each([
    [{ "retry-after": "7" }, 7_000],
    [{ "retry-after": "7", "retry-after-ms": "1500.5" }, 1_500.5],
    [{ "retry-after": "soon" }, undefined],
    [{}, undefined],
  ])("of rate says how long to wait if the server does: %o", async (headers, retryAfterMs) => {
    api.answer(error(429, "rate_limit_error", headers));
    expect(await failureOf()).toMatchObject({ kind: "wait", retryAfterMs });
  });

  test("of rate that waits for a date waits until then", async () => {
    api.answer(
      error(429, "rate_limit_error", { "retry-after": new Date(Date.now() + 60_000).toUTCString() }),
    );
    const { retryAfterMs } = await failureOf();
    expect(retryAfterMs).toBeGreaterThan(50_000);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  test("that the server calls final ends the attempts whatever its status", async () => {
    api.answer(error(429, "rate_limit_error", { "x-should-retry": "false", "retry-after": "3" }));
    expect(await failureOf()).toMatchObject({ kind: "fail", retryAfterMs: undefined });
  });

  test.each([
    ["overloaded_error", "wait"],
    ["api_error", "retry"],
    ["rate_limit_error", "wait"],
    ["invalid_request_error", "fail"],
    ["a_new_error", "retry"],
  ])("in the middle of a stream (%s) means: %s", async (type, kind) => {
    api.answer(say("Rome.", { broken: { after: 4, by: "error event", error: { type, message: "no" } } }));
    expect(await failureOf()).toMatchObject({ kind });
    expect(requestsMade()).toBe(1);
  });

  test.each(["reset", "early end"] as const)(
    "by a stream's %s is one request, worth another attempt, and has its cost",
    async (by) => {
      api.answer(say("Rome.", { broken: { after: 4, by }, usage: { input_tokens: 77 } }));
      expect(await failureOf()).toMatchObject({ kind: "retry" });
      expect(requestsMade()).toBe(1);
      expect(spent).toEqual([expect.objectContaining({ inputTokens: 77 })]);
    },
  );

  test.each([
    ["nothing", 0],
    ["the end", 5],
  ])("by a stream that ends after %s gives no half answer", async (_what, after) => {
    api.answer(say("Rome.", { broken: { after, by: "early end" } }));
    expect(await failureOf()).toMatchObject({ kind: "retry" });
  });

  test("by a server that is not there is worth another attempt", async () => {
    expect(await failureOf({ baseURL: "http://127.0.0.1:9" })).toMatchObject({ kind: "retry" });
  });

  test("by silence ends with the timeout, in the middle of a stream too", async () => {
    api.answer(say("Rome.", { broken: { after: 4, by: "silence" } }));
    expect(await failureOf({ timeoutMs: 200 })).toMatchObject({
      kind: "retry",
      message: expect.stringContaining("200 ms"),
    });
  });

  test("by a call whose input is not JSON does not let a guessed input through", async () => {
    api.answer({ ...callBoth, rawInput: '{"by":"train","city":"Rome","seats":1' });
    expect(await failureOf()).toMatchObject({ kind: "retry", message: expect.stringContaining("not JSON") });
  });

  test("for want of a key says so and makes no request", async () => {
    process.env["ANTHROPIC_API_KEY"] = "sk-test";
    try {
      expect(await failureOf({ apiKey: undefined })).toMatchObject({
        kind: "fail",
        message: expect.stringContaining("no API key"),
      });
    } finally {
      delete process.env["ANTHROPIC_API_KEY"];
    }
    expect(requestsMade()).toBe(0);
  });

  test("by a wrong key does not tell the key", async () => {
    const failure = await failureOf({ apiKey: "sk-secret" });
    expect(failure).toMatchObject({ kind: "fail" });
    expect(failure.message).not.toContain("sk-secret");
  });
});

describe("an abort", () => {
  test("before the call makes no request", async () => {
    expect(await failureOf({}, contextOf(AbortSignal.abort()))).toMatchObject({ name: "AbortError" });
    expect(requestsMade()).toBe(0);
  });

  test("in the middle of a stream ends the call, hangs up, and has its cost", async () => {
    api.answer(say("Rome.", { broken: { after: 4, by: "silence" }, usage: { input_tokens: 77 } }));
    const hungUp = api.hungUp();
    const abort = new AbortController();
    const decision = failureOf({}, { ...contextOf(abort.signal), live: () => abort.abort("superseded") });
    expect(await decision).toMatchObject({ name: "AbortError", cause: "superseded" });
    await expect.poll(api.hungUp).toBe(hungUp + 1);
    expect(requestsMade()).toBe(1);
    expect(spent).toEqual([expect.objectContaining({ inputTokens: 77 })]);
  });
});

describe("a request", () => {
  test("of the longest kind is streamed, authorised and versioned", async () => {
    api.answer(say("Yes."));
    await decide([start], { effort: "high", thinking: { type: "adaptive" }, maxTokens: 64_000 });
    expect(api.requests.at(-1)).toMatchObject({
      stream: true,
      max_tokens: 64_000,
      output_config: { effort: "high" },
    });
    expect(api.headers.at(-1)).toMatchObject({
      authorization: "Bearer sk-test",
      "anthropic-version": "2026-10-21",
    });
    expect(api.headers.at(-1)).not.toHaveProperty("traceparent");
  });

  test("sends the bytes of the last one again and only adds to them", async () => {
    api.answer(callBoth, say("Booked."));
    const first = await decide([start]);
    const before = JSON.stringify(api.requests.at(-1)?.["messages"]);
    await decide([start, asMessage(first, 1), { role: "user", at, parts: [] }]);
    expect(JSON.stringify(api.requests.at(-1)?.["messages"]).startsWith(before.slice(0, -1))).toBe(true);
  });
});

describe("the strict server itself", () => {
  const user = (content: unknown): object => ({ role: "user", content });
  const call = { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "book", input: {} }] };
  const result = { type: "tool_result", tool_use_id: "t1", content: "ok" };
  const body = { model: "m", max_tokens: 10, messages: [user("hi")] };
  const post = async (change: object, headers: { [name: string]: string } = {}): Promise<number> => {
    const response = await fetch(`${api.url}/v1/messages`, {
      method: "POST",
      headers: { authorization: "Bearer sk-test", "anthropic-version": "2026-10-21", ...headers },
      body: JSON.stringify({ ...body, ...change }),
    });
    await response.arrayBuffer();
    return response.status;
  };

  test.each([
    ["a request as it should be", {}],
    [
      "results in any order",
      { messages: [user("hi"), call, user([result, { type: "text", text: "go on" }])] },
    ],
  ])("takes %s", async (_what, change) => {
    api.answer(say("Yes."));
    expect(await post(change)).toBe(200);
  });

  test.each([
    ["no max_tokens", { max_tokens: undefined }],
    ["a temperature", { temperature: 1 }],
    ["blank text", { messages: [user([{ type: "text", text: " " }])] }],
    ["a conversation that the model begins", { messages: [call] }],
    ["a call without its result", { messages: [user("hi"), call, user("go on")] }],
    ["a call at the end", { messages: [user("hi"), call] }],
    ["two results for one call", { messages: [user("hi"), call, user([result, result])] }],
    ["a result without its call", { messages: [user([result])] }],
    [
      "text before a result",
      { messages: [user("hi"), call, user([{ type: "text", text: "go on" }, result])] },
    ],
    ["one id for two calls", { messages: [user("hi"), call, user([result]), call, user([result])] }],
    [
      "a union at the root of a schema",
      { tools: [{ name: "book", input_schema: { type: "object", anyOf: [] } }] },
    ],
    ["a schema of no object", { tools: [{ name: "book", input_schema: { type: "string" } }] }],
  ])("refuses %s", async (_what, change) => {
    expect(await post(change)).toBe(400);
  });

  test("refuses another version and another key", async () => {
    expect(await post({}, { "anthropic-version": "2023-06-01" })).toBe(400);
    expect(await post({}, { authorization: "Bearer other" })).toBe(401);
  });
});
