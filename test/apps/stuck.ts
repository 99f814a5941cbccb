/**
 * A saga that books and waits, and by a signal never gives its host's loop back, in a guard or an assign, or for longer than a
 * lease. Bodies note what they do, with its key, in the file MESH_WORLD.
 */
import { appendFileSync } from "node:fs";
import { assign, setup } from "xstate";
import { z } from "zod";
import { defineApp, defineSaga, defineTool, type SignalEvents, toActors } from "sagamesh";

const nothing = z.object({});
const signals = { look: nothing, count: nothing, ponder: nothing, finish: nothing };

/** Uses its processor up. */
function spin(): boolean {
  for (let n = 0; ; n += 1) if (n < 0) return true;
}

/** Longer than a lease (3 s), and then it is over. */
function ponder(): boolean {
  for (const until = performance.now() + 4_000; performance.now() < until;);
  return true;
}

const note = (line: string): void => {
  const world = process.env["MESH_WORLD"];
  if (world !== undefined) appendFileSync(world, `${line}\n`);
};

const unbook = defineTool({
  ...{ name: "unbook", description: "Undoes book.", effect: "idempotent", placement: "host" },
  ...{ input: z.object({ of: z.string() }), output: nothing },
  perform: async ({ of }) => {
    note(`unbook ${of}`);
    return {};
  },
});
const book = defineTool({
  ...{ name: "book", description: "Books.", effect: "idempotent", placement: "host" },
  ...{ input: nothing, output: nothing },
  compensation: { tool: unbook, input: ({ key }) => ({ of: key }) },
  perform: async (_, { key }) => {
    note(`book ${key}`);
    return {};
  },
});

/** Books, and waits: "look" is guarded by a loop, "count" assigns by one, "ponder" is guarded by seconds, and it books again. */
export const booker = defineSaga({
  ...{ name: "booker", version: 1, input: nothing, output: nothing, signals },
  machine: setup({
    types: { events: {} as SignalEvents<typeof signals> },
    actors: toActors({ book }),
    guards: { looks: () => spin(), ponders: () => ponder() },
    actions: { count: assign(() => (spin() ? {} : {})) },
  }).createMachine({
    initial: "booking",
    states: {
      booking: { invoke: { src: "book", input: {}, onDone: "waiting" } },
      waiting: {
        on: {
          look: { guard: "looks" },
          count: { actions: "count" },
          ponder: { guard: "ponders", target: "booking" },
          finish: "done",
        },
      },
      done: { type: "final" },
    },
    output: {},
  }),
});

export default defineApp({ sagas: [booker] });
