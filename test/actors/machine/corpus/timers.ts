/** Time: `after`, delayed raise and cancel, computed delays, re-entry under ids that repeat. */
import { and, assign, cancel, not, raise, setup } from "xstate";
import { toActors } from "../../../../actors/machine/callable.ts";
import type { CorpusCase } from "../../../support/machine-driver.ts";
import { tool } from "./callables.ts";

export const reminders: CorpusCase = {
  name: "reminders whose delay grows with the context, and a deadline above them",
  input: { firstMs: 30 },
  machine: setup({
    types: { context: {} as { everyMs: number; sent: number }, input: {} as { firstMs: number } },
    delays: { every: ({ context }) => context.everyMs, never: 1_000_000 },
    guards: {
      enough: ({ context }) => context.sent >= 3,
      patient: ({ context }, least: number) => context.everyMs >= least,
    },
  }).createMachine({
    id: "reminders",
    initial: "waiting",
    context: ({ input }) => ({ everyMs: input.firstMs, sent: 0 }),
    states: {
      waiting: {
        tags: "waiting",
        initial: "quiet",
        after: { 500: "expired", never: "expired" },
        on: { answer: "answered", soon: { actions: assign({ everyMs: 0 }) } },
        states: {
          quiet: {
            after: {
              every: [
                { guard: "enough", target: "#reminders.expired" },
                {
                  guard: and([not("enough"), { type: "patient", params: 1_000 }]),
                  target: "#reminders.expired",
                },
                {
                  target: "quiet",
                  reenter: true,
                  actions: assign({
                    sent: ({ context }) => context.sent + 1,
                    everyMs: ({ context }) => context.everyMs * 2,
                  }),
                },
              ],
            },
          },
        },
      },
      answered: { on: { reopen: "waiting" }, after: { 200: "closed" } },
      expired: { tags: "failed", type: "final" },
      closed: { type: "final" },
    },
    output: ({ context }) => context.sent,
  }),
  events: ["answer", "reopen", "soon", "advance:10", "advance:30", "advance:100", "advance:400"].map(
    (type) => ({ type }),
  ),
};

export const alarm: CorpusCase = {
  name: "an alarm set by delayed raises, taken back by id",
  machine: setup({
    types: {
      context: {} as { rung: string[] },
      events: {} as { type: "set" | "unset" | "once" | "ring" | "tick" } | { type: "note"; of: string },
    },
  }).createMachine({
    id: "alarm",
    context: { rung: [] },
    on: {
      set: { actions: [cancel("ring"), raise({ type: "ring" }, { id: "ring", delay: 40 })] },
      unset: { actions: cancel("ring") },
      once: {
        actions: raise({ type: "note", of: "once" }, { delay: ({ context }) => 10 * context.rung.length }),
      },
      ring: {
        actions: [
          assign({ rung: ({ context }) => [...context.rung, "ring"].slice(-5) }),
          raise({ type: "tick" }),
        ],
      },
      tick: { actions: raise({ type: "note", of: "tick" }) },
      note: { actions: assign({ rung: ({ context, event }) => [...context.rung, event.of].slice(-5) }) },
    },
  }),
  events: ["set", "unset", "once", "advance:10", "advance:40", "advance:100"].map((type) => ({ type })),
};

export const heartbeat: CorpusCase = {
  name: "a state that re-enters itself while its timer and its invocation run",
  machine: setup({
    types: { context: {} as { beats: number; lost: number } },
    actors: toActors({ tool }),
  }).createMachine({
    id: "heartbeat",
    initial: "alive",
    context: { beats: 0, lost: 0 },
    states: {
      alive: {
        invoke: {
          id: "check",
          src: "tool",
          input: ({ context }) => ({ n: context.beats }),
          onDone: {
            target: "alive",
            reenter: true,
            actions: assign({ beats: ({ context }) => context.beats + 1 }),
          },
          onError: { actions: assign({ lost: ({ context }) => context.lost + 1 }) },
        },
        after: { 100: "dead" },
        on: { beat: { target: "alive", reenter: true }, inner: "alive", hush: "paused" },
      },
      paused: { on: { rouse: "alive" } },
      dead: { on: { revive: "alive" }, tags: "failed" },
    },
  }),
  events: [
    "beat",
    "inner",
    "hush",
    "rouse",
    "revive",
    "done:check",
    "error:check",
    "late:check",
    "advance:40",
    "advance:99",
  ].map((type) => ({ type })),
};

export const instant: CorpusCase = {
  name: "states left in the same step, before their invocation and timer begin",
  machine: setup({
    types: { context: {} as { open: boolean; passed: number } },
    actors: toActors({ tool }),
  }).createMachine({
    id: "instant",
    initial: "closed",
    context: { open: false, passed: 0 },
    states: {
      closed: { on: { pass: "lock", open: { actions: assign({ open: ({ context }) => !context.open }) } } },
      lock: {
        entry: raise({ type: "buzz" }, { id: "buzz", delay: 5 }),
        exit: cancel("buzz"),
        invoke: { id: "unlock", src: "tool", onDone: "through" },
        after: { 20: "closed" },
        always: { guard: ({ context }) => context.open, target: "through" },
      },
      through: {
        entry: assign({ passed: ({ context }) => context.passed + 1 }),
        after: { 0: "closed" },
        on: { stay: "kept" },
      },
      kept: { type: "final" },
    },
  }),
  events: ["pass", "open", "stay", "done:unlock", "late:unlock", "advance:0", "advance:5", "advance:20"].map(
    (type) => ({ type }),
  ),
};
