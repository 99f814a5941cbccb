/** The agent: what it is told, what it may do, what may come in while it waits. */
import { defineAgent } from "sagamesh";
import { z } from "zod";
import { findOrder, refund } from "./tools.ts";

export const returnsClerk = defineAgent({
  name: "returns_clerk",
  version: 1,
  description: "Handles one order that a customer gives back.",
  model: "scripted",
  instructions:
    "Look the order up. If it must come back, wait for the parcel, at most 14 days; if no parcel comes, refund nothing. Then refund what was paid.",
  input: z.object({ order: z.string() }),
  output: z.object({ refundedCents: z.int(), note: z.string() }),
  signals: { parcel_arrived: z.object({ parcel: z.string() }) },
  tools: [findOrder, refund],
});
