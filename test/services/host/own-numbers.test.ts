/**
 * Goal: what a machine makes of numbers that JSON has not is the same live and from the ledger: it is recorded as null, and
 * whatever reads it by a schema refuses that.
 * Method: each such number at each place where a machine's own value becomes an intent's or the saga's, on the mesh in memory,
 * and the ledger folded again from its first turn.
 */
import { expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { defineApp, defineSaga, defineTool, toActors } from "sagamesh";
import { verifyLedger } from "../../../services/views/verify.ts";
import { readLedger } from "../../../services/views/view.ts";
import type { MemoryMesh } from "../../../services/memory/mesh.ts";
import { openTestMesh } from "../../../services/testing/test-mesh.ts";

const Cents = z.object({ cents: z.number() });
const pay = defineTool({
  ...{
    name: "pay",
    description: "Pays.",
    effect: "idempotent",
    placement: "host",
    input: Cents,
    output: Cents,
  },
  compensation: "point_of_no_return",
  perform: async ({ cents }) => ({ cents }),
});
const common = { version: 1, input: z.object({}), signals: {} } as const;

/** Sagas that come to the number where they call, and where they end. */
const placesOf = (cents: number) => ({
  "a call's input": defineSaga({
    ...{ ...common, name: "calls", output: z.object({}) },
    machine: setup({ actors: toActors({ pay }) }).createMachine({
      initial: "paying",
      states: {
        paying: { invoke: { src: "pay", input: { cents }, onDone: "done" } },
        done: { type: "final" },
      },
      output: {},
    }),
  }),
  "a saga's output": defineSaga({
    ...{ ...common, name: "ends", output: Cents },
    machine: setup({}).createMachine({
      initial: "done",
      states: { done: { type: "final" } },
      output: { cents },
    }),
  }),
});

const rows = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].flatMap((cents) =>
  Object.entries(placesOf(cents)).map(([place, saga]) => [cents, place, saga] as const),
);

test.each(rows)(
  "%d in %s is null on the ledger, refused by its schema, and folds again as it was",
  async (_, place, saga) => {
    let mesh!: MemoryMesh;
    const app = defineApp({ sagas: [saga] });
    const t = openTestMesh(app, {}, { opened: (opened) => (mesh = opened) });
    const { ports } = mesh.spawn("outside");
    const { id } = await t.start(saga, {}, { id: "s-1" });
    await t.settled();
    expect(t.effects("pay"), place).toEqual([]);
    expect(await t.describe(id)).toMatchObject({ status: "failed" });
    expect(await mesh.clock.until(verifyLedger(ports, id, app))).toMatchObject({ ok: true, folded: true });
    expect(JSON.stringify(await mesh.clock.until(readLedger(ports, id)))).toContain("Invalid input");
    await t[Symbol.asyncDispose]();
  },
);
