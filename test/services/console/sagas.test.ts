/**
 * Goal: the console's list is that of the command line, the last change first, and costs no ledger but those of running
 * sagas that are shown, and of these each turn once.
 * Method: sagas that wait, ask, end well and badly on the mesh in memory; what is read of the ledgers is noted.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../actors/contract/tool.ts";
import { MeshError } from "../../../protocol/errors.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import { defineApp } from "../../../services/app/app.ts";
import { listSagas } from "../../../services/client/list.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { openTasks } from "../../../services/client/tasks.ts";
import { createSagaFinder, type Wanted } from "../../../services/console/sagas.ts";
import { allTasks } from "../../../services/console/tasks.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import { calling, Of, sequence, together } from "../../support/workbench.ts";

const base = { description: "Does it.", effect: "idempotent", input: Of, output: z.object({}) } as const;
const gone = { ...base, compensation: "point_of_no_return", placement: "host" } as const;
const quick = defineTool({ ...gone, name: "quick", perform: async () => ({}) });
const approval = { by: ["ana"], withinMs: 86_400_000, otherwise: "deny" } as const;
const paid = defineTool({ ...gone, name: "paid", approval, perform: async () => ({}) });
const [asking, resting, once] = [calling(paid), sequence(quick), together(quick)];
const app = defineApp({ sagas: [asking, resting, once] });

async function openMesh() {
  const mesh = createMemoryMesh({ seed: 5 });
  const own = { ...mesh.spawn("host"), log: silentLog, callbackBase: "sagamesh:", incarnation: "h" };
  await mesh.clock.until(startHost(own, app));
  const client = createClient({ ...mesh.spawn("client"), from: "tester" }, async () => undefined);
  const begin = <T>(work: Promise<T>) => mesh.clock.until(work);
  await begin(client.start(asking, { of: "x" }, { id: "asks" }));
  await begin(client.start(resting, null, { id: "rests" }));
  for (const id of ["good-1", "good-2", "good-3"]) {
    await begin(client.start(once, null, { id }));
    await mesh.clock.advance(500);
  }
  await mesh.clock.advance(3_000);
  const looker = mesh.spawn("console");
  const read: string[] = [];
  looker.gate.onCall((port, method, when) => {
    if (port === "ledger" && when === "before") read.push(method);
  });
  const finder = createSagaFinder({ ...looker, from: "tester" });
  const find = (wanted: Wanted = {}) => begin(finder.find(wanted));
  return { mesh, client, begin, looker, finder, find, read };
}

test("all sagas are listed as the command line lists them, the last change first", async () => {
  const { looker, find, begin, mesh } = await openMesh();
  const { rows, found, counts, next } = await find();
  const told = await begin(listSagas(looker.ports, {}, mesh.clock.now()));
  expect(rows.map(({ asks: _asks, place: _place, ...row }) => row)).toEqual(
    expect.arrayContaining(told.map((row) => row)),
  );
  expect(rows).toHaveLength(told.length);
  expect(rows[0]?.saga).toBe("good-3");
  expect({ found, next }).toEqual({ found: told.length, next: undefined });
  expect(counts.status).toEqual({ running: 2, completed: 3 });
  expect(counts.asks).toBe(1);
});

test("conditions hold together, and pages follow one another without a gap or a repeat", async () => {
  const { find } = await openMesh();
  const ids = async (wanted: Wanted) => (await find(wanted)).rows.map(({ saga }) => saga);
  expect(await ids({ asks: true })).toEqual(["asks"]);
  expect(await ids({ status: "completed", text: "GOOD" })).toEqual(["good-3", "good-2", "good-1"]);
  expect(await ids({ status: "failed" })).toEqual([]);
  const all = await ids({});
  const paged: SagaId[] = [];
  for (let before: number | undefined; ;) {
    const page = await find({ before, limit: 2 });
    paged.push(...page.rows.map(({ saga }) => saga));
    before = page.next;
    if (before === undefined) break;
  }
  expect(paged).toEqual(all);
});

test("no ledger is read of what has ended, and of what goes on each turn once", async () => {
  const { find, read } = await openMesh();
  await find({ status: "completed" });
  expect(
    read.filter((method) => ["read", "last", "first", "follow", "list", "since"].includes(method)),
  ).toEqual([]);
  await find({ status: "running" });
  expect(read.filter((method) => method === "read").length).toBeGreaterThan(0);
  read.length = 0;
  await find({ status: "running" });
  expect(read.filter((method) => method === "read")).toEqual([]);
  expect(read).not.toContain("list");
});

test("a saga that ends, and one that begins, are in the next list, and a look says whether anything changed", async () => {
  const { client, mesh, begin, finder, find } = await openMesh();
  await find();
  const before = await begin(finder.refresh());
  expect(await begin(finder.refresh())).toBe(before);
  await begin(client.start(once, null, { id: "late" }));
  await mesh.clock.advance(3_000);
  expect(await begin(finder.refresh())).toBeGreaterThan(before);
  const { rows } = await find();
  expect(rows[0]).toMatchObject({ saga: "late", status: "completed" });
});

test("a change that a list has learnt first is told by the next look all the same", async () => {
  const { client, mesh, begin, finder, find } = await openMesh();
  const before = await begin(finder.refresh());
  await begin(client.start(once, null, { id: "late" }));
  await mesh.clock.advance(3_000);
  await find(); // It has read the row, and the look finds nothing new.
  expect(await begin(finder.refresh())).toBeGreaterThan(before);
});

test("a row that was taken away is gone after a while", async () => {
  const { looker, mesh, find } = await openMesh();
  await find();
  const key = [...(await find({ text: "good-1" })).rows].map(
    ({ name, saga }) => `completed.rests.${name}.${saga}`,
  );
  await mesh.clock.until(looker.ports.listing!.remove(key[0] ?? "", "gone"));
  await mesh.clock.advance(61_000);
  expect((await find({ text: "good-1" })).rows).toEqual([]);
});

test("where the listing is not whole it is said why, and no other ledger is read for it", async () => {
  const { mesh, find, read } = await openMesh();
  const former = { ...mesh.spawn("former"), log: silentLog };
  await mesh.clock.until(former.ports.membership.beat("former", new TextEncoder().encode("{}"), 60_000));
  read.length = 0;
  const { note, rows } = await find({ status: "completed" });
  expect(note).toContain("some may be missing");
  expect(rows).toHaveLength(3);
  expect(read).not.toContain("list");
});

test("a saga that cannot be read says so in its row, and hides none", async () => {
  const { looker, begin } = await openMesh();
  const { ledger } = looker.ports;
  const broken: typeof ledger = {
    ...ledger,
    read: async (saga, ...range) => {
      if (saga === "rests") throw new MeshError("LEDGER_BROKEN", "a turn is gone");
      return ledger.read(saga, ...range);
    },
  };
  const finder = createSagaFinder({ ...looker, ports: { ...looker.ports, ledger: broken }, from: "tester" });
  const { rows } = await begin(finder.find({}));
  expect(rows).toHaveLength(5);
  expect(rows.filter(({ fault }) => fault !== undefined).map(({ saga }) => saga)).toEqual(["rests"]);
});

test("the tasks are those of the command line, read from the sagas that ask and no others", async () => {
  const { looker, finder, begin, read } = await openMesh();
  const told = await begin(openTasks(looker.ports));
  read.length = 0;
  const { tasks, unreadable, note } = await begin(allTasks(looker.ports, finder));
  expect(tasks.map(({ saga, intent, question }) => ({ saga, intent, question }))).toEqual(
    told.map(({ saga, intent, question }) => ({ saga, intent, question })),
  );
  expect(tasks).toHaveLength(1);
  expect({ unreadable, note }).toEqual({ unreadable: [], note: undefined });
  expect(read).not.toContain("list");
});
