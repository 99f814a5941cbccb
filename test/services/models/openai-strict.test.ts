/**
 * Goal: the adapter holds to the Chat Completions API, copes with what the many servers that speak it make of it, and
 * makes one request for one decision. Method: a strict server of our own, which refuses what OpenAI refuses and
 * answers chunk by chunk what the test says, dialects and broken streams included.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import {
  ModelReply,
  type ModelMessage,
  type ModelContext,
  type ModelFailure,
  type ModelRequest,
} from "../../../protocol/model.ts";
import type { Usage } from "../../../protocol/result.ts";
import { openaiModel, type OpenAIModelOptions } from "../../../services/models/openai.ts";
import { startStrictChatApi, type ScriptedChat, type StrictChatApi } from "../../support/strict-chat-api.ts";

const at = Date.UTC(2026, 0, 1);
const start: ModelMessage = { role: "user", at, parts: [{ type: "text", text: "Plan a trip." }] };
const Book = z.discriminatedUnion("by", [
  z.object({ by: z.literal("train"), city: z.string(), seats: z.int() }),
  z.object({ by: z.literal("plane"), city: z.string(), bags: z.int() }),
]);
const requestOf = (messages: readonly ModelMessage[]): ModelRequest => ({
  saga: "trip-1",
  step: 1,
  now: at,
  model: "m",
  instructions: "Book trips.",
  signals: [],
  messages,
  tools: [{ name: "book", description: "Books.", schema: z.toJSONSchema(Book) }],
});

/** A reply as it stands in the next request, after its trip through the ledger. */
function asMessage(reply: ModelReply, step: number): ModelMessage {
  const { text, calls, blocks, model } = JSON.parse(JSON.stringify(reply)) as ModelReply;
  const kept = calls.map(({ tool, input }, k) => ({ id: `${step}.${k}`, tool, input }));
  return { role: "assistant", model, text, blocks, calls: kept };
}

let api: StrictChatApi;
beforeAll(async () => void (api = await startStrictChatApi()));
afterAll(() => api[Symbol.asyncDispose]());

let asked = 0;
let spent: Usage[] = [];
let live: { readonly text?: string; readonly thinking?: string }[] = [];
beforeEach(() => {
  [asked, spent, live] = [api.requests.length, [], []];
});
const environmentKey = process.env["OPENAI_API_KEY"];
afterEach(() => {
  if (environmentKey === undefined) delete process.env["OPENAI_API_KEY"];
  else process.env["OPENAI_API_KEY"] = environmentKey;
});
const requestsMade = (): number => api.requests.length - asked;

const contextOf = (abort = new AbortController().signal): ModelContext => ({
  abort,
  live: (token) => void live.push(token),
  spent: (usage) => void spent.push(usage),
});
const modelOf = (change: Partial<OpenAIModelOptions> = {}) =>
  openaiModel({ model: "gpt-5", apiKey: "sk-test-key", baseURL: api.url, ...change });
const decide = async (
  messages: readonly ModelMessage[] = [start],
  change: Partial<OpenAIModelOptions> = {},
): Promise<ModelReply> => ModelReply.parse(await modelOf(change).decide(requestOf(messages), contextOf()));
const failureOf = async (
  change: Partial<OpenAIModelOptions> = {},
  context = contextOf(),
): Promise<ModelFailure> =>
  modelOf(change)
    .decide(requestOf([start]), context)
    .then(
      () => expect.unreachable("the decision was expected to fail"),
      (error: unknown) => error as ModelFailure,
    );

const chunk = (delta: object, more: object = {}) => ({
  id: "c1",
  object: "chat.completion.chunk",
  model: "gpt-5-2026",
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
});
const ends = (finish_reason: string | null, delta: object = {}) => chunk(delta, { finish_reason });
const counts = (usage: object) => ({ id: "c1", model: "gpt-5-2026", choices: [], usage });
const used = counts({ prompt_tokens: 10, completion_tokens: 5 });
const says = (text: string, finish = "stop"): ScriptedChat => ({
  chunks: [
    chunk({ role: "assistant", content: "", refusal: null }),
    ...Array.from(text, (content) => chunk({ content })),
    ends(finish),
    used,
  ],
});
const calling = (
  index: number | undefined,
  id: string | undefined,
  name: string | undefined,
  text: unknown,
) =>
  chunk({
    tool_calls: [{ index, id, type: "function", function: { name, arguments: text } }],
  });
