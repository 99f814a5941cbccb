/**
 * Goal: a machine is played as it would go, and none of its author's effects happens (PY1, PY2).
 * Method: machines whose bodies and actions throw for good if they are run; ways, invented results, and what stops a play.
 */
import { expect, test } from "vitest";
import { type AnyStateMachine, assign, createMachine, fromPromise, raise } from "xstate";
import { type Invented, play } from "../../../services/check/play.ts";
import { surveyOf } from "../../../services/check/survey.ts";

const ran: string[] = [];
const machine = createMachine(
  {
    id: "m",
    context: { left: 0 },
    initial: "idle",
    states: {
      idle: { on: { order: "checking", leave: "gone" } },
      checking: {
        invoke: {
          src: "check stock",
          onDone: {
            target: "decided",
            actions: assign({ left: ({ event }) => event.output.left as number }),
          },
          onError: "sorry",
        },
      },
      decided: {
        always: [
          { guard: ({ context }: { context: { left: number } }) => context.left > 0, target: "packing" },
          { target: "sorry" },
        ],
      },
      packing: { entry: "pack", after: { 3_600_000: "sent" } },
      sorry: { on: { again: "checking" } },
      sent: { type: "final" },
      gone: { type: "final" },
    },
  } as never,
  {
    actors: { "check stock": fromPromise(async () => void ran.push("check stock")) },
    actions: { pack: () => void ran.push("pack") },
  } as never,
) as AnyStateMachine;
const played = (named: Invented["named"], path?: readonly string[], of = machine) =>
  play(of, surveyOf(of), { named }, path);

test("signals that are named are sent in their order, and the states between are shown", async () => {
  expect(await played({ "check stock": { left: 2 } }, ["order", "time"])).toMatchObject({
    walks: [
      [
        { sent: "start", states: ["idle"] },
        { sent: "order", states: ["checking", "packing"], called: ["checkStock"] },
        { sent: "time", states: ["sent"], ended: "completed" },
      ],
    ],
  });
  expect(ran).toEqual([]);
});

test("by itself it walks every way, failures that the machine hears among them, and ends", async () => {
  const { walks, unreached, stopped } = await played({ "check stock": { left: 2 } });
  expect(stopped).toBeUndefined();
  expect(unreached).toEqual([]);
  expect(walks.flat().flatMap(({ called }) => called ?? [])).toContain("checkStock (fails)");
  expect(ran).toEqual([]);
});

test("states that invented results do not lead to are named", async () => {
  expect((await played({})).unreached).toEqual(["m.packing", "m.sent"]);
});

test("what reads the outside stops the play by its code", async () => {
  const impure = createMachine({ context: () => ({ at: Date.now() }) }) as AnyStateMachine;
  expect((await played({}, undefined, impure)).stopped).toMatch(/^\[MACHINE_IMPURE\].*context\.at/);
});

test("a machine that throws on an invented result ends failed, and the play says why", async () => {
  const throwing = createMachine(
    {
      context: { a: 1 },
      initial: "a",
      states: {
        a: {
          invoke: {
            src: "x",
            onDone: { actions: assign({ a: ({ event }) => event.output.deep.member as number }) },
          },
        },
      },
    } as never,
    { actors: { x: fromPromise(async () => {}) } } as never,
  ) as AnyStateMachine;
  const { walks } = await played({}, undefined, throwing);
  expect(walks[0]?.at(-1)?.ended).toMatch(/^failed: .*deep|member/);
});

test("time passes for a delayed raise as for a state's own timer", async () => {
  const ticking = createMachine({
    ...{ id: "ticks", initial: "on", entry: raise({ type: "tick" }, { delay: 90_000 }) },
    states: { on: { on: { tick: "off" } }, off: { type: "final" } },
  }) as AnyStateMachine;
  expect(await played({}, undefined, ticking)).toMatchObject({
    walks: [
      [
        { sent: "start", states: ["on"] },
        { sent: "time", states: ["off"], ended: "completed" },
      ],
    ],
    unreached: [],
  });
});

test("a machine that cannot be loaded as it is, is not played, and the faults are not told twice", async () => {
  const bad = createMachine({ id: "bad", on: { cancel: {} } }) as AnyStateMachine;
  expect(await played({}, undefined, bad)).toEqual({
    ...{ walks: [], unreached: [] },
    stopped: expect.stringMatching(/^what is to be changed comes first/) as string,
  });
});
