/** A saga that calls one tool and ends with what came of it: for tests of what becomes of the call. */
import { assign, setup } from "xstate";
import { z } from "zod";
import { defineSaga, reasonOf, type Tool, toActors } from "sagamesh";

const nothing = z.object({});

/** Its output's `reason` is why the call failed, "" if it did not. */
export const callingSaga = (name: string, tool: Tool<typeof nothing, typeof nothing>) =>
  defineSaga({
    name,
    version: 1,
    input: nothing,
    output: z.object({ reason: z.string() }),
    signals: {},
    machine: setup({
      types: { context: {} as { reason: string }, output: {} as { reason: string } },
      actors: toActors({ tool }),
      actions: { why: assign({ reason: (_, reason: string) => reason }) },
    }).createMachine({
      id: name,
      initial: "calling",
      context: { reason: "" },
      states: {
        calling: {
          invoke: {
            src: "tool",
            input: {},
            onDone: "done",
            onError: {
              target: "done",
              actions: { type: "why", params: ({ event }) => reasonOf(event.error) },
            },
          },
        },
        done: { type: "final" },
      },
      output: ({ context }) => ({ reason: context.reason }),
    }),
  });
