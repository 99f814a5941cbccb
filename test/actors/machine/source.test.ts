/**
 * Goal: what `now`, `uuid` and `random` give a machine is the same whenever its ledger is folded again, and another at each
 * call (TC1 to TC4). Method: turns decided on their own, twice and in other ledgers; a test mesh, which decides each turn
 * twice; the same machine as a plain actor of XState. Machines by chance are in random.walk.test.ts.
 */
import { defineApp, defineSaga, now, random, toActors, toolsOf, uuid } from "sagamesh";
import { definePolicy } from "sagamesh/policies";
import { testMesh } from "sagamesh/testing";
import { describe, expect, test } from "vitest";
import { type AnyStateMachine, assign, createActor, createMachine, log } from "xstate";
import { z } from "zod";
import { decideTurn } from "../../../actors/kernel/fold.ts";
import { stateToJson } from "../../../actors/kernel/replay.ts";
import type { SagaState } from "../../../actors/contract/state.ts";
import type { Event } from "../../../protocol/event.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import type { Lineage } from "../../../protocol/fork.ts";

const isUuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const tools = toolsOf({ look: { effect: "read", perform: (input: unknown) => input } });
type Seen = Record<string, unknown>;
const ask = () => ({ at: now(), id: uuid(), n: random() });

/** It asks in each place where a function of a machine may stand. */
const curious: AnyStateMachine = createMachine(
  {
    id: "curious",
    context: () => ({ first: ask(), second: ask() }),
    initial: "idle",
    states: {
      idle: {
        entry: assign({ entry: ask }),
        on: {
          go: {
            guard: () => random() >= 0,
            actions: [assign({ moved: ask }), log(() => uuid())],
            target: "looking",
          },
        },
      },
      looking: {
        invoke: {
          src: "look",
          input: ask,
          onDone: { target: "waiting", actions: assign({ looked: ({ event }: any) => event.output }) },
        },
      },
      waiting: { after: { while: "done" } },
      done: { type: "final" },
    },
    output: ({ context }: any) => ({ ...context, end: ask() }),
  } as never,
  { delays: { while: () => 1_000 + random() * 1_000 } } as never,
);
const sagaOf = (machine: AnyStateMachine, more: object = {}) =>
  defineSaga({
    ...{ name: "curious", version: 1, input: z.any(), output: z.any() },
    signals: { go: z.object({ id: z.string().default(() => uuid()) }) },
    machine: machine.provide({ actors: toActors(tools) } as never),
    ...more,
  } as never);

const { definition } = sagaOf(curious);
const { name, version, hash } = definition;
const start = (fork?: Lineage): Event => ({
  ...{ type: "start", definition: { name, version, hash }, input: null, follows: "xstate" },
  ...(fork === undefined ? {} : { fork }),
});
const go = (id: string): Event => ({ type: "signal", name: "go", data: {}, id, from: "test", sentAt: 1 });
/** One turn; the context after it. */
function decided(state: SagaState | undefined, event: Event, at = 1_000, saga = "s1") {
  const turn = decideTurn(definition, state, { saga: parseSagaId(saga), at, events: [event] });
  const after = JSON.parse(JSON.stringify(stateToJson(definition, turn.state))) as {
    snapshot: { context: Seen };
  };
  return { state: turn.state, context: after.snapshot.context };
}

describe("what a turn gives", () => {
  test("is fixed for ever (TC3)", () => {
    const begun = decided(undefined, start());
    expect(begun.context).toEqual({
      first: { at: 1_000, id: "0a5812a6-19eb-45b0-9642-02040cdc45a2", n: 0.4095059471056117 },
      second: { at: 1_000, id: "0abc86ae-99f5-4e6c-aa3b-c3278a4d7bd0", n: 0.4466687099977109 },
      entry: { at: 1_000, id: "937dc7f8-b9f9-40c6-b3b5-6faecb4b9835", n: 0.6211223567913084 },
    });
    expect(decided(begun.state, go("g1"), 2_000).context["moved"]).toEqual({
      ...{ at: 2_000, id: "afdd0cdc-49b6-4886-b612-541b47448d81", n: 0.4661290819728656 },
    });
  });

  test("follows from the saga, its beginning, the turn and the event, and not from when it is decided (TC1)", () => {
    const { state } = decided(undefined, start());
    const idOn = (event: Event, at: number, from = state) =>
      (decided(from, event, at).context["moved"] as Seen)["id"];
    expect(idOn(go("g1"), 2_000)).toBe(idOn(go("g1"), 3_000));
    const others = [
      idOn(go("g1"), 2_000),
      idOn(go("g2"), 2_000),
      idOn(go("g1"), 2_000, decided(undefined, start(), 1_001).state),
      idOn(go("g1"), 2_000, decided(undefined, start(), 1_000, "s2").state),
    ];
    expect(new Set(others).size).toBe(4);
  });

  test("is the origin's in what a fork inherited, and the fork's own after that (TC1)", () => {
    const fork = { saga: parseSagaId("s1"), turn: 1, head: "h", order: "o" } as unknown as Lineage;
    const origin = decided(undefined, start());
    const copy = decided(undefined, start(fork), 1_000, "f1");
    expect(copy.context).toEqual(origin.context);
    const moved = [decided(origin.state, go("g1")), decided(copy.state, go("g1"))].map(
      ({ context }) => (context["moved"] as Seen)["id"],
    );
    expect(moved[0]).not.toBe(moved[1]);
  });
});

