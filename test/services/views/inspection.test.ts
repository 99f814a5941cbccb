/**
 * Goal: the Stately inspector is told of a saga what a live actor of the same machine would have told it.
 * Method: one machine run by `createActor` with the published `@statelyai/inspect`, and by a mesh in memory, with the same
 * events; what the library says and what the ledger is told as are compared, actor by actor.
 */
import { createInspector, type StatelyInspectionEvent } from "@statelyai/inspect";
import { adoptMachine, defineApp, defineSaga } from "sagamesh";
import { testMesh } from "sagamesh/testing";
import { expect, test } from "vitest";
import { assign, createActor, fromPromise, log, setup, SimulatedClock } from "xstate";
import { z } from "zod";
import { foldLedger } from "../../../actors/kernel/replay.ts";
import { type Inspection, inspecting, inspectingLedger } from "../../../services/views/inspection.ts";
import { servedDefinition } from "../../../services/views/folded.ts";

const trip = setup({
  types: { context: {} as { n: number; said: string; why?: string } },
  actors: {
    book: fromPromise<{ ok: number }, { n: number }>(({ input: { n } }) => Promise.resolve({ ok: n + 1 })),
    refuse: fromPromise(() => Promise.reject(new Error("full"))),
  },
  delays: { nap: 1_000 },
}).createMachine({
  id: "trip",
  initial: "idle",
  context: () => ({ n: 5, said: "" }),
  states: {
    idle: { on: { go: { target: "busy", actions: assign({ said: ({ event }) => event.word as string }) } } },
    busy: {
      type: "parallel",
      states: {
        booking: {
          initial: "asks",
          states: {
            asks: {
              invoke: {
                id: "b",
                src: "book",
                input: ({ context }) => ({ n: context.n }),
                onDone: { target: "has", actions: assign({ n: ({ event }) => event.output.ok }) },
              },
            },
            has: { type: "final" },
          },
        },
        hoping: {
          initial: "asks",
          states: {
            asks: {
              invoke: {
                id: "r",
                src: "refuse",
                onError: {
                  target: "has",
                  actions: assign({ why: ({ event }) => (event.error as Error).message }),
                },
              },
            },
            has: { type: "final" },
          },
        },
      },
      onDone: "rests",
    },
    rests: { entry: log("rests"), after: { nap: "again" } },
    again: { invoke: { id: "b", src: "book", input: { n: 0 }, onDone: "done" } },
    done: { type: "final" },
  },
});
const saga = defineSaga({
  ...{ name: "trip", version: 1, input: z.unknown(), output: z.unknown() },
  signals: { go: z.object({ word: z.string() }), odd: z.object({}) },
  machine: adoptMachine(trip, {
    effects: {
      book: "read",
      refuse: { effect: "read", retry: { attemptsMax: 1, backoffMs: 0 } },
    },
  }),
});
const app = defineApp({ sagas: [saga] });

/** What is told of each actor, without what no two runs have in common. */
interface Told {
  readonly actor: string;
  readonly said: readonly unknown[];
}
type Message = Pick<StatelyInspectionEvent, "type" | "sessionId"> & Record<string, unknown>;
function toldOf(messages: readonly Message[]): Told[] {
  const roots = new Set(messages.map(({ rootId }) => rootId));
  expect(roots.size).toBe(1);
  const named = new Map<unknown, string>();
  for (const { type, sessionId, parentId, name } of messages)
    if (type === "@xstate.actor")
      named.set(sessionId, parentId === undefined ? "root" : `of root: ${String(name)}`);
  return [...named].map(([session, actor]) => ({
    actor,
    said: messages
      .filter(({ sessionId }) => sessionId === session)
      .flatMap((one) => briefly(one, actor, named)),
  }));
}
function briefly(one: Message, actor: string, named: ReadonlyMap<unknown, string>): unknown[] {
  const event = one["event"] as { type: string } | undefined;
  const snapshot = one["snapshot"] as Record<string, unknown> & { readonly children?: object };
  if (event?.type === "xstate.promise.resolve" || event?.type === "xstate.promise.reject")
    if (one.type === "@xstate.event") return []; // How a promise says it to itself.
  if (one.type === "@xstate.event") return [{ hears: event?.type, from: named.get(one["sourceId"]) }];
  if (one.type === "@xstate.actor")
    return actor === "root"
      ? [{ is: JSON.parse(one["definition"] as string) as unknown }]
      : [{ is: "an actor" }];
  const { status, value, context, output, children } = snapshot;
  // An Error is `{}` in the library's JSON; what it says stands in the context.
  return [{ status, value, context, output, children: Object.keys(children ?? {}) }];
}

