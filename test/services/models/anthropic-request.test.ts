/**
 * Goal: what is sent to the Messages API follows from the ledger alone, grows only at its end, and is
 * accepted. Method: random conversations, told through the adapter itself as a saga would tell them; the
 * strict server's rules, written apart from the adapter, are the judge of what is acceptable.
 */
import type Anthropic from "@anthropic-ai/sdk";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { ModelMessage, ModelRequest, MessagePart } from "../../../protocol/model.ts";
import { keepContent, rebuildContent } from "../../../services/models/anthropic-blocks.ts";
import { planRequest } from "../../../services/models/anthropic-request.ts";
import { narrowSchema } from "../../../services/models/tool-schema.ts";
import { shownSchema } from "../../../actors/request/shown-schema.ts";
import { findMessageFault, type Json } from "../../support/strict-messages-faults.ts";

const options = { model: "claude-sonnet-5" };
const at = Date.UTC(2026, 0, 1);

const requestOf = (messages: readonly ModelMessage[], change: Partial<ModelRequest> = {}): ModelRequest => ({
  saga: "trip-1",
  step: 1,
  now: at,
  model: "m",
  instructions: "Book trips.",
  signals: ["note"],
  messages,
  tools: [
    {
      name: "book",
      description: "Books.",
      schema: { type: "object", properties: { city: { type: "string" } } },
    },
  ],
  ...change,
});

/** As a provider's body has it once a ledger held it: JSON has no negative zero. */
const json = fc.jsonValue({ maxDepth: 1 }).map((value): unknown => JSON.parse(JSON.stringify(value)));

/** Content as the API returns it, with all its members. Values are marked so that a byte twice would show. */
const block = fc.oneof(
  fc.string({ minLength: 1, maxLength: 8 }).map((text) => ({ type: "text", text, citations: null })),
  fc.constant({ type: "text", text: "\n\n", citations: null }),
  fc
    .string({ maxLength: 8 })
    .map((thinking) => ({ type: "thinking", thinking, signature: `sig ${thinking}` })),
  fc.constant({ type: "redacted_thinking", data: "encrypted" }),
  fc.dictionary(fc.string({ maxLength: 4 }), json, { maxKeys: 3 }).map((input) => ({
    type: "tool_use",
    name: "book",
    input,
    caller: { type: "direct" },
  })),
);

/** A turn of the model and how the next user message answers each of its calls. */
const turn = fc.record({
  content: fc.array(block, { minLength: 1, maxLength: 5 }),
  ours: fc.boolean(),
  fates: fc.array(
    fc.constantFrom("succeeded", "failed", "denied", "in_doubt", "cancelled", "pending", "later", "never"),
    {
      minLength: 5,
      maxLength: 5,
    },
  ),
  text: fc.option(fc.string({ maxLength: 6 }), { nil: undefined }),
  signal: fc.boolean(),
});
type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never;

/** Tells a conversation as a saga does: each answer is kept with the prefix it was given behind. */
function tell(turns: readonly Turn[], model = options.model): ModelMessage[] {
  const messages: ModelMessage[] = [{ role: "user", at, parts: [{ type: "text", text: "Plan a trip." }] }];
  let late: MessagePart[] = [];
  for (const [step, { content, ours, fates, text, signal }] of turns.entries()) {
    // A turn must not end with thinking; the API returns none that does.
    const closed = [...content, { type: "text", text: `Step ${step}.`, citations: null }];
    const numbered = closed.map((item, index) =>
      item.type === "tool_use" ? { ...item, id: `toolu_${step}_${index}` } : item,
    );
    const { prefix } = planRequest(requestOf(messages), { model });
    const kept = keepContent(numbered as unknown as Anthropic.ContentBlock[], { model, prefix });
    const calls = kept.calls.map((call, index) => ({ ...call, id: `${step + 1}.${index}` }));
    const { blocks, ...foreign } = kept;
    messages.push({ role: "assistant", model, ...(ours ? { ...foreign, blocks } : foreign), calls });
    const parts: MessagePart[] = [...late];
    late = [];
    if (signal)
      parts.push({
        type: "signal",
        name: "note",
        from: "anna",
        at,
        data: { text: 'Tue"\n\nA signal came: {}' },
      });
    if (text !== undefined) parts.push({ type: "text", text });
    for (const [index, { id }] of calls.entries()) {
      const fate = fates[index] ?? "succeeded";
      const result = { type: "result", call: id, tool: "book" } as const;
      if (fate === "later") late.push({ ...result, outcome: "succeeded", output: { seat: 1 } });
      if (fate === "later" || fate === "pending") parts.push({ ...result, outcome: "pending" });
      else if (fate === "succeeded") parts.push({ ...result, outcome: fate, output: [1, 2] });
      else if (fate !== "never")
        parts.push({ ...result, outcome: fate, code: "TOOL_FAILED", reason: "no seats" });
    }
    messages.push({ role: "user", at: at + step, parts });
  }
  return messages;
}

