/**
 * Goal: what a user can get wrong is wrong for the compiler, too. Method: lines that must not compile; `npm run
 * types` fails where one of them does. Nothing here runs.
 */
import { implement, type Mesh } from "sagamesh";
import { expect, test } from "vitest";
import { assign, setup } from "xstate";
import { z } from "zod";
import { toActors } from "../../../actors/machine/callable.ts";
import { defineAgent } from "../../../actors/agent/define.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import { bookFlight, bookTrip, cancelBooking } from "../../examples/trip-booking.ts";

const trip = { traveller: "Ada", to: "Turin", deadlineMs: 1_000 };

export const mustNotCompile = [
  () => {
    // @ts-expect-error a probe tool needs its probe
    implement(bookFlight, { perform: async () => ({ bookingId: "x" }) });
    // @ts-expect-error the output is not the tool's
    implement(cancelBooking, { perform: async () => 7 });
    implement(bookFlight, {
      perform: async () => ({ bookingId: "x" }),
      // @ts-expect-error a probe answers with the tool's output
      probe: async () => ({ outcome: "happened", output: {} }),
    });
  },
  async (mesh: Mesh) => {
    const saga = await mesh.start(bookTrip, trip);
    await saga.signal("change_plan", { reason: "ill" });
    await saga.signal("pause", { reason: "let me look" });
    // @ts-expect-error a reserved signal's data does not fit
    await saga.signal("rate_limited", { forMs: "long" });
    // @ts-expect-error there is no such signal
    await saga.signal("change_plans", { reason: "ill" });
    // @ts-expect-error the signal's data does not fit
    await saga.signal("change_plan", { because: "ill" });
    // @ts-expect-error the input does not fit
    await mesh.start(bookTrip, { traveller: 1 });
    const end = await saga.result();
    if (end.status === "completed") end.output.bookings.map((id) => id.length);
    // @ts-expect-error only a saga that completed has an output
    end.output.bookings.map((id) => id.length);
  },
  () =>
    defineTool({
      name: "book",
      description: "Books.",
      effect: "once",
      input: z.object({ of: z.string() }),
      output: z.object({ id: z.string() }),
      // @ts-expect-error the compensation's input does not fit the tool that compensates
      compensation: { tool: cancelBooking, input: ({ output }) => ({ bookingId: output?.id }) },
    }),
  () =>
    defineTool({
      name: "book",
      description: "Books.",
      // @ts-expect-error there is no such effect class
      effect: "twice",
      input: z.json(),
      output: z.json(),
    }),
  () => {
    const { createMachine } = setup({ actors: toActors({ bookFlight }) });
    // @ts-expect-error the input is not the tool's
    createMachine({ invoke: { src: "bookFlight", input: { traveller: 7 } } });
    createMachine({
      invoke: {
        src: "bookFlight",
        input: trip,
        // @ts-expect-error the tool's output has no such member
        onDone: { actions: assign({ id: ({ event }) => event.output.id }) },
      },
    });
  },
  () =>
    defineAgent({
      name: "helper",
      version: 1,
      description: "Helps.",
      model: "m",
      instructions: "Help.",
      input: z.object({ role: z.string() }),
      // @ts-expect-error the prompt's input is the agent's
      prompt: ({ roles }) => roles,
      output: z.string(),
      signals: {},
      tools: [bookFlight],
    }),
];

test("the reference application's types let the right uses through", () => {
  expect(mustNotCompile).toHaveLength(6);
});
