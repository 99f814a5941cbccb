/**
 * Goal: a saga's state in three dimensions is a fold of its ledger: the same from any copy, and at any turn what it was
 * then.
 * Method: the example and an agent on a test mesh; their ledgers, whole and cut.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent, defineApp, defineTool } from "sagamesh";
import { defineWorkflow } from "sagamesh/workflow";
import { scriptedModel, testMesh } from "sagamesh/testing";
import { dimensions, StateDocument } from "../../../protocol/documents/state.ts";
import type { GraphDocument } from "../../../protocol/documents/graph.ts";
import type { ModelReply } from "../../../protocol/model.ts";
import { graphOf } from "../../../services/views/graph/graph.ts";
import { stateOf } from "../../support/state-of.ts";
import { createOffsite } from "../../examples/three-bookings.ts";
import { atOnce } from "../../../services/wire/loop.ts";

const offsiteWith = (hall: number) =>
  createOffsite({ held: new Map(), known: new Map() }, hall, { onFailure: "replan", openForMs: 3_600_000 });

describe("the state of a workflow", () => {
  test("has at each turn what was so then, whatever came later", async () => {
    const { offsite, app } = offsiteWith(20);
    await using t = testMesh(app);
    const saga = await t.start(offsite, { people: 12, city: "BER" }, { id: "offsite-1" });
    await t.settled();
    const before = await t.anySaga("offsite-1").ledger();
    const seen = dimensions.map((dimension) => atOnce(stateOf(app, before, dimension)));
    await saga.signal("invalidate", { node: "rooms", reason: "a flood", data: { until: 3 } });
    await t.settled();
    const after = await t.anySaga("offsite-1").ledger();
    for (const [k, dimension] of dimensions.entries()) {
      const again = atOnce(stateOf(app, after.slice(0, before.length), dimension));
      expect(StateDocument.parse(again)).toEqual(seen[k]);
      expect(atOnce(stateOf(app, after, dimension))).not.toEqual(seen[k]);
    }
    const now = atOnce(stateOf(app, after, "application"));
    expect(now).toMatchObject({
      input: { people: 12, city: "BER" },
      entities: { flight: { id: "flight-1" }, rooms: { id: "rooms-4" }, hall: { id: "hall-5", places: 12 } },
      changes: { rooms: { reason: "a flood", data: { until: 3 } } },
      checkpoints: [
        { committed: ["flight.1"] },
        { committed: ["rooms.1"] },
        { committed: ["hall.1"] },
        {},
        {},
      ],
    });
    const rests = atOnce(stateOf(app, after, "dependency"));
    expect(rests).toMatchObject({
      nodes: [
        { node: "flight", status: "committed", satisfied: "yes", evidence: [] },
        { node: "rooms", status: "committed" },
        {
          node: "hall",
          evidence: [
            { node: "flight", call: "flight.1" },
            { node: "rooms", call: "rooms.2" },
          ],
        },
      ],
      effects: [{ dependsOn: [] }, { dependsOn: [] }, { call: "hall.2", dependsOn: ["flight.1", "rooms.2"] }],
    });
  });
});

describe("the graph of a workflow", () => {
  test("draws what each node rests on itself, and what undid it", async () => {
    const { offsite, app } = offsiteWith(10);
    await using t = testMesh(app);
    await (await t.start(offsite, { people: 12, city: "BER" }, { id: "offsite-1" })).result();
    const { nodes, edges } = atOnce(graphOf(await t.anySaga("offsite-1").ledger()));
    const labels = new Map(nodes.map(({ id, label }) => [id, label]));
    const drawn = edges.map(({ from, to, reason }) => `${labels.get(to)} ${reason} ${labels.get(from)}`);
    expect(drawn).toEqual(
      expect.arrayContaining([
        "hall rests on flight",
        "hall rests on rooms",
        "release undoes flight",
        "release undoes rooms",
      ]),
    );
    expect(drawn).not.toContain("hall decided on rooms");
  });
});

describe("what was read", () => {
  const make = (name: string) =>
    defineTool({
      ...{
        name,
        description: "Makes.",
        effect: "idempotent",
        input: z.json(),
        output: z.object({ id: z.string() }),
      },
      ...{ compensation: "point_of_no_return", perform: async () => ({ id: name }) },
    });
  const drawn = ({ nodes, edges }: GraphDocument) => {
    const labels = new Map(nodes.map(({ id, label }) => [id, label]));
    return edges.map(({ from, to, reason }) => `${labels.get(to)} ${reason} ${labels.get(from)}`);
  };

  test("by a node's input is a data edge of its state and of its graph", async () => {
    const flow = defineWorkflow({
      ...{ name: "flow", version: 1, input: z.json(), openForMs: 1_000 },
      nodes: {
        slow: { run: make("slow") },
        late: { run: make("late"), after: ["slow"] },
        reader: {
          run: make("reader"),
          after: ["late"],
          input: ({ output }) => [output("slow"), output("late")],
        },
      },
    });
    const app = defineApp({ sagas: [flow] });
    await using t = testMesh(app);
    await (await t.start(flow, {}, { id: "flow-1" })).result();
    const ledger = await t.anySaga("flow-1").ledger();
    const state = StateDocument.parse(atOnce(stateOf(app, ledger, "dependency")));
    expect(state).toMatchObject({
      nodes: [{ node: "slow" }, {}, { reads: [{ node: "slow", call: "slow.1" }, { node: "late" }] }],
      edges: [
        { from: "slow", to: "late", of: ["condition"] },
        { from: "late", to: "reader", of: ["condition", "data"] },
        { from: "slow", to: "reader", of: ["data"] },
      ],
    });
    const graph = drawn(atOnce(graphOf(ledger)));
    expect(graph).toEqual(
      expect.arrayContaining(["reader reads slow", "reader reads late", "reader rests on late"]),
    );
    expect(graph).not.toContain("late reads slow");
  });

  test("by a model's reference is a data edge of the graph", async () => {
    const first = make("first");
    const second = make("second");
    const agent = defineAgent({
      ...{ name: "clerk", version: 1, description: "Notes.", model: "m", instructions: "Note.", signals: {} },
      ...{ input: z.string(), output: z.json(), tools: [first, second], references: true },
    });
    const replies: ModelReply["calls"] = [
      { tool: "first", input: {} },
      { tool: "second", input: { of: { $ref: "call 1.0 /id" } } },
      { tool: "finish", input: { output: "done" } },
    ];
    const script = scriptedModel("m", ({ step }) => ({ calls: replies.slice(step - 1, step) }));
    await using t = testMesh(defineApp({ sagas: [agent], models: { m: script } }));
    await (await t.start(agent, "x", { id: "clerk-1" })).result();
    expect(drawn(atOnce(graphOf(await t.anySaga("clerk-1").ledger())))).toContain("second reads first");
  });
});

describe("the state of an agent", () => {
  const note = defineTool({
    ...{ name: "note", description: "Notes.", effect: "idempotent", input: z.object({ of: z.string() }) },
    ...{ output: z.object({ id: z.string() }), perform: async () => ({ id: "n-1" }) },
    compensation: "point_of_no_return",
  });
  const agent = defineAgent({
    ...{ name: "clerk", version: 1, description: "Notes.", model: "m", instructions: "Note.", signals: {} },
    ...{ input: z.string(), output: z.string(), tools: [note] },
  });
  const script = scriptedModel("m", ({ step }) =>
    step === 1
      ? { text: "It should be noted.", calls: [{ tool: "note", input: { of: "x" } }] }
      : { calls: [{ tool: "finish", input: { output: "done" } }] },
  );

  test("tells with each operation what the model said of it, and what stands of it", async () => {
    const app = defineApp({ sagas: [agent], models: { m: script } });
    await using t = testMesh(app);
    await (await t.start(agent, "x", { id: "clerk-1" })).result();
    const ledger = await t.anySaga("clerk-1").ledger();
    expect(atOnce(stateOf(app, ledger, "operation"))).toMatchObject({
      transactions: [
        {
          name: "note",
          call: "1.0",
          reasoning: "It should be noted.",
          output: { id: "n-1" },
          recovery: "none",
        },
      ],
    });
    expect(atOnce(stateOf(app, ledger, "application"))).toMatchObject({
      entities: { "2-0 note": { id: "n-1" } },
    });
  });
});
