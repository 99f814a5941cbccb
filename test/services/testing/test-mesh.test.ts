/**
 * A test mesh is a mesh, and what a test holds of a saga is a handle: one vocabulary, so that what is learnt of one is
 * known of the other, and an application's own code runs against either.
 *
 * Method: the real client on memory ports beside a test mesh, and a saga that waits three days for its timer.
 */
import { describe, expect, expectTypeOf, test } from "vitest";
import { createMachine, setup } from "xstate";
import { z } from "zod";
import { defineApp, defineSaga, type Mesh, type SagaHandle, type SignalEvents } from "sagamesh";
import { testMesh, type TestMesh, type TestSaga } from "sagamesh/testing";
import { createClient } from "../../../services/client/mesh.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";

const signals = { go: z.object({}) };
const reminder = defineSaga({
  ...{ name: "reminder", version: 1, input: z.object({}), output: z.any(), signals },
  machine: setup({ types: { events: {} as SignalEvents<typeof signals> } }).createMachine({
    ...{ id: "reminder", initial: "waiting" },
    states: { waiting: { after: { 259_200_000: "done" }, on: { go: "done" } }, done: { type: "final" } },
  }),
});
const app = defineApp({ sagas: [reminder] });
const { ports, clock, chance } = createMemoryMesh({ seed: 1 }).spawn("client");
const client = createClient({ ports, clock, chance, from: "client" }, () => Promise.resolve());

describe("one vocabulary", () => {
  test("code that takes a mesh takes a test mesh, call by call", () => {
    expectTypeOf<TestMesh>().toExtend<Mesh>();
    type Same = Omit<Mesh, "start" | "saga" | "anySaga" | "fork">;
    expectTypeOf<Pick<TestMesh, keyof Same>>().toEqualTypeOf<Same>();
    const t = testMesh(app);
    expect(Object.keys(client).filter((key) => !(key in t))).toEqual([]);
  });

  test("a test's saga has each member of a handle", () => {
    expectTypeOf<TestSaga<string>>().toExtend<SagaHandle<string, Record<string, z.ZodType>>>();
    const held = testMesh(app).saga(reminder, "r1");
    expect(Object.keys(held).sort()).toEqual([...Object.keys(client.saga(reminder, "r1")), "end"].sort());
  });

  test("what only a test can ask is no more than this", () => {
    const own = Object.keys(testMesh(app)).filter((key) => !(key in client));
    expect(own.sort()).toEqual(["advance", "crash", "effects", "letters", "now", "seed", "serve", "settled"]);
  });

  test("a program written for a mesh runs on a test mesh", async () => {
    const program = async (mesh: Mesh) => {
      const saga = await mesh.start(reminder, {}, { id: "r1" });
      return { end: await saga.result(), rows: await mesh.list({ running: true }) };
    };
    await using t = testMesh(app);
    expect(await program(t)).toMatchObject({ end: { status: "completed" }, rows: [] });
  });
});

describe("a saga that is followed in virtual time", () => {
  test("gives its turns as they come, and three days pass between two of them", async () => {
    await using t = testMesh(app);
    const saga = await t.start(reminder, {}, { id: "r1" });
    const at: number[] = [];
    for await (const turn of saga.entries()) at.push(turn.at);
    expect(at).toHaveLength(2);
    expect(at[1]! - at[0]!).toBeGreaterThanOrEqual(259_200_000);
  });

  test("tells its turns among its tokens, and the reader may leave in the middle", async () => {
    await using t = testMesh(app);
    const saga = await t.start(reminder, {}, { id: "r1" });
    const told = saga.tokens()[Symbol.asyncIterator]();
    expect(await told.next()).toMatchObject({ value: { type: "turn", turn: { turn: 1 } } });
    await told.return?.();
    expect(await saga.end()).toBeUndefined();
  });
});

describe("a saga by its id alone", () => {
  test("is signalled and read without its definition", async () => {
    await using t = testMesh(app);
    await t.start(reminder, {}, { id: "r1" });
    const saga = t.anySaga("r1");
    await saga.signal("go", {});
    expect(await saga.result()).toMatchObject({ status: "completed" });
    expect(await saga.ledger()).toHaveLength(2);
  });

  test("is refused a signal that it does not take at its host's door", async () => {
    await using t = testMesh(app);
    await t.start(reminder, {}, { id: "r1" });
    await t.anySaga("r1").signal("shout", {});
    expect(await t.letters()).toMatchObject([{ code: "SIGNAL_UNKNOWN" }]);
  });

  test("of a name that is no id is refused by a code", async () => {
    await using t = testMesh(app);
    expect(() => t.anySaga(undefined as never)).toThrow(expect.objectContaining({ code: "BAD_ID" }));
    await expect(t.describe(undefined as never)).rejects.toMatchObject({ code: "BAD_ID" });
  });
});

test("what is likely a slip in the application is a warning of the process, once", async () => {
  const heard: string[] = [];
  const hear = ({ name, message }: Error) => {
    if (name === "SagameshNote") heard.push(message);
  };
  process.on("warning", hear);
  const slip = defineSaga({
    ...{ name: "slip", version: 1, input: z.null(), output: z.any() },
    machine: createMachine({ id: "slip", on: { went: {} } }),
  });
  const slipped = defineApp({ sagas: [slip] });
  for (const _ of [1, 2]) await testMesh(slipped).close();
  await new Promise(setImmediate); // Warnings are told a tick later.
  process.off("warning", hear);
  expect(heard).toEqual([expect.stringMatching(/^slip: the state "slip", on "went"/)]);
});
