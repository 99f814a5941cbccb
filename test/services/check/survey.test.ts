/**
 * Goal: what a machine needs is told whole and with its place, and no function of it is called (PZ1, SQ1).
 * Method: machines whose functions all throw; what is said to be bound from outside is bound, and the machine must be without faults.
 */
import { adoptMachine, defineSaga, now, random, toActors, toolsOf, uuid } from "sagamesh";
import { describe, expect, test } from "vitest";
import {
  type AnyStateMachine,
  assign,
  createMachine,
  enqueueActions,
  forwardTo,
  fromCallback,
  fromPromise,
  raise,
  sendParent,
  spawnChild,
} from "xstate";
import { z } from "zod";
import { machineFaults } from "../../../actors/machine/faults.ts";
import { surveyOf } from "../../../services/check/survey.ts";

const made = (config: object, implementations: object = {}): AnyStateMachine =>
  createMachine({ id: "m", ...config } as never, implementations as never);
const never = (): never => {
  throw new Error("a function of the machine was called");
};

const shop = made(
  {
    context: ({ input }: { input: { customer: string; items: string[] } }) => ({
      ...input,
      who: input.customer,
    }),
    initial: "open",
    states: {
      open: {
        entry: "say",
        on: {
          order: {
            guard: ({ event }: { event: { items: string[] } }) => event.items.length > 0,
            target: "paying",
            actions: assign({
              left: ({ event: { left, why = never() } }: { event: { left: 1; why?: 2 } }) => [left, why],
            }),
          },
          idle: {},
        },
        after: { 1000: "open", PT1H30M: "open", soon: "open" },
      },
      paying: {
        invoke: { src: "pay the bill", onDone: "open", onError: { actions: ["tell"] } },
        entry: [raise({ type: "nudged" }), spawnChild("audit", { id: "audit" })],
        on: { nudged: {}, "*": {} },
      },
    },
  },
  {
    actors: {
      "pay the bill": fromPromise(never),
      audit: fromPromise(never),
      inner: made({ initial: "x", states: { x: { on: { tick: {} } } } }),
    },
    actions: { say: () => console.log(`open ${never()}`), tell: () => never() },
    delays: { soon: 5 },
  },
);

test("effects, actions, signals with what is read of them, the input and timers are told, each with its place", () => {
  const check = surveyOf(shop, "shop");
  expect(check).toMatchObject({
    ...{ export: "shop", id: "m", verdict: "wrap", changes: [], impure: [], delays: { PT1H30M: 5_400_000 } },
    effects: [
      { name: "pay the bill", kind: "promise", called: "payTheBill", where: ['the state "m.paying"'] },
      { name: "audit", kind: "promise", called: "audit", where: ['the state "m.paying", entry'] },
      { name: "inner", kind: "machine", called: "inner", where: [] },
    ],
    actions: [
      { name: "say", as: "tool" },
      { name: "tell", as: "tool" },
    ],
    signals: [
      { name: "order", where: ["m.open"], members: ["items", "left", "why"] },
      { name: "idle", where: ["m.open"], members: [] },
    ],
    input: ["customer"],
    timers: [
      { where: "m.open", delay: 1000 },
      { where: "m.open", delay: 5_400_000 },
      { where: "m.open", delay: 5 },
    ],
    machines: [{ name: "inner", id: "m", verdict: "ready" }],
  });
});

test("once all that it names is bound from outside, a machine without changes has no faults", () => {
  const { effects, actions, delays } = surveyOf(shop);
  const inner = defineSaga({
    ...{ name: "inner", version: 1, input: z.unknown(), output: z.unknown() },
    signals: { tick: z.object({}) },
    machine: shop.implementations.actors["inner"] as AnyStateMachine,
  });
  const adopted = adoptMachine(shop, {
    effects: Object.fromEntries(
      effects.flatMap((one) => (one.kind === "promise" ? [[one.name, "once"]] : [])),
    ),
    actions: Object.fromEntries(actions.map((one) => [one.name, "once"] as const)),
    actors: { inner },
    delays,
  });
  expect(machineFaults(adopted)).toEqual([]);
});

describe("of an action", () => {
  test.each<[string, (...given: never[]) => unknown, "log" | "tool"]>([
    ["prints", () => console.log("a", { b: 1 }), "log"],
    ["prints of what it was given", ({ event }: { event: { a: string } }) => console.info(event.a), "log"],
    [
      "prints several lines",
      () => {
        console.log("a");
        console.error("b");
      },
      "log",
    ],
    [
      "prints and does something",
      () => {
        console.log("a");
        never();
      },
      "tool",
    ],
    [
      "counts",
      ({ context }: { context: { n: number } }) => {
        console.log("a");
        context.n++;
      },
      "tool",
    ],
    ["does nothing", () => {}, "tool"],
  ])("that %s it says what it becomes", (_, act, as) => {
    const check = surveyOf(made({ entry: "act" }, { actions: { act } }));
    expect(check.actions).toEqual([{ name: "act", as, called: "act", where: ['the state "m", entry'] }]);
  });
});