const conversation = fc.array(turn, { maxLength: 5 }).map((turns) => tell(turns));
const blocksIn = (messages: readonly Anthropic.MessageParam[]): readonly Anthropic.ContentBlockParam[] =>
  messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
const isThinking = ({ type }: { type: string }): boolean =>
  type === "thinking" || type === "redacted_thinking";

describe("planRequest", () => {
  test("asks for no more tokens than the request allows, nor than the application does", () => {
    const maxTokens = (own: number | undefined, asked: number | undefined) =>
      planRequest(
        { ...requestOf([]), ...(asked === undefined ? {} : { outputTokensMax: asked }) },
        { ...options, ...(own === undefined ? {} : { maxTokens: own }) },
      ).params.max_tokens;
    expect(maxTokens(undefined, 700)).toBe(700);
    expect(maxTokens(500, 700)).toBe(500);
    expect(maxTokens(900, 700)).toBe(700);
    expect(maxTokens(900, undefined)).toBe(900);
  });

  test("a prefix of the messages gives a prefix of the parameters, byte for byte", () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        const whole = planRequest(requestOf(messages), options).params;
        const { messages: all, ...rest } = whole;
        for (let length = 0; length <= messages.length; length++) {
          const { messages: some, ...someRest } = planRequest(
            requestOf(messages.slice(0, length)),
            options,
          ).params;
          expect(JSON.stringify(someRest)).toBe(JSON.stringify(rest));
          expect(JSON.stringify(some)).toBe(JSON.stringify(all.slice(0, some.length)));
        }
      }),
    );
  });

  test("what is sent passes the rules of the API: every call is answered once, at once, before any text", () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        const { params } = planRequest(requestOf(messages), options);
        expect(findMessageFault(params.messages as unknown as Json[])).toBeUndefined();
      }),
    );
  });

  test("the trip through the ledger changes nothing that is sent", () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        const reloaded = JSON.parse(JSON.stringify(messages)) as ModelMessage[];
        expect(JSON.stringify(planRequest(requestOf(reloaded), options))).toBe(
          JSON.stringify(planRequest(requestOf(messages), options)),
        );
      }),
    );
  });

  test("thinking goes back to the model that wrote it and to no other, and what stays behind is counted", () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        const same = planRequest(requestOf(messages), options);
        const other = planRequest(requestOf(messages), { model: "claude-haiku-5-5" });
        const thinking = blocksIn(same.params.messages).filter(isThinking).length;
        expect(same.dropped).toEqual([]);
        expect(blocksIn(other.params.messages).filter(isThinking)).toEqual([]);
        expect(other.dropped.reduce((sum, { blocks }) => sum + blocks, 0)).toBe(thinking);
        expect(other.dropped.every(({ because }) => because === "another model")).toBe(true);
        const rest = blocksIn(same.params.messages).filter((item) => !isThinking(item));
        expect(blocksIn(other.params.messages)).toEqual(rest);
      }),
    );
  });

  test("after an edit of anything earlier no thinking is sent back", () => {
    fc.assert(
      fc.property(conversation, fc.constantFrom("message", "instructions", "tools"), (messages, where) => {
        const edited: ModelMessage[] = messages.map((message, index) =>
          index === 0 && where === "message"
            ? { role: "user", at, parts: [{ type: "text", text: "Plan another." }] }
            : message,
        );
        const change =
          where === "instructions"
            ? { instructions: "Cancel trips." }
            : where === "tools"
              ? { tools: [] }
              : {};
        const plan = planRequest(requestOf(edited, change), options);
        expect(blocksIn(plan.params.messages).filter(isThinking)).toEqual([]);
        const kept = blocksIn(planRequest(requestOf(messages), options).params.messages).filter(
          isThinking,
        ).length;
        expect(plan.dropped.reduce((sum, { blocks }) => sum + blocks, 0)).toBe(kept);
        expect(plan.dropped.every(({ because }) => because === "another prefix")).toBe(true);
      }),
    );
  });

  test("an edit between two turns keeps the earlier thinking and drops the later", () => {
    const think = (text: string): Turn => ({
      content: [{ type: "thinking", thinking: text, signature: text }],
      ours: true,
      fates: [],
      text: undefined,
      signal: false,
    });
    const messages = tell([think("first"), think("second")]);
    messages[2] = { role: "user", at, parts: [{ type: "text", text: "edited" }] };
    const plan = planRequest(requestOf(messages), options);
    expect(blocksIn(plan.params.messages).filter(isThinking)).toMatchObject([{ thinking: "first" }]);
    expect(plan.dropped).toEqual([{ message: 3, blocks: 1, because: "another prefix" }]);
  });

  test("a turn of which only thinking is left is not sent to another model at all", () => {
    const kept = keepContent([{ type: "thinking", thinking: "hm", signature: "s" }], {
      model: "claude-opus-5-5",
      prefix: "",
    });
    const messages: ModelMessage[] = [
      { role: "user", at, parts: [] },
      { role: "assistant", model: "x", ...kept, calls: [] },
      { role: "user", at, parts: [] },
    ];
    const { params, dropped } = planRequest(requestOf(messages), options);
    expect(params.messages.map(({ role }) => role)).toEqual(["user", "user"]);
    expect(dropped).toEqual([{ message: 1, blocks: 1, because: "another model" }]);
  });

  test("a result that comes after its call was shown as pending is told as text that names the call", () => {
    const messages: ModelMessage[] = [
      { role: "user", at, parts: [{ type: "text", text: "Go." }] },
      { role: "assistant", model: "x", calls: [{ id: "1.0", tool: "book", input: { city: "Rome" } }] },
      { role: "user", at, parts: [{ type: "result", call: "1.0", tool: "book", outcome: "pending" }] },
      { role: "assistant", model: "x", text: "I wait.", calls: [] },
      {
        role: "user",
        at,
        parts: [
          {
            type: "result",
            call: "1.0",
            tool: "book",
            outcome: "failed",
            code: "TOOL_FAILED",
            reason: "full",
          },
        ],
      },
    ];
    const { params } = planRequest(requestOf(messages), options);
    expect(params.messages[2]?.content).toMatchObject([
      {
        type: "tool_result",
        tool_use_id: "call_1_0",
        content: expect.stringContaining('{"call":"1.0","outcome":"pending"'),
      },
      { type: "text" },
    ]);
    expect(params.messages[2]?.content[0]).not.toHaveProperty("is_error");
    expect(params.messages[4]?.content[0]).toEqual({
      type: "text",
      text: 'News of an earlier call: {"call":"1.0","tool":"book","outcome":"failed","code":"TOOL_FAILED","reason":"full"}',
    });
  });

  test("a result of a call that a policy rewrote says what was done instead", () => {
    const rewritten = { city: "Bari" };
    const messages: ModelMessage[] = [
      { role: "user", at, parts: [{ type: "text", text: "Go." }] },
      { role: "assistant", model: "x", calls: [{ id: "1.0", tool: "book", input: { city: "Rome" } }] },
      {
        role: "user",
        at,
        parts: [{ type: "result", call: "1.0", tool: "book", outcome: "succeeded", output: 1, rewritten }],
      },
    ];
    expect(planRequest(requestOf(messages), options).params.messages[2]?.content[0]).toMatchObject({
      content: '{"call":"1.0","outcome":"succeeded","argumentsWereRewrittenTo":{"city":"Bari"},"output":1}',
    });
  });

  test("a result that did not succeed is an error with its code and reason", () => {
    const messages: ModelMessage[] = [
      { role: "user", at, parts: [] },
      { role: "assistant", model: "x", calls: [{ id: "1.0", tool: "book", input: {} }] },
      {
        role: "user",
        at,
        parts: [
          {
            type: "result",
            call: "1.0",
            tool: "book",
            outcome: "denied",
            code: "POLICY_DENIED",
            reason: "too dear",
          },
        ],
      },
    ];
    const content = planRequest(requestOf(messages), options).params.messages[2]?.content;
    expect(content?.[0]).toEqual({
      type: "tool_result",
      tool_use_id: "call_1_0",
      is_error: true,
      content: '{"call":"1.0","outcome":"denied","code":"POLICY_DENIED","reason":"too dear"}',
    });
  });

  test("every user message ends with its own time", () => {
    const { params } = planRequest(
      requestOf([{ role: "user", at, parts: [{ type: "text", text: "Go." }] }], { now: at + 5_000 }),
      options,
    );
    expect(params.messages[0]?.content).toEqual([
      { type: "text", text: "Go." },
      { type: "text", text: "The time is 2026-01-01T00:00:00.000Z." },
    ]);
  });

  test("the data of a signal cannot start a line of its own", () => {
    const signal: MessagePart = { type: "signal", name: "note", from: "x\ny", at, data: "a\nb\u2028c" };
    const { params } = planRequest(requestOf([{ role: "user", at, parts: [signal] }]), options);
    const first = params.messages[0]?.content[0];
    expect(first).toMatchObject({ type: "text", text: expect.stringMatching(/^A signal came: \{.*\}$/) });
  });

  test("a working memory, or why it did not change, is one line", () => {
    const parts: MessagePart[] = [
      { type: "memory", by: "look (call 1.0)", code: "MEMORY_INVALID", reason: "a\nb" },
      { type: "memory", by: "ann", memory: { goal: "x\ny" } },
    ];
    const { params } = planRequest(requestOf([{ role: "user", at, parts }]), options);
    expect(params.messages[0]?.content.slice(0, 2)).toEqual([
      {
        type: "text",
        text: 'A change of your working memory was refused: {"by":"look (call 1.0)","code":"MEMORY_INVALID","reason":"a\\nb"}',
      },
      { type: "text", text: 'Your working memory is now: {"by":"ann","memory":{"goal":"x\\ny"}}' },
    ]);
  });

  test("nothing is sampled, parallel calls stay on, and one mark asks for caching", () => {
    const { params } = planRequest(requestOf([{ role: "user", at, parts: [] }]), {
      ...options,
      effort: "low",
      thinking: { type: "adaptive" },
    });
    expect(params).toMatchObject({
      cache_control: { type: "ephemeral" },
      output_config: { effort: "low" },
      thinking: { type: "adaptive" },
    });
    expect(params).not.toHaveProperty("temperature");
    expect(params).not.toHaveProperty("tool_choice");
    expect(JSON.stringify(params).match(/cache_control/g)).toHaveLength(1);
  });
});

