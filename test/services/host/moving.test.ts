/**
 * Goal: a sleeping saga whose definition says `moves: "auto"` goes on under the one that starts go to, by one recorded turn
 * (MJ1), and only where that decides the same for all that is on its ledger; else it stays and the reason is kept (MJ2).
 *
 * Method: meshes in memory whose hosts come and go; sagas rest until they are told to go, and ledgers are read.
 */
import { setup } from "xstate";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  defineApp,
  defineSaga,
  defineTool,
  type SagaDefinition,
  type SignalEvents,
  toActors,
} from "sagamesh";
import { crashMatrix } from "sagamesh/testing";
import { readStay, stayEntry } from "../../../protocol/stay.ts";
import { describeDeployments } from "../../../services/cli/telling/deployments-text.ts";
import { describeInspected } from "../../../services/cli/telling/inspect-text.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { declare } from "../../../services/deployments/declared.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh, type MemoryProcess } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import { viewOf } from "../../../services/views/view.ts";
import { decodeTurn } from "../../../services/ledger/reader.ts";
import { startWorker } from "../../../services/worker/worker.ts";
import { sagaId } from "../../contract/mesh-under-test.ts";

const tool = (name: string) =>
  defineTool({
    ...{ name, description: `Does ${name}.`, effect: "idempotent", placement: "host" },
    ...{ input: z.object({}), output: z.object({}), perform: async () => ({}) },
  });
const [book, look] = [tool("book"), tool("look")];
const signals = { nudge: z.object({}), go: z.object({}) };

/** Opens with a call, rests, takes nudges, and goes. */
const door = (version: number, rests: string, { opens = "book", moves = "auto", name = "door" } = {}) =>
  defineSaga({
    ...{ name, version, input: z.object({}), output: z.any(), signals, moves: moves as "auto" },
    machine: setup({
      types: { events: {} as SignalEvents<typeof signals> },
      actors: toActors({ book, look }),
    }).createMachine({
      id: name,
      initial: "opening",
      states: {
        opening: { invoke: { src: opens as "book", input: {}, onDone: rests } },
        [rests]: { on: { nudge: {}, go: "done" } },
        done: { type: "final" },
      },
    }) as never,
  });

const v1 = door(1, "resting");
const v2 = door(2, "asleep");
const pinned = door(1, "resting", { moves: "pinned" });
/** Would have looked where v1 booked. */
const other = door(2, "resting", { opens: "look" });
/** Asks, and takes nudges and an order to go meanwhile; where it is asked is no part of the tool's contract. */
const asking = (version: number, placement: "host" | "worker") => {
  const ask = defineTool({
    ...{ name: "ask", description: "Asks.", effect: "idempotent", placement },
    ...{ input: z.object({}), output: z.object({}), perform: async () => ({}) },
  });
  return defineSaga({
    ...{ name: "door", version, input: z.object({}), output: z.any(), signals, moves: "auto" },
    machine: setup({
      types: { events: {} as SignalEvents<typeof signals> },
      actors: toActors({ ask }),
    }).createMachine({
      id: "door",
      initial: "asking",
      states: {
        asking: { invoke: { src: "ask", input: {}, onDone: "resting" }, on: { nudge: {} } },
        resting: { on: { nudge: {}, go: "done" } },
        done: { type: "final" },
      },
    }) as never,
  });
};

function mesh() {
  const memory = createMemoryMesh({ seed: 1 });
  const spawned = memory.spawn("client");
  const client = createClient({ ...spawned, from: "test" }, () => Promise.resolve());
  const said: string[] = [];
  const until = memory.clock.until.bind(memory.clock);
  const hosts = new Map<string, MemoryProcess>();
  const pass = (ms: number) => memory.clock.run({ until: memory.clock.now() + ms });
  return {
    said,
    pass,
    async serve(name: string, ...sagas: SagaDefinition[]) {
      const life = memory.spawn(name);
      hosts.set(name, life);
      const log = { ...silentLog, info: (_: object, message: string) => void said.push(message) };
      const options = { ...life, log, callbackBase: "sagamesh:", incarnation: life.gate.name };
      await until(startHost(options, defineApp({ sagas })));
      await pass(6_000);
    },
    kill: (name: string) => hosts.get(name)?.gate.crash(),
    async start(of: SagaDefinition, id: string) {
      await until(client.start(of as typeof v1, {}, { id, version: of.version }));
      await pass(60_000); // It sleeps.
    },
    async send(id: string, signal: "nudge" | "go") {
      await until(client.saga(v1, id).signal(signal, {}));
      await pass(60_000);
    },
    /** A worker comes. */
    async work(...sagas: SagaDefinition[]) {
      const { gate, ...life } = memory.spawn("worker");
      const options = { ...life, log: silentLog, callbackBase: "sagamesh:", incarnation: gate.name };
      await until(startWorker(options, defineApp({ sagas })));
      await pass(60_000);
    },
    async view(id: string) {
      const messages = memory.server.ledger.after(sagaId(id), 0);
      return viewOf(await until(Promise.all(messages.map((one) => decodeTurn(spawned.ports.blobs, one)))));
    },
    deployments: () => until(client.deployments()),
    dead: () => memory.server.dead.list(),
    inspect: (id: string) => until(client.describe(id)),
    childOf: async (id: string) =>
      (await until(client.list())).find(({ parent }) => parent?.saga === id)?.saga ?? "none",
    stay: async (id: string) => readStay(await until(spawned.ports.snapshots.get(sagaId(id), stayEntry))),
    async promote({ definition: { name, version, hash } }: SagaDefinition) {
      const current = { name, version, hash };
      const { clock, ports } = memory.spawn("operator");
      await until(declare({ registry: ports.registry, clock }, name, () => ({ current, by: "test", at: 0 })));
      await pass(6_000);
    },
  };
}

