/** An office for the command line's tests of trees: it calls a porter, who waits until he is told to go on. */
import { z } from "zod";
import { defineAgent, defineApp } from "sagamesh";
import { scriptedModel, type ScriptedAnswer } from "../../services/models/scripted.ts";

const parts = {
  ...{ version: 1, description: "One of two.", instructions: "Work.", input: z.object({}), tools: [] },
  ...{ output: z.object({ told: z.string() }), signals: { go: z.object({ text: z.string() }) } },
};
const wait: ScriptedAnswer = { calls: [{ tool: "wait", input: {} }] };
const finish = (told: string): ScriptedAnswer => ({
  calls: [{ tool: "finish", input: { output: { told } } }],
});
const porter = defineAgent({ ...parts, name: "porter", model: "porter" });
const office = defineAgent({
  ...parts,
  name: "office",
  model: "office",
  agents: [porter],
  whenFlagged: "pause",
});

export default defineApp({
  sagas: [office],
  models: {
    office: scriptedModel("office", ({ step }) =>
      step === 1 ? { calls: [{ tool: "porter", input: {} }] } : finish("the porter is back"),
    ),
    porter: scriptedModel("porter", ({ messages }) => {
      const parts = messages.flatMap((message) => (message.role === "user" ? message.parts : []));
      const go = parts.find((part) => part.type === "signal" && part.name === "go");
      return go === undefined ? wait : finish("go");
    }),
  },
});
