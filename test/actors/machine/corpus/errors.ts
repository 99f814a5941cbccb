/** Errors: handled above the state, by a wildcard, or by nobody. */
import { assign, setup } from "xstate";
import { reasonOf, toActors } from "../../../../actors/machine/callable.ts";
import type { CorpusCase } from "../../../support/machine-driver.ts";
import { tool } from "./callables.ts";

export const fragile: CorpusCase = {
  name: "an error that nobody handles, with timers and a sibling running",
  machine: setup({ types: { context: {} as { ticks: number } }, actors: toActors({ tool }) }).createMachine({
    id: "fragile",
    initial: "working",
    context: { ticks: 0 },
    states: {
      working: {
        invoke: [
          { id: "left", src: "tool", onDone: "safe" },
          { id: "right", src: "tool" },
        ],
        after: { 50: { actions: assign({ ticks: ({ context }) => context.ticks + 1 }) } },
        exit: assign({ ticks: ({ context }) => context.ticks + 100 }),
      },
      safe: { invoke: { id: "left", src: "tool", onError: "working" }, on: { back: "working" } },
    },
  }),
  events: [
    "done:left",
    "error:left",
    "done:right",
    "error:right",
    "late:left",
    "late:right",
    "back",
    "advance:50",
  ].map((type) => ({ type })),
};

export const sheltered: CorpusCase = {
  name: "errors taken by a parent state, the root's wildcard and a guard",
  machine: setup({
    types: { context: {} as { errors: string[] } },
    actors: toActors({ tool }),
  }).createMachine({
    id: "sheltered",
    initial: "outer",
    context: { errors: [] },
    on: { "*": { guard: ({ event }) => event.type.startsWith("xstate.error"), target: ".caught" } },
    states: {
      outer: {
        initial: "deep",
        on: {
          "xstate.error.actor.deep": {
            guard: ({ context }) => context.errors.length < 2,
            target: ".deep",
            actions: assign({
              errors: ({ context, event }) => [
                ...context.errors,
                reasonOf((event as { error?: unknown }).error),
              ],
            }),
          },
        },
        states: {
          deep: { invoke: { id: "deep", src: "tool", onDone: "deeper" }, on: { dive: "deeper" } },
          deeper: { invoke: { id: "deeper", src: "tool", onDone: "#sheltered.ended" }, on: { up: "deep" } },
        },
      },
      caught: { on: { again: "outer" } },
      ended: { type: "final" },
    },
  }),
  events: [
    "done:deep",
    "error:deep",
    "error:deep",
    "late:deep",
    "done:deeper",
    "error:deeper",
    "dive",
    "up",
    "again",
  ].map((type) => ({ type })),
};
