/**
 * Goal: what is done to many sagas is done to those that were looked at and to no other; looking changes nothing and tells of each that
 * was meant; one that cannot be done hinders no other; and what is done again changes nothing.
 * Method: a host on the mesh in memory with sagas that wait for a person, are in doubt, have a letter set aside, and have ended; every
 * act is looked at, done and done again beside every saga. Files are real.
 */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../actors/contract/tool.ts";
import { MeshError } from "../../../protocol/errors.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import { subjects } from "../../../protocol/subjects.ts";
import { defineApp } from "../../../services/app/app.ts";
import type { BulkAct, BulkItem, BulkRow, Meant } from "../../../services/bulk/act.ts";
import { archiving } from "../../../services/bulk/archive.ts";
import { cancelling } from "../../../services/bulk/cancel.ts";
import { retrying } from "../../../services/bulk/retry.ts";
import { settling } from "../../../services/bulk/settle.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import { deadLetter } from "../../../services/wire/dead-letter.ts";
import { sagaId } from "../../contract/mesh-under-test.ts";
import { drive } from "../../support/archiving.ts";
import { calling, Of, sequence } from "../../support/workbench.ts";

const approval = { by: ["ana"], withinMs: 86_400_000, otherwise: "deny" } as const;
const parts = { effect: "once", input: Of, output: z.object({}), placement: "host" } as const;
const paid = defineTool({
  ...{ name: "paid", description: "Pays.", ...parts, approval },
  ...{ compensation: "point_of_no_return", perform: async () => ({}) },
});
const posted = defineTool({
  ...{ name: "posted", description: "Posts.", ...parts, onDoubt: "model" },
  compensation: "point_of_no_return",
  perform: async ({ of }) => {
    if (of === "break") throw new Error("the box was gone");
    return {};
  },
});
const asking = sequence(paid);
const posting = calling(posted);

let folder: string;
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), "sagamesh-bulk-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

async function open() {
  const mesh = createMemoryMesh({ seed: 11 });
  const own = { ...mesh.spawn("host"), log: silentLog, callbackBase: "sagamesh:", incarnation: "h" };
  await mesh.clock.until(startHost(own, defineApp({ sagas: [asking, posting] })));
  const client = createClient({ ...mesh.spawn("client"), from: "tester" }, async () => undefined);
  const process = mesh.spawn("bulk");
  const deps = { ...process, from: "tester" };
  const done = <T>(work: Promise<T>): Promise<T> => drive(mesh, process.gate, work);
  const settled = () => mesh.clock.advance(3_000);
  const signal = {
    subject: subjects.signal(sagaId("late-1"), "cancel"),
    data: Buffer.from("{}"),
    headers: {},
  };
  for (const id of ["waits-1", "waits-2", "late-1"])
    await mesh.clock.until(client.start(asking, { of: "x" }, { id }));
  for (const id of ["doubt-1", "doubt-2"])
    await mesh.clock.until(client.start(posting, { of: "break" }, { id }));
  for (const id of ["ended-1", "ended-2"]) await mesh.clock.until(client.start(posting, { of: "x" }, { id }));
  await settled();
  // As a host sets aside what it cannot take.
  const early = new MeshError("SAGA_UNKNOWN", "it was no saga then");
  await mesh.clock.until(
    deadLetter(
      { ports: process.ports, clock: mesh.clock },
      "inbox",
      { ...signal, seq: 1, storedAt: 1 },
      early,
    ),
  );
  const meant = (...ids: string[]): Meant[] =>
    ids.map((id) => ({
      ...{ saga: sagaId(id), name: "any" },
      status: /^(waits|late)/.test(id) ? "running" : "completed",
      unsettled: /^(doubt|waits|late)/.test(id) ? 1 : 0,
    }));
  const turnsOf = () =>
    Object.fromEntries(everyone.map((id) => [id, mesh.server.ledger.after(sagaId(id), 0).length]));
  const letters = () => mesh.server.dead.list().length;
  const acts: Readonly<Record<string, BulkAct>> = {
    cancel: cancelling(deps, { reason: "closed", id: "bulk-test-1" }),
    settle: settling(deps, { finding: { failed: "nobody has it" }, who: {} }),
    retry: retrying(deps),
    archive: archiving(deps, { folder, signer: undefined, afterMs: 0 }),
  };
  const perform = async (act: BulkAct, items: readonly BulkItem[]): Promise<BulkRow[]> => {
    const rows: BulkRow[] = [];
    await done(act.perform(items, (row) => rows.push(row)));
    await settled();
    return rows;
  };
  return { mesh, client, acts, done, settled, meant, turnsOf, letters, perform };
}

