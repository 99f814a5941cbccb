/**
 * Goal: what a machine names that would run unrecorded is told with the one line that takes its place (XF1), and so is
 * what is wrong in the machines within it.
 * Method: each of XState's creators of logic, bound and inline; actions as people write them; machines in machines.
 */
import { describe, expect, test } from "vitest";
import {
  type AnyStateMachine,
  createMachine,
  fromCallback,
  fromEventObservable,
  fromObservable,
  fromPromise,
  fromTransition,
} from "xstate";
import { machineFaults } from "../../../actors/machine/faults.ts";

const never = (): never => {
  throw new Error("a function of the author's was called");
};
/** Machines of any shape, of which TypeScript knows nothing. */
const machineOf = (config: object, implementations: object = {}): AnyStateMachine =>
  createMachine({ id: "m", ...config } as never, implementations as never);

describe("a logic that would run unrecorded", () => {
  const inner = machineOf({ id: "inner", entry: never });
  test.each([
    ["promise", fromPromise(never), /toActors\(toolsOf\(\{ a: \{ effect: "once", perform: fromPromise/],
    ["callback", fromCallback(never), /interval raise an event with a delay.*question\(.*signal of the saga/],
    ["observable", fromObservable(never), /is a signal of the saga/],
    ["observable of events", fromEventObservable(never), /is a signal of the saga/],
    ["transition", fromTransition(never, 0), /keep its state in the context/],
    ["machine", inner, /toActors\(\{ a: defineSaga\(\{ name, version, input, output, machine \}\) \}\)/],
    [
      "logic of another origin",
      { transition: never, getInitialSnapshot: never },
      /bind a tool, saga or agent/,
    ],
    ["nothing", null, /bind a tool, saga or agent/],
  ])(
    "of a %s is refused with its way out, bound or inline, and no function of it is called",
    (_, logic, wayOut) => {
      const [bound = ""] = machineFaults(machineOf({ invoke: { src: "a" } }, { actors: { a: logic } }));
      expect(bound).toMatch(/^the actor "a": its logic would run unrecorded; /);
      expect(bound).toMatch(wayOut);
      if (logic === null) return;
      const [inline = ""] = machineFaults(machineOf({ invoke: { src: logic } }));
      expect(inline).toMatch(/^the state "m", invoke: inline logic would run unrecorded; /);
      expect(inline.replace("name:", "a:")).toMatch(wayOut);
    },
  );

  test("is looked for in machines within machines, each fault with the machine it is in, and a circle ends", () => {
    const deep = machineOf({ id: "deep", invoke: { src: "nobody" } });
    const middle = machineOf({ id: "middle", invoke: { src: deep } });
    const outer = machineOf({ invoke: { src: "child" } }, { actors: { child: middle } });
    expect(machineFaults(outer).map((fault) => fault.split(/ would| is not/)[0])).toEqual([
      'the actor "child": its logic',
      'in the machine "middle", the state "middle", invoke: inline logic',
      'in the machine "middle", in the machine "deep", the state "deep", invoke: the actor "nobody"',
    ]);
    const own = machineOf({ invoke: { src: "self" } });
    own.implementations.actors["self"] = own;
    expect(machineFaults(own)).toEqual([expect.stringContaining('the actor "self"')]);
  });
});

describe("an action of the author's own", () => {
  test.each<[string, () => void, RegExp, RegExp | undefined]>([
    ["prints", () => console.log("x"), /log\(\(\{ context, event \}\) => \.\.\.\).*spawnChild/, /question/],
    [
      "calls the outside",
      () => void fetch("http://127.0.0.1"),
      /spawnChild\("tool", \{ id, input \}\)/,
      /log\(/,
    ],
    [
      "asks a person",
      () => (globalThis as never as { prompt(s: string): void }).prompt("?"),
      /question\(/,
      /log\(/,
    ],
  ])("that %s is refused with what takes its place", (_, action, wayOut, not) => {
    const [fault = ""] = machineFaults(machineOf({ entry: action }));
    expect(fault).toMatch(/^the state "m", entry: a function of your own is a side effect/);
    expect(fault).toMatch(wayOut);
    if (not !== undefined) expect(fault).not.toMatch(not);
  });
});
