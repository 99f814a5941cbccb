/**
 * Goal: a host writes a saga's row when what that says changes, before anything of it is acked, and never else.
 * Method: machines that call tools, one of which asks a person, on the mesh in memory. The rows are read as they stand, and each
 * write is counted; a host dies before and after each of them.
 */
import { describe, expect, test } from "vitest";
import { createMachine } from "xstate";
import { z } from "zod";
import { defineSaga } from "../../../actors/saga/define.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import { decodeRow } from "../../../protocol/documents/listing.ts";
import { parseSagaId, type SagaId } from "../../../protocol/ids.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { takeInOne } from "../../../services/listing/take-in.ts";
import { silentLog } from "../../../services/process/log.ts";
import { createMemoryMesh, type MemoryMesh } from "../../../services/memory/mesh.ts";
import { openTestMesh, type TestMesh } from "../../../services/testing/test-mesh.ts";
import type { TestMeshHooks } from "../../../services/testing/test-processes.ts";
import type { Ports } from "../../../services/wire/ports.ts";
import { calling, Of, sequence } from "../../support/workbench.ts";

const base = { description: "Does it.", effect: "idempotent", input: Of, output: z.object({}) } as const;
const gone = { ...base, compensation: "point_of_no_return", perform: async () => ({}) } as const;
const dear = { compensation: "point_of_no_return", placement: "host", perform: async () => ({}) } as const;
const quick = defineTool({ ...gone, name: "quick", placement: "host" });
const paid = defineTool({
  ...gone,
  name: "paid",
  approval: { by: ["ana"], withinMs: 86_400_000, otherwise: "deny" },
});

interface Watched {
  readonly t: TestMesh;
  readonly mesh: MemoryMesh;
  /** Keys that were written, and with a minus those that were taken away. */
  readonly writes: string[];
}

const rowsOf = ({ mesh }: Watched): string[] =>
  mesh.server.shelves
    .rows("*.*.*.*")
    .map(({ key, data }) => `${key}${decodeRow(data)?.ended === undefined ? "" : " whole"}`);

async function withMesh(
  app: ReturnType<typeof defineApp>,
  work: (watched: Watched) => Promise<void>,
  hooks: TestMeshHooks = {},
): Promise<void> {
  const writes: string[] = [];
  let mesh: MemoryMesh | undefined;
  const opened = (one: MemoryMesh) => {
    mesh = one;
    const { shelves } = one.server;
    const { putRow } = shelves;
    shelves.putRow = (key, data, msgId) => {
      writes.push(data === undefined ? `-${key}` : key);
      return putRow(key, data, msgId);
    };
  };
  await using t = openTestMesh(app, {}, { ...hooks, opened });
  await work({ t, mesh: mesh!, writes });
}

test.each([1, 40])("a saga of %i calls that ends before it rests is one write", (count) => {
  const saga = sequence(...Array.from({ length: count }, () => quick));
  return withMesh(defineApp({ sagas: [saga] }), async (watched) => {
    const one = await watched.t.start(saga, null, { id: "s1" });
    expect(rowsOf(watched)).toEqual(["running.rests.sequence.s1"]);
    const begun = watched.writes.length;
    expect(begun).toBe(1); // It waits for `go`.
    await one.signal("go", null);
    expect((await one.result()).status).toBe("completed");
    expect(rowsOf(watched)).toEqual(["completed.rests.sequence.s1 whole"]);
    expect(watched.writes.slice(begun)).toEqual([
      "completed.rests.sequence.s1",
      "-running.rests.sequence.s1",
    ]);
  });
});

test("who asks a person is found by it, as long as it does", () => {
  const saga = calling(paid);
  return withMesh(defineApp({ sagas: [saga] }), async (watched) => {
    const one = await watched.t.start(saga, { of: "x" }, { id: "s1" });
    expect(rowsOf(watched)).toEqual(["running.asks.calling.s1"]);
    const [task] = await watched.t.tasks();
    await watched.t.vote(task!, { vote: "approve", by: "ana" });
    expect((await one.result()).status).toBe("completed");
    expect(rowsOf(watched)).toEqual(["completed.rests.calling.s1 whole"]);
  });
});

