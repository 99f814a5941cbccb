/** The application of the idle host in memory.ts: JavaScript, so that a built host needs no type stripper. */
import { defineApp, defineSaga, defineTool, toActors } from "sagamesh";
import { setup } from "xstate";
import { z } from "zod";

const noop = defineTool({
  name: "noop",
  description: "does nothing",
  effect: "read",
  input: z.object({}),
  output: z.object({}),
});
const machine = setup({ actors: toActors({ noop }) }).createMachine({
  id: "idle",
  initial: "working",
  states: { working: { invoke: { src: "noop", input: {}, onDone: "done" } }, done: { type: "final" } },
  output: {},
});

export default defineApp({
  sagas: [
    defineSaga({ name: "idle", version: 1, input: z.object({}), output: z.object({}), signals: {}, machine }),
  ],
});
