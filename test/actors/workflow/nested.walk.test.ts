/**
 * Goal: a workflow with a workflow and an agent in it does and undoes each thing once, in reverse, whoever dies at whatever write of
 * any of its ledgers.
 * Method: the crash matrix over two stories, one that fails at its last node and one whose nested workflow is taken back and done
 * again; a sample of the writes, and with MESH_EVERY_WRITE=1, as in the nightly run, each of them. What is held is asked of the outside.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineAgent, defineApp, defineTool, NotPerformed, type Tool } from "sagamesh";
import { crashMatrix, scriptedModel, type TestMesh, testMesh } from "sagamesh/testing";
import { defineWorkflow } from "sagamesh/workflow";
import { share } from "../../support/share.ts";

const anything = { input: z.json(), output: z.json() };

/** The outside: what is held, by name, and in what order it was done and undone. */
function createOutside() {
  const held = new Map<string, string>();
  const known = new Set<string>();
  const log: string[] = [];
  const release = defineTool({
    ...{ name: "release", description: "Gives back.", effect: "idempotent", output: z.json() },
    input: z.object({ key: z.string() }),
    perform: async ({ key }) => {
      const name = held.get(key);
      held.delete(key);
      if (name !== undefined) log.push(`-${name}`);
      return {};
    },
  });
  const book = (name: string): Tool =>
    defineTool({
      ...{ name, description: "Books.", effect: "idempotent", ...anything },
      compensation: { tool: release, input: ({ key }) => ({ key }) },
      perform: async (_, { key }) => {
        if (known.has(key)) return {};
        known.add(key);
        held.set(key, name);
        log.push(`+${name}`);
        return {};
      },
    });
  const reset = () => {
    held.clear();
    known.clear();
    log.length = 0;
  };
  return { log, book, reset, held: () => [...held.values()].sort() };
}

const outside = createOutside();
const [room, flight, hotel, car, guide] = ["room", "flight", "hotel", "car", "guide"].map(outside.book);
const full = defineTool({
  ...{ name: "full", description: "Is full.", effect: "idempotent", ...anything },
  compensation: "point_of_no_return",
  perform: async () => {
    throw new NotPerformed("full", { retry: false });
  },
});
const trip = defineWorkflow({
  ...{ name: "trip", version: 1, input: z.json() },
  nodes: {
    flight: { run: flight!, input: () => ({}) },
    hotel: { run: hotel!, input: () => ({}) },
    car: { run: car!, after: ["flight", "hotel"], input: () => ({}) },
  },
});
const guiding = defineAgent({
  ...{
    name: "guiding",
    version: 1,
    description: "Books a guide.",
    model: "scripted",
    instructions: "Book one.",
  },
  ...{ ...anything, tools: [guide!] },
});
const model = scriptedModel("scripted", ({ step }) =>
  step === 1
    ? { calls: [{ tool: "guide", input: {} }] }
    : { calls: [{ tool: "finish", input: { output: {} } }] },
);
const nodes = {
  room: { run: room!, input: () => ({}) },
  trip: { run: trip, after: ["room"], input: () => ({}) },
  guide: { run: guiding, after: ["trip"], input: () => ({}) },
} as const;
const failing = defineWorkflow({
  ...{ name: "failing", version: 1, input: z.json() },
  nodes: { ...nodes, last: { run: full, after: ["guide"], input: () => ({}) } },
});
const again = defineWorkflow({
  ...{ name: "again", version: 1, input: z.json(), onFailure: "replan", openForMs: 3_600_000, nodes },
});
const app = defineApp({ sagas: [failing, again, trip, guiding], models: { scripted: model } });

const stories: Readonly<Record<string, (t: TestMesh) => Promise<unknown>>> = {
  "fails at its last node": async (t) => {
    const saga = await t.start(failing, {}, { id: "outer" });
    const { status, standing } = await saga.result();
    return { status, standing };
  },
  "is taken back where the nested one stands, and does it again": async (t) => {
    const saga = await t.start(again, {}, { id: "outer" });
    await t.settled();
    await saga.signal("invalidate", { node: "trip", reason: "a strike" });
    await t.settled();
    await saga.signal("conclude", {});
    const { status, standing } = await saga.result();
    return { status, standing };
  },
};

const done = "+room +flight +hotel +car +guide".split(" ");
/** What each does, in an order that two at a time may change. */
const expected: Readonly<Record<string, readonly string[]>> = {
  "fails at its last node": [...done, "-guide", "-car", "-flight", "-hotel", "-room"],
  "is taken back where the nested one stands, and does it again": [
    ...[...done, "-guide", "-car", "-flight", "-hotel"],
    ...["+flight", "+hotel", "+car", "+guide"],
  ],
};
const inAnyOrder = (pair: string, log: readonly string[]) =>
  log.join(" ").replaceAll(`${pair}hotel ${pair}flight`, `${pair}flight ${pair}hotel`);
const toldOf = (log: readonly string[]) => inAnyOrder("-", inAnyOrder("+", log).split(" "));

test.each(Object.entries(stories))("one that %s does so once, and undoes in reverse", async (name, story) => {
  outside.reset();
  await using t = testMesh(app);
  await story(t);
  expect(toldOf(outside.log)).toBe(expected[name]!.join(" "));
});

/** Every write of every ledger, work queue, inbox and claim: the whole walk, a minute of processor time. */
const isWhole = process.env["MESH_EVERY_WRITE"] === "1";
const sampled = ["before", "after"].flatMap((side) =>
  Array.from(
    { length: share(1, 4) },
    (_, k) => `host ledger.append ${4 + 5 * k + (side === "after" ? 2 : 0)} ${side}`,
  ),
);

test.each(Object.entries(stories))(
  "one that %s comes to the same with a death at any write",
  { timeout: isWhole ? 600_000 : 60_000 },
  async (_, story) => {
    for (const only of isWhole ? [undefined] : sampled) {
      const report = await crashMatrix(
        app,
        async (t) => {
          outside.reset();
          const said = await story(t);
          return { said, log: toldOf(outside.log), held: outside.held() };
        },
        only === undefined ? {} : { only },
      );
      expect(report.faults, report.text).toEqual([]);
      expect(report.rows.length).toBeGreaterThan(only === undefined ? 100 : 0);
    }
  },
);
