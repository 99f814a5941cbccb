/** Goal: a request is known by its digest, and shows a model what it may do. Method: requests, alike and not. */
import { expect, test } from "vitest";
import { z } from "zod";
import {
  chainDigest,
  chainOf,
  digestOfRequest,
  keptMessage,
  requestDigest,
} from "../../../actors/request/conversation.ts";
import { shownSchema } from "../../../actors/request/shown-schema.ts";
import type { ModelMessage, ModelRequest } from "../../../protocol/model.ts";
import { digestOf } from "../../../protocol/digest.ts";
import { agentOf, look } from "../../support/workbench.ts";
import { agentOwn } from "../../support/own.ts";

const { frame, frameDigest } = agentOwn(agentOf().definition);
if (frame === undefined) throw new Error("an agent has a frame");
const messages: ModelMessage[] = [
  { role: "user", at: 1, parts: [{ type: "text", text: "hello" }] },
  { role: "assistant", model: "m", calls: [{ id: "1.0", tool: "look", input: { of: "a" } }] },
];
const request: ModelRequest = { saga: "s", step: 2, now: 5, ...frame, messages };

test("P7: a request's digest is the one recorded before the call", () => {
  const chain = messages.reduce(chainDigest, "");
  expect(digestOfRequest(request)).toBe(requestDigest(frameDigest, 2, 5, chain));
});

test("CV3: the chain of kept messages is that of the messages, in any order and through any of them", () => {
  const plain = Array.from({ length: 6 }, (_, n): ModelMessage => ({
    role: "user",
    at: n,
    parts: [{ type: "text", text: `${n}` }],
  }));
  const kept = plain.map(keptMessage);
  const orders = [
    [0, 1, 2, 3, 4, 5],
    [0, 1, 2],
    [3, 1, 2],
    [5, 4, 3, 2, 1, 0],
    [1, 1],
    [0, 1, 2, 3, 4, 5],
    [],
  ];
  for (const order of orders)
    for (const some of [kept, order.includes(3) ? kept : plain])
      expect(chainOf(order.map((n) => some[n]!))).toBe(order.map((n) => plain[n]!).reduce(chainDigest, ""));
});

test("CV3: a kept message cannot be changed, and what it was made of can", () => {
  const call = { id: "1.0", tool: "look", input: { of: ["a"] } };
  const message: ModelMessage = { role: "assistant", model: "m", calls: [call] };
  const before = chainOf([message]);
  const kept = keptMessage(message);
  if (kept.role !== "assistant") throw new Error("it is the same message");
  expect(chainOf([kept])).toBe(before);
  expect(() => kept.calls.pop()).toThrow(TypeError);
  expect(() => (kept.calls[0]!.input as { of: string[] }).of.push("b")).toThrow(TypeError);
  expect(keptMessage(kept)).toBe(kept);
  call.input.of.push("b");
  expect(chainOf([kept])).toBe(before);
  expect(chainOf([message])).not.toBe(before);
});

test.each<[string, Partial<ModelRequest>]>([
  ["the step", { step: 3 }],
  ["the time", { now: 6 }],
  ["the model", { model: "other" }],
  ["the instructions", { instructions: "other" }],
  ["the tools", { tools: [] }],
  ["the signals", { signals: [] }],
  ["a message less", { messages: messages.slice(0, 1) }],
  ["the order of the messages", { messages: [...messages].reverse() }],
])("a request's digest changes with %s", (_, change) => {
  expect(digestOfRequest({ ...request, ...change })).not.toBe(digestOfRequest(request));
});

test("a request's digest does not change with the saga's name", () => {
  expect(digestOfRequest({ ...request, saga: "other" })).toBe(digestOfRequest(request));
});

test("a message's digest does not depend on the order of its keys", () => {
  expect(digestOf({ a: 1, b: 2 })).toBe(digestOf({ b: 2, a: 1 }));
});

test("a model is shown its tools, its agents and four reserved calls, each with the schema of its input", () => {
  expect(frame.tools.map(({ name }) => name)).toEqual([
    "look",
    "hold",
    "send",
    "charge_model",
    "charge_ask",
    "wait",
    "ask",
    "undo",
    "finish",
  ]);
  expect(frame.tools.at(0)?.schema).toMatchObject({ type: "object", properties: { of: { type: "string" } } });
  expect(frame.tools.at(-1)?.schema).toMatchObject({
    properties: { output: { properties: { answer: { type: "string" } } } },
  });
  expect(frame.signals).toEqual(["note", "hint"]);
});

test("a schema that JSON Schema cannot say is not shown", () => {
  expect(() => shownSchema(z.date())).toThrow();
  expect(shownSchema(look.input)).not.toHaveProperty("$schema");
});