describe("an assistant turn", () => {
  const origin = { model: "m", prefix: "p" };
  const content = fc
    .array(block, { maxLength: 6 })
    .map((blocks) =>
      blocks.map((item, index) => (item.type === "tool_use" ? { ...item, id: `toolu_${index}` } : item)),
    );

  test("is rebuilt as it came, but for blank text", () => {
    fc.assert(
      fc.property(content, (blocks) => {
        const kept = keepContent(blocks as unknown as Anthropic.ContentBlock[], origin);
        const calls = kept.calls.map((call, index) => ({ ...call, id: `1.${index}` }));
        const rebuilt = rebuildContent({ role: "assistant", model: "m", ...kept, calls }, origin);
        const expected = blocks
          .filter((item) => !("text" in item) || item.text.trim() !== "")
          .map((item) => ("text" in item ? { type: item.type, text: item.text } : item));
        // Text alone needs no blocks in the ledger and comes back as one.
        if (kept.blocks === undefined)
          expect(
            rebuilt.content
              .map((item) => "text" in item && item.text)
              .join("")
              .trim(),
          ).toBe(
            blocks
              .map((item) => "text" in item && item.text)
              .join("")
              .trim(),
          );
        else expect(rebuilt.content).toEqual(expected);
      }),
    );
  });

  test("stands in the ledger once, byte for byte", () => {
    const blocks = [
      { type: "thinking", thinking: "THOUGHT", signature: "SIGNATURE" },
      { type: "text", text: "SAID FIRST", citations: null },
      { type: "tool_use", id: "ID1", name: "TOOL", input: { city: "INPUT" }, caller: { type: "direct" } },
      { type: "redacted_thinking", data: "REDACTED" },
      { type: "text", text: "SAID THEN", citations: null },
    ];
    const ledger = JSON.stringify(keepContent(blocks as unknown as Anthropic.ContentBlock[], origin));
    for (const mark of [
      "THOUGHT",
      "SIGNATURE",
      "SAID FIRST",
      "ID1",
      "TOOL",
      "INPUT",
      "REDACTED",
      "SAID THEN",
    ])
      expect(ledger.split(mark), mark).toHaveLength(2);
  });

  test("whose calls the host did not take comes back without thinking, and says so", () => {
    const blocks = [
      { type: "thinking", thinking: "x", signature: "s" },
      { type: "tool_use", id: "toolu_1", name: "book", input: {} },
    ];
    const kept = keepContent(blocks as unknown as Anthropic.ContentBlock[], origin);
    const rebuilt = rebuildContent({ role: "assistant", model: "m", ...kept, text: "hm", calls: [] }, origin);
    expect(rebuilt.content).toEqual([{ type: "text", text: "hm" }]);
    expect(rebuilt.dropped).toEqual({ blocks: 1, because: "calls missing" });
  });

  test("that another adapter wrote comes back as its text and calls", () => {
    const message = {
      role: "assistant",
      model: "m",
      text: "hm",
      calls: [{ id: "1.0", tool: "book", input: {} }],
    } as const;
    const rebuilt = rebuildContent(
      { ...message, calls: [...message.calls], blocks: [{ provider: "other" }] },
      origin,
    );
    expect(rebuilt.content).toEqual([
      { type: "text", text: "hm" },
      { type: "tool_use", id: "call_1_0", name: "book", input: {} },
    ]);
    expect(rebuilt.dropped).toEqual({ blocks: 1, because: "another provider" });
  });
});

