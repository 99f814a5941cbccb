/**
 * Migrate: definitions move on, sagas stay. A thousand sagas sleep while prompt, tools and their order change; hosts
 * that serve both versions, only the new one, and the old one again.
 *
 * Method: test meshes, whose hosts are replaced as by a deployment; ledgers, dead letters and effects are counted.
 */
import { setup } from "xstate";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineAgent, defineApp, defineSaga, defineTool, type SignalEvents, toActors } from "sagamesh";
import { crashMatrix, scriptedModel, testMesh } from "sagamesh/testing";
import { foldLedger } from "../../../actors/kernel/replay.ts";
import type { ModelPort } from "../../../protocol/model.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { App } from "../../../services/app/app.ts";
import { listSagas } from "../../../services/client/list.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { promptOf } from "../../../services/views/prompt.ts";
import { viewOf } from "../../../services/views/view.ts";
import { readLetterHeaders } from "../../../services/wire/dead-letter.ts";
import { type Host, startHost } from "../../../services/host/host.ts";
import { decodeTurn } from "../../../services/ledger/reader.ts";
import { silentLog } from "../../../services/process/log.ts";
import { createMemoryMesh, type MemoryProcess } from "../../../services/memory/mesh.ts";
import { sagaId } from "../../contract/mesh-under-test.ts";
import { atOnce } from "../../../services/wire/loop.ts";

const tool = (name: string) =>
  defineTool({
    ...{ name, description: `Does ${name}.`, effect: "idempotent", placement: "host" },
    ...{
      input: z.object({}),
      output: z.object({ ref: z.string() }),
      perform: async (_, { key }) => ({ ref: key }),
    },
  });
const [book, mail, look] = [tool("book"), tool("mail"), tool("look")];

/** Books, sleeps until the recruiter speaks, mails if it can, finishes. */
const script = scriptedModel("script", ({ messages, tools }) => {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.calls : []));
  const mayMail = tools.some(({ name }) => name === "mail");
  if (calls.length === 0) return { calls: [{ tool: "book", input: {} }] };
  if (calls.length === 1) return { calls: [{ tool: "wait", input: { signals: ["note"] } }] };
  if (calls.length === 2 && mayMail) return { calls: [{ tool: "mail", input: {} }] };
  return { calls: [{ tool: "finish", input: { output: { said: mayMail ? "mailed" : "booked" } } }] };
});

const models = { script };
const clerk = (version: number, instructions: string, tools: readonly ReturnType<typeof tool>[]) =>
  defineAgent({
    ...{ name: "clerk", version, description: "A clerk.", model: "script", instructions, tools },
    ...{ input: z.object({}), output: z.object({ said: z.string() }), signals: { note: z.object({}) } },
  });
const signals = { go: z.object({}) };
const door = (version: number, rests: string, opens: "book" | "look", name = "door") =>
  defineSaga({
    ...{ name, version, input: z.object({}), output: z.any(), signals },
    machine: setup({
      types: { events: {} as SignalEvents<typeof signals> },
      actors: toActors({ book, look }),
    }).createMachine({
      id: name,
      initial: "opening",
      states: {
        opening: { invoke: { src: opens, input: {}, onDone: rests } },
        [rests]: { on: { go: "done" } },
        done: { type: "final" },
      },
    }) as never,
  });

const clerkV1 = clerk(1, "Book, then wait.", [book, look]);
/** Another prompt, another order, one tool more, one less. */
const clerkV2 = clerk(2, "Book. Then wait for the recruiter.", [mail, book]);
const doorV1 = door(1, "resting", "book");
/** Another name of the state it rests in. */
const doorV2 = door(2, "asleep", "book");
/** Would have done something else. */
const gateV1 = door(1, "resting", "look", "gate");
const gateV2 = door(2, "resting", "book", "gate");

const appV1 = defineApp({ sagas: [doorV1, gateV1, clerkV1], models });
const both = defineApp({ sagas: [doorV1, doorV2, gateV1, gateV2, clerkV1, clerkV2], models });
const appV2 = defineApp({ sagas: [doorV2, gateV2, clerkV2], models });