const train = { by: "train", city: "Rome", seats: 2 };
const plane = { by: "plane", city: "Oslo", bags: 1 };
const callsBoth: ScriptedChat = {
  chunks: [
    calling(0, "call_abc", "book", ""),
    calling(0, undefined, undefined, JSON.stringify(train).slice(0, 9)),
    calling(0, undefined, undefined, JSON.stringify(train).slice(9)),
    calling(1, "call_def", "book", JSON.stringify(plane)),
    ends("tool_calls"),
    used,
  ],
};

describe("an answer", () => {
  test("is returned whole, and its tokens are shown as they come", async () => {
    api.answer(says("Rome it is."));
    const reply = await decide();
    expect(reply).toMatchObject({ text: "Rome it is.", calls: [], stop: "end", model: "gpt-5-2026" });
    expect(reply.blocks).toBeUndefined();
    expect(live.map(({ text }) => text).join("")).toBe("Rome it is.");
    expect(live.length).toBeGreaterThan(5);
  });

  test("is the same however the bytes of its stream are cut, in the middle of a letter too", async () => {
    const events =
      ': a comment\r\n\r\nevent: x\r\ndata: {"choices":[{"delta":\r\ndata: {"content":"Zür"}}]}\r\n\r\n';
    api.answer({ chunks: [events, chunk({ content: "ich 🚂" }), ends("stop")], pieceBytes: 1 });
    expect(await decide()).toMatchObject({ text: "Zürich 🚂", stop: "end" });
  });

  test("is over with its last event, although the server keeps the connection", async () => {
    api.answer({ ...says("Yes."), end: "done and open" });
    expect(await decide()).toMatchObject({ text: "Yes." });
  });

  test("that is not streamed although it was asked for is taken as well", async () => {
    const message = { role: "assistant", content: "Whole.", tool_calls: null };
    api.answer({
      json: { model: "gpt-5-2026", choices: [{ index: 0, message, finish_reason: "stop" }], usage: null },
    });
    expect(await decide()).toMatchObject({ text: "Whole.", stop: "end", model: "gpt-5-2026" });
    expect(live).toEqual([{ text: "Whole." }]);
  });

  test("costs what the server says, in tokens, those of its cache apart; dollars are reckoned outside", async () => {
    const usage = {
      prompt_tokens: 1_000,
      completion_tokens: 200,
      prompt_tokens_details: { cached_tokens: 400 },
    };
    api.answer({ chunks: [chunk({ content: "Yes." }), ends("stop"), counts(usage)] });
    const reply = await decide([start], { price: { inputPerMillion: 3, outputPerMillion: 15 } });
    expect(reply.usage).toEqual({
      inputTokens: 600,
      outputTokens: 200,
      cacheReadTokens: 400,
    });
    expect(spent.at(-1)).toEqual(reply.usage);
  });

  test("of a server that counts nothing is estimated by its bytes, and says so", async () => {
    api.answer({ chunks: [chunk({ content: "x".repeat(400) }), ends("stop")] });
    const { usage } = await decide();
    expect(usage).toMatchObject({ outputTokens: 100, estimated: true });
    const sent = JSON.stringify(api.requests.at(-1)).length;
    expect(usage.inputTokens).toBe(Math.ceil(sent / 4));
  });

  test("with two calls is one batch, and both results go back at once under the server's ids", async () => {
    api.answer(callsBoth, says("Booked."));
    const first = await decide();
    expect(first).toMatchObject({
      stop: "calls",
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
    expect(await decide([start, asMessage(first, 1), results])).toMatchObject({ text: "Booked." });
    const sent = api.requests.at(-1)?.["messages"] as { role: string; tool_call_id?: string }[];
    expect(sent.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool", "tool", "user"]);
    expect(sent.flatMap(({ tool_call_id }) => tool_call_id ?? [])).toEqual(["call_abc", "call_def"]);
  });

  test("to a call whose arguments a policy rewrote is told what was called instead", async () => {
    api.answer(callsBoth, says("Fine."));
    const first = await decide();
    const rewritten = { ...train, seats: 1 };
    const result: ModelMessage = {
      role: "user",
      at,
      parts: [{ type: "result", call: "1.0", tool: "book", outcome: "succeeded", output: 1, rewritten }],
    };
    await decide([start, asMessage(first, 1), result]);
    const sent = api.requests.at(-1)?.["messages"] as { role: string; content: string }[];
    expect(JSON.parse(sent[3]?.content ?? "")).toMatchObject({ argumentsWereRewrittenTo: rewritten });
  });

  test("is continued over pending calls, late results and another provider's turn without a refusal", async () => {
    api.answer(callsBoth, says("All done."));
    const first = await decide();
    const pending: ModelMessage = {
      role: "user",
      at,
      parts: [{ type: "result", call: "1.0", tool: "book", outcome: "pending" }],
    };
    const foreign: ModelMessage = {
      role: "assistant",
      model: "claude-sonnet-5",
      text: "I book.",
      calls: [{ id: "2.0", tool: "book", input: train }],
      blocks: [{ kind: "origin", provider: "anthropic", model: "claude-sonnet-5", prefix: "p" }],
    };
    const silent: ModelMessage = { role: "assistant", model: "claude-sonnet-5", calls: [] };
    const late: ModelMessage = {
      role: "user",
      at,
      parts: [
        { type: "result", call: "1.0", tool: "book", outcome: "succeeded", output: 1 },
        {
          type: "result",
          call: "2.0",
          tool: "book",
          outcome: "in_doubt",
          code: "IN_DOUBT",
          reason: "unknown",
        },
      ],
    };
    const told = [start, asMessage(first, 1), pending, foreign, late, silent];
    expect(await decide(told)).toMatchObject({ text: "All done." });
    const last = (api.requests.at(-1)?.["messages"] as { content: string }[]).at(-1)?.content;
    expect(last).toContain('News of an earlier call: {"call":"1.0"');
  });
});

describe("the dialects of servers", () => {
  test.each<[string, object[]]>([
    [
      "give no index",
      [
        calling(undefined, "a", "book", JSON.stringify(train)),
        calling(undefined, "b", "book", JSON.stringify(plane)),
      ],
    ],
    [
      "give every call the index 0",
      [calling(0, "a", "book", JSON.stringify(train)), calling(0, "b", "book", JSON.stringify(plane))],
    ],
    [
      "give neither index nor id",
      [
        calling(undefined, undefined, "book", JSON.stringify(train)),
        calling(undefined, undefined, "book", JSON.stringify(plane)),
      ],
    ],
    ["write arguments as objects", [calling(0, "a", "book", train), calling(1, "b", "book", plane)]],
    [
      "repeat the id with each piece",
      [
        calling(0, "a", "book", '{"by":"train","city":"Ro'),
        calling(0, "a", undefined, 'me","seats":2}'),
        calling(1, "b", "book", JSON.stringify(plane)),
      ],
    ],
  ])("that %s make two calls all the same, and say stop behind them", async (_, chunks) => {
    api.answer({ chunks: [...chunks, ends("stop")] });
    const reply = await decide();
    expect(reply.stop).toBe("calls");
    expect(reply.calls).toEqual([
      { tool: "book", input: train },
      { tool: "book", input: plane },
    ]);
  });

  test("a call of a tool without parameters may have no arguments at all", async () => {
    api.answer({ chunks: [calling(0, "a", "book", ""), ends("tool_calls")] });
    expect((await decide()).calls).toEqual([{ tool: "book", input: {} }]);
  });

  test("arguments that are not JSON are no guess: the call says its fault, and the others stand", async () => {
    api.answer(
      {
        chunks: [
          calling(0, "a", "book", '{"by":"train","seats":2'),
          calling(1, "b", "book", JSON.stringify(plane)),
          ends("tool_calls"),
        ],
      },
      says("Sorry."),
    );
    const reply = await decide();
    expect(reply.calls[0]).toMatchObject({
      input: '{"by":"train","seats":2',
      fault: expect.stringContaining("not JSON"),
    });
    expect(reply.calls[1]).toEqual({ tool: "book", input: plane });
    // Sent back, it is JSON of an object again: the strict server takes it.
    expect(await decide([start, asMessage(reply, 1), { role: "user", at, parts: [] }])).toMatchObject({
      text: "Sorry.",
    });
  });

  test("reasoning is shown, kept, and sent back to the model that wrote it behind the same words", async () => {
    const reasons: ScriptedChat = {
      chunks: [
        chunk({ reasoning_content: "Two " }),
        chunk({ reasoning_content: "ways." }),
        chunk({
          tool_calls: [
            {
              index: 0,
              id: "a",
              function: { name: "book", arguments: JSON.stringify(train) },
              extra_content: { google: { thought_signature: "sig" } },
            },
          ],
        }),
        ends("tool_calls"),
      ],
    };
    api.answer(reasons, says("1"), says("2"), says("3"));
    const first = await decide();
    expect(live).toEqual([{ thinking: "Two " }, { thinking: "ways." }]);
    const news: ModelMessage = { role: "user", at, parts: [] };
    const sentBack = () => (api.requests.at(-1)?.["messages"] as object[])[2];
    await decide([start, asMessage(first, 1), news]);
    expect(sentBack()).toMatchObject({
      reasoning_content: "Two ways.",
      tool_calls: [{ id: "a", extra_content: { google: { thought_signature: "sig" } } }],
    });
    await decide([start, asMessage(first, 1), news], { model: "another" });
    expect(JSON.stringify(sentBack())).not.toContain("ways");
    const edited: ModelMessage = { ...start, parts: [{ type: "text", text: "Plan another." }] };
    await decide([edited, asMessage(first, 1), news]);
    expect(JSON.stringify(sentBack())).not.toMatch(/ways|thought_signature/);
  });

  test("signed reasoning that comes in pieces is one item again, and its plain copies are not kept", async () => {
    const piece = (item: object) =>
      chunk({ reasoning: "x", reasoning_details: [{ type: "reasoning.text", index: 0, ...item }] });
    api.answer({
      chunks: [
        piece({ text: "Two " }),
        piece({ text: "ways." }),
        piece({ signature: "sig" }),
        chunk({ reasoning_details: [{ type: "reasoning.encrypted", index: 1, data: "enc" }] }),
        ends("stop", { content: "Yes." }),
      ],
    });
    expect((await decide()).blocks).toMatchObject([
      {
        message: {
          reasoning_details: [
            { type: "reasoning.text", index: 0, text: "Two ways.", signature: "sig" },
            { type: "reasoning.encrypted", index: 1, data: "enc" },
          ],
        },
      },
    ]);
    api.answer({ chunks: [piece({ text: "x" }), ends("stop")] });
    expect(JSON.stringify((await decide()).blocks)).not.toContain('"reasoning":');
  });
});

describe("a stop", () => {
  test.each([
    ["stop", "end"],
    ["length", "length"],
    ["model_length", "context_full"],
    ["content_filter", "refusal"],
  ])("%s is an outcome of its own: %s", async (finish, stop) => {
    api.answer(says("Well.", finish));
    expect(await decide()).toMatchObject({ stop, text: "Well." });
  });

  test("that cuts the answer off leaves no call that may be half", async () => {
    api.answer({ chunks: [calling(0, "a", "book", JSON.stringify(train)), ends("length")] });
    const reply = await decide();
    expect(reply).toMatchObject({ stop: "length", calls: [] });
    expect(reply.blocks).toBeUndefined();
  });

  test("is a refusal where the model says so, with its words", async () => {
    api.answer({ chunks: [chunk({ refusal: "I " }), chunk({ refusal: "won't." }), ends("stop")] });
    expect(await decide()).toMatchObject({ stop: "refusal", reason: "I won't.", calls: [] });
  });

  test("for a reason that nobody knows is a failure, not a guess", async () => {
    api.answer(says("Half", "tired"));
    expect(await failureOf()).toMatchObject({ kind: "fail", message: expect.stringContaining("tired") });
  });

  test.each<[string, object]>([
    ["a code", { message: "too long", type: "invalid_request_error", code: "context_length_exceeded" }],
    ["a type", { message: "too long", type: "exceed_context_size_error", code: 400 }],
    [
      "words alone",
      { message: "This model's maximum context length is 4096 tokens. However, you requested 9000." },
    ],
  ])("for a full context is told as an error with %s, and is an outcome", async (_, error) => {
    api.answer({ status: 400, json: { error } });
    expect(await decide()).toMatchObject({ stop: "context_full", calls: [] });
  });

  test("by a content filter in front of the model is a refusal", async () => {
    const error = {
      message: "filtered",
      code: "content_filter",
      innererror: { code: "ResponsibleAIPolicyViolation" },
    };
    api.answer({ status: 400, json: { error } });
    expect(await decide()).toMatchObject({ stop: "refusal", reason: expect.stringContaining("filtered") });
  });
});

describe("a failure", () => {
  test.each([
    [429, "wait"],
    [503, "wait"],
    [529, "wait"],
    [408, "retry"],
    [500, "retry"],
    [502, "retry"],
    [400, "fail"],
    [401, "fail"],
    [403, "fail"],
    [404, "fail"],
    [422, "fail"],
  ])("%i is one request and means: %s", async (status, kind) => {
    api.answer({ status, json: { error: { message: "no", type: "some_error" } } });
    const failure = await failureOf();
    expect(failure).toMatchObject({ name: "ModelFailure", kind });
    expect(failure.message).toContain(`${status} some_error: no (request req_test)`);
    expect(requestsMade()).toBe(1);
  });

  test.each<[Record<string, string>, number | undefined]>([
    [{ "retry-after-ms": "1500" }, 1_500],
    [{ "retry-after": "9" }, 9_000],
    [{ "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m0.5s" }, 60_500],
    [{ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20ms" }, 20],
    [{ "x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "20s" }, undefined],
  ])("says with %o how long to wait: %s ms", async (headers, retryAfterMs) => {
    api.answer({ status: 429, json: { error: { message: "slow down" } }, headers });
    expect((await failureOf()).retryAfterMs).toBe(retryAfterMs);
  });

  test("that the server itself calls final is not tried again, and a quota that is used up waits", async () => {
    api.answer({ status: 500, json: {}, headers: { "x-should-retry": "false" } });
    expect((await failureOf()).kind).toBe("fail");
    api.answer({
      status: 429,
      json: { error: { message: "You exceeded your quota", code: "insufficient_quota" } },
    });
    expect((await failureOf()).kind).toBe("wait");
  });

  test.each<[string, Omit<ScriptedChat, "chunks"> & { json?: unknown; text?: string }]>([
    ["members themselves", { json: { object: "error", message: "bad thing", type: "X" } }],
    ["a string", { json: { error: "bad thing" } }],
    ["a detail", { json: { detail: "bad thing" } }],
    ["plain text", { text: "bad thing" }],
  ])("is told by its words where the body is %s", async (_, answer) => {
    api.answer({ status: 400, ...answer });
    expect((await failureOf()).message).toContain("bad thing");
  });

  test("repeats no key, no header and no long body", async () => {
    const words = `Bearer sk-test-key with secret-header-value ${"x".repeat(10_000)}`;
    api.answer({ status: 401, json: { error: { message: words } } });
    const { message } = await failureOf({ headers: { "x-gateway": "secret-header-value" } });
    expect(message).not.toMatch(/sk-test-key|secret-header-value/);
    expect(message.length).toBeLessThan(500);
  });

  test("in the middle of a stream has its class by the code there", async () => {
    api.answer({ chunks: [chunk({ content: "Rome" }), { error: { message: "overloaded", code: 503 } }] });
    expect(await failureOf()).toMatchObject({ kind: "wait" });
    api.answer({
      chunks: [chunk({ content: "Rome" }), { error: { message: "broken", type: "server_error" } }],
    });
    expect(await failureOf()).toMatchObject({ kind: "retry" });
  });

  test.each<ScriptedChat["end"]>(["closed", "reset", "done"])(
    "by a stream that ends %s without a finish reason is worth another attempt, and has a price",
    async (end = "done") => {
      api.answer({ chunks: [chunk({ content: "Rome" })], end });
      expect(await failureOf()).toMatchObject({ kind: "retry" });
      expect(spent.at(-1)).toMatchObject({ outputTokens: 1, estimated: true });
      expect(requestsMade()).toBe(1);
    },
  );

  test("by silence ends with the timeout", async () => {
    api.answer({ chunks: [chunk({ content: "Rome" })], end: "silence" });
    const from = performance.now();
    expect(await failureOf({ timeoutMs: 200 })).toMatchObject({
      kind: "retry",
      message: expect.stringContaining("200 ms"),
    });
    expect(performance.now() - from).toBeLessThan(30_000);
  });

  test("to be heard at all is worth another attempt", async () => {
    expect(await failureOf({ baseURL: "http://127.0.0.1:1/v1" })).toMatchObject({ kind: "retry" });
    api.answer({ chunks: ["data: <html>\n\n"] });
    expect(await failureOf()).toMatchObject({ kind: "retry" });
  });

  test("an abort closes the connection and ends as an abort, with its price so far", async () => {
    const abort = new AbortController();
    const before = api.hungUp();
    api.answer({ chunks: Array.from({ length: 200 }, () => chunk({ content: "more " })), paceMs: 20 });
    const context = { ...contextOf(abort.signal), live: () => abort.abort() };
    expect(await failureOf({}, context)).toMatchObject({ name: "AbortError" });
    await expect.poll(api.hungUp).toBe(before + 1);
    expect(spent.at(-1)).toMatchObject({ estimated: true });
  });
});

describe("the request", () => {
  test("names the longest answer as the server wants it, and takes more members of the body", async () => {
    api.answer(says("a"), says("b"), says("c"));
    await decide([start], { maxTokens: 77 });
    expect(api.requests.at(-1)).toMatchObject({ max_tokens: 77, stream_options: { include_usage: true } });
    await decide([start], { maxTokens: 77, maxTokensMember: "max_completion_tokens", streamUsage: false });
    expect(api.requests.at(-1)).toMatchObject({ max_completion_tokens: 77 });
    expect(api.requests.at(-1)).not.toHaveProperty("stream_options");
    await decide([start], { stream: false, body: { reasoning_effort: "low", model: "mine" } });
    expect(api.requests.at(-1)).toMatchObject({ stream: false, reasoning_effort: "low", model: "gpt-5" });
  });

  test("asks for no longer answer than the budget leaves room for, nor than the application wants", async () => {
    api.answer(says("a"), says("b"), says("c"));
    const bounded = { ...requestOf([start]), outputTokensMax: 50 };
    for (const maxTokens of [77, 40]) {
      await modelOf({ maxTokens }).decide(bounded, contextOf());
      expect(api.requests.at(-1)).toMatchObject({ max_tokens: Math.min(maxTokens, 50) });
    }
    await decide();
    expect(api.requests.at(-1)).not.toHaveProperty("max_tokens");
  });

  test("keeps a query of the address, and may carry its key in a header of another name", async () => {
    api.answer(says("a"));
    await decide([start], {
      baseURL: `${api.url}/?api-version=2026-01`,
      apiKey: undefined,
      headers: { "api-key": "sk-test-key" },
    });
    expect(api.paths.at(-1)).toBe("/v1/chat/completions?api-version=2026-01");
    expect(api.headers.at(-1)).not.toHaveProperty("authorization");
  });

  test("never takes the environment's key to a server that is not OpenAI's", async () => {
    process.env["OPENAI_API_KEY"] = "sk-test-key";
    expect(await failureOf({ apiKey: undefined })).toMatchObject({ kind: "fail" });
    expect(api.headers.at(-1)).not.toHaveProperty("authorization");
  });

  test("without a key for OpenAI is not made, and the failure says what to do", async () => {
    delete process.env["OPENAI_API_KEY"];
    const model = openaiModel({ model: "gpt-5" });
    await expect(model.decide(requestOf([start]), contextOf())).rejects.toMatchObject({
      kind: "fail",
      message: expect.stringContaining("OPENAI_API_KEY"),
    });
    await expect(failureOf({ baseURL: "localhost:11434" })).resolves.toMatchObject({
      kind: "fail",
      message: expect.stringContaining("baseURL"),
    });
  });

  test("follows no redirect, which could take the key elsewhere", async () => {
    api.answer({ status: 307, json: {}, headers: { location: `${api.url}/chat/completions` } });
    expect(await failureOf()).toMatchObject({ kind: "fail", message: expect.stringContaining("baseURL") });
    expect(requestsMade()).toBe(1);
  });

  test("of a longer conversation begins with the bytes of the shorter one", async () => {
    api.answer(callsBoth, says("a"), says("b"));
    const first = await decide();
    const told = [start, asMessage(first, 1), { role: "user", at: at + 5, parts: [] } as ModelMessage];
    await decide(told);
    const shorter = JSON.stringify(api.requests.at(-1)?.["messages"]);
    await decide([
      ...told,
      { role: "assistant", model: "x", text: "a", calls: [] },
      { role: "user", at: at + 9, parts: [] },
    ]);
    const longer = JSON.stringify(api.requests.at(-1)?.["messages"]);
    expect(longer.startsWith(shorter.slice(0, -1))).toBe(true);
  });
});
