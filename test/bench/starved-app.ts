/** What the host of starved.ts serves: sagas that take step after step, and sagas that wait until a time. */
import { setup } from "xstate";
import { z } from "zod";
import { defineApp, defineSaga } from "sagamesh";
import { noopSaga } from "./noop-saga.ts";

const Input = z.object({ waitMs: z.int().positive() });

/** Waits for so long, and ends. */
export const sleeper = defineSaga({
  name: "sleeper",
  version: 1,
  input: Input,
  output: z.object({}),
  signals: {},
  machine: setup({
    types: { context: {} as z.infer<typeof Input>, input: {} as z.infer<typeof Input> },
    delays: { wait: ({ context }) => context.waitMs },
  }).createMachine({
    id: "sleeper",
    context: ({ input }) => input,
    initial: "asleep",
    states: { asleep: { after: { wait: "done" } }, done: { type: "final" } },
    output: {},
  }),
});

export default defineApp({ sagas: [noopSaga("host", { toolMs: 20 }), sleeper] });