/** A mesh in memory whose one host is replaced by another, as by a deployment, while a clock is turned by hand. */
function deployments() {
  const mesh = createMemoryMesh({ seed: 1 });
  const spawned = mesh.spawn("test");
  const client = createClient({ ...spawned, from: "test" }, () => Promise.resolve());
  let life: MemoryProcess | undefined;
  let host: Host | undefined;
  return {
    mesh,
    client,
    /** The sagas that wait for a host of their definition. */
    waiting: () => host?.waiting().flatMap(({ sagas }) => sagas) ?? [],
    serve: (app: App) => {
      life?.gate.crash();
      const { ports, clock, chance, gate } = (life = mesh.spawn("host"));
      const common = { ports, clock, chance, log: silentLog, callbackBase: "sagamesh:" };
      // Some change what they serve without a new version, as an author may who says so.
      void startHost({ ...common, incarnation: gate.name, beside: true }, app).then((one) => (host = one));
    },
    /** Milliseconds of the mesh's own time. */
    pass: (ms: number) => mesh.clock.run({ until: mesh.clock.now() + ms }),
    /** Everything that a client does, at once. */
    all: <T>(work: readonly Promise<T>[]) => mesh.clock.until(Promise.all(work)),
    ledger: (id: string) =>
      mesh.clock.until(
        Promise.all(
          mesh.server.ledger.after(sagaId(id), 0).map((one) => decodeTurn(spawned.ports.blobs, one)),
        ),
      ),
  };
}

/** The keys of every effect that was performed, each as often as a success of it is recorded. */
const keysOf = (turns: readonly Turn[]): string[] =>
  turns.flatMap(({ steps }) =>
    steps.flatMap(({ intents }) => intents.flatMap((one) => (one.kind === "tool" ? [one.key] : []))),
  );

test(
  "a thousand sagas sleep while prompt, tools and order change, and none breaks",
  { timeout: 120_000 },
  async () => {
    const d = deployments();
    d.serve(appV1);
    const sagas = Array.from({ length: 1_000 }, (_, k) => {
      const of = k % 10 === 0 ? gateV1 : k % 10 < 3 ? doorV1 : clerkV1;
      return { id: `s-${String(k).padStart(4, "0")}`, of, isWokenByOld: k < 300, isWokenByNew: k >= 950 };
    });
    const wake = (which: typeof sagas) =>
      d.all(
        which.map(({ id, of }) =>
          of === clerkV1
            ? d.client.saga(clerkV1, id).signal("note", {})
            : d.client.saga(of as typeof doorV1, id).signal("go", {}),
        ),
      );
    const ends = async (which: typeof sagas) => {
      const views = [];
      for (const { id } of which) views.push(viewOf(await d.ledger(id)));
      return views;
    };
    await d.all(sagas.map(({ id, of }) => d.client.start(of as typeof doorV1, {}, { id })));
    await d.pass(20_000);

    // Both are served: what wakes goes on under what it was started with.
    d.serve(both);
    const byOld = sagas.filter(({ isWokenByOld }) => isWokenByOld);
    await wake(byOld);
    await d.pass(20_000);
    for (const { status, definition, end } of await ends(byOld)) {
      expect(status).toBe("completed");
      expect(definition.version).toBe(1);
      if (definition.name === "clerk") expect(end?.output).toEqual({ said: "booked" });
    }

    // Only the new one: what they were sent waits for a host of the old one, and so do they.
    d.serve(appV2);
    const byNew = sagas.filter(({ isWokenByNew }) => isWokenByNew);
    await wake(byNew);
    await d.pass(10_000);
    expect([...d.waiting()].sort()).toEqual(byNew.map(({ id }) => id));
    expect((await ends(byNew)).filter(({ status }) => status !== "running")).toEqual([]);
    expect(d.mesh.server.dead.list()).toEqual([]);
    expect(d.mesh.server.open().inbox).toBeGreaterThanOrEqual(byNew.length);

    const dry = await d.mesh.clock.until(d.client.migrate(appV2, { dryRun: true }));
    expect(dry).toHaveLength(700);
    const cannot = dry.filter(({ verdict }) => verdict === "cannot");
    expect(cannot.map(({ from }) => from.name)).toEqual(cannot.map(() => "gate"));
    expect(cannot).toHaveLength(70);
    expect(cannot[0]).toMatchObject({ turn: 1, expected: { name: "look" }, got: { name: "book" } });
    expect(dry.find(({ from }) => from.name === "clerk")).toMatchObject({
      verdict: "can",
      requestsDiffer: 2,
    });
    expect(d.mesh.server.dead.list()).toEqual([]);
    const moved = await d.mesh.clock.until(d.client.migrate(appV2));
    expect(moved.filter(({ verdict }) => verdict === "moved")).toHaveLength(630);
    await d.pass(10_000);
    for (const [k, { status, definition, end }] of (await ends(byNew)).entries()) {
      const isGate = byNew[k]!.of === gateV1;
      expect([definition.version, status]).toEqual(isGate ? [1, "running"] : [2, "completed"]);
      if (definition.name === "clerk") expect(end?.output).toEqual({ said: "mailed" });
    }

    // The old one is served again: the others go on, and nothing was lost or done twice.
    d.serve(both);
    await wake(sagas.filter(({ isWokenByOld, isWokenByNew }) => !isWokenByOld && !isWokenByNew));
    await d.pass(20_000);
    const all = await ends(sagas);
    expect(all.filter(({ status }) => status !== "completed")).toEqual([]);
    expect(all.filter(({ definition }) => definition.version === 2)).toHaveLength(630);
    expect(d.mesh.server.dead.list()).toEqual([]);
    expect(d.mesh.server.open().inbox).toBe(0);
    const keys: string[] = [];
    for (const { id } of sagas) {
      const turns = await d.ledger(id);
      const migrations = turns.filter(({ steps }) => steps.some(({ event }) => event.type === "migrated"));
      expect(migrations.length).toBeLessThanOrEqual(1);
      keys.push(...keysOf(turns));
    }
    expect(new Set(keys).size).toBe(keys.length);
  },
);