async function live(): Promise<Message[]> {
  const messages: Message[] = [];
  const inspector = createInspector({
    send: (one) => messages.push(JSON.parse(JSON.stringify(one)) as Message),
  });
  const clock = new SimulatedClock();
  const actor = createActor(trip, { inspect: inspector.inspect, clock, logger: () => undefined });
  actor.start();
  actor.send({ type: "odd" });
  actor.send({ type: "go", word: "please" });
  await expect.poll(() => actor.getSnapshot().value, { timeout: 60_000 }).toBe("rests");
  clock.increment(1_000);
  await expect.poll(() => actor.getSnapshot().value, { timeout: 60_000 }).toBe("done");
  const isTold = () => messages.filter(({ type }) => type === "@xstate.actor").length;
  await expect.poll(isTold, { timeout: 60_000 }).toBe(4); // It tells when its process is idle.
  await expect.poll(() => JSON.stringify(messages.at(-1)), { timeout: 60_000 }).toContain("done");
  return messages;
}

async function ledger() {
  await using mesh = testMesh(app);
  const tried = await mesh.start(saga, null, { id: "t1" });
  await tried.signal("odd", {});
  await tried.signal("go", { word: "please" });
  await mesh.advance(2_000);
  expect((await tried.end())?.status).toBe("completed");
  return await tried.ledger();
}

test("what the inspector is told of a saga is what a live actor of its machine tells it, actor by actor", async () => {
  const turns = await ledger();
  const inspection: Inspection = inspecting(servedDefinition(app, turns), "t1");
  const messages = JSON.parse(JSON.stringify(turns.flatMap((turn) => inspection.take(turn)))) as Message[];
  const [alone, told] = [toldOf(await live()), toldOf(messages)];
  expect(told.map(({ actor }) => actor)).toEqual(alone.map(({ actor }) => actor));
  for (const [k, one] of told.entries()) expect(one).toEqual(alone[k]);
});

test("a ledger is told once and with the same session ids, whether its turns were there before or come one by one (IJ1)", async () => {
  const turns = await ledger();
  const all = [...inspectingLedger(app, "t1").begin(turns)].flat();
  const growing = inspectingLedger(app, "t1");
  expect([...growing.begin([])]).toEqual([]);
  const each = turns.flatMap((turn) => [...growing.take(turn), ...growing.take(turn)].flat());
  const begun = inspectingLedger(app, "t1");
  const mixed = [...begun.begin(turns.slice(0, 2)), ...turns.flatMap((turn) => [...begun.take(turn)])].flat();
  expect(each).toEqual(all);
  expect(mixed).toEqual(all);
  const definition = servedDefinition(app, turns);
  const { state } = foldLedger(definition, turns);
  expect(all.at(-1)).toMatchObject({
    type: "@xstate.snapshot",
    snapshot: { context: state.snapshot.context },
  });
});

test("a saga that is cancelled, or that fails before its machine ends, stops where it stood", async () => {
  await using mesh = testMesh(app);
  const tried = await mesh.start(saga, null, { id: "t2" });
  await tried.signal("cancel", { reason: "enough" });
  const told = [...inspectingLedger(app, "t2").begin(await tried.ledger())].flat();
  expect(told.at(-1)).toMatchObject({
    ...{ type: "@xstate.snapshot", sessionId: "t2" },
    event: { type: "sagamesh.cancelled" },
    snapshot: { status: "stopped", value: "idle" },
  });
});