test("a guard that reads chance and is asked again whether it took the event says what it said (TC2)", () => {
  const half = createMachine({
    context: { n: 0 },
    on: {
      go: {
        guard: () => random() < 0.5,
        actions: assign({ n: ({ context }: any) => Number(context.n) + 1 }),
      },
    },
  });
  const { definition: own } = sagaOf(half);
  let { state } = decideTurn(own, undefined, { saga: parseSagaId("h1"), at: 1, events: [start()] });
  let dropped = 0;
  for (let k = 1; k <= 60; k++) {
    const turn = decideTurn(own, state, { saga: parseSagaId("h1"), at: k, events: [go(`g${k}`)] });
    dropped += turn.steps[0]?.intents.length ?? 0;
    ({ state } = turn);
    expect((state.snapshot.context as { n: number }).n + dropped).toBe(k);
  }
  expect(dropped).toBeGreaterThan(10);
  expect(dropped).toBeLessThan(50);
});

describe("a machine that asks everywhere", () => {
  test("runs on a mesh that decides each turn twice, in virtual time, through crashes, no two calls alike", async () => {
    const policy = definePolicy({
      name: "chance",
      judge: () => (random() < 0 ? { deny: "never" } : undefined),
    });
    const saga = sagaOf(curious, { policies: [policy] });
    await using t = testMesh(defineApp({ sagas: [saga] }));
    const handle = await t.start(saga, null, { id: "c1" });
    await t.advance("1h");
    await t.crash();
    await t.anySaga("c1").signal("go", {});
    await t.crash();
    await t.advance("1m");
    const { output } = (await handle.result()) as { output: Record<string, Seen> };
    const ids = Object.values(output).map(({ id }) => id);
    expect(ids).toHaveLength(6);
    expect(new Set(ids).size).toBe(6);
    for (const id of ids) expect(id).toMatch(isUuid);
    const [first, moved] = [output["first"]?.["at"], output["moved"]?.["at"]] as number[];
    expect(Math.floor((moved! - first!) / 60_000)).toBe(60); // And what messages take on the way.
  });

  test("is a plain actor of XState as it stands, with the clock and chance of its process (TC4)", () => {
    const before = Date.now();
    const actor = createActor(curious.provide({ actors: toActors(tools) } as never), {
      logger: () => {},
    }).start();
    actor.send({ type: "go" });
    const { context } = actor.getSnapshot() as { context: Record<string, Seen> };
    actor.stop();
    const asked = Object.values(context);
    expect(new Set(asked.map(({ id }) => id)).size).toBe(4);
    for (const { at, id, n } of asked as { at: number; id: string; n: number }[]) {
      expect(id).toMatch(isUuid);
      expect(at).toBeGreaterThanOrEqual(before);
      expect(Math.floor(n)).toBe(0);
    }
  });
});

test("numbers are spread evenly from 0 up to 1, and repeat as little as chance does", () => {
  const many = createMachine({ context: () => ({ all: Array.from({ length: 4_000 }, random) }) });
  const { state } = decideTurn(sagaOf(many).definition, undefined, {
    saga: parseSagaId("m1"),
    at: 1,
    events: [start()],
  });
  const { all } = state.snapshot.context as { all: number[] };
  const counts = Array.from({ length: 10 }, (_, k) => all.filter((n) => Math.floor(n * 10) === k).length);
  expect(Math.min(...counts)).toBeGreaterThan(330);
  expect(new Set(all).size).toBe(4_000);
});
