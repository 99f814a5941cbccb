/** Two versions of a tool, and of the saga that calls it: the newer one must be told to whom. */
import { setup } from "xstate";
import { defineSaga, defineTool, toActors } from "sagamesh";
import { z } from "zod";

const output = z.object({ version: z.number(), pid: z.number() });
const base = { name: "post", description: "Posts.", effect: "idempotent", output } as const;
export const post1 = defineTool({ ...base, input: z.object({ text: z.string() }) });
export const post2 = defineTool({
  ...base,
  version: 2,
  input: z.object({ text: z.string(), to: z.string() }),
});

const states = (input: object) =>
  ({
    initial: "posting",
    states: { posting: { invoke: { src: "post", input, onDone: "done" } }, done: { type: "final" } },
  }) as const;
const declared = { name: "board", input: z.object({}), output: z.json(), signals: {} };
export const board1 = defineSaga({
  ...{ ...declared, version: 1 },
  machine: setup({ actors: toActors({ post: post1 }) }).createMachine({
    id: "board",
    ...states({ text: "a" }),
  } as never) as never,
});
export const board2 = defineSaga({
  ...{ ...declared, version: 2 },
  machine: setup({ actors: toActors({ post: post2 }) }).createMachine({
    id: "board",
    ...states({ text: "a", to: "ana" }),
  } as never) as never,
});
