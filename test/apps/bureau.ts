/**
 * A bureau for the console's tests: an agent that looks things up, sends a porter, pays after a person has agreed, posts letters
 * of which nobody hears, and waits for a word to go on. What its model writes may be markup. Its input says how long it looks around.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { defineAgent, defineApp, defineSaga, defineTool, toActors } from "sagamesh";
import { assign, setup } from "xstate";
import { scriptedModel, type ScriptedAnswer } from "../../services/models/scripted.ts";
import { weekend } from "../examples/weekend.ts";

/** Where a browser would run it, this page's title would say so. */
export const hostile = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`;

const usage = { inputTokens: 1_200, outputTokens: 80 };
const price = { inputPerMillion: 3, outputPerMillion: 15 };

const look = defineTool({
  name: "look_up",
  description: "Looks something up.",
  effect: "read",
  placement: "host",
  input: z.object({ what: z.string(), forMs: z.int() }),
  output: z.object({ found: z.string() }),
  perform: async ({ what, forMs }) => {
    await sleep(forMs);
    return { found: `${what}: ${hostile}` };
  },
});

const pay = defineTool({
  name: "pay",
  description: "Pays.",
  effect: "once",
  placement: "host",
  input: z.object({ supplier: z.string(), cents: z.int() }),
  output: z.object({ receipt: z.string() }),
  approval: { by: ["ana"], withinMs: 86_400_000, otherwise: "deny" },
  compensation: "point_of_no_return",
  perform: async (_, { key }) => {
    const { BUREAU_BOOK: book } = process.env;
    if (book !== undefined) appendFileSync(book, `${key}\n`); // What the outside says of it.
    return { receipt: key };
  },
});

/** Nobody can say whether a letter that was posted has arrived. */
const post = defineTool({
  name: "post_letter",
  description: "Posts a letter.",
  effect: "once",
  placement: "host",
  input: z.object({ to: z.string() }),
  output: z.object({ stamp: z.string(), cents: z.int().optional() }),
  compensation: "point_of_no_return",
  perform: async () => {
    throw new Error("the box was gone");
  },
});

const parts = { version: 1, instructions: "Work.", output: z.object({ told: z.string() }) };
const porter = defineAgent({
  ...parts,
  ...{
    name: "porter",
    description: "Carries.",
    model: "porter",
    input: z.object({}),
    signals: {},
    tools: [look],
  },
});
const bureau = defineAgent({
  ...parts,
  ...{
    name: "bureau",
    description: "Does errands.",
    model: "bureau",
    tools: [look, pay, post],
    agents: [porter],
  },
  input: z.object({ rounds: z.int(), forMs: z.int(), pays: z.boolean(), posts: z.boolean().default(false) }),
  signals: { go: z.object({ text: z.string(), times: z.int().optional() }) },
  budget: { steps: 20_000, usd: 100 },
  memory: { schema: z.object({ notes: z.array(z.string()) }), initial: { notes: [] } },
});

/** It waits when it has used four of its five decisions. */
const thrifty = defineAgent({
  ...parts,
  ...{ name: "thrifty", description: "Waits.", model: "thrifty", tools: [look], input: z.object({}) },
  signals: { go: z.object({}) },
  budget: { steps: 5 },
});

/** Looks up as often as it is told, with no model: for long ledgers. */
const Walk = z.object({ steps: z.int() });
const machine = setup({
  types: { input: {} as z.infer<typeof Walk>, context: {} as z.infer<typeof Walk> },
  actors: toActors({ look }),
  guards: { goesOn: ({ context }) => context.steps > 1 },
  actions: { count: assign({ steps: ({ context }) => context.steps - 1 }) },
}).createMachine({
  id: "walk",
  initial: "walking",
  context: ({ input }) => input,
  states: {
    walking: {
      invoke: {
        src: "look",
        input: ({ context }) => ({ what: `street ${context.steps}`, forMs: 0 }),
        onDone: [
          { guard: "goesOn", actions: "count", target: "walking", reenter: true },
          { target: "there" },
        ],
        onError: "lost",
      },
    },
    there: { type: "final" },
    lost: { type: "final", tags: "failed" },
  },
});
const walk = defineSaga({ name: "walk", version: 1, input: Walk, output: z.unknown(), signals: {}, machine });

const finish = (told: string): ScriptedAnswer => ({
  text: "That is all.",
  calls: [{ tool: "finish", input: { output: { told } } }],
  usage,
});

const sends = (rounds: number) => rounds + 1;
const pays = (rounds: number) => rounds + 2;

export default defineApp({
  sagas: [bureau, walk, weekend, thrifty],
  prices: { bureau: price, porter: price },
  models: {
    thrifty: scriptedModel("thrifty", ({ step }) =>
      step <= 3
        ? { calls: [{ tool: "look_up", input: { what: "a purse", forMs: 0 } }], usage }
        : { calls: [{ tool: "wait", input: { signals: ["go"] } }], usage },
    ),
    porter: scriptedModel("porter", ({ step }) =>
      step === 1
        ? { calls: [{ tool: "look_up", input: { what: "the way", forMs: 120 } }], usage }
        : finish("carried"),
    ),
    bureau: scriptedModel("bureau", ({ step, messages }) => {
      const told = messages.flatMap((message) => (message.role === "user" ? message.parts : []));
      const [first] = told;
      const asked = bureau.input.parse(JSON.parse(first?.type === "text" ? first.text : "{}"));
      const { rounds, forMs } = asked;
      if (step <= rounds)
        return {
          text: `I look around once more. ${hostile}`,
          calls: [1, 2].map((one) => ({
            tool: "look_up",
            input: { what: `street ${step}-${one}`, forMs: forMs * one },
          })),
          usage,
        };
      if (step === sends(rounds)) return { calls: [{ tool: "porter", input: {} }], usage };
      if (step === pays(rounds) && asked.pays)
        return {
          text: "Ada is owed this.",
          calls: [{ tool: "pay", input: { supplier: "Ada & Sons", cents: 90_000 } }],
          usage,
        };
      if (step === pays(rounds) && asked.posts)
        return { calls: [{ tool: "post_letter", input: { to: "Ada" } }], usage };
      if (told.some((part) => part.type === "signal" && part.name === "go")) return finish("went");
      return { text: "I wait for a word.", calls: [{ tool: "wait", input: { signals: ["go"] } }], usage };
    }),
  },
});