test("the door of a host: unknown hash, another definition, an ended saga, a decision that differs", async () => {
  const d = deployments();
  d.serve(both);
  const start = async (of: typeof doorV1, id: string) => d.all([d.client.start(of, {}, { id, version: 1 })]);
  await start(doorV1, "door-1");
  await start(gateV1, "gate-1");
  await start(doorV1, "door-2");
  await d.pass(2_000);
  await d.all([d.client.saga(doorV1, "door-2").signal("go", {})]);
  await d.pass(2_000);
  const refOf = ({ definition: { name, version, hash } }: typeof doorV1) => ({ name, version, hash });
  const order = (id: string, definition: unknown) =>
    d.all([d.client.saga(doorV1, id).signal("migrate", { definition } as never, { id: `order-${id}` })]);
  await order("gate-1", refOf(gateV2));
  await order("door-1", refOf(gateV2));
  await order("door-2", refOf(doorV2));
  await d.pass(2_000);
  const letters = d.mesh.server.dead
    .list()
    .map(({ headers }) => [headers["Saga-Id"], readLetterHeaders(headers).code]);
  expect(letters.sort()).toEqual([
    ["door-1", "MIGRATION_REFUSED"],
    ["door-2", "SAGA_ENDED"],
    ["gate-1", "MIGRATION_REFUSED"],
  ]);
  // Nobody serves it: it is given back for an hour, and the saga goes on meanwhile.
  await d.all([
    d.client.saga(doorV1, "gate-1").signal("migrate", { definition: { ...refOf(gateV2), hash: "nobodys" } }),
  ]);
  await d.pass(5_000);
  expect(d.mesh.server.dead.list()).toHaveLength(3);
  await d.all([d.client.saga(gateV1, "gate-1").signal("go", {})]);
  await d.pass(2_000);
  const view = viewOf(await d.ledger("gate-1"));
  expect([view.status, view.definition.version, view.migrations]).toEqual(["completed", 1, undefined]);
});

test("one that was moved and has ended is listed with what it was begun under, by its row as by its ledger", async () => {
  const d = deployments();
  d.serve(both);
  await d.all([
    d.client.start(doorV1, {}, { id: "moved", version: 1 }),
    d.client.start(doorV2, {}, { id: "never", version: 2 }),
  ]);
  await d.pass(2_000);
  await d.mesh.clock.until(d.client.migrate(appV2, { sagas: ["moved"] }));
  await d.pass(2_000);
  const { ports, clock } = d.mesh.spawn("look");
  const { listing: _, ...withoutRows } = ports;
  const look = async (given: typeof ports) =>
    (await d.mesh.clock.until(listSagas(given, {}, clock.now()))).toSorted((a, b) =>
      a.saga < b.saga ? -1 : 1,
    );
  const { name, version, hash } = doorV1.definition;
  for (const status of ["running", "completed"]) {
    const rows = await look(ports);
    expect(rows).toMatchObject([
      { saga: "moved", status, version: 2, startedAs: { name, version, hash } },
      { saga: "never", status, version: 2 },
    ]);
    expect(rows[1]).not.toHaveProperty("startedAs");
    expect(rows).toEqual(await look(withoutRows));
    for (const id of ["moved", "never"])
      await d.all([d.client.saga(doorV2, id).signal("go", {})]).catch(() => []);
    await d.pass(2_000);
  }
});

