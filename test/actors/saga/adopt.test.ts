/**
 * Goal: a machine written for XState becomes durable by words about its effects, and does what it did (OZ1, OZ2).
 * Method: the same machine by `createActor` and, adopted, on a test mesh; words that fit nothing; actions where a machine ends.
 */
import { adoptMachine, defineApp, defineSaga } from "sagamesh";
import { testMesh } from "sagamesh/testing";
import { describe, expect, test } from "vitest";
import { type AnyStateMachine, assign, createActor, createMachine, fromPromise } from "xstate";
import { z } from "zod";

const done: unknown[] = [];
const plain = createMachine(
  {
    id: "lending",
    initial: "asking",
    context: { status: "unknown" },
    states: {
      asking: {
        entry: { type: "note", params: { why: "begun" } },
        invoke: {
          src: "Get status for book",
          input: { book: 42 },
          onDone: { target: "sleeping", actions: assign({ status: ({ event }) => event.output as string }) },
        },
      },
      sleeping: { after: { PT1H: "waiting" } },
      waiting: { on: { hold: { target: "ending", actions: "tell" } } },
      ending: { on: { end: "ended" } },
      ended: { type: "final" },
    },
    output: ({ context }: { context: { status: string } }) => context.status,
  } as never,
  {
    actors: {
      "Get status for book": fromPromise(({ input }) => Promise.resolve(`free ${JSON.stringify(input)}`)),
    },
    actions: {
      note: (_: unknown, { why }: { why: string }) => console.log("noted", { why }),
      tell: ({ event, context }: { event: object; context: object }) => void done.push({ event, context }),
    },
  } as never,
) as unknown as AnyStateMachine;

const adopted = adoptMachine(plain, {
  space: "lending",
  effects: { "Get status for book": "read" },
  actions: { note: "log", tell: { effect: "once", description: "Tells." } },
  delays: { PT1H: 3_600_000 },
});
const saga = defineSaga({
  ...{ name: "lending", version: 1, input: z.unknown(), output: z.unknown(), machine: adopted },
  signals: { hold: z.looseObject({}), end: z.object({}) },
});

test("promises and actions become tools, an action that prints a line, and the machine ends as it did", async () => {
  await using mesh = testMesh(defineApp({ sagas: [saga] }));
  const lent = await mesh.start(saga, {}, { id: "l1" });
  await mesh.advance("2h");
  done.length = 0;
  await lent.signal("hold", { by: "ana" });
  await lent.signal("end", {});
  expect(await lent.result()).toMatchObject({ status: "completed", output: 'free {"book":42}' });
  expect(mesh.effects().map(({ tool, effect }) => [tool, effect])).toEqual([
    ["lending__getStatusForBook", "read"],
    ["lending__tell", "once"],
  ]);
  expect(done).toMatchObject([
    { event: { type: "hold", by: "ana" }, context: { status: 'free {"book":42}' } },
  ]);
});

test("what an action prints is the line, with its params, and nothing reaches the console", () => {
  const lines: unknown[] = [];
  const logger = (...said: unknown[]) => void lines.push(said.at(-1));
  createActor(adopted, { logger }).start().stop();
  expect(lines).toEqual(['noted {"why":"begun"}']);
});

test("the machine itself stays as it was", () => {
  expect(plain.implementations.actions["note"]).not.toBe(adopted.implementations.actions["note"]);
  expect(plain.implementations.actors["Get status for book"]).toHaveProperty("start");
  expect(plain.config).toBe(adopted.config);
});

test("an action that is called twice in one turn is done twice", async () => {
  const twice = createMachine(
    { initial: "a", states: { a: { on: { go: { actions: ["act", "act"] } } } } } as never,
    { actions: { act: () => void done.push("acted") } },
  );
  const machine: AnyStateMachine = adoptMachine(twice, { actions: { act: "idempotent" } });
  const acting = defineSaga({
    ...{ name: "acting", version: 1, input: z.unknown(), output: z.unknown(), machine },
    signals: { go: z.object({}) },
  });
  await using mesh = testMesh(defineApp({ sagas: [acting] }));
  done.length = 0;
  await (await mesh.start(acting, {}, { id: "a1" })).signal("go", {});
  expect(done).toEqual(["acted", "acted"]);
});

describe("words that do not fit are refused, all at once", () => {
  test("names that the machine has not, what is no promise, what is XState's own", () => {
    const machine = createMachine(
      { invoke: { src: "look" } } as never,
      {
        actors: { look: plain, ask: fromPromise(async () => {}) },
        actions: { keep: assign({}) },
      } as never,
    ) as AnyStateMachine;
    const words = {
      effects: { look: "read", asks: "once" },
      actions: { keep: "log", kept: "once" },
      actors: { other: saga },
    } as const;
    expect(() => adoptMachine(machine, words)).toThrow(
      /\[APP_INVALID\].*the actor "look" is no promise.*no actor "asks".*ask.*the action "keep" is one of XState's own.*no action "kept".*no actor "other"/,
    );
  });

  test("two names that come to be one tool", () => {
    const promise = fromPromise(async () => {});
    const machine = createMachine(
      {},
      { actors: { "a b": promise, "a-b": promise, aB: promise } },
    ) as AnyStateMachine;
    expect(() => adoptMachine(machine, { effects: { "a b": "read", aB: "read" } })).toThrow(
      /come to be named "aB"/,
    );
  });

  test.each<[string, object]>([
    [
      "the entry of a last state",
      { states: { a: { on: { go: "z" } }, z: { type: "final", entry: "tell" } } },
    ],
    [
      "the way to a last state",
      { states: { a: { on: { go: { target: "z", actions: "tell" } } }, z: { type: "final" } } },
    ],
    [
      "the exit to a last state",
      { states: { a: { exit: { type: "tell" }, always: "z" }, z: { type: "final" } } },
    ],
  ])("an action that would be a tool at %s", (_, config) => {
    const machine = createMachine(
      { initial: "a", ...config } as never,
      {
        actions: { tell: () => {} },
      } as never,
    ) as AnyStateMachine;
    expect(() => adoptMachine(machine, { actions: { tell: "once" } })).toThrow(
      /"tell" stands .* where the machine ends/,
    );
    expect(adoptMachine(machine, { actions: { tell: "log" } })).toBeDefined();
  });
});
