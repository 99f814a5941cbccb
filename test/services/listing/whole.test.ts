/**
 * Goal: who looks for sagas finds every one that there is, whatever became of the rows and of the hosts that write them, and reads
 * little as long as the rows are whole.
 * Method: hosts with rows and hosts of a version without them on the mesh in memory, which are started, stopped and killed; what is
 * found is compared with all ledgers, and the requests of who looks are counted.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../actors/contract/tool.ts";
import {
  decodeListingMark,
  encodeListingMark,
  encodeRow,
  listingMarkKey,
} from "../../../protocol/documents/listing.ts";
import { MeshError } from "../../../protocol/errors.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import { limits } from "../../../protocol/limits.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { openTasks } from "../../../services/client/tasks.ts";
import { type Host, startHost } from "../../../services/host/host.ts";
import { forgetRows, withoutRow } from "../../../services/listing/find.ts";
import { spoilListing } from "../../../services/listing/whole.ts";
import { createMemoryMesh, type MemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import type { ListingPort } from "../../../services/wire/ports.ts";
import { calling, Of, sequence } from "../../support/workbench.ts";

const base = { description: "Does it.", effect: "idempotent", input: Of, output: z.object({}) } as const;
const gone = {
  ...base,
  compensation: "point_of_no_return",
  placement: "host",
  perform: async () => ({}),
} as const;
const quick = defineTool({ ...gone, name: "quick" });
const approval = { by: ["ana"], withinMs: 86_400_000, otherwise: "deny" } as const;
const paid = defineTool({ ...gone, name: "paid", approval });
const [asking, resting] = [calling(paid), sequence(quick)];
const app = defineApp({ sagas: [asking, resting] });

type Instead = (real: ListingPort) => ListingPort | undefined;
const none: Instead = () => undefined;

function openMesh(mesh: MemoryMesh = createMemoryMesh({ seed: 5 })) {
  const client = createClient({ ...mesh.spawn("client"), from: "tester" }, async () => undefined);
  let looks = 0;
  return {
    mesh,
    /** A host; with `none` it is of a version that keeps no rows. */
    host: async (name: string, instead: Instead = (real) => real) => {
      const { ports, gate, clock, chance } = mesh.spawn(name);
      const own = { clock, chance, log: silentLog, callbackBase: "sagamesh:", incarnation: name };
      const listing = instead(ports.listing!);
      const starting = startHost({ ...own, ports: { ...ports, listing: listing! } }, app);
      return { gate, host: await mesh.clock.until(starting) };
    },
    ask: (id: string) => mesh.clock.until(client.start(asking, { of: "x" }, { id })),
    rest: (id: string) => mesh.clock.until(client.start(resting, null, { id })),
    pass: (ms: number) => mesh.clock.advance(ms),
    stop: (host: Host) => mesh.clock.until(host.stop(5_000)),
    /** Who asks somebody, why the rows were not gone by, and what was asked of the ledgers. */
    look: async () => {
      const { ports, gate } = mesh.spawn(`look${looks++}`);
      const calls: string[] = [];
      const why: string[] = [];
      gate.onCall((port, method, when) => {
        if (port === "ledger" && when === "before") calls.push(method);
      });
      const tasks = await mesh.clock.until(openTasks(ports, (one) => why.push(one)));
      return { asking: tasks.map(({ saga }) => saga).sort(), why: why.join(), calls };
    },
    keys: () =>
      mesh.server.shelves
        .rows("*.*.*.*")
        .map(({ key }) => key)
        .sort(),
  };
}

test("of many sagas only those that ask somebody are read", async () => {
  const t = openMesh();
  await t.host("h1");
  for (let n = 0; n < 30; n++) await t.rest(`r${n}`);
  await t.ask("a1");
  await t.pass(2_000);
  const { asking, why, calls } = await t.look();
  expect({ asking, why }).toEqual({ asking: ["a1"], why: "" });
  expect(calls).not.toContain("list");
  expect(calls.length).toBeLessThan(6);
});

