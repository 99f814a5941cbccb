/** The sagas of the comparison, as an application would write them. Their host and their client load them both. */
import { load, mark, prose, step } from "./measured.ts";

const { defineAgent, defineApp, defineSaga, defineTool, toActors } = load("sagamesh");
const { assign, enqueueActions, setup } = load("xstate");
const { z } = load("zod");

const Steps = z.object({ saga: z.string(), steps: z.int(), ms: z.int(), stays: z.boolean() });
const Fan = z.object({ saga: z.string(), width: z.int() });
const Talk = z.object({ saga: z.string(), decisions: z.int(), chars: z.int() });

const work = defineTool({
  name: "work",
  description: "one step",
  effect: "idempotent",
  placement: "host",
  input: z.object({ saga: z.string(), ms: z.int() }),
  output: z.object({}),
  perform: async ({ saga, ms }: { saga: string; ms: number }) => {
    await step(saga, ms);
    return {};
  },
});
const actors = toActors({ work });

export const steps = defineSaga({
  name: "steps",
  version: 1,
  input: Steps,
  output: z.object({}),
  signals: { more: z.object({}) },
  machine: setup({ types: { context: {} as any, input: {} as any }, actors })
    .createMachine({
      id: "steps",
      context: ({ input }: any) => ({ ...input, left: input.steps }),
      initial: "working",
      states: {
        working: {
          invoke: {
            id: "call",
            src: "work",
            input: ({ context: { saga, ms } }: any) => ({ saga, ms }),
            onDone: [
              {
                guard: ({ context }: any) => context.left > 1,
                target: "working",
                reenter: true,
                actions: "count",
              },
              { guard: ({ context }: any) => context.stays, target: "resting" },
              { target: "done" },
            ],
          },
        },
        resting: { on: { more: "working" } },
        done: { type: "final" },
      },
      output: {},
    })
    .provide({ actions: { count: assign({ left: ({ context }: any) => context.left - 1 }) } }),
});

export const fan = defineSaga({
  name: "fan",
  version: 1,
  input: Fan,
  output: z.object({}),
  signals: {},
  machine: setup({ types: { context: {} as any, input: {} as any }, actors }).createMachine({
    id: "fan",
    context: ({ input }: any) => ({ ...input, left: input.width }),
    initial: "joining",
    states: {
      joining: {
        entry: enqueueActions(({ context, enqueue }: any) => {
          for (let n = 0; n < context.width; n++)
            enqueue.spawnChild("work", { id: `work-${n}`, input: { saga: `${context.saga}-${n}`, ms: 0 } });
        }),
        on: {
          "xstate.done.actor.*": [
            { guard: ({ context }: any) => context.left === 1, target: "joined" },
            { actions: assign({ left: ({ context }: any) => context.left - 1 }) },
          ],
        },
      },
      joined: { type: "final" },
    },
    output: {},
  }),
  budget: { intentsOpenMax: 10_000 },
});

const look = defineTool({
  name: "look",
  description: "finds a text",
  effect: "read",
  placement: "host",
  input: z.object({ about: z.string(), n: z.int(), chars: z.int() }),
  output: z.string(),
  perform: async ({ n, chars }: { n: number; chars: number }) => prose(2 * n + 1, chars),
});

export const talk = defineAgent({
  name: "talk",
  version: 1,
  description: "looks things up",
  model: "talker",
  instructions: "Look things up, then finish.",
  input: Talk,
  output: z.object({}),
  signals: {},
  tools: [look],
});

/** Knows from the saga's first message, its input, how long to go on. */
const talker = {
  name: "talker",
  decide: async ({ step: n, messages }: { step: number; messages: readonly unknown[] }) => {
    const { saga, decisions, chars } = inputOf(messages);
    mark(saga);
    return n <= decisions
      ? { model: "talker", calls: [{ tool: "look", input: { about: prose(2 * n, chars), n, chars } }] }
      : { model: "talker", calls: [{ tool: "finish", input: { output: {} } }] };
  },
};

function inputOf(messages: readonly unknown[]): { saga: string; decisions: number; chars: number } {
  const found = /\{[^{}]*decisions[^{}]*\}/.exec(JSON.stringify(messages[0]).replaceAll("\\", ""));
  return JSON.parse(found?.[0] ?? "{}");
}

export default defineApp({ sagas: [steps, fan, talk], models: { talker } });
