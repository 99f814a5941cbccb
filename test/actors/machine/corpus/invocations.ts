/** Invocations: several in one state, one after another, failing, retried, feeding the output. */
import { assign, setup } from "xstate";
import { compensation, reasonOf, toActors } from "../../../../actors/machine/callable.ts";
import type { CorpusCase } from "../../../support/machine-driver.ts";
import { tool } from "./callables.ts";

export const checkout: CorpusCase = {
  name: "three invocations in one state, counted as they end",
  machine: setup({ types: { context: {} as { ended: string[] } }, actors: toActors({ tool }) }).createMachine(
    {
      id: "checkout",
      initial: "paying",
      context: { ended: [] },
      states: {
        paying: {
          invoke: [
            {
              id: "card",
              src: "tool",
              onDone: { actions: assign({ ended: ({ context }) => [...context.ended, "card"] }) },
            },
            {
              id: "stock",
              src: "tool",
              onDone: { actions: assign({ ended: ({ context }) => [...context.ended, "stock"] }) },
              onError: "refused",
            },
            { src: "tool", input: { of: "letter" } },
          ],
          always: { guard: ({ context }) => context.ended.length >= 2, target: "paid" },
          on: { retry: { target: "paying", reenter: true, actions: assign({ ended: [] }) } },
        },
        refused: { on: { retry: "paying" }, tags: "refused" },
        paid: { type: "final" },
      },
      output: ({ context }) => ({ in: context.ended.join() }),
    },
  ),
  events: [
    "done:card",
    "error:card",
    "done:stock",
    "error:stock",
    "done:2.checkout.paying",
    "late:card",
    "retry",
  ].map((type) => ({ type })),
};

export const retrying: CorpusCase = {
  name: "an invocation retried on error until its attempts are spent",
  results: { call: { n: 7 } },
  machine: setup({
    types: { context: {} as { attempts: number; why: string; n: number } },
    actors: toActors({ tool }),
  }).createMachine({
    id: "retrying",
    initial: "calling",
    context: { attempts: 0, why: "", n: 0 },
    states: {
      calling: {
        entry: assign({ attempts: ({ context }) => context.attempts + 1 }),
        invoke: {
          id: "call",
          src: "tool",
          input: ({ context }) => ({ n: context.attempts }),
          onDone: { target: "called", actions: assign({ n: ({ event }) => event.output?.n ?? -1 }) },
          onError: [
            { guard: ({ context }) => context.attempts < 3, target: "backoff" },
            { target: "gaveUp", actions: assign({ why: ({ event }) => reasonOf(event.error) }) },
          ],
        },
      },
      backoff: { after: { 10: "calling" }, on: { now: "calling" } },
      called: { type: "final" },
      gaveUp: { type: "final", tags: "failed" },
    },
    output: ({ context, event }) => ({ ...context, by: event.type }),
  }),
  events: ["done:call", "error:call", "error:call", "late:call", "now", "advance:10"].map((type) => ({
    type,
  })),
};

/** The shape of the reference application: a chain of bookings under a deadline, undone on any failure. */
export const trip: CorpusCase = {
  name: "a chain of bookings with a deadline, undone when one fails",
  input: { deadlineMs: 90 },
  results: { undo: { undone: ["flight"], standing: [] } },
  machine: setup({
    types: {
      context: {} as { deadlineMs: number; got: string[]; because: string },
      input: {} as { deadlineMs: number },
    },
    actors: toActors({ tool, compensation }),
    delays: { deadline: ({ context }) => context.deadlineMs },
    actions: {
      got: assign({ got: ({ context }, of: string) => [...context.got, of] }),
      because: assign({ because: (_, reason: string) => reason }),
    },
  }).createMachine({
    id: "trip",
    initial: "booking",
    context: ({ input }) => ({ ...input, got: [], because: "" }),
    states: {
      booking: {
        initial: "flight",
        after: { deadline: { target: "undoing", actions: { type: "because", params: "deadline" } } },
        on: {
          "xstate.error.actor.*": { target: "undoing", actions: { type: "because", params: "error" } },
          change: ".flight",
        },
        states: {
          flight: {
            invoke: {
              id: "flight",
              src: "tool",
              onDone: { target: "hotel", actions: { type: "got", params: "flight" } },
            },
          },
          hotel: {
            invoke: {
              id: "hotel",
              src: "tool",
              onDone: { target: "#trip.booked", actions: { type: "got", params: "hotel" } },
              onError: {
                target: "#trip.undoing",
                actions: { type: "because", params: ({ event }) => reasonOf(event.error) },
              },
            },
          },
        },
      },
      undoing: {
        invoke: {
          id: "undo",
          src: "compensation",
          input: ({ context }) => ({ because: context.because }),
          onDone: { target: "notBooked", actions: assign({ got: ({ event }) => event.output.standing }) },
        },
      },
      booked: { type: "final" },
      notBooked: { type: "final", tags: ["failed"] },
    },
    output: ({ context }) => context,
  }),
  events: [
    "done:flight",
    "done:hotel",
    "error:flight",
    "error:hotel",
    "late:flight",
    "done:undo",
    "error:undo",
    "change",
    "advance:30",
    "advance:60",
  ].map((type) => ({ type })),
};
