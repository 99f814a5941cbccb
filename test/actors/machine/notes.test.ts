/**
 * Goal: an event that nothing sends and a signal that no state takes are named when an application is loaded, and nothing
 * that is sent or taken is (NX1, NX2). Method: machines as people write them; XState's own answer to whether a state takes an
 * event beside ours, for all pairs of events and descriptors.
 */
import { createActor, createMachine, enqueueActions, raise, type AnyStateMachine } from "xstate";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { machineNotes } from "../../../actors/machine/notes.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { assertServable, defineApp } from "../../../services/app/app.ts";

/** Machines of any shape, of which TypeScript knows nothing. */
const machineOf = (config: object, implementations: object = {}): AnyStateMachine =>
  createMachine({ id: "m", ...config } as never, implementations as never);

describe("an event that nothing sends", () => {
  test("is named with the states that wait for it and what was meant, however deep they lie", () => {
    const machine = machineOf({
      ...{ initial: "open", on: { aprove: ".done" } },
      states: { open: { initial: "in", states: { in: { on: { "order.paid": {}, aprove: {} } } } }, done: {} },
    });
    expect(machineNotes(machine, ["approve"])).toEqual([
      expect.stringMatching(
        /^the states "m", "m\.open\.in", on "aprove": it is no signal of the saga.*did you mean "approve"\?$/,
      ),
      expect.stringMatching(/^the state "m\.open\.in", on "order\.paid":.*a signal's name has no dots/),
      expect.stringMatching(/^no state takes the signal "approve"/),
    ]);
  });
  test.each([
    ["a signal", { on: { go: {} } }],
    ["raised in an entry", { entry: raise({ type: "own" }), on: { own: {} } }],
    [
      "raised with a delay on leaving a state",
      { on: { go: { actions: raise({ type: "own" }, { delay: 9 }) }, own: {} } },
    ],
    ["raised by a function", { entry: raise(() => ({ type: "own" })), on: { own: {} } }],
    [
      "raised among other actions",
      { exit: enqueueActions(({ enqueue }) => enqueue.raise({ type: "own" })), on: { own: {} } },
    ],
    ["raised under a wildcard", { entry: raise({ type: "own.a" }), on: { "own.*": {} } }],
    [
      "raised under a wildcard by a function",
      { entry: raise(() => ({ type: "own.a" })), on: { "own.*": {} } },
    ],
    ["taken by the wildcard of all", { on: { "*": {} } }],
    ["of an actor", { on: { "xstate.done.actor.a": {}, "xstate.error.actor.*": {} } }],
    [
      "a timer, a child's end and a state's",
      { initial: "a", after: { 9: ".a" }, onDone: {}, states: { a: { type: "final" } } },
    ],
  ])("is none that is %s", (_, config) => {
    expect(machineNotes(machineOf(config), []).filter((note) => !note.includes('"go"'))).toEqual([]);
  });
  test("is looked for in declared actions that no state names, for an enqueueActions may", () => {
    const declared = { actions: { later: raise({ type: "own" }) } };
    expect(machineNotes(machineOf({ on: { own: {} } }, declared), [])).toEqual([]);
  });
});

test("a signal is said to be taken by no state exactly where XState's own states take it never", () => {
  const events = ["a", "ab", "b"];
  const descriptors = ["a", "ab", "a.*", "a.b.*", "b*", "*", ".*", "b.a"];
  for (const descriptor of descriptors) {
    const machine = machineOf({ on: { [descriptor]: ".s" }, initial: "s", states: { s: {} } });
    const taken = events.filter((type) => createActor(machine).getSnapshot().can({ type }));
    const untaken = events.filter((event) =>
      machineNotes(machine, events).some((note) => note.startsWith(`no state takes the signal "${event}"`)),
    );
    expect({ descriptor, untaken }).toEqual({
      descriptor,
      untaken: events.filter((event) => !taken.includes(event)),
    });
  }
});

test("NX1: what has notes is served", () => {
  const noted = defineSaga({
    ...{ name: "noted", version: 1, input: z.null(), output: z.null(), signals: { go: z.null() } },
    machine: machineOf({ on: { went: {} } }),
  });
  const app = defineApp({ sagas: [noted] });
  expect(app.faults).toEqual([]);
  expect(() => assertServable(app, "host")).not.toThrow();
  expect(app.notes).toEqual([
    expect.stringMatching(/^noted: the state "m", on "went"/),
    expect.stringMatching(/^noted: no state takes the signal "go"/),
  ]);
});
