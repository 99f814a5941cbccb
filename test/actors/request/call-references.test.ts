/**
 * Goal: a model's call takes a part of an earlier result as an argument and says what it rests on; both are recorded as
 * they were, and what is undone is undone in that order.
 * Method: scripted agents on a test mesh, whose ledgers are read; the pure reading of replies beside it.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent, defineApp, defineTool } from "sagamesh";
import { scriptedModel, testMesh } from "sagamesh/testing";
import { withReferences } from "../../../actors/request/call-references.ts";
import type { ModelMessage, ModelReply } from "../../../protocol/model.ts";

const undone: string[] = [];
const release = defineTool({
  ...{ name: "release", description: "Releases.", effect: "idempotent", output: z.json() },
  input: z.object({ of: z.string() }),
  perform: async ({ of }) => {
    undone.push(of);
    return {};
  },
});
const hold = defineTool({
  ...{ name: "hold", description: "Holds.", effect: "idempotent" },
  input: z.object({ of: z.string(), beside: z.string().optional() }),
  output: z.object({ id: z.string(), places: z.array(z.number()) }),
  compensation: { tool: release, input: ({ input }) => ({ of: input.of }) },
  perform: async ({ of }) => ({ id: `id-${of}`, places: [1, 2] }),
});

const replies: Record<number, ModelReply["calls"]> = {
  1: [{ tool: "hold", input: { of: "flight" } }],
  2: [{ tool: "hold", input: { of: "room" } }],
  3: [{ tool: "hold", input: { of: "car", beside: { $ref: "call 1.0 /id" }, $after: ["1.0"] } }],
  4: [{ tool: "wait", input: { forMs: 1_000 } }],
};
const agent = defineAgent({
  ...{
    name: "booker",
    version: 1,
    description: "Books.",
    model: "m",
    instructions: "Book.",
    references: true,
  },
  ...{ input: z.string(), output: z.string(), signals: {}, tools: [hold] },
});
const asked: string[] = [];
const app = defineApp({
  sagas: [agent],
  models: {
    m: scriptedModel("m", ({ step, instructions }) => {
      asked.push(instructions);
      return { calls: replies[step] ?? [] };
    }),
  },
});

describe("an agent whose calls refer to each other", () => {
  test("has in its ledger the argument as it was, and undoes by what rests on what, not by time", async () => {
    undone.length = 0;
    await using t = testMesh(app);
    const saga = await t.start(agent, "go", { id: "booker-1" });
    await t.settled();
    expect(asked[0]).toContain('"$ref": "call 3.0 /bookingId"');
    expect(t.effects(hold).map(({ input }) => input)).toEqual([
      { of: "flight" },
      { of: "room" },
      { of: "car", beside: "id-flight" },
    ]);
    const steps = (await t.anySaga("booker-1").ledger()).flatMap((turn) => turn.steps);
    const tools = steps.flatMap(({ intents }) => intents.filter(({ kind }) => kind === "tool"));
    expect(tools.at(-1)).toMatchObject({ call: "3.0", dependsOn: ["1.0"] });
    expect(tools[0]).not.toHaveProperty("dependsOn");
    await t.crash();
    await saga.signal("cancel", { reason: "enough" });
    expect(await saga.result()).toMatchObject({ status: "cancelled", standing: [] });
    // The car says that it rests on the flight alone, so it goes together with the room, and the flight after both.
    expect(undone.at(-1)).toBe("flight");
    expect(undone.slice(0, 2).sort()).toEqual(["car", "room"]);
    const turns = await t.anySaga("booker-1").ledger();
    const undoing = turns.map(({ steps: all }) =>
      all.flatMap(({ intents }) => intents.filter((one) => one.kind === "tool" && one.undoes !== undefined)),
    );
    expect(undoing.filter((one) => one.length > 0).map((one) => one.length)).toEqual([2, 1]);
  });
});

describe("a reference", () => {
  const messages: ModelMessage[] = [
    {
      ...{ role: "user", at: 0 },
      parts: [
        { type: "result", call: "1.0", tool: "hold", outcome: "succeeded", output: { id: "i", places: [4] } },
      ],
    },
  ];
  const read = (input: object) =>
    withReferences(
      {
        model: "m",
        calls: [{ tool: "hold", input: input as never }],
        usage: { inputTokens: 0, outputTokens: 0 },
      },
      messages,
    ).calls[0];

  test("stands for a part of a result with its own type, and for the whole without a pointer", () => {
    expect(read({ at: { $ref: "call 1.0 /places/0" }, all: [{ $ref: "call 1.0" }] })).toEqual({
      tool: "hold",
      input: { at: 4, all: [{ id: "i", places: [4] }] },
      refs: ["1.0"],
    });
  });

  test("to nothing is told to the model and nothing is called", () => {
    expect(read({ of: { $ref: "call 1.0 /price" } })).toMatchObject({
      fault: 'there is nothing at "call 1.0 /price"',
    });
    expect(read({ of: { $ref: "call 9.0 /id" } })).toMatchObject({
      fault: expect.stringContaining("call 9.0"),
    });
    expect(read({ $after: ["7.7"] })).toMatchObject({ fault: expect.stringContaining("7.7") });
  });

  test("of another form is an argument like any other", () => {
    const schema = { schema: { $ref: "#/definitions/x" }, more: { $ref: "call 1.0 /id", also: 1 } };
    expect(read(schema)).toEqual({ tool: "hold", input: schema });
  });
});
