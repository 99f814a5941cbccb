/** Children beyond `invoke`: child sagas that are sent signals, actors spawned and stopped by actions. */
import { assign, cancel, enqueueActions, sendTo, setup, spawnChild, stopChild } from "xstate";
import { toActors } from "../../../../actors/machine/callable.ts";
import type { CorpusCase } from "../../../support/machine-driver.ts";
import { saga, tool } from "./callables.ts";

export const supervisor: CorpusCase = {
  name: "a child saga that is sent signals, at once and delayed",
  machine: setup({
    types: {
      context: {} as { urgent: boolean },
      events: {} as { type: "hurry" | "calm" | "later" | "never" | "swap" | "end" },
    },
    actors: toActors({ saga }),
  }).createMachine({
    id: "supervisor",
    initial: "working",
    context: { urgent: false },
    states: {
      working: {
        invoke: { id: "worker", src: "saga", input: { of: "work" }, onDone: "done", onError: "broken" },
        entry: sendTo("worker", { type: "welcome" }),
        exit: sendTo("worker", { type: "goodbye" }),
        on: {
          hurry: {
            actions: [
              assign({ urgent: true }),
              sendTo("worker", ({ context }) => ({ type: "hurry", urgent: context.urgent })),
            ],
          },
          calm: {
            guard: ({ context }) => context.urgent,
            actions: sendTo(({ context }) => (context.urgent ? "worker" : ""), { type: "calm" }),
          },
          later: { actions: sendTo("worker", { type: "later" }, { id: "later", delay: 30 }) },
          never: { actions: cancel("later") },
          swap: { target: "working", reenter: true },
        },
      },
      broken: { on: { swap: "working" } },
      done: { on: { end: "ended" } },
      ended: { type: "final" },
    },
  }),
  events: [
    "hurry",
    "calm",
    "never",
    "later",
    "swap",
    "end",
    "done:worker",
    "error:worker",
    "late:worker",
    "advance:30",
  ].map((type) => ({ type })),
};

export const crew: CorpusCase = {
  name: "a crew of actors spawned under computed ids, stopped one by one",
  machine: setup({
    types: {
      context: {} as { hired: number; done: string[] },
      events: {} as
        { type: "hire" | "fire" | "close" | "tell" } | { type: "xstate.done.actor.*"; actorId: string },
    },
    actors: toActors({ tool, saga }),
  }).createMachine({
    id: "crew",
    initial: "open",
    context: { hired: 0, done: [] },
    states: {
      open: {
        entry: spawnChild("saga", { id: "boss", input: { of: "boss" } }),
        on: {
          hire: {
            guard: ({ context }) => context.hired < 3,
            actions: [
              assign({ hired: ({ context }) => context.hired + 1 }),
              spawnChild("tool", {
                id: ({ context }) => `hand-${context.hired}`,
                input: ({ context }) => ({ n: context.hired }),
              }),
            ],
          },
          fire: {
            guard: ({ context }) => context.hired > 0,
            actions: [
              stopChild(({ context }) => `hand-${context.hired}`),
              assign({ hired: ({ context }) => context.hired - 1 }),
            ],
          },
          tell: { actions: sendTo("boss", ({ context }) => ({ type: "status", hired: context.hired })) },
          close: "closed",
          "xstate.done.actor.*": {
            actions: assign({ done: ({ context, event }) => [...context.done, event.actorId].slice(-4) }),
          },
        },
        exit: stopChild("boss"),
      },
      closed: { on: { hire: "open" }, after: { 100: "gone" } },
      gone: { type: "final" },
    },
  }),
  events: [
    "hire",
    "fire",
    "tell",
    "close",
    "done:hand-1",
    "done:hand-2",
    "error:hand-3",
    "done:boss",
    "late:hand-1",
    "late:boss",
    "advance:100",
  ].map((type) => ({ type })),
};

export const dispatcher: CorpusCase = {
  name: "actions enqueued under conditions, spawning among them",
  machine: setup({
    types: {
      context: {} as { load: number; log: string[] },
      events: {} as { type: "work" | "rest" | "raised" | "stop" },
    },
    actors: toActors({ tool }),
    guards: { loaded: ({ context }) => context.load >= 2 },
    actions: { note: assign({ log: ({ context }, of: string) => [...context.log, of].slice(-6) }) },
  }).createMachine({
    id: "dispatcher",
    initial: "idle",
    context: { load: 0, log: [] },
    on: {
      raised: { actions: { type: "note", params: "raised" } },
      stop: ".stopped",
    },
    states: {
      idle: {
        on: {
          work: {
            actions: enqueueActions(({ enqueue, check, context }) => {
              enqueue.assign({ load: context.load + 1 });
              if (check("loaded")) {
                enqueue({ type: "note", params: "overload" });
                enqueue.stopChild("job");
                enqueue.raise({ type: "rest" });
                return;
              }
              if (context.load === 0) enqueue.spawnChild("tool", { id: "job", input: { n: context.load } });
              enqueue.cancel("raised");
              enqueue.raise({ type: "raised" }, { id: "raised", delay: 25 });
              enqueue.emit({ type: "working", load: context.load } as never);
            }),
          },
          rest: { actions: [assign({ load: 0 }), stopChild("job"), cancel("raised")] },
        },
      },
      stopped: { type: "final" },
    },
  }),
  events: ["work", "work", "rest", "stop", "done:job", "late:job", "advance:25"].map((type) => ({ type })),
};
