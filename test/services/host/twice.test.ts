/**
 * Goal: what a machine reads of the outside is found before a ledger holds it, with the function that did (TZ1, TZ2).
 * Method: each kind of impurity on a test mesh, in the context, an assign, a guard and an actor's input; pure machines beside.
 */
import { randomUUID } from "node:crypto";
import { defineApp, defineSaga, toActors, toolsOf } from "sagamesh";
import { testMesh } from "sagamesh/testing";
import { describe, expect, test } from "vitest";
import { type AnyStateMachine, assign, createMachine } from "xstate";
import { z } from "zod";

const tools = toolsOf({ look: { effect: "read", perform: (input: unknown) => input } });
const go = { go: z.object({}) };
const sagaOf = (config: object) => {
  const machine: AnyStateMachine = createMachine(
    { id: "m", initial: "a", states: { a: {} }, ...config } as never,
    { actors: toActors(tools) } as never,
  );
  return defineSaga({ name: "odd", version: 1, input: z.json(), output: z.any(), signals: go, machine });
};
/** What the test mesh says of it: of its start, and of a signal. */
async function saidOf(config: object): Promise<string> {
  const saga = sagaOf(config);
  await using t = testMesh(defineApp({ sagas: [saga] }));
  try {
    await (await t.start(saga, null, { id: "o1" })).signal("go", {});
    return "nothing";
  } catch (error) {
    return String(error);
  }
}

let count = 0;
const soon = Date.now() + 3_600_000;
const given = (read: () => unknown) => ({ context: () => ({ deep: { id: read() } }) });
const onGo = (read: () => unknown) => ({ on: { go: { actions: assign({ id: () => read() }) } } });

describe("a machine that reads the outside is refused, with what differs and who did it", () => {
  test.each<[string, object, RegExp]>([
    [
      "an id",
      given(() => crypto.randomUUID()),
      /on start: context\.deep\.id is ".*" at first and ".*" when decided again; crypto\.randomUUID\(\) in .*twice\.test\.ts:\d+/,
    ],
    ["an id of Node's", given(() => randomUUID()), /context\.deep\.id is/],
    [
      "the time",
      onGo(() => Date.now()),
      /on signal go: context\.id is \d+ at first.*; Date\.now\(\) in .*twice\.test\.ts:\d+/,
    ],
    ["a date", onGo(() => new Date().toISOString()), /on signal go: context\.id is "\d.*; new Date\(\) in /],
    ["chance", onGo(() => Math.random()), /on signal go: context\.id is 0.*; Math\.random\(\) in /],
    [
      "a counter",
      onGo(() => ++count),
      /on signal go: context\.id is \d+ at first and \d+ when decided again$/m,
    ],
    [
      "a guard's clock",
      { on: { go: { guard: () => Date.now() > soon, target: ".b" } }, states: { a: {}, b: {} } },
      /on signal go: nodes\.1 is "m\.[ab]" at first/,
    ],
    [
      "an actor's input",
      { invoke: { src: "look", input: () => ({ at: Date.now() }) } },
      /on start: decided\.0\.intents\.0\..* is /,
    ],
  ])("%s", async (_, config, words) => {
    const said = await saidOf(config);
    expect(said).toContain("[MACHINE_IMPURE] o1 (odd@1#");
    expect(said).toMatch(words);
  });
});

describe("a machine that is pure", () => {
  test("goes on, with dates that it makes of what it was given, and with a clock that it only looks at", async () => {
    const at = assign({
      at: ({ event }: { event: unknown }) => new Date((event as { at: number }).at).toISOString(),
    });
    expect(await saidOf({ on: { go: { actions: at } } })).toBe("nothing");
    expect(await saidOf({ context: () => (Date.now() > 0 ? {} : { n: 1 }) })).toBe("nothing");
  });

  test("finds clock and chance of its process as they were", async () => {
    const [realDate, random, uuid] = [
      Date,
      Object.getOwnPropertyDescriptor(Math, "random"),
      crypto.randomUUID,
    ];
    await saidOf(given(() => crypto.randomUUID()));
    expect([
      Date === realDate,
      Object.getOwnPropertyDescriptor(Math, "random")?.value === random?.value,
      crypto.randomUUID === uuid,
    ]).toEqual([true, true, true]);
    expect(Math.abs(Date.now() - performance.timeOrigin - performance.now())).toBeLessThan(3_600_000);
  });
});

test("what was refused is on no ledger, and goes on with the code mended", async () => {
  const saga = sagaOf(given(() => crypto.randomUUID()));
  await using t = testMesh(defineApp({ sagas: [saga] }));
  await expect(t.start(saga, null, { id: "o1" })).rejects.toMatchObject({ code: "MACHINE_IMPURE" });
  await expect(t.settled()).rejects.toMatchObject({ code: "MACHINE_IMPURE" });
  const mended = sagaOf({ context: () => ({ deep: {} }) });
  expect(mended.definition.hash).toBe(saga.definition.hash);
  await t.serve(defineApp({ sagas: [mended] }));
  await t.advance("5m");
  expect(await t.anySaga("o1").ledger()).toMatchObject([{ turn: 1 }]);
});
