/** A desk whose clerk, where SLOW_CLERK is set, never answers: for killing a host in the middle of a model call. */
import { z } from "zod";
import { defineAgent, defineApp } from "sagamesh";
import { scriptedModel } from "../../services/models/scripted.ts";

export const slowDesk = defineAgent({
  name: "slow_desk",
  version: 1,
  description: "Answers when it likes.",
  model: "slow_clerk",
  instructions: "Finish.",
  input: z.object({}),
  output: z.object({ done: z.boolean() }),
  signals: {},
  tools: [],
});

const clerk = scriptedModel("slow_clerk", () => ({
  calls: [{ tool: "finish", input: { output: { done: true } } }],
  usage: { inputTokens: 7, outputTokens: 3, usd: 0.5 },
}));
const silent = { name: "slow_clerk", decide: () => new Promise<never>(() => undefined) };

export default defineApp({
  sagas: [slowDesk],
  models: { slow_clerk: process.env["SLOW_CLERK"] === undefined ? clerk : silent },
});
