/**
 * Goal: whatever changes a definition's hash is told by name (PT1), and what only follows from another change is not.
 * Method: a definition of each kind, changed in one way after the other.
 */
import { describe, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { defineAgent, defineSaga, defineTool, type SagaDefinition, toActors } from "sagamesh";
import { callsAtMost } from "sagamesh/policies";
import { changedParts, changeInWords } from "../../../actors/contract/parts.ts";
import { underPolicies } from "../../../actors/contract/inherit.ts";

const book = defineTool({
  ...{ name: "book", description: "Books.", effect: "idempotent" },
  ...{ input: z.object({ at: z.string() }), output: z.object({ ref: z.string() }) },
});
const mail = defineTool({
  ...{ name: "mail", description: "Mails.", effect: "once", input: z.object({}), output: z.object({}) },
});
const base = {
  ...{ name: "clerk", version: 1, description: "A clerk.", model: "m", instructions: "Book.", tools: [book] },
  ...{ input: z.object({}), output: z.object({ said: z.string() }), signals: { note: z.object({}) } },
};
const agent = (other: object = {}) => defineAgent({ ...base, ...other });
const machine = (other: object = {}, state = "done") =>
  defineSaga({
    ...{ name: "door", version: 1, input: z.object({}), output: z.any(), signals: {} },
    machine: setup({ actors: toActors({ book }) }).createMachine({
      initial: "booking",
      states: {
        booking: { invoke: { src: "book", input: { at: "8" }, onDone: state } },
        [state]: { type: "final" },
      },
    } as never) as never,
    ...other,
  });

const told = (before: SagaDefinition, now: SagaDefinition) =>
  changeInWords(before.definition.parts, now.definition.parts);

describe("what was changed in a definition is told by name:", () => {
  test.each<[string, SagaDefinition, SagaDefinition]>([
    ["instructions", agent(), agent({ instructions: "Book twice." })],
    ["model", agent(), agent({ model: "other" })],
    ["output", agent(), agent({ output: z.object({ said: z.number() }) })],
    ["input", agent(), agent({ input: z.object({ who: z.string() }) })],
    ["budget", agent(), agent({ budget: { steps: 3 } })],
    ["policies", agent(), agent({ policies: [callsAtMost(book, 1)] })],
    ["moves", agent(), agent({ moves: "auto" })],
    ["signal note", agent(), agent({ signals: { note: z.object({ by: z.string() }) } })],
    ["signal hint is new; signal note is gone", agent(), agent({ signals: { hint: z.object({}) } })],
    ["tool mail is new", agent(), agent({ tools: [book, mail] })],
    ["tool book is gone", agent(), agent({ tools: [] })],
    ["tool book: input", agent(), agent({ tools: [{ ...book, input: z.object({ at: z.number() }) }] })],
    ["tool book: effect", agent(), agent({ tools: [{ ...book, effect: "read" }] })],
    [
      "instructions; tool book: description, timeoutMs",
      agent(),
      agent({ instructions: "!", tools: [{ ...book, description: "Books it.", timeoutMs: 7 }] }),
    ],
    [
      "the order or the words of what its model is told",
      agent({ tools: [book, mail] }),
      agent({ tools: [mail, book] }),
    ],
    ["machine", machine(), machine({}, "booked")],
    ["whenEarly", machine(), machine({ whenEarly: "ignore" })],
  ])("%s", (words, before, now) => {
    expect(now.definition.hash).not.toBe(before.definition.hash);
    expect(told(before, now)).toBe(words);
  });

  test("policies from above", () => {
    const { definition } = agent();
    const below = underPolicies(definition, [callsAtMost(book, 1)]);
    expect(changeInWords(definition.parts, below.parts)).toBe("policies from above");
  });

  test("nothing, where the hash is the same", () => {
    expect(agent().definition.hash).toBe(agent().definition.hash);
    expect(changedParts(agent().definition.parts, agent().definition.parts)).toEqual([]);
    expect(agent({ moves: "pinned" }).definition.hash).toBe(agent().definition.hash);
  });
});

test("how a definition moves is one of two words", () => {
  expect(agent({ moves: "later" }).definition.faults).toEqual([
    'agent clerk: moves is "later": expected one of "pinned"|"auto"',
  ]);
});
