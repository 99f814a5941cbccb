/** A saga that takes a moment, for schedules to begin. */
import { setup } from "xstate";
import { z } from "zod";
import { defineApp, defineSaga } from "sagamesh";

export const tick = defineSaga({
  ...{ name: "tick", version: 1, input: z.object({ lastsMs: z.number() }), output: z.object({}) },
  machine: setup({
    types: { context: {} as { lastsMs: number }, input: {} as { lastsMs: number } },
    delays: { lasts: ({ context }) => context.lastsMs },
  }).createMachine({
    context: ({ input }) => input,
    initial: "ticking",
    states: { ticking: { after: { lasts: "done" } }, done: { type: "final" } },
    output: {},
  }),
});

export default defineApp({ sagas: [tick] });