describe("narrowSchema", () => {
  test("a bound that only says safe integer is left out and a real one stays", () => {
    const schema = z.toJSONSchema(z.object({ count: z.int(), limit: z.int().min(1).max(50) }));
    expect(narrowSchema(schema as never)).toMatchObject({
      type: "object",
      required: ["count", "limit"],
      additionalProperties: false,
      properties: { count: { type: "integer" }, limit: { type: "integer", minimum: 1, maximum: 50 } },
    });
    expect(JSON.stringify(narrowSchema(schema as never))).not.toMatch(/9007199254740991|\$schema/);
  });

  test("a union at the root becomes one object that every branch fits", () => {
    const union = z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("card"), number: z.string() }),
      z.object({ kind: z.literal("cash"), amount: z.number() }),
    ]);
    const narrowed = narrowSchema(z.toJSONSchema(union));
    expect(narrowed).toEqual({
      type: "object",
      required: ["kind"],
      properties: {
        kind: {
          anyOf: [
            { type: "string", const: "card" },
            { type: "string", const: "cash" },
          ],
        },
        number: { type: "string" },
        amount: { type: "number" },
      },
      additionalProperties: false,
    });
  });

  test("a union at the root stays open where one of its branches is", () => {
    const union = z.union([z.object({ a: z.string() }), z.looseObject({ b: z.string() })]);
    expect(narrowSchema(shownSchema(union))).not.toHaveProperty("additionalProperties");
    expect(narrowSchema(shownSchema(z.object({ in: union })))).toHaveProperty("additionalProperties", false);
  });

  test("an intersection at the root requires what either side requires", () => {
    const both = z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() }));
    expect(narrowSchema(z.toJSONSchema(both) as never)).toMatchObject({
      type: "object",
      required: ["a", "b"],
      properties: { a: { type: "string" }, b: { type: "string" } },
    });
  });

  test("a schema that refers to itself at the root ends", () => {
    expect(narrowSchema({ $ref: "#" })).toEqual({ type: "object", properties: {} });
    const Tree = z.object({
      name: z.string(),
      get children() {
        return z.array(Tree);
      },
    });
    expect(narrowSchema(z.toJSONSchema(Tree) as never)).toMatchObject({
      type: "object",
      properties: { name: { type: "string" } },
    });
  });

  test("a property that is named like a keyword stays", () => {
    const schema = {
      type: "object",
      properties: { $schema: { type: "string" }, maximum: { type: "number", default: 1e300 } },
    };
    expect(narrowSchema(schema)).toEqual(schema);
  });
});
