/**
 * Sagas that kill whoever takes them: by a signal's assign, by a tool of the host, by a tool of a worker. And one that
 * harms nobody, and is always at work.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { assign, setup } from "xstate";
import { z } from "zod";
import { defineApp, defineSaga, defineTool, implement, type SignalEvents, toActors } from "sagamesh";
import { callingSaga } from "../support/calling-saga.ts";

const nothing = z.object({});

const hog = defineTool({
  name: "hog",
  description: "Uses up all memory.",
  effect: "idempotent",
  placement: "host",
  input: nothing,
  output: nothing,
});
const crash = defineTool({
  name: "crash",
  description: "Ends its process.",
  effect: "idempotent",
  input: nothing,
  output: nothing,
});
const step = defineTool({
  name: "step",
  description: "Takes a moment.",
  effect: "idempotent",
  placement: "host",
  input: nothing,
  output: nothing,
});

const signals = { boom: nothing, finish: nothing };

/** Waits; "boom" kills, "finish" ends it. */
export const pot = defineSaga({
  name: "pot",
  version: 1,
  input: nothing,
  output: nothing,
  signals,
  machine: setup({
    types: { events: {} as SignalEvents<typeof signals> },
    actions: { boom: assign(() => process.abort()) },
  }).createMachine({
    id: "pot",
    initial: "waiting",
    states: { waiting: { on: { boom: { actions: "boom" }, finish: "done" } }, done: { type: "final" } },
    output: {},
  }),
});

const Walk = z.object({ steps: z.number() });

/** Steps so many times. */
export const stroll = defineSaga({
  name: "stroll",
  version: 1,
  input: Walk,
  output: z.object({ walked: z.number() }),
  signals: {},
  machine: setup({
    types: {
      input: {} as z.infer<typeof Walk>,
      context: {} as { steps: number; walked: number },
      output: {} as { walked: number },
    },
    actors: toActors({ step }),
    actions: { walk: assign({ walked: ({ context }) => context.walked + 1 }) },
    guards: { isFar: ({ context }) => context.walked < context.steps },
  }).createMachine({
    id: "stroll",
    initial: "walking",
    context: ({ input }) => ({ steps: input.steps, walked: 0 }),
    states: {
      walking: { invoke: { src: "step", input: {}, onDone: { target: "looking", actions: "walk" } } },
      looking: { always: [{ guard: "isFar", target: "walking" }, { target: "done" }] },
      done: { type: "final" },
    },
    output: ({ context }) => ({ walked: context.walked }),
  }),
});

export const hostCaller = callingSaga("host_caller", hog);
export const workerCaller = callingSaga("worker_caller", crash);

export default defineApp({
  sagas: [pot, hostCaller, workerCaller, stroll],
  implementations: [
    implement(hog, {
      perform: async () => {
        const kept: unknown[] = [];
        for (;;) kept.push(Array.from({ length: 100_000 }, () => kept.length));
      },
    }),
    implement(crash, { perform: async () => process.abort() }),
    implement(step, {
      perform: async () => {
        await sleep(150);
        return {};
      },
    }),
  ],
});
