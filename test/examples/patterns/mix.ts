/**
 * The mix: the old agent looks, the saga acts. What only reads may stay a black box, because running it again is all
 * that a kill costs; what pays is a call that everybody sees. See README.md beside this file.
 *
 *     npm run sagamesh -- up --app test/examples/patterns/mix.ts
 *     npm run sagamesh -- start complaint --input '{"text":"it broke"}' --wait
 */
import { z } from "zod";
import { defineAgent, defineApp, defineTool } from "sagamesh";
import { scriptedModel } from "sagamesh/testing";
import { oldAgent, shop } from "./shop.ts";

/** A loop with a model of its own inside, and still a `read`: it has no hands. */
const research = defineTool({
  name: "research",
  description: "Let the old agent find out what a complaint is about.",
  effect: "read",
  timeoutMs: 10_000,
  input: z.object({ text: z.string() }),
  output: z.object({ notes: z.array(z.string()) }),
  perform: async ({ text }) => {
    const { notes } = await oldAgent(text, "eyes");
    return { notes };
  },
});

const refund = defineTool({
  name: "refund",
  description: "Give the money for an order back.",
  effect: "idempotent",
  input: z.object({ order: z.string(), cents: z.int() }),
  output: z.object({}),
  compensation: "point_of_no_return",
  approval: ({ cents }) => cents > 10_000 && { by: ["finance"], withinMs: 86_400_000, otherwise: "deny" },
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
  instructions: "Research the complaint, refund the order, and answer with a letter.",
  input: z.object({ text: z.string() }),
  output: z.object({ letter: z.string() }),
  signals: {},
  tools: [research, refund],
});

/** In place of a real one: `anthropicModel({ model: "…" })`. */
const clerk = scriptedModel("clerk", ({ step }) => {
  if (step === 1) return { calls: [{ tool: "research", input: { text: "it broke" } }] };
  if (step === 2) return { calls: [{ tool: "refund", input: { order: "order-7", cents: 4200 } }] };
  return {
    calls: [{ tool: "finish", input: { output: { letter: "Dear customer, 4200 cents are on their way." } } }],
  };
});

export default defineApp({ sagas: [complaint], models: { clerk } });