test("what goes on without rest is listed soon after it began, and once", async () => {
  const mesh = createMemoryMesh({ seed: 1 });
  const process = mesh.spawn("host");
  const slow = defineTool({
    ...{ ...gone, name: "slow", placement: "host" },
    perform: async () => {
      await process.clock.sleep(30_000);
      return {};
    },
  });
  const saga = calling(slow);
  const own = { ...process, log: silentLog, callbackBase: "sagamesh:", incarnation: "h" };
  await mesh.clock.until(startHost(own, defineApp({ sagas: [saga] })));
  const client = createClient({ ...mesh.spawn("client"), from: "tester" }, async () => undefined);
  await mesh.clock.until(client.start(saga, { of: "x" }, { id: "s1" }));
  const keys = () => mesh.server.shelves.rows("*.*.*.*").map(({ key, place }) => [key, place]);
  await mesh.clock.advance(150);
  expect(keys()).toEqual([]);
  await mesh.clock.advance(450);
  const listed = keys();
  expect(listed).toEqual([["running.rests.calling.s1", expect.any(Number)]]);
  await mesh.clock.advance(20_000);
  expect(keys()).toEqual(listed);
  await mesh.clock.advance(12_000);
  expect(keys()).toEqual([["completed.rests.calling.s1", expect.any(Number)]]);
});

describe("a host that dies", () => {
  const saga = calling(paid);
  const app = defineApp({ sagas: [saga] });
  const points = ["put", "remove"].flatMap((method) =>
    (["before", "after"] as const).flatMap((when) => [1, 2, 3].map((count) => ({ method, when, count }))),
  );
  test.each(points)(
    "$when its $method number $count leaves the row to who takes the inputs",
    async (point) => {
      let left = point.count;
      let crashes = 0;
      const crashesAt: TestMeshHooks["crashesAt"] = (role, port, method, when) => {
        if (role !== "host" || port !== "listing" || method !== point.method || when !== point.when)
          return false;
        left -= 1;
        if (left === 0) crashes += 1;
        return left === 0;
      };
      await withMesh(
        app,
        async (watched) => {
          const one = await watched.t.start(saga, { of: "x" }, { id: "s1" });
          expect(rowsOf(watched)).toEqual(["running.asks.calling.s1"]);
          const [task] = await watched.t.tasks();
          await watched.t.vote(task!, { vote: "approve", by: "ana" });
          await one.result();
          await watched.t.settled();
          expect(rowsOf(watched)).toEqual(["completed.rests.calling.s1 whole"]);
        },
        { crashesAt },
      );
      if (point.count === 1) expect(crashes).toBe(1);
    },
  );
});

describe("a saga that stands before its row is due", () => {
  const paying = calling(defineTool({ ...base, name: "paying", effect: "once", onDoubt: "model", ...dear }));
  const host = async (mesh: MemoryMesh, name: string, change: (ports: Ports) => Ports) => {
    const { ports, gate, ...process } = mesh.spawn(name);
    const own = { ...process, ports: change(ports), log: silentLog, callbackBase: "sagamesh:" };
    await mesh.clock.until(startHost({ ...own, incarnation: name }, defineApp({ sagas: [paying] })));
    return gate;
  };
  const keys = (mesh: MemoryMesh) => mesh.server.shelves.rows("*.*.*.*").map(({ key }) => key);
  const begin = async (mesh: MemoryMesh) => {
    const client = createClient({ ...mesh.spawn("client"), from: "tester" }, async () => undefined);
    await mesh.clock.until(client.start(paying, { of: "x" }, { id: "s1" }));
  };
  const fails = () => Promise.reject(new Error("not here"));

  test("is listed by the host that let it go", async () => {
    const mesh = createMemoryMesh({ seed: 1 });
    await host(mesh, "h1", (ports) => ({ ...ports, claims: { ...ports.claims, create: fails } }));
    await begin(mesh);
    await mesh.clock.advance(1_000);
    expect(keys(mesh)).toEqual(["running.rests.calling.s1"]);
    await mesh.clock.advance(60_000);
    expect(keys(mesh)).toEqual(["running.rests.calling.s1"]);
  });

  test("is listed by a host that cannot take it, where the one before died over it", async () => {
    const mesh = createMemoryMesh({ seed: 1 });
    const first = await host(mesh, "h1", (ports) => ports);
    first.onCall((port, method, when) => {
      if (port === "ledger" && method === "append" && when === "after") first.crash();
    });
    await begin(mesh);
    await mesh.clock.advance(1_000);
    expect(keys(mesh)).toEqual([]);
    await host(mesh, "h2", (ports) => ({ ...ports, snapshots: { ...ports.snapshots, get: fails } }));
    await mesh.clock.advance(30_000);
    expect(keys(mesh)).toEqual(["running.rests.calling.s1"]);
  });
});