test("those without a row are the archived, and as long as rows are whole no ledger is looked into for them", async () => {
  const m = openMesh();
  await m.host("h1");
  const ids = ["a1", "a2", "a3", "a4"] as const;
  for (const id of ids) await m.ask(id);
  await m.pass(60_000);
  const { ports, gate } = m.mesh.spawn("archiver");
  const patterns: string[] = [];
  const calls: string[] = [];
  const listing: ListingPort = {
    ...ports.listing!,
    read: (pattern, after) => (patterns.push(pattern), ports.listing!.read(pattern, after)),
  };
  await m.mesh.clock.until(
    forgetRows(listing, new Set(["a2", "a3"] as SagaId[]), () => `gone-${patterns.length}`),
  );
  expect(patterns).toEqual(["*.*.*.a2", "*.*.*.a3"]);
  gate.onCall((port, method, when) => {
    if (port === "ledger" && when === "before") calls.push(method);
  });
  expect((await m.mesh.clock.until(withoutRow(ports))).sort()).toEqual(["a2", "a3"]);
  expect(calls.filter((method) => method !== "end")).toEqual(["list"]);
  expect((await m.mesh.clock.until(withoutRow({ ...ports, listing: undefined }))).sort()).toEqual([...ids]);
});

test("beside a host that keeps no rows all ledgers are read, and once it is gone what it left is taken in", async () => {
  const t = openMesh();
  const { host } = await t.host("h1");
  await t.ask("a1");
  await t.pass(2_000);
  const former = await t.host("f1", none);
  await t.pass(2_000);
  for (let n = 0; n < 12; n++) await t.ask(`b${n}`);
  await t.pass(2_000);
  const all = ["a1", ...Array.from({ length: 12 }, (_, n) => `b${n}`)].sort();
  expect(await t.look()).toMatchObject({
    asking: all,
    why: "every ledger is read: host f1 does not keep the listing of sagas",
  });
  expect(t.keys().length).toBeLessThan(13); // Some were the former one's.
  await t.stop(former.host);
  await t.pass(5_000);
  expect(await t.look()).toMatchObject({ asking: all, why: "" });
  expect(t.keys()).toEqual(all.map((saga) => `running.asks.calling.${saga}`));
  await t.stop(host);
});

test("at no moment after a host without rows died are the rows gone by that lack what it stored", async () => {
  const t = openMesh();
  await t.host("h1");
  await t.ask("a1");
  await t.pass(2_000);
  const former = await t.host("f1", none);
  await t.pass(2_000);
  const ids = Array.from({ length: 12 }, (_, n) => `b${n}`);
  for (const id of ids) await t.ask(id);
  await t.pass(1_000);
  expect(t.keys().length).toBeLessThan(13); // Some were the former one's.
  former.gate.crash();
  const found = new Set<string>();
  let why = "";
  for (let ms = 0; ms < 20_000; ms += 50) {
    await t.pass(50);
    const looked = await t.look();
    found.add(looked.asking.join());
    why = looked.why;
  }
  expect([...found]).toEqual([["a1", ...ids].sort().join()]);
  expect(why).toBe("");
});

test("what former hosts did while none kept rows is taken in by the next that does", async () => {
  const t = openMesh();
  const first = await t.host("h1");
  await t.ask("a1");
  await t.ask("a2");
  await t.pass(30_000);
  await t.stop(first.host);
  const former = await t.host("f1", none);
  await t.ask("b1");
  await t.pass(2_000);
  const task = (await t.mesh.clock.until(openTasks(t.mesh.spawn("voter").ports))).find(
    ({ saga }) => saga === "a1",
  )!;
  const client = createClient({ ...t.mesh.spawn("voting"), from: "ana" }, async () => undefined);
  await t.mesh.clock.until(client.vote(task, { vote: "approve", by: "ana" }));
  await t.pass(2_000);
  former.gate.crash();
  expect((await t.look()).asking).toEqual(["a2", "b1"]);
  await t.host("h2");
  await t.pass(10_000);
  expect(await t.look()).toMatchObject({ asking: ["a2", "b1"], why: "" });
  expect(t.keys()).toEqual([
    "completed.rests.calling.a1",
    "running.asks.calling.a2",
    "running.asks.calling.b1",
  ]);
});

