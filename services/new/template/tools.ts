/** What the agent can do. `effect` says what holds when a process dies in the middle of a call. */
import { appendFile } from "node:fs/promises";
import { defineTool } from "sagamesh";
import { z } from "zod";

const orders = new Map([
  ["o-1", { cents: 4_500, mustComeBack: false }],
  ["o-2", { cents: 45_000, mustComeBack: false }],
  ["o-3", { cents: 6_000, mustComeBack: true }],
]);

/** `read`: it changes nothing, so it may run again. */
export const findOrder = defineTool({
  name: "find_order",
  description: "Looks an order up: what was paid, and whether the goods must come back first.",
  effect: "read",
  input: z.object({ order: z.string() }),
  output: z.object({ cents: z.int(), mustComeBack: z.boolean() }),
  perform: async ({ order }) => {
    const found = orders.get(order);
    if (found === undefined) throw new Error(`there is no order ${order}`);
    return found;
  },
});

/** `once`: money. It is never performed twice, and from 100.00 on a person is asked first. */
export const refund = defineTool({
  name: "refund",
  description: "Pays money back to the customer. Larger amounts wait for a person.",
  effect: "once",
  input: z.object({ order: z.string(), cents: z.int().positive() }),
  output: z.object({ receipt: z.string() }),
  approval: ({ cents }) =>
    cents >= 10_000 && { by: ["team_lead"], withinMs: 3 * 24 * 3_600_000, otherwise: "deny" },
  compensation: "point_of_no_return",
  perform: async ({ order, cents }, { key }) => {
    await appendFile(
      process.env["BANK"] ?? "bank.txt",
      `${cents} cents for ${order}, under the key ${key}\n`,
    );
    return { receipt: key };
  },
});