describe("a sleeping saga whose definition says auto", () => {
  test("goes on under the newer one at its next turn, by one recorded turn", async () => {
    const m = mesh();
    await m.serve("old", v1);
    await m.start(v1, "d1");
    await m.serve("both", v1, v2);
    m.kill("old");
    await m.pass(10_000);
    expect((await m.view("d1")).definition.version).toBe(1);
    await m.send("d1", "go");
    const view = await m.view("d1");
    expect(view).toMatchObject({ status: "completed", definition: { version: 2 } });
    expect(view.migrations).toMatchObject([{ from: { version: 1 }, to: { version: 2 }, by: "auto" }]);
    expect(await m.stay("d1")).toBeUndefined();
  });

  test("goes on by a host that has the newer one alone, which a pinned one waits out", async () => {
    const m = mesh();
    const fixed = door(1, "resting", { moves: "pinned", name: "gate" });
    await m.serve("old", v1, fixed);
    await m.start(v1, "d1");
    await m.start(fixed, "g1");
    m.kill("old");
    await m.serve("new", v2, door(2, "asleep", { name: "gate" }));
    await m.send("d1", "go");
    await m.send("g1", "go");
    expect(await m.view("d1")).toMatchObject({ status: "completed", definition: { version: 2 } });
    expect(await m.view("g1")).toMatchObject({ status: "running", definition: { version: 1 } });
  });

  test("stays where the newer one would have decided otherwise; the reason is kept, and found out once", async () => {
    const m = mesh();
    await m.serve("both", v1, other);
    await m.start(v1, "d1");
    await m.send("d1", "nudge");
    const stay = await m.stay("d1");
    expect(stay).toMatchObject({ to: { version: 2 }, turn: 1, why: expect.stringContaining("book") });
    await m.send("d1", "go");
    expect(await m.view("d1")).toMatchObject({ status: "completed", definition: { version: 1 } });
    expect((await m.view("d1")).migrations).toBeUndefined();
    expect(m.said.filter((line) => line === "saga stays")).toHaveLength(1);
    expect(await m.stay("d1")).toEqual(stay);
  });

  test("is shown with the reason where it stays, until it is moved", async () => {
    const m = mesh();
    await m.serve("both", v1, other);
    await m.start(v1, "d1");
    await m.send("d1", "nudge");
    const shown = await m.inspect("d1");
    expect(shown.stays).toEqual(await m.stay("d1"));
    const listed = await m.deployments();
    expect(listed.find(({ version }) => version === 1)).toMatchObject({
      moves: "auto",
      stays: [{ saga: "d1" }],
    });
    expect(describeDeployments(listed)).toMatch(
      /^d1 stays under door@1.* and does not move to door@2.*: turn 1: .*book/m,
    );
    expect(describeInspected(shown)).toMatch(
      /^stays {4}and does not move to door@2 \(\w+\) by itself: turn 1: .*book/m,
    );
    await m.serve("third", v1, door(3, "asleep"));
    m.kill("both");
    await m.pass(10_000);
    await m.send("d1", "nudge");
    expect((await m.inspect("d1")).stays).toBeUndefined();
  });

  test("goes to the host that has the newer one, whichever host its inputs come to", async () => {
    const m = mesh();
    await m.serve("old", v1);
    const ids = Array.from({ length: 12 }, (_, k) => `d${k}`);
    for (const id of ids) await m.start(v1, id);
    await m.serve("new", v2);
    for (const id of ids) await m.send(id, "nudge");
    for (const id of ids) await m.send(id, "go");
    for (const id of ids)
      expect(await m.view(id)).toMatchObject({ status: "completed", definition: { version: 2 } });
    expect(m.dead()).toEqual([]);
  });

  test("comes back to a host of its own where the newer one would decide otherwise, and is judged once", async () => {
    const m = mesh();
    await m.serve("old", v1);
    const ids = Array.from({ length: 12 }, (_, k) => `d${k}`);
    for (const id of ids) await m.start(v1, id);
    await m.serve("new", other);
    for (const id of ids) await m.send(id, "nudge");
    for (const id of ids) await m.send(id, "go");
    for (const id of ids)
      expect(await m.view(id)).toMatchObject({ status: "completed", definition: { version: 1 } });
    expect(m.said.filter((line) => line === "saga stays")).toHaveLength(12);
    expect(m.dead()).toEqual([]);
  });

  test("is judged again once its ledger has grown where the state it rested in kept it, once each time", async () => {
    const m = mesh();
    const [before, after] = [asking(1, "worker"), asking(2, "host")];
    await m.serve("old", before);
    await m.serve("new", after);
    await m.start(before, "d1"); // What it asks for stays open: there is no worker.
    const judged = () => m.said.filter((line) => line === "saga stays").length;
    await m.send("d1", "nudge");
    const stay = await m.stay("d1");
    expect(stay).toMatchObject({
      to: { version: 2 },
      why: expect.stringContaining("is open, and its placement"),
    });
    expect([stay?.turn, judged()]).toEqual([undefined, 1]);
    await m.send("d1", "nudge"); // Once for what was added, though each of two hosts has it in turn.
    expect(judged()).toBe(2);
    expect((await m.stay("d1"))?.head).toBe((stay?.head ?? 0) + 1);
    await m.work(before);
    expect((await m.view("d1")).definition.version).toBe(1);
    await m.send("d1", "go");
    expect(await m.view("d1")).toMatchObject({ status: "completed", definition: { version: 2 } });
    expect((await m.inspect("d1")).stays).toBeUndefined();
  });

  test("is judged again for another one", async () => {
    const m = mesh();
    await m.serve("both", v1, other);
    await m.start(v1, "d1");
    await m.send("d1", "nudge");
    await m.serve("third", v1, door(3, "asleep"));
    m.kill("both");
    await m.pass(10_000);
    await m.send("d1", "nudge");
    expect((await m.view("d1")).definition.version).toBe(3);
  });

  test("stays while starts go to its own, and comes back to it once that is promoted again", async () => {
    const m = mesh();
    await m.serve("both", v1, v2);
    await m.promote(v1);
    await m.start(v1, "d1");
    await m.send("d1", "nudge");
    expect((await m.view("d1")).definition.version).toBe(1);
    await m.promote(v2);
    await m.send("d1", "nudge");
    expect((await m.view("d1")).definition.version).toBe(2);
    await m.promote(v1);
    await m.send("d1", "nudge");
    const { definition, migrations } = await m.view("d1");
    expect([definition.version, migrations?.length]).toEqual([1, 2]);
  });

  test("is never moved if it is pinned, or has ended", async () => {
    const m = mesh();
    await m.serve("old", pinned);
    await m.start(pinned, "p1");
    await m.serve("both", pinned, v2);
    await m.send("p1", "nudge");
    expect((await m.view("p1")).definition.version).toBe(1);
    await m.send("p1", "go");
    const before = await m.view("p1");
    expect(before).toMatchObject({ status: "completed", definition: { version: 1 } });
  });

  test("stays if it is a child: its parent says what it is", async () => {
    const m = mesh();
    const parent = (child: SagaDefinition) =>
      defineSaga({
        ...{ name: "house", version: 1, input: z.object({}), output: z.any(), signals: {} },
        machine: setup({ actors: toActors({ door: child }) }).createMachine({
          initial: "open",
          states: { open: { invoke: { src: "door", input: {}, onDone: "done" } }, done: { type: "final" } },
        } as never) as never,
      });
    await m.serve("host", parent(v1), v1, v2);
    await m.start(parent(v1), "h1");
    const child = await m.childOf("h1");
    await m.send(child, "nudge");
    expect((await m.view(child)).definition.version).toBe(1);
    expect((await m.inspect(child)).stays).toMatchObject({ why: expect.stringContaining("child") });
  });
});

test(
  "a move that a saga makes by itself is one turn, wherever its host dies",
  { timeout: 120_000 },
  async () => {
    const report = await crashMatrix(defineApp({ sagas: [v1, v2] }), async (t) => {
      const saga = await t.start(v1, {}, { id: "d1", version: 1 });
      await t.advance("5m");
      await saga.signal("go", {});
      const end = await saga.result();
      const turns = await saga.ledger();
      const moves = turns.flatMap(({ steps }) => steps.filter(({ event }) => event.type === "migrated"));
      expect(moves).toHaveLength(1);
      return { end: end.status, version: viewOf(turns).definition.version };
    });
    expect(report.rows.some(({ crash }) => crash.startsWith("host ledger.append"))).toBe(true);
    expect(report.faults, report.text).toEqual([]);
  },
);
