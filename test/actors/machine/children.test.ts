/**
 * Goal: a machine that ends stops its actors as XState would, and at a cost in proportion to them (JC1, JC2).
 * Method: each way to an end beside XState's public functions, with a few actors; with hundreds the runs of XState's own stop,
 * which copies the record of all, are counted.
 */
import { describe, expect, test } from "vitest";
import {
  type AnyStateMachine,
  enqueueActions,
  initialTransition,
  setup,
  stopChild,
  transition,
} from "xstate";
import { toActors } from "../../../actors/machine/callable.ts";
import { doneEvent, errorEvent, openMachine } from "../../../actors/machine/machine.ts";
import type { MachineEvent } from "../../../actors/machine/actions.ts";
import { runsOf } from "../../support/many-tales.ts";
import { tool } from "./corpus/callables.ts";

/** A state that spawns n actors; `over` ends the machine, and a failure that no state takes. */
const spawning = (n: number): AnyStateMachine =>
  setup({ actors: toActors({ tool }) }).createMachine({
    initial: "joining",
    states: {
      joining: {
        entry: enqueueActions(({ enqueue }) => {
          for (let k = 0; k < n; k++) enqueue.spawnChild("tool", { id: `t${k}`, input: { of: `${k}` } });
        }),
        on: { over: "over", fewer: { actions: stopChild("t1") } },
      },
      over: { type: "final" },
    },
  });

/** One that spawns n and has ended with its first step. */
const stillborn = (n: number): AnyStateMachine => {
  const { config } = spawning(n);
  const { joining, over } = config.states as Record<string, object>;
  const machine = setup({ actors: toActors({ tool }) }) as unknown as {
    createMachine(config: object): AnyStateMachine;
  };
  return machine.createMachine({ ...config, states: { joining: { ...joining, always: "over" }, over } });
};

const ways: Readonly<Record<string, readonly MachineEvent[]>> = {
  "at its end": [{ type: "over" }],
  "that have ended before it": [doneEvent("t0", {}), { type: "over" }],
  "that were not stopped before": [{ type: "fewer" }, { type: "over" }],
  "after a failure that no state takes": [errorEvent("t0", { reason: "no" })],
};

const stopsOf = (actions: readonly { type: string; id?: unknown }[]) =>
  actions.filter(({ type }) => type === "stop").map(({ id }) => id);

describe("a machine stops its actors", () => {
  test.for(Object.keys(ways))("%s, in XState's order", (way) => {
    const machine = spawning(4);
    const door = openMachine(machine);
    let step = door.initial(undefined);
    let [snapshot, actions] = initialTransition(machine);
    for (const event of ways[way]!) {
      step = door.step(step.snapshot, event);
      [snapshot, actions] = transition(machine, snapshot, event);
    }
    expect(step.snapshot.status).not.toBe("active");
    const asked = actions as readonly { readonly type: string; readonly params?: unknown }[];
    const stops = asked.filter(({ type }) => type === "xstate.stopChild");
    expect(stopsOf(step.actions)).toEqual(stops.map(({ params }) => (params as { id: string }).id));
    expect(Object.keys(step.snapshot.children as object)).toEqual(Object.keys(snapshot.children as object));
  });

  test.for(Object.keys(ways))("%s, without a copy of the record for each", (way) => {
    const door = openMachine(spawning(300));
    let step = door.initial(undefined);
    const runs = runsOf("resolveStop", () => {
      for (const event of ways[way]!) step = door.step(step.snapshot, event);
    });
    expect(runs).toBe(0);
    expect(stopsOf(step.actions).length).toBeGreaterThan(290);
  });

  test("of which none has begun, in the step that started them", () => {
    const door = openMachine(stillborn(300));
    const runs = runsOf("resolveStop", () =>
      expect(door.initial(undefined)).toMatchObject({ snapshot: { status: "done" }, actions: [] }),
    );
    expect(runs).toBe(0);
  });

  test("one by one, and others of its definition keep theirs", () => {
    const door = openMachine(spawning(2));
    const { snapshot } = door.initial(undefined);
    const fewer = door.step(snapshot, { type: "fewer" });
    expect(door.step(fewer.snapshot, { type: "unknown" })).toEqual({
      ...{ snapshot: fewer.snapshot, actions: [], taken: false },
    });
    expect(Object.keys(fewer.snapshot.children as object)).toEqual(["t0"]);
    expect(Object.keys(snapshot.children as object)).toEqual(["t0", "t1"]);
    expect(Object.keys(door.initial(undefined).snapshot.children as object)).toEqual(["t0", "t1"]);
  });
});
