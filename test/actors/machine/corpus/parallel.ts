/** Parallel states: regions that end, wait for each other, act in an order, and invoke side by side. */
import { assign, setup, stateIn } from "xstate";
import { toActors } from "../../../../actors/machine/callable.ts";
import type { CorpusCase } from "../../../support/machine-driver.ts";
import { tool } from "./callables.ts";

/** Ends when both regions ended; tags come from several regions at once. */
export const document: CorpusCase = {
  name: "a document that text and cover are made for in parallel",
  machine: setup({}).createMachine({
    id: "document",
    initial: "making",
    states: {
      making: {
        type: "parallel",
        tags: "busy",
        states: {
          text: {
            initial: "draft",
            states: {
              draft: { tags: ["open", "text"], on: { write: "written" } },
              written: { on: { reject: "draft", accept: "done" } },
              done: { type: "final" },
            },
          },
          cover: {
            initial: "sketch",
            states: { sketch: { tags: "open", on: { paint: "done" } }, done: { type: "final" } },
          },
        },
        onDone: "printed",
        on: { scrap: { target: "making", reenter: true } },
      },
      printed: { on: { reprint: "making", close: "closed" } },
      closed: { type: "final" },
    },
  }),
  events: ["write", "reject", "accept", "paint", "scrap", "reprint", "close"].map((type) => ({ type })),
};

/** Each region notes when it moved: the context shows the order in which XState lets them act. */
export const relay: CorpusCase = {
  name: "regions whose eventless transitions note their order",
  machine: setup({
    types: { context: {} as { notes: string[]; ready: boolean } },
    actions: { note: assign({ notes: ({ context }, of: string) => [...context.notes, of].slice(-15) }) },
  }).createMachine({
    id: "relay",
    context: { notes: [], ready: false },
    type: "parallel",
    on: {
      ready: { actions: assign({ ready: true }) },
      halt: { actions: assign({ ready: false }) },
      both: { actions: { type: "note", params: "root" } },
    },
    states: Object.fromEntries(
      ["a", "b", "c"].map((region) => [
        region,
        {
          initial: "waiting",
          states: {
            waiting: {
              entry: { type: "note" as const, params: `${region} waits` },
              // The order of these actions follows how long each region has been in its state.
              always: {
                guard: ({ context }) => context.ready,
                target: "running",
                actions: { type: "note" as const, params: `${region} starts` },
              },
              on: { [`${region}.rest`]: "resting" },
            },
            resting: { on: { [`${region}.rest`]: "waiting" } },
            running: {
              entry: { type: "note" as const, params: `${region} runs` },
              exit: { type: "note" as const, params: `${region} stops` },
              always: { guard: ({ context }) => !context.ready, target: "waiting" },
              on: {
                both: {
                  target: "running",
                  reenter: true,
                  actions: { type: "note" as const, params: `${region} both` },
                },
              },
            },
          },
        },
      ]),
    ),
  }),
  events: ["ready", "halt", "both", "a.rest", "b.rest", "c.rest"].map((type) => ({ type })),
};

/** One region's result releases another; both results are needed to go on; one error ends both. */
export const bookings: CorpusCase = {
  name: "invocations in parallel regions that wait for each other",
  machine: setup({
    types: { context: {} as { got: string[]; failed: number } },
    actors: toActors({ tool }),
    guards: { hotelDone: stateIn({ booking: { hotel: "done" } }) },
    actions: { got: assign({ got: ({ context }, of: string) => [...context.got, of] }) },
  }).createMachine({
    id: "bookings",
    initial: "booking",
    context: { got: [], failed: 0 },
    states: {
      booking: {
        type: "parallel",
        states: {
          hotel: {
            initial: "asking",
            states: {
              asking: {
                invoke: {
                  id: "hotel",
                  src: "tool",
                  onDone: { target: "done", actions: { type: "got", params: "hotel" } },
                  onError: { target: "#bookings.failed" },
                },
              },
              done: { type: "final" },
            },
          },
          car: {
            initial: "waiting",
            states: {
              waiting: {
                always: { guard: "hotelDone", target: "asking" },
                on: { hurry: "asking" },
              },
              asking: {
                invoke: {
                  id: "car",
                  src: "tool",
                  onDone: { target: "done", actions: { type: "got", params: "car" } },
                },
              },
              done: { type: "final" },
            },
          },
        },
        onDone: "booked",
      },
      failed: { entry: assign({ failed: ({ context }) => context.failed + 1 }), on: { again: "booking" } },
      booked: { type: "final" },
    },
    output: ({ context }) => context.got,
  }),
  events: [
    "done:hotel",
    "done:car",
    "error:hotel",
    "error:car",
    "late:hotel",
    "late:car",
    "again",
    "hurry",
  ].map((type) => ({ type })),
};
