/**
 * Goal: what a user can get wrong is wrong for the compiler, too. Method: lines that must not compile; `npm run
 * types` fails where one of them does. Nothing here runs.
 */
import { implement, type Mesh } from "sagamesh";
import { expect, expectTypeOf, test } from "vitest";
import { type AnyStateMachine, assign, createMachine, setup } from "xstate";
import { z } from "zod";
import { type SignalEvents, toActors } from "../../../actors/machine/callable.ts";
import { defineAgent } from "../../../actors/agent/define.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import type { Agreeing, MachineDisagrees } from "../../../actors/saga/agrees.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { bookFlight, bookTrip, cancelBooking } from "../../examples/trip-booking.ts";

const trip = { traveller: "Ada", to: "Turin", deadlineMs: 1_000 };

/** TY1, TY2. */
const order = {
  name: "order",
  version: 1,
  input: z.object({ of: z.string() }),
  output: z.object({ parts: z.array(z.number()) }),
  signals: { pay: z.object({ amount: z.number() }), stop: z.null() },
};
const withInput = setup({ types: { input: {} as { of: number } } }).createMachine({});
const withOutput = setup({ types: { output: {} as { parts: string[] } } }).createMachine({});
const withoutStop = setup({ types: { events: {} as { type: "pay"; amount: number } } }).createMachine({});
const paidInText = setup({
  types: { events: {} as { type: "pay"; amount: string } | { type: "stop" } },
}).createMachine({});

export const mustNotCompile = [
  () => {
    // @ts-expect-error the machine takes another input
    defineSaga({ ...order, machine: withInput });
    // @ts-expect-error the machine says another output
    defineSaga({ ...order, machine: withOutput });
    // @ts-expect-error no event is declared for a signal
    defineSaga({ ...order, machine: withoutStop });
    // @ts-expect-error the data of a signal is another than that of the event
    defineSaga({ ...order, machine: paidInText });
    // @ts-expect-error a machine without signals may be given none that it does not declare
    defineSaga({ ...order, signals: { go: z.null() }, machine: withoutStop });
  },
  () => {
    defineSaga({ ...order, machine: createMachine({}) });
    defineSaga({ ...order, machine: setup({}).createMachine({ context: { own: 1 } }) });
    const { input, output, signals, ...plain } = order;
    defineSaga({ ...plain, input, output, machine: withoutStop }); // Its events may be its own.
    defineSaga({
      ...order,
      machine: setup({
        types: {
          context: {} as { paid: Map<string, number> },
          input: {} as { of: string; more?: number },
          output: {} as { readonly parts: readonly number[] } | { because: string },
          events: {} as { type: "pay"; amount: number } | { type: "stop" | "again" },
        },
      }).createMachine({ context: { paid: new Map() } }),
    });
    defineSaga({
      ...order,
      machine: setup({ types: { events: {} as SignalEvents<typeof signals> } }).createMachine({
        // @ts-expect-error what stands on the event is what the schema says
        on: { pay: { guard: ({ event }) => event.amount === "7" } },
      }),
    });
  },
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
  expect(mustNotCompile).toHaveLength(8);
});

test("what disagrees is said in words, with what each side has", () => {
  type Told<M extends AnyStateMachine> = Agreeing<
    M,
    typeof order.input,
    typeof order.output,
    typeof order.signals
  >;
  expectTypeOf<Told<typeof withInput>>().toEqualTypeOf<
    MachineDisagrees<
      "the machine's input is not what the schema `input` gives",
      { of: number },
      { of: string }
    >
  >();
  expectTypeOf<Told<typeof withoutStop>>().toEqualTypeOf<
    MachineDisagrees<'the machine declares no event for the signal "stop"', "pay", "stop">
  >();
  expectTypeOf<Told<typeof paidInText>>().toEqualTypeOf<
    MachineDisagrees<
      'the data of the signal "pay" does not fit the event that the machine declares',
      { type: "pay"; amount: string },
      { amount: number }
    >
  >();
});
