/** What the hosts of due.ts serve: a saga that waits for a moment and ends. */
import { defineApp, defineSaga, now } from "sagamesh";
import { setup } from "xstate";
import { z } from "zod";

const machine = setup({
  types: { context: {} as { at: number }, input: {} as { at: number } },
  delays: { untilThen: ({ context }) => Math.max(0, context.at - now()) },
}).createMachine({
  id: "due",
  context: ({ input }) => ({ at: input.at }),
  initial: "waiting",
  states: { waiting: { after: { untilThen: "over" } }, over: { type: "final" } },
  output: {},
});

export default defineApp({
  sagas: [
    defineSaga({
      name: "due",
      version: 1,
      input: z.object({ at: z.number() }),
      output: z.object({}),
      machine,
    }),
  ],
});
