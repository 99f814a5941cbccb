/**
 * An agent that pays once finance agrees, on the terms its input says; then it asks the board, and people are told.
 * Bodies note each time they run in the file MESH_WORLD, if there is one.
 */
import { appendFileSync } from "node:fs";
import { z } from "zod";
import { defineAgent, defineApp, defineTool, TaskNotice } from "sagamesh";
import { scriptedModel } from "../../services/models/scripted.ts";

const note = (line: string): void => {
  const world = process.env["MESH_WORLD"];
  if (world !== undefined) appendFileSync(world, `${line}\n`);
};

export const tell = defineTool({
  name: "tell",
  description: "Tells people.",
  effect: "idempotent",
  input: z.object({ task: TaskNotice }),
  output: z.object({}),
  perform: async ({ task }) => {
    note(`tell ${task.to.join()} ${task.reminder}`);
    return {};
  },
});

const Order = z.object({
  cents: z.int(),
  quorum: z.int(),
  withinMs: z.int(),
  remindEveryMs: z.int().optional(),
});

export const pay = defineTool({
  name: "pay",
  description: "Pays.",
  effect: "once",
  onDoubt: "model",
  input: Order,
  output: z.object({ paid: z.int() }),
  compensation: "point_of_no_return",
  uses: [tell],
  approval: ({ quorum, withinMs, remindEveryMs }) => ({
    by: ["finance"],
    quorum,
    withinMs,
    notify: { tool: tell },
    ...(remindEveryMs === undefined ? {} : { remindEveryMs }),
    otherwise: {
      escalate: { by: ["board"], withinMs: 3_600_000, otherwise: "deny", notify: { tool: tell } },
    },
  }),
  perform: async ({ cents }) => {
    note(`pay ${cents}`);
    return { paid: cents };
  },
});

export const payer = defineAgent({
  name: "payer",
  version: 1,
  description: "Pays an order.",
  model: "script",
  instructions: "Pay.",
  input: Order,
  output: z.object({ outcome: z.string() }),
  signals: {},
  tools: [pay],
});

const script = scriptedModel("script", ({ step, messages }) => {
  const [first] = messages;
  const [part] = first?.role === "user" ? first.parts : [];
  if (step === 1 && part?.type === "text")
    return { text: "The order is due.", calls: [{ tool: "pay", input: JSON.parse(part.text) as never }] };
  const last = messages.at(-1);
  const [said] = last?.role === "user" ? last.parts : [];
  const outcome = said?.type === "result" ? said.outcome : "unknown";
  return { calls: [{ tool: "finish", input: { output: { outcome } } }] };
});

export default defineApp({ sagas: [payer], models: { script } });