test("a mesh from before there were rows is taken in once, and what cannot be read is told", async () => {
  const t = openMesh();
  const former = await t.host("f1", none);
  await t.ask("a1");
  await t.rest("r1");
  await t.pass(1_000);
  await t.stop(former.host);
  const broken = { data: Buffer.from("{"), headers: { "Saga-Turn": "1" }, expectedSeq: 0 };
  await t.mesh.clock.until(t.mesh.spawn("hand").ports.ledger.append("torn" as never, broken));
  expect((await t.look()).why).toBe("every ledger is read: no host has written the listing of sagas yet");
  await t.host("h1");
  await t.pass(5_000);
  expect(await t.look()).toMatchObject({ asking: ["a1"], why: "" });
  expect(t.keys()).toEqual([
    "running.asks.calling.a1",
    "running.rests.sequence.r1",
    "unreadable.rests._.torn",
  ]);
  const { ports } = t.mesh.spawn("reader");
  const { unreadable } = await t.mesh.clock.until(openTasks(ports));
  expect(unreadable.map(({ saga }) => saga)).toEqual(["torn"]);
});

test("rows that are lost are written again, and nobody goes by an empty listing meanwhile", async () => {
  const t = openMesh();
  await t.host("h1");
  await t.ask("a1");
  await t.pass(2_000);
  t.mesh.server.shelves.loseRows();
  expect(await t.look()).toMatchObject({
    asking: ["a1"],
    why: "every ledger is read: the listing of sagas was lost and is being written anew",
  });
  await t.pass(limits.listingMarkEveryMs + 2_000);
  expect(await t.look()).toMatchObject({ asking: ["a1"], why: "" });
});

test.each(["emptied", "set back"])(
  "rows that were %s where they stand are written again, and nobody goes by what is left of them",
  async (how) => {
    const t = openMesh();
    const { shelves } = t.mesh.server;
    await t.host("h1");
    await t.ask("a1");
    await t.pass(2_000);
    const putBack = shelves.copyRows();
    await t.ask("a2");
    await t.pass(2 * limits.listingMarkEveryMs);
    expect(await t.look()).toMatchObject({ asking: ["a1", "a2"], why: "" });
    if (how === "emptied") shelves.loseRows("emptied");
    else putBack();
    const lost = "every ledger is read: the listing of sagas was lost and is being written anew";
    expect(await t.look()).toMatchObject({ asking: ["a1", "a2"], why: lost });
    await t.ask("a3"); // By which the rows go on, beyond where they stood.
    await t.ask("a4");
    await t.pass(limits.listingMarkEveryMs + 5_000);
    expect((await t.look()).asking).toEqual(["a1", "a2", "a3", "a4"]);
    await t.pass(limits.deposedMsMax + limits.listingMarkEveryMs);
    expect(await t.look()).toMatchObject({ asking: ["a1", "a2", "a3", "a4"], why: "" });
    expect(t.keys()).toEqual(["a1", "a2", "a3", "a4"].map((saga) => `running.asks.calling.${saga}`));
  },
);

test("a mark of a former version, which knows of no pin, is gone by and gets one", async () => {
  const t = openMesh();
  const { shelves } = t.mesh.server;
  const former = await t.host("h1");
  await t.ask("a1");
  await t.pass(30_000);
  await t.stop(former.host);
  const { data, revision } = shelves.readDocument(listingMarkKey)!;
  const { pin, ...mark } = decodeListingMark(data)!;
  expect(pin).toBeGreaterThan(0);
  shelves.writeDocument(listingMarkKey, encodeListingMark(mark), revision);
  expect(await t.look()).toMatchObject({ asking: ["a1"], why: "" });
  await t.host("h2");
  await t.pass(2_000);
  expect(await t.look()).toMatchObject({ asking: ["a1"], why: "" });
  expect(decodeListingMark(shelves.readDocument(listingMarkKey)!.data)?.pin).toBeGreaterThan(pin!);
});

