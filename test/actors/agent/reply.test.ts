/**
 * Goal: every reply a model can give is taken, repaired or ends the saga, and each of its calls is answered.
 * Method: replies and what they come to.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { AgentSpec } from "../../../actors/request/agent-spec.ts";
import { readReply } from "../../../actors/agent/reply.ts";
import { reservedNames } from "../../../actors/request/conversation.ts";
import { recallTool } from "../../../actors/request/recall.ts";
import type { Json } from "../../../protocol/json.ts";
import { ModelReply } from "../../../protocol/model.ts";
import { hold, look } from "../../support/workbench.ts";
import { objectsIn, withMember } from "../values/schemas-with-values.ts";

const spec: AgentSpec = {
  name: "helper",
  model: "m",
  instructions: "",
  prompt: () => "",
  output: z.object({ answer: z.string() }),
  signals: { hint: z.null() },
  tools: [look, hold],
  sends: [],
  handsOffTo: [],
  whenCancelled: "undo" as const,
  agents: [],
  asksForMore: false,
};
const read = (reply: object, over: Partial<AgentSpec> = {}) =>
  readReply({ ...spec, ...over }, 3, ModelReply.parse({ model: "m", ...reply }));

test("a call's id is the decision's number and its place", () => {
  const { message } = read({
    calls: [
      { tool: "look", input: { of: "a" } },
      { tool: "look", input: { of: "b" } },
    ],
  });
  expect(message).toMatchObject({ role: "assistant", calls: [{ id: "3.0" }, { id: "3.1" }] });
});

test("a message keeps text and blocks as they came", () => {
  const blocks = [{ type: "thinking", signature: "s" }];
  expect(read({ text: "t", blocks, calls: [{ tool: "look", input: { of: "a" } }] }).message).toMatchObject({
    text: "t",
    blocks,
  });
});

test("a reply cut off at its length keeps neither calls nor blocks", () => {
  const { message, started, repair } = read({
    stop: "length",
    blocks: [{ type: "x" }],
    calls: [{ tool: "look", input: { of: "a" } }],
  });
  expect([message, started, repair]).toEqual([{ role: "assistant", model: "m", calls: [] }, [], true]);
});

test("a call that could not be read is refused with its fault, and stops no other", () => {
  const { started, answers, message, repair } = read({
    calls: [
      { tool: "look", input: '{"of":', fault: "not JSON" },
      { tool: "look", input: { of: "b" } },
    ],
  });
  expect(started).toMatchObject([{ call: "3.1" }]);
  expect(answers).toMatchObject([
    { call: "3.0", outcome: "failed", code: "MODEL_REPLY_INVALID", reason: "not JSON" },
  ]);
  expect(message).toMatchObject({ calls: [{ id: "3.0", tool: "look", input: '{"of":' }, { id: "3.1" }] });
  expect(JSON.stringify(message)).not.toContain("fault");
  expect(repair).toBe(false);
});

test.each(["look", "finish"])("a reply whose only call, %s, could not be read costs a repair", (tool) => {
  const { started, answers, finish, repair } = read({ calls: [{ tool, input: "{", fault: "not JSON" }] });
  expect([started, finish, repair]).toEqual([[], undefined, true]);
  expect(answers).toMatchObject([{ code: "MODEL_REPLY_INVALID", reason: "not JSON" }]);
});

test("a finish that could not be read beside another call does nothing of both", () => {
  const { started, answers } = read({
    calls: [
      { tool: "look", input: { of: "b" } },
      { tool: "finish", input: "{", fault: "not JSON" },
    ],
  });
  expect(started).toEqual([]);
  expect(answers).toHaveLength(2);
});

test("a refusal ends with the provider's reason where it gives one", () => {
  expect(read({ stop: "refusal", reason: "violence: no", text: "I" }).fail?.reason).toBe("violence: no");
  expect(read({ stop: "refusal", text: "I would rather not" }).fail?.reason).toBe("I would rather not");
});

test("a pause with calls is a reply like any other: they are answered", () => {
  expect(read({ stop: "pause", calls: [{ tool: "look", input: { of: "a" } }] }).started).toHaveLength(1);
});

test.each([
  ["wait", {}, { type: "wait" }],
  ["wait", { forMs: 1, signals: ["hint"] }, { type: "wait", forMs: 1, signals: ["hint"] }],
  ["ask", { question: "?" }, { src: "sagamesh.question" }],
  ["undo", { calls: ["1.0"] }, { src: "sagamesh.compensation", input: { calls: ["1.0"], because: "" } }],
  ["look", { of: "a" }, { src: "look", input: { of: "a" } }],
])("%s %j is started", (tool, input, started) => {
  expect(read({ calls: [{ tool, input }] }).started).toMatchObject([started]);
});

test.each([
  ["wait", { forMs: -1 }],
  ["wait", { forMs: 1e15 }],
  ["wait", { signals: ["constructor"] }],
  ["ask", { question: "" }],
  ["undo", { calls: [] }],
  ["undo", null],
  ["look", { of: 1 }],
  ["nothing", {}],
  ["constructor", {}],
])("%s %j is refused and answered", (tool, input) => {
  const reading = read({ calls: [{ tool, input }] });
  expect(reading).toMatchObject({ started: [], repair: true, answers: [{ call: "3.0", outcome: "failed" }] });
});

test("a wait without a time needs a signal to wait for", () => {
  expect(read({ calls: [{ tool: "wait", input: {} }] }, { signals: {} })).toMatchObject({
    started: [],
    repair: true,
  });
});

test("a schema that throws refuses the call, and a finish that throws costs a repair", () => {
  const throwing = z.json().refine(() => {
    throw new Error("no");
  });
  expect(
    read({ calls: [{ tool: "look", input: {} }] }, { tools: [{ ...look, input: throwing }] }).answers,
  ).toMatchObject([{ code: "CALL_INVALID" }]);
  expect(read({ calls: [{ tool: "finish", input: { output: 1 } }] }, { output: throwing })).toMatchObject({
    repair: true,
  });
});

test("whatever a model replies, each of its calls is started, answered or ends the saga", () => {
  const tool = fc.constantFrom(
    "look",
    "hold",
    "wait",
    "ask",
    "undo",
    "finish",
    "nothing",
    "__proto__",
    "toString",
  );
  const input = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom(
      { of: "a" },
      { question: "?" },
      { calls: ["1.0"] },
      { output: { answer: "" } },
      { forMs: 5 },
    ),
  );
  const stop = fc.option(fc.constantFrom("end", "calls", "length", "pause", "refusal", "context_full"), {
    nil: undefined,
  });
  fc.assert(
    fc.property(
      fc.array(fc.record({ tool, input }), { maxLength: 5 }),
      stop,
      fc.option(fc.string(), { nil: undefined }),
      (calls, why, text) => {
        const reading = read({ calls, stop: why, text });
        if (reading.finish !== undefined || reading.fail !== undefined) return;
        const named = [
          ...reading.started.map(({ call }) => call),
          ...reading.answers.flatMap((part) => (part.type === "result" ? [part.call] : [])),
        ];
        expect(named.sort()).toEqual(
          reading.message.role === "assistant" ? reading.message.calls.map(({ id }) => id).sort() : [],
        );
        expect(reading.started.length > 0 || reading.repair || why === "pause").toBe(true);
      },
    ),
    { numRuns: 1_000, seed: 20261121 },
  );
});

describe("a member that a call does not have", () => {
  const booker = { name: "booker", description: "", kind: "saga", input: z.object({ city: z.string() }) };
  const wide = {
    agents: [{ ...booker, output: z.json() } as const],
    sends: [{ name: "desk", signals: { note: z.object({ text: z.string() }) } }],
    handsOffTo: [{ ...booker, name: "other", output: z.json() } as const],
    tools: [look, hold, recallTool],
    output: z.object({ answer: z.string(), of: z.array(z.object({ id: z.string() })).optional() }),
  } as Partial<AgentSpec>;
  const whole: Record<string, Json> = {
    look: { of: "a" },
    booker: { city: "bern" },
    recall: { call: "1.0" },
    wait: { signals: ["hint"], forMs: 5 },
    ask: { question: "which?" },
    undo: { calls: ["1.0"], because: "so" },
    finish: { output: { answer: "42", of: [{ id: "x" }] } },
    send: { to: "desk-1", agent: "desk", signal: "note", data: { text: "hello" } },
    hand_off: { to: "other", input: { city: "bern" } },
  };
  const everyCall = [...reservedNames({ ...spec, ...wide }), "look", "booker", "recall"];

  test("is looked for in every call that a model has", () => {
    expect(Object.keys(whole).sort()).toEqual(everyCall.sort());
  });

  test.each(everyCall)("refuses %s wherever it stands, and without it the call is taken", (tool) => {
    const input = whole[tool] ?? null;
    const taken = read({ calls: [{ tool, input }] }, wide);
    expect(taken.repair).toBe(false);
    expect(taken.finish === undefined ? taken.started : [taken.finish]).toHaveLength(1);
    for (const path of objectsIn(input)) {
      const more = withMember(input, path, "hours");
      const { started, finish, answers, repair } = read({ calls: [{ tool, input: more as Json }] }, wide);
      expect([started, finish, repair]).toEqual([[], undefined, true]);
      const reason = expect.stringContaining('Unknown member "hours"') as unknown;
      expect(answers).toMatchObject([{ call: "3.0", tool, outcome: "failed", code: "CALL_INVALID", reason }]);
    }
  });

  test("is told with what there is instead", () => {
    const { answers } = read({ calls: [{ tool: "wait", input: { signals: ["hint"], hours: 72 } }] });
    expect(answers).toMatchObject([{ reason: '✖ Unknown member "hours" (known here: signals, forMs)' }]);
  });

  test("is taken by a tool whose author left its input open", () => {
    const open = { ...look, input: z.looseObject({ of: z.string() }) } as typeof look;
    const { started } = read({ calls: [{ tool: "look", input: { of: "a", more: [1] } }] }, { tools: [open] });
    expect(started).toMatchObject([{ input: { of: "a", more: [1] } }]);
  });
});

test.each([
  [{ tool: "lok", input: {} }, 'there is no tool "lok"; did you mean "look"?'],
  [{ tool: "finsh", input: {} }, 'there is no tool "finsh"; did you mean "finish"?'],
  [{ tool: "wait", input: { signals: ["hnit"] } }, 'there is no signal "hnit"; did you mean "hint"?'],
  [{ tool: "quite_else", input: {} }, 'there is no tool "quite_else"'],
])("%j is answered with the name that was meant, where one is near", (call, reason) => {
  expect(read({ calls: [call] }).answers).toMatchObject([{ reason }]);
});
