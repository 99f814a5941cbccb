/** What the hosts of line.ts serve: a saga that asks for so many children at once, and children of one no-op step each. */
import { type AnyStateMachine, assign, enqueueActions, setup, spawnChild } from "xstate";
import { z } from "zod";
import { toActors } from "../../actors/machine/callable.ts";
import { defineSaga } from "../../actors/saga/define.ts";
import { limits } from "../../protocol/limits.ts";
import { defineApp } from "../../services/app/app.ts";
import { noopSaga } from "./noop-saga.ts";

export const lineName = "line";

const part = noopSaga("host", { effect: "read" });
const bound = setup({ actors: toActors({ part }) }) as unknown as {
  createMachine(config: object): AnyStateMachine;
};
type Left = { readonly context: { readonly left: number } };
type Begins = Left & { readonly enqueue: (action: unknown) => void };

const line = defineSaga({
  name: lineName,
  version: 1,
  input: z.object({ children: z.int() }),
  output: z.json(),
  budget: { childrenInLineMax: limits.intentsOpenCeiling, intentsOpenMax: limits.intentsOpenCeiling },
  machine: bound.createMachine({
    context: ({ input }: { input: { children: number } }) => ({ left: input.children }),
    initial: "running",
    states: {
      running: {
        entry: enqueueActions((({ enqueue, context }: Begins) => {
          for (let k = 0; k < context.left; k++)
            enqueue(spawnChild("part", { id: `p${k}`, input: { steps: 1, stays: false } }));
        }) as never),
        on: {
          "xstate.done.actor.*": [
            { guard: ({ context }: Left) => context.left === 1, target: "done" },
            { actions: assign({ left: ({ context }: Left) => context.left - 1 }) },
          ],
        },
      },
      done: { type: "final" },
    },
  }),
});

export const lineApp = defineApp({ sagas: [line, part] });