test("rows that know of more than the ledgers are written anew once a person said that those were put back", async () => {
  const t = openMesh();
  await t.host("h1");
  await t.ask("a1");
  await t.pass(2_000);
  const later = { turn: 99, at: 0 };
  t.mesh.server.shelves.loseRows();
  t.mesh.server.shelves.putRow("completed.rests.calling.a1", encodeRow(later), "of the time before");
  t.mesh.server.shelves.putRow("completed.rests.calling.gone", encodeRow(later), "of the time before, too");
  const { ports } = t.mesh.spawn("operator");
  await t.mesh.clock.until(spoilListing(ports.registry));
  expect((await t.look()).why).toContain("every ledger is read");
  await t.pass(limits.listingMarkEveryMs + 2_000);
  expect(await t.look()).toMatchObject({ asking: ["a1"], why: "" });
  expect(t.keys()).toEqual(["running.asks.calling.a1"]);
});

test("another host keeps the listing once its keeper died, and until then ledgers are read", async () => {
  const t = openMesh();
  const keeper = await t.host("h1");
  await t.host("h2");
  await t.ask("a1");
  await t.pass(2_000);
  expect((await t.look()).why).toBe("");
  keeper.gate.crash();
  await t.ask("a2");
  await t.pass(limits.hostTtlMs + 100);
  expect(await t.look()).toMatchObject({ asking: expect.arrayContaining(["a1"]) as string[] });
  await t.pass(10_000);
  expect(await t.look()).toMatchObject({ asking: ["a1", "a2"], why: "" });
});

test("a row that a host which died had not written is written by who takes its inputs, whoever keeps the listing", async () => {
  const t = openMesh();
  await t.host("h1");
  const { gate } = await t.host("h2");
  await t.pass(3_000);
  let isDead = false;
  gate.onCall((port, method, when) => {
    if (isDead || port !== "ledger" || method !== "append" || when !== "after") return;
    isDead = true;
    gate.crash();
  });
  const ids = Array.from({ length: 12 }, (_, n) => `a${n}`);
  for (const id of ids) await t.ask(id);
  await t.pass(8_000);
  expect(isDead).toBe(true);
  expect(t.keys()).toEqual(ids.map((id) => `running.asks.calling.${id}`).sort());
});

test("a row that cannot be written holds up nothing, is said to be owed, and is written later", async () => {
  const t = openMesh();
  let isBroken = true;
  const refused = async () => Promise.reject(new MeshError("STORAGE_FULL", "no more rows"));
  await t.host("h1", (real) => ({ ...real, put: (...row) => (isBroken ? refused() : real.put(...row)) }));
  await t.pass(1_000);
  await t.ask("a1");
  await t.pass(8_000);
  expect(t.mesh.server.open().inbox).toBe(0);
  expect(await t.look()).toMatchObject({
    asking: ["a1"],
    why: "every ledger is read: host h1 does not keep the listing of sagas",
  });
  isBroken = false;
  await t.pass(4_000);
  expect(await t.look()).toMatchObject({ asking: ["a1"], why: "" });
  expect(t.keys()).toEqual(["running.asks.calling.a1"]);
});

test("where no host lives the rows are gone by if nothing was stored since", async () => {
  const t = openMesh();
  const { host } = await t.host("h1");
  await t.ask("a1");
  await t.pass(30_000);
  await t.stop(host);
  await t.pass(limits.hostTtlMs);
  expect(await t.look()).toMatchObject({ asking: ["a1"], why: "" });
});