test("a start that no host can take has no row: it is no saga yet", async () => {
  const mesh = createMemoryMesh({ seed: 1 });
  const odd = defineSaga({
    ...{ name: "odd", version: 1, input: z.null(), output: z.any() },
    machine: createMachine({ id: "odd", context: () => ({ id: crypto.randomUUID() }) }),
  });
  const own = { ...mesh.spawn("host"), log: silentLog, callbackBase: "sagamesh:", incarnation: "h" };
  await mesh.clock.until(startHost({ ...own, foldsTwice: true }, defineApp({ sagas: [odd] })));
  const client = createClient({ ...mesh.spawn("client"), from: "tester" }, async () => undefined);
  await mesh.clock.until(client.start(odd, null, { id: "s1" }));
  await mesh.clock.advance(60_000);
  expect(mesh.server.open().inbox).toBe(1);
  expect(mesh.server.shelves.rows("*.*.*.*")).toEqual([]);
});

describe("a ledger that is told without a turn that was acked", () => {
  const saga = sequence(quick);
  /** A saga that has ended, whose row was lost; and the ledger as a leader tells it who knew of its first turn last. */
  const lost = async () => {
    const mesh = createMemoryMesh({ seed: 1 });
    const { ports, ...process } = mesh.spawn("host");
    const own = { ...process, ports, log: silentLog, callbackBase: "sagamesh:", incarnation: "h" };
    await mesh.clock.until(startHost(own, defineApp({ sagas: [saga] })));
    const client = createClient({ ...mesh.spawn("client"), from: "tester" }, async () => undefined);
    const one = await mesh.clock.until(client.start(saga, null, { id: "s1" }));
    await mesh.clock.until(one.signal("go", null));
    await mesh.clock.until(one.result());
    await mesh.clock.advance(1_000);
    const id = parseSagaId("s1");
    const turns = mesh.server.ledger.after(id, 0);
    mesh.server.shelves.loseRows("emptied");
    const deps = {
      clock: mesh.clock,
      log: silentLog,
      signal: new AbortController().signal,
      incarnation: "k",
    };
    /** With a ledger that has the first of them only. */
    const take = (known: number, isLagging: () => boolean, since?: number) => {
      const last = (of: SagaId) => (isLagging() ? Promise.resolve(turns[known - 1]) : ports.ledger.last(of));
      const told = { ...deps, ports: { ...ports, ledger: { ...ports.ledger, last } } };
      const how = { viewing: {}, patienceMs: 2_000, before: "unknown", idOf: () => "k.1" } as const;
      return mesh.clock.until(takeInOne(told, ports.listing!, id, { ...how, since, turn: turns.length }));
    };
    const keys = () => mesh.server.shelves.rows("*.*.*.*").map(({ key }) => key);
    return { mesh, take, keys };
  };

  test.each([0, 1])("of %i turns is asked for again, and its row says how it ended", async (known) => {
    const { mesh, take, keys } = await lost();
    const until = mesh.clock.now() + 700;
    await take(known, () => mesh.clock.now() < until);
    expect(keys()).toEqual(["completed.rests.sequence.s1"]);
  });

  test("gives no row where it goes on so; and does once no leader can be deposed for so long", async () => {
    const { mesh, take, keys } = await lost();
    const since = mesh.clock.elapsed();
    await expect(take(1, () => true)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(keys()).toEqual([]);
    await mesh.clock.advance(21_000);
    await take(1, () => true, since);
    expect(keys()).toEqual(["running.rests.sequence.s1"]);
  });
});