describe("what must be changed in the machine's own text", () => {
  test.each<[string, object, object, RegExp]>([
    [
      "an action that stands inline",
      { entry: () => never() },
      {},
      /the state "m", entry: a function of your own/,
    ],
    ["a promise that stands inline", { invoke: { src: fromPromise(never) } }, {}, /invoke: inline logic/],
    [
      "a callback",
      { invoke: { src: "tick" } },
      { actors: { tick: fromCallback(never) } },
      /the actor "tick".*interval/,
    ],
    ["sendParent", { entry: sendParent({ type: "x" }) }, {}, /sendParent/],
    [
      "a signal that every saga has",
      { on: { cancel: {} } },
      {},
      /"cancel" is a signal that every saga has.*"user_cancel"/,
    ],
    ["a dot in an event", { on: { "org.big": {} } }, {}, /"org\.big" is no signal's name.*say "orgBig"/],
    [
      "an event's data",
      { on: { go: { actions: assign({ a: ({ event }: { event: { data: 1 } }) => event.data }) } } },
      {},
      /"go" is read for `data`/,
    ],
    ["an actor that nothing declares", { invoke: { src: "who" } }, {}, /the actor "who" is not declared/],
    ["a delay that nothing tells", { after: { soon: {} } }, {}, /the delay "soon" is not declared/],
    [
      "an action where the machine ends",
      { initial: "a", states: { a: { type: "final", entry: "act" } } },
      { actions: { act: () => never() } },
      /"act" stands at the entry of "m\.a", where the machine ends/,
    ],
    [
      "a fault of a machine in it",
      { invoke: { src: "in" } },
      { actors: { in: createMachine({ id: "below", entry: () => never() }) } },
      /in the machine "below", the state "below", entry/,
    ],
  ])("%s", (_, config, implementations, said) => {
    const check = surveyOf(made(config, implementations));
    expect(check.verdict).toBe("change");
    expect(check.changes).toEqual([expect.stringMatching(said)]);
  });
});

describe("what reads the outside", () => {
  test.each<[string, object, RegExp]>([
    ["a context", { context: () => ({ id: crypto.randomUUID() }) }, /the context of "m".*a new id/],
    ["an assign", { entry: assign({ at: () => Date.now() }) }, /the state "m", entry.*the time/],
    ["a guard", { on: { go: { guard: () => Math.random() > 0.5 } } }, /on "go".*chance/],
    [
      "an input",
      { invoke: { src: "x", input: () => ({ e: process.env["X"] }) } },
      /the state "m", invoke.*the process/,
    ],
    [
      "an enqueued action",
      { entry: enqueueActions(({ enqueue }) => enqueue.raise({ type: "x", at: new Date() } as never)) },
      /entry.*the time/,
    ],
  ])("%s", (_, config, said) => {
    const { impure } = surveyOf(made(config));
    expect(impure.map(({ where, asks }) => `${where}: ${asks.join()}`)).toEqual([
      expect.stringMatching(said),
    ]);
  });

  test("is told what it writes instead, and with that nothing more", () => {
    const of = (read: () => object) => surveyOf(made({ context: read })).impure;
    const asked = of(() => ({ at: Date.now(), id: crypto.randomUUID(), n: Math.random() }));
    expect(asked.map(({ instead }) => instead)).toEqual([
      "now() of sagamesh, which is the time of the event; random() of sagamesh; uuid() of sagamesh",
    ]);
    expect(of(() => ({ at: now(), id: uuid(), n: random() }))).toEqual([]);
  });

  test("bodies of promises and actions may, for they become tools", () => {
    const { impure } = surveyOf(
      made(
        { entry: "act", invoke: { src: "body" } },
        {
          actions: { act: () => Date.now() },
          actors: { body: fromPromise(() => Promise.resolve(Date.now())) },
        },
      ),
    );
    expect(impure).toEqual([]);
  });
});

test("what XState's own actions read is not the author's", () => {
  const machine = made({ invoke: { src: "x", id: "x" }, on: { go: { actions: forwardTo("x") } } });
  expect(surveyOf(machine).signals).toEqual([{ name: "go", where: ["m"], members: [] }]);
});

test("a machine whose actors are bound and whose actions are XState's is ready", () => {
  const tools = toolsOf({ look: { effect: "read", perform: () => 1 } });
  const machine = made({ invoke: { src: "look" }, entry: assign({}) }, { actors: toActors(tools) });
  expect(surveyOf(machine)).toMatchObject({ verdict: "ready", effects: [], actions: [] });
});
