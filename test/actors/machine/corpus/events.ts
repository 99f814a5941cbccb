/** Events: wildcards, forbidden and raised ones, guards that combine, nested ends, emit and log. */
import { and, assign, emit, log, not, or, raise, setup, stateIn } from "xstate";
import type { CorpusCase } from "../../../support/machine-driver.ts";

export const inbox: CorpusCase = {
  name: "wildcards, partial wildcards and a forbidden event",
  machine: setup({
    types: { context: {} as { by: string[] } },
    actions: { by: assign({ by: ({ context }, of: string) => [...context.by, of].slice(-5) }) },
  }).createMachine({
    id: "inbox",
    initial: "open",
    context: { by: [] },
    on: {
      "*": { actions: { type: "by", params: "any" } },
      "order.*": { actions: { type: "by", params: "order" } },
      "order.paid": { actions: { type: "by", params: "paid" } },
    },
    states: {
      open: { on: { lock: "locked", "order.paid.twice": { actions: { type: "by", params: "twice" } } } },
      locked: { on: { unlock: "open", "order.*": {}, ping: undefined } },
    },
  }),
  events: ["lock", "unlock", "ping", "order", "order.paid", "order.sent", "order.paid.twice"].map((type) => ({
    type,
  })),
};

export const gates: CorpusCase = {
  name: "guards that combine, an `always` chain and events raised within a step",
  machine: setup({
    types: {
      context: {} as { coins: number; trail: string[] },
      events: {} as { type: "coin"; worth?: number } | { type: "push" | "count" | "kick" },
    },
    guards: {
      rich: ({ context }) => context.coins >= 3,
      worth: ({ event }, least: number) => event.type === "coin" && (event.worth ?? 1) >= least,
    },
    actions: { trail: assign({ trail: ({ context }, of: string) => [...context.trail, of].slice(-8) }) },
  }).createMachine({
    id: "gates",
    initial: "shut",
    context: { coins: 0, trail: [] },
    on: { count: { actions: assign({ coins: ({ context }) => context.coins + 1 }) } },
    states: {
      shut: {
        on: {
          coin: [
            { guard: { type: "worth", params: 5 }, target: "opening" },
            {
              guard: and([not("rich"), or([{ type: "worth", params: 1 }, "rich"])]),
              actions: [raise({ type: "count" }), { type: "trail", params: "coin" }],
            },
            { target: "opening" },
          ],
          push: { guard: "rich", target: "opening" },
        },
      },
      opening: {
        entry: { type: "trail", params: "opening" },
        always: [{ guard: ({ context }) => context.coins > 5, target: "jammed" }, { target: "open" }],
      },
      open: {
        entry: [raise({ type: "push" }), { type: "trail", params: "open" }],
        on: { push: { target: "passing", actions: assign({ coins: 0 }) } },
      },
      passing: {
        always: { guard: not(stateIn("#gates.open")), target: "shut" },
        exit: { type: "trail", params: "passed" },
      },
      jammed: { tags: ["jammed", "failed"], on: { kick: "shut" } },
    },
  }),
  events: [
    { type: "coin" },
    { type: "coin", worth: 5 },
    { type: "coin", worth: 0 },
    { type: "push" },
    { type: "count" },
    { type: "kick" },
  ],
};

export const review: CorpusCase = {
  name: "ends within ends, each with its output",
  machine: setup({ types: { context: {} as { verdicts: string[] } } }).createMachine({
    id: "review",
    initial: "first",
    context: { verdicts: [] },
    states: {
      first: {
        initial: "reading",
        states: {
          reading: {
            initial: "page",
            states: { page: { on: { read: "end" } }, end: { type: "final", output: "read" } },
            onDone: {
              target: "judged",
              actions: assign({
                verdicts: ({ context, event }) => [...context.verdicts, String(event.output)],
              }),
            },
          },
          judged: {
            type: "final",
            output: ({ context }: { context: { verdicts: string[] } }) => context.verdicts.length,
          },
        },
        onDone: [{ guard: ({ event }) => event.output === 2, target: "ended" }, { target: "between" }],
      },
      between: { on: { again: "first", stop: "ended" } },
      ended: { type: "final", output: "ended" },
    },
    output: ({ context, event }) => [...context.verdicts, String(event.output)],
  }),
  events: ["read", "again", "stop"].map((type) => ({ type })),
};

export const speaker: CorpusCase = {
  name: "what is only shown: emit and log",
  machine: setup({
    types: {
      context: {} as { said: number },
      events: {} as { type: "say"; words: string } | { type: "log" },
      emitted: {} as { type: "spoken"; words: string; n: number },
    },
  }).createMachine({
    id: "speaker",
    context: { said: 0 },
    on: {
      say: {
        actions: [
          assign({ said: ({ context }) => context.said + 1 }),
          emit(({ context, event }) => ({ type: "spoken", words: event.words, n: context.said })),
          log(({ event }) => event.words, "said"),
        ],
      },
      log: { actions: log() },
    },
  }),
  events: [{ type: "say", words: "hello" }, { type: "say", words: "" }, { type: "log" }, { type: "unknown" }],
};