const everyone = ["waits-1", "waits-2", "late-1", "doubt-1", "doubt-2", "ended-1", "ended-2"];
const wouldOf = (rows: readonly BulkRow[]) => rows.filter((row) => row.is === "would");
const named = (rows: readonly BulkRow[]) => [...new Set(rows.map(({ saga }) => saga as string))];

/** Which sagas each act can do something to. */
const touches: Readonly<Record<string, readonly string[]>> = {
  cancel: ["waits-1", "waits-2", "late-1"],
  settle: ["doubt-1", "doubt-2"],
  retry: ["late-1"],
  archive: ["ended-1", "ended-2"],
};

describe.each(Object.keys(touches))("%s", (kind) => {
  test("tells of every saga that is meant, what would be done or why nothing, and changes nothing", async () => {
    const { acts, done, meant, turnsOf, letters } = await open();
    const before = [turnsOf(), letters(), await readdir(folder)];
    const rows = await done(acts[kind]!.look(meant(...everyone)));
    expect(named(rows).sort()).toEqual([...everyone].sort());
    expect(named(wouldOf(rows))).toEqual(touches[kind]);
    expect(rows.filter((row) => row.is !== "would" && !row.because)).toEqual([]);
    expect([turnsOf(), letters(), await readdir(folder)]).toEqual(before);
    expect(await done(acts[kind]!.look([]))).toEqual([]);
  });

  test("does it to what is named and to no other, tells of each once, and done again changes nothing", async () => {
    const { acts, done, meant, turnsOf, letters, perform } = await open();
    const act = acts[kind]!;
    const [first] = wouldOf(await done(act.look(meant(...everyone))));
    const before = turnsOf();
    const rows = await perform(act, [first!]);
    expect(rows).toMatchObject([{ saga: first?.saga, is: "done" }]);
    const after = turnsOf();
    for (const id of everyone) {
      if (id === first?.saga && kind !== "retry") expect(after[id], id).not.toBe(before[id]);
      if (id !== first?.saga) expect(after[id], id).toBe(before[id]);
    }
    if (kind === "retry") expect(letters()).toBe(0);
    const again = await perform(act, [first!]);
    expect(again).toHaveLength(1);
    expect([turnsOf(), letters()]).toEqual([after, letters()]);
    expect(wouldOf(await done(act.look(meant(first!.saga)))).length).toBe(kind === "cancel" ? 1 : 0);
  });

  test("one that cannot be done is told with its reason, and hinders no other", async () => {
    const { acts, done, meant, perform } = await open();
    const would = wouldOf(await done(acts[kind]!.look(meant(...everyone))));
    const nobody: BulkItem = { ...would[0]!, saga: "nobody" as SagaId };
    const rows = await perform(acts[kind]!, [nobody, ...would]);
    expect(rows.find(({ saga }) => saga === "nobody")).toMatchObject({
      ...{ is: "refused", because: expect.stringMatching(/UNKNOWN/) as string },
    });
    expect(named(rows.filter((row) => row.is === "done"))).toEqual(expect.arrayContaining([...named(would)]));
    expect(rows).toHaveLength(would.length + 1);
  });

  test("is ended by its signal with what was told done, and what was not told left", async () => {
    const { acts, done, meant } = await open();
    const would = wouldOf(await done(acts[kind]!.look(meant(...everyone))));
    const ending = new AbortController();
    ending.abort();
    const rows: BulkRow[] = [];
    await done(acts[kind]!.perform(would, (row) => rows.push(row), ending.signal).catch(() => undefined));
    expect(rows).toEqual([]);
  });
});

test("a cancellation that is sent twice is one, and an archived saga's turns are in the folder", async () => {
  const { acts, mesh, perform, client } = await open();
  const item = { saga: sagaId("waits-1") };
  await perform(acts["cancel"]!, [item, item]);
  const described = await mesh.clock.until(client.describe("waits-1"));
  expect(described.end).toMatchObject({ status: "cancelled" });
  const [row] = await perform(acts["archive"]!, [{ saga: sagaId("ended-1") }]);
  expect(row).toMatchObject({ is: "done", what: expect.stringMatching(/^in archived-/) as string });
  expect(await readdir(folder)).toHaveLength(1);
});