test("a move is one turn, wherever host or worker die", { timeout: 120_000 }, async () => {
  const report = await crashMatrix(both, async (t) => {
    const saga = await t.start(clerkV1, {}, { id: "c1", version: 1 });
    const [document] = await t.migrate(appV2, { sagas: ["c1"] });
    await saga.signal("note", {});
    const end = await saga.result();
    const moves = (await saga.ledger()).flatMap(({ steps }) =>
      steps.filter(({ event }) => event.type === "migrated"),
    );
    return { verdict: document?.verdict, moves: moves.length, end, calls: t.effects().length > 0 };
  });
  expect(report.rows.some(({ crash }) => crash.startsWith("host ledger.append"))).toBe(true);
  expect(report.faults, report.text).toEqual([]);
});

test("a host that serves only the new definition asks the old one's open call of the model anew", async () => {
  const slow: ModelPort = {
    name: "script",
    decide: async ({ instructions }, { abort }) => {
      if (instructions.startsWith("Old"))
        await new Promise((_, reject) => abort.addEventListener("abort", () => reject(new Error("cut off"))));
      const calls = [{ tool: "finish", input: { output: { said: "new" } } }];
      return { model: "script", calls };
    },
  };
  const app = (agent: typeof clerkV1) => defineApp({ sagas: [agent], models: { script: slow } });
  const old = clerk(1, "Old.", [book]);
  const d = deployments();
  d.serve(app(old));
  await d.all([d.client.start(old, {}, { id: "c1" })]);
  await d.pass(2_000);
  const next = app(clerk(1, "New.", [book, look]));
  d.serve(next);
  await d.pass(40_000);
  expect(await d.ledger("c1")).toHaveLength(1);
  expect(await d.mesh.clock.until(d.client.migrate(next))).toMatchObject([
    { saga: "c1", verdict: "moved", requestsDiffer: 1 },
  ]);
  await d.pass(2_000);
  const turns = await d.ledger("c1");
  const view = viewOf(turns);
  expect(view.status).toBe("completed");
  expect(view.intents.map(({ intent: { id, kind }, outcome }) => [id, kind, outcome])).toEqual([
    ["1-0", "model", "superseded"],
    ["2-0", "model", "succeeded"],
    // The start, offered again meanwhile, may have been known in a turn of its own.
    [expect.stringMatching(/^[34]-0$/), "end", undefined],
  ]);
  expect(view.migrations).toMatchObject([{ turn: 2, by: "test" }]);
  // What the old one was sent is proved by the old one alone.
  const apps = defineApp({
    ...next.config,
    sagas: [...(next.config.sagas ?? []), clerk(3, "Old.", [book])],
  });
  expect(() => atOnce(promptOf(apps, turns, 1))).toThrow(/VERSION_UNSERVED.*turns 1 to 1 of c1/);
  expect(atOnce(promptOf(next, turns, 2))).toMatchObject({ intent: "2-0", proved: true });
  expect(atOnce(promptOf(app(old), turns, 1))).toMatchObject({ intent: "1-0", proved: true });
});

test("a fork of a saga that was moved shares the move, and goes on under the definition that shared turn had", async () => {
  await using t = testMesh(both);
  const saga = await t.start(clerkV1, {}, { id: "c1", version: 1 });
  const before = (await saga.ledger()).length;
  expect(await t.migrate(appV2)).toMatchObject([{ verdict: "moved" }]);
  for (const [turn, of, version] of [
    [before, clerkV1, 1],
    [before + 1, clerkV2, 2],
  ] as const) {
    const fork = await t.fork(of, "c1", { from: turn, id: `fork-${turn}` });
    await fork.signal("note", {});
    expect(await fork.result()).toMatchObject({ status: "completed" });
    const turns = await fork.ledger();
    expect(viewOf(turns).definition.version).toBe(version);
    expect(() => foldLedger(of.definition, turns)).not.toThrow();
  }
});
