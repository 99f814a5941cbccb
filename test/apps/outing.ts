/**
 * An outing for the console's tests: a workflow whose meal is judged, and refused where it costs too much, so that the bus is given
 * back; and a chief whose clerks have runners, as many as its input says. What is given back takes the time that the input says.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { defineAgent, defineApp, defineTool } from "sagamesh";
import { defineValidator } from "sagamesh/validators";
import { defineWorkflow } from "sagamesh/workflow";
import { scriptedModel, type ScriptedAnswer } from "../../services/models/scripted.ts";
import { hostile } from "./bureau.ts";

const Held = z.object({ id: z.string(), cents: z.int() });
const giveBack = defineTool({
  ...{ name: "give_back", description: "Gives back what is held.", effect: "idempotent", placement: "host" },
  input: z.object({ key: z.string(), forMs: z.int() }),
  output: z.object({}),
  perform: async ({ forMs }) => {
    await sleep(forMs);
    return {};
  },
});
const Asked = z.object({ cents: z.int(), forMs: z.int() });
const holding = (name: string) =>
  defineTool({
    ...{ name, description: `Holds a ${name}.`, effect: "idempotent", placement: "host" },
    ...{ input: Asked, output: Held },
    compensation: { tool: giveBack, input: ({ key, input }) => ({ key, forMs: input.forMs }) },
    perform: async ({ cents }, { key }) => ({ id: key, cents }),
  });

const price = defineValidator({
  name: "price",
  item: Held,
  placement: "host",
  check: ({ item }) =>
    item.cents > 5_000
      ? { verdict: "reject", reason: `a meal of ${item.cents} cents is too dear: ${hostile}` }
      : { verdict: "accept" },
});

export const outing = defineWorkflow({
  name: "outing",
  version: 1,
  description: "A bus, a meal and a walk, or none of them.",
  input: Asked,
  nodes: {
    bus: { run: holding("bus"), input: ({ input: { forMs } }) => ({ cents: 900, forMs }) },
    meal: {
      run: holding("meal"),
      after: ["bus"],
      input: ({ input }) => input,
      validators: { output: [price] },
    },
    walk: {
      run: holding("walk"),
      after: ["bus"],
      when: { node: "meal", is: "atMost", at: "/cents", value: 5_000 },
      input: ({ input: { forMs }, output }) => ({ cents: output("meal", { output: Held }).cents, forMs }),
    },
  },
});

const parts = { version: 1, description: "Works.", instructions: "Work.", output: z.json(), signals: {} };
const none = z.object({});
const runner = defineAgent({ ...parts, name: "runner", model: "runner", input: none, tools: [] });
const clerk = defineAgent({
  ...parts,
  name: "clerk",
  model: "clerk",
  input: none,
  tools: [],
  agents: [runner],
});
const chief = defineAgent({
  ...parts,
  ...{ name: "chief", model: "chief", input: z.object({ clerks: z.int() }), tools: [], agents: [clerk] },
  signals: { home: z.object({}) },
});

const usage = { inputTokens: 100, outputTokens: 10 };
const finish: ScriptedAnswer = {
  text: "Done.",
  calls: [{ tool: "finish", input: { output: "done" } }],
  usage,
};

export default defineApp({
  sagas: [outing, chief],
  models: {
    chief: scriptedModel("chief", ({ step, messages }) => {
      const [first] = messages.flatMap((message) => (message.role === "user" ? message.parts : []));
      const { clerks } = chief.input.parse(JSON.parse(first?.type === "text" ? first.text : "{}"));
      if (step === 1)
        return { calls: Array.from({ length: clerks }, () => ({ tool: "clerk", input: {} })), usage };
      return step === 2 ? { calls: [{ tool: "wait", input: { signals: ["home"] } }], usage } : finish;
    }),
    clerk: scriptedModel("clerk", ({ step }) =>
      step === 1 ? { text: "A runner goes.", calls: [{ tool: "runner", input: {} }], usage } : finish,
    ),
    runner: scriptedModel("runner", () => ({ ...finish, text: `I ran. ${hostile}` })),
  },
});
