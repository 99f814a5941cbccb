/**
 * A saga that books, rents and charges, then waits: a call of the host, one of a worker, and one that is never repeated, each
 * with what undoes it. Where FOLD_KILLS is set its machine ends every process that folds the turn of the signal "arm".
 * Bodies note what they do, with its key, in the file MESH_WORLD; what undoes takes UNDO_MS.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { assign, setup } from "xstate";
import { z } from "zod";
import { defineApp, defineSaga, defineTool, type SignalEvents, toActors } from "sagamesh";

const nothing = z.object({});
const signals = { arm: nothing, finish: nothing };

const note = (line: string): void => {
  const world = process.env["MESH_WORLD"];
  if (world !== undefined) appendFileSync(world, `${line}\n`);
};

type Made = Pick<Parameters<typeof defineTool>[0], "placement" | "effect">;

function undoable(name: string, { placement = "host", effect }: Made) {
  const undo = defineTool({
    ...{ name: `un${name}`, description: `Undoes ${name}.`, effect: "idempotent", placement },
    input: z.object({ of: z.string() }),
    output: nothing,
    perform: async ({ of }, { key }) => {
      await sleep(Number(process.env["UNDO_MS"] ?? 0));
      note(`un${name} ${key} ${of}`);
      return {};
    },
  });
  return defineTool({
    ...{ name, description: `Does ${name}.`, placement, input: nothing, output: nothing },
    ...(effect === "once"
      ? ({ effect: "once", onDoubt: "compensate" } as const)
      : ({ effect: "idempotent" } as const)),
    compensation: { tool: undo, input: ({ key }) => ({ of: key }) },
    perform: async (_, { key }) => {
      note(`${name} ${key}`);
      return {};
    },
  });
}

const book = undoable("book", { effect: "idempotent" });
const rent = undoable("rent", { effect: "idempotent", placement: "worker" });
const charge = undoable("charge", { effect: "once" });

export const traveller = defineSaga({
  ...{ name: "traveller", version: 1, input: nothing, output: nothing, signals },
  machine: setup({
    types: { events: {} as SignalEvents<typeof signals> },
    actors: toActors({ book, rent, charge }),
    actions: {
      arm: assign(() => {
        if (process.env["FOLD_KILLS"] !== undefined) process.abort();
        return {};
      }),
    },
  }).createMachine({
    initial: "booking",
    states: {
      booking: { invoke: { src: "book", input: {}, onDone: "renting" } },
      renting: { invoke: { src: "rent", input: {}, onDone: "charging" } },
      charging: { invoke: { src: "charge", input: {}, onDone: "waiting" } },
      waiting: { on: { arm: { actions: "arm" }, finish: "done" } },
      done: { type: "final" },
    },
    output: {},
  }),
});

export default defineApp({ sagas: [traveller] });
