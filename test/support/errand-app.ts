/** An application with one saga of one effect, whose body the test gives. */
import { type App, defineApp, defineSaga, defineTool, toActors } from "sagamesh";
import { setup } from "xstate";
import { z } from "zod";

const Named = z.object({ name: z.string() });

const machineOf = (actors: ReturnType<typeof toActors<{ run: ReturnType<typeof toolOf> }>>) =>
  setup({
    types: { input: {} as z.infer<typeof Named>, context: {} as z.infer<typeof Named> },
    actors,
  }).createMachine({
    context: ({ input }) => input,
    initial: "running",
    states: {
      running: { invoke: { src: "run", input: ({ context }) => context, onDone: "done" } },
      done: { type: "final" },
    },
    output: ({ context }) => context.name,
  });

const toolOf = (body: (key: string, abort: AbortSignal) => Promise<void>) =>
  defineTool({
    ...{ name: "run_errand", description: "Runs an errand.", effect: "idempotent", timeoutMs: 60_000 },
    ...{ input: Named, output: z.object({}), compensation: "point_of_no_return" },
    perform: async (_input, { key, abort }) => {
      await body(key, abort);
      return {};
    },
  });

/** The saga's definition, for a client: it decides as the one of any such application. */
export const errandOf = (body: (key: string, abort: AbortSignal) => Promise<void>) =>
  defineSaga({
    ...{ name: "errand", version: 1, input: Named, output: z.string(), signals: {} },
    machine: machineOf(toActors({ run: toolOf(body) })),
  });

export const errandApp = (body: (key: string, abort: AbortSignal) => Promise<void>): App =>
  defineApp({ sagas: [errandOf(body)] });
