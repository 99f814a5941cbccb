/**
 * Noting: a machine that counts the notes it is sent until it is told to end.
 */
import { assign, setup } from "xstate";
import { toActors } from "../../actors/machine/callable.ts";

export const notingMachine = setup({
  types: { context: {} as { notes: number } },
  actors: toActors({}),
  actions: { count: assign({ notes: ({ context }) => context.notes + 1 }) },
}).createMachine({
  id: "noting",
  context: { notes: 0 },
  initial: "open",
  states: { open: { on: { note: { actions: "count" }, end: "done" } }, done: { type: "final" } },
  output: ({ context }) => ({ notes: context.notes }),
});
