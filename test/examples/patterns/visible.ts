/**
 * Pattern B: the agent's every call is a step of the saga. See README.md beside this file.
 *
 *     npm run sagamesh -- up --app test/examples/patterns/visible.ts
 *     npm run sagamesh -- start complaint --input '{"text":"it broke"}' --wait
 */
import { z } from "zod";
import { defineAgent, defineApp, defineTool } from "sagamesh";
import { scriptedModel } from "sagamesh/testing";
import { shop } from "./shop.ts";

const findOrder = defineTool({
  name: "find_order",
  description: "Find the order that a complaint is about.",
  effect: "read",
  input: z.object({ complaint: z.string() }),
  output: z.object({ order: z.string(), cents: z.int() }),
  perform: async ({ complaint }) => shop.findOrder(complaint),
});

/** The bank knows a key when it sees it again, so a killed process costs nothing: the same refund is asked for. */
const refund = defineTool({
  name: "refund",
  description: "Give the money for an order back.",
  effect: "idempotent",
  input: z.object({ order: z.string(), cents: z.int() }),
  output: z.object({}),
  compensation: "point_of_no_return",
  perform: async ({ order, cents }, { key }) => {
    await shop.refund(order, cents, key);
    return {};
  },
});

const complaint = defineAgent({
  name: "complaint",
  version: 1,
  description: "Deals with one complaint.",
  model: "clerk",
  instructions: "Find the order, refund it, and answer with a letter.",
  input: z.object({ text: z.string() }),
  output: z.object({ letter: z.string() }),
  signals: {},
  tools: [findOrder, refund],
});

/** In place of a real one: `anthropicModel({ model: "…" })`. */
const clerk = scriptedModel("clerk", ({ step }) => {
  if (step === 1) return { calls: [{ tool: "find_order", input: { complaint: "it broke" } }] };
  if (step === 2) return { calls: [{ tool: "refund", input: { order: "order-7", cents: 4200 } }] };
  return {
    calls: [{ tool: "finish", input: { output: { letter: "Dear customer, 4200 cents are on their way." } } }],
  };
});

export default defineApp({ sagas: [complaint], models: { clerk } });
