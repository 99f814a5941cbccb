/**
 * Goal: what an archived saga leaves on the server goes when nothing can ask for it any more, and not before; and its tombstone when
 * the operator says so.
 * Method: sagas run on a memory mesh, weeks go by in virtual time; the files are real.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { contractDigest } from "../../../actors/contract/contract-digest.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import type { ArchiveDocument } from "../../../protocol/documents/archive.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import { headers } from "../../../protocol/subjects.ts";
import { archiveAll, seeToArchived } from "../../../services/archive/all.ts";
import { createLeft, seeToLeft } from "../../../services/archive/left.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { findTombstone } from "../../../services/ledger/reader.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import type { Ports } from "../../../services/wire/ports.ts";
import { sagaId } from "../../contract/mesh-under-test.ts";
import { drive, readArchived } from "../../support/archiving.ts";
import { callingSaga } from "../../support/calling-saga.ts";

const nothing = z.object({});
let performed: string[];
const place = defineTool({
  ...{ name: "place", description: "Places.", effect: "once", placement: "host", onDoubt: "model" },
  ...{ input: nothing, output: nothing, compensation: "point_of_no_return" },
  perform: async (_, { key }) => {
    performed.push(key);
    return {};
  },
});
const look = defineTool({
  ...{
    name: "look",
    description: "Looks.",
    effect: "read",
    placement: "host",
    input: nothing,
    output: nothing,
  },
  perform: async () => ({}),
});
/** Nobody serves it. */
const idle = defineTool({
  name: "idle",
  description: "Idles.",
  effect: "read",
  input: nothing,
  output: nothing,
});
const placing = callingSaga("placing", place);
const looking = callingSaga("looking", look);
const waiting = callingSaga("waiting", idle);
const app = defineApp({ sagas: [placing, looking, waiting] });

let folder: string;
beforeEach(async () => {
  performed = [];
  folder = await mkdtemp(join(tmpdir(), "sagamesh-left-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const day = 86_400_000;
const now = { afterMs: 0, isForced: true, isDryRun: false };

async function openMesh() {
  const mesh = createMemoryMesh({ seed: 1 });
  const { clock } = mesh;
  let hosts = 0;
  let host: ReturnType<typeof mesh.spawn> | undefined;
  const begin = async () => {
    host = mesh.spawn("host");
    const common = { log: silentLog, incarnation: `host-${++hosts}`, callbackBase: "sagamesh:" };
    await clock.until(startHost({ ...host, ...common }, app));
  };
  await begin();
  const outside = mesh.spawn("client");
  const client = createClient({ ...outside, from: "tester" }, async () => undefined);
  let archivers = 0;
  return {
    mesh,
    ports: outside.ports,
    clock,
    run: async (id: string, of = placing): Promise<SagaId> => {
      await clock.until(client.start(of, {}, { id }));
      await clock.advance(2_000);
      return sagaId(id);
    },
    /** Lets time go by without a host. */
    skip: async (ms: number) => {
      host?.gate.crash();
      await clock.run({ until: clock.now() + ms });
      await begin();
    },
    claims: () => mesh.server.claims.list(),
    ledgers: () => mesh.server.ledger.list().map(({ saga }) => saga),
    archive: async (
      sagas: readonly SagaId[],
      options: { isDryRun?: boolean; forgetAfterMs?: number; change?: (ports: Ports) => Ports } = {},
    ): Promise<Record<string, ArchiveDocument["outcome"]>> => {
      const { change = (own: Ports) => own, ...given } = options;
      const process = mesh.spawn(`archiver-${archivers++}`);
      const deps = { ...process, ports: change(process.ports), by: "tester", folder };
      const documents: ArchiveDocument[] = [];
      const work = archiveAll(
        { ...deps, registered: { definitions: [], tools: [] } },
        sagas,
        { ...now, ...given, signal: new AbortController().signal },
        (document) => documents.push(document),
      );
      await drive(mesh, process.gate, work);
      return Object.fromEntries(documents.map(({ saga, outcome }) => [saga, outcome]));
    },
  };
}

test("claims stay while the saga's last turn is younger than the horizon, and go with a later run (XJ1)", async () => {
  const { run, archive, skip, claims } = await openMesh();
  const saga = await run("s1");
  expect(claims()).toHaveLength(1);
  expect(await archive([saga])).toEqual({ s1: "archived" });
  expect(claims()).toHaveLength(1);
  await skip(6 * day);
  expect(await archive([saga])).toEqual({ s1: "already" });
  expect(claims()).toHaveLength(1);
  await skip(2 * day);
  expect(await archive([saga], { isDryRun: true })).toEqual({ s1: "already" });
  expect(claims()).toHaveLength(1);
  expect(await archive([saga])).toEqual({ s1: "already" });
  expect(claims()).toEqual([]);
});

test("a saga that was long over leaves a tombstone and nothing else", async () => {
  const { run, archive, skip, claims, ledgers } = await openMesh();
  const saga = await run("s1");
  await skip(8 * day);
  expect(await archive([saga])).toEqual({ s1: "archived" });
  expect([claims(), ledgers()]).toEqual([[], [saga]]);
});

test("claims stay while a call of the saga lies in WORK, and go with a later run; another saga's holds nothing up (XJ2)", async () => {
  const { run, archive, skip, claims, ports, clock, mesh } = await openMesh();
  const sagas = [await run("s1"), await run("s2")];
  const ref = { name: place.name, contract: contractDigest(place) };
  const message = { data: Buffer.from("{}"), headers: { [headers.saga]: "s1" }, msgId: "again" };
  await clock.until(ports.work.publish(ref, message));
  await skip(8 * day);
  expect(await archive(sagas)).toEqual({ s1: "archived", s2: "archived" });
  expect(claims()).toEqual([expect.stringMatching(/^s1\./)]);
  await skip(8 * day);
  expect(await archive(sagas, { forgetAfterMs: day })).toEqual({ s1: "already", s2: "forgotten" });
  mesh.server.lose("work");
  expect(await archive(sagas.slice(0, 1))).toEqual({ s1: "already" });
  expect(claims()).toEqual([]);
});

test("an archiver that dies after the claims went is followed by one that archives the saga (XJ3)", async () => {
  const { run, archive, skip, claims, mesh } = await openMesh();
  const saga = await run("s1");
  const turns = mesh.server.ledger.after(saga, 0).length;
  await skip(8 * day);
  const dying = (own: Ports): Ports => ({
    ...own,
    claims: {
      ...own.claims,
      drop: async (of) => {
        await own.claims.drop(of);
        throw new Error("dead");
      },
    },
  });
  expect(await archive([saga], { change: dying })).toEqual({ s1: "failed" });
  expect([claims(), mesh.server.ledger.after(saga, 0).length]).toEqual([[], turns + 1]);
  expect(await archive([saga])).toEqual({ s1: "archived" });
  expect(mesh.server.ledger.after(saga, 0)).toHaveLength(1);
  expect((await readArchived(folder, saga)).messages).toHaveLength(turns);
});

test("a run over many asks once who has claims and snapshots, and takes away no more than there is", async () => {
  const { run, archive, skip, claims, mesh } = await openMesh();
  const sagas: SagaId[] = [];
  for (let k = 0; k < 40; k++) sagas.push(await run(`s${k}`, k % 20 === 0 ? placing : looking));
  mesh.server.shelves.putSnapshot(sagaId("s7"), Buffer.from("x"), "parked");
  expect(claims()).toHaveLength(2);
  await skip(8 * day);
  const asked: Record<string, number> = {};
  const counted = <P extends object>(name: string, port: P): P =>
    new Proxy(port, {
      get: (target, method, receiver) => {
        const value: unknown = Reflect.get(target, method, receiver);
        asked[`${name}.${String(method)}`] = (asked[`${name}.${String(method)}`] ?? 0) + 1;
        return value;
      },
    });
  const change = (own: Ports): Ports => ({
    ...own,
    claims: counted("claims", own.claims),
    snapshots: counted("snapshots", own.snapshots),
    work: counted("work", own.work),
  });
  expect(new Set(Object.values(await archive(sagas, { change })))).toEqual(new Set(["archived"]));
  expect(asked).toEqual({
    ...{ "claims.now": 1, "claims.sagas": 1, "claims.drop": 2, "work.waiting": 1 },
    ...{ "snapshots.sagas": 1, "snapshots.drop": 1 },
  });
  expect([claims(), mesh.server.shelves.snapshotKeys()]).toEqual([[], []]);
});

test("a tombstone goes only by word, once it is as old as was said; then its id begins anew, and its file stays (XJ4)", async () => {
  const { run, archive, skip, claims, ledgers } = await openMesh();
  const saga = await run("s1");
  await skip(8 * day);
  const forgetAfterMs = 40 * day;
  expect(await archive([saga], { forgetAfterMs })).toEqual({ s1: "archived" });
  await skip(39 * day);
  expect(await archive([saga], { forgetAfterMs })).toEqual({ s1: "already" });
  await run("s1");
  expect(performed).toHaveLength(1); // The start is known for what it is.
  await skip(2 * day);
  expect(await archive([saga])).toEqual({ s1: "already" });
  expect(await archive([saga], { forgetAfterMs, isDryRun: true })).toEqual({ s1: "due" });
  expect(ledgers()).toEqual([saga]);
  expect(await archive([saga], { forgetAfterMs })).toEqual({ s1: "forgotten" });
  expect([ledgers(), claims()]).toEqual([[], []]);
  expect((await readArchived(folder, saga)).manifest).toMatchObject({ saga, status: "completed" });
  await run("s1");
  expect(performed).toHaveLength(2);
  expect(new Set(performed).size).toBe(1); // The same decision has the same key.
});

test("of sagas that are not due those that were archived are seen to, and of no other more than its end is asked", async () => {
  const { run, archive, skip, claims, ledgers, mesh } = await openMesh();
  const sagas = [await run("s1"), await run("s2"), await run("s3"), await run("lives", waiting)];
  await archive(sagas.slice(0, 2)); // Their last turns are too young for their claims to go.
  await skip(40 * day);
  expect(claims()).toHaveLength(3);
  const process = mesh.spawn("archiver");
  const read: SagaId[] = [];
  const ledger: Ports["ledger"] = {
    ...process.ports.ledger,
    read: (saga, ...range) => (read.push(saga), process.ports.ledger.read(saga, ...range)),
  };
  const ports = { ...process.ports, ledger };
  const deps = { ...process, ports, by: "tester", folder, registered: { definitions: [], tools: [] } };
  const documents: ArchiveDocument[] = [];
  const options = { ...now, forgetAfterMs: 30 * day, signal: new AbortController().signal };
  const others = sagas.filter((saga) => saga !== sagaId("s2"));
  const work = seeToArchived(deps, others, options, (document) => documents.push(document));
  await drive(mesh, process.gate, work);
  expect(documents).toMatchObject([{ saga: "s1", outcome: "forgotten" }]);
  expect([...new Set(read)]).toEqual(["s1"]);
  expect(ledgers().sort()).toEqual(["lives", "s2", "s3"]);
  expect(claims().map((name) => name.split(".")[0])).toEqual(["s2", "s3"]);
});

test("a tombstone stays while the saga's parent lives (XJ4)", async () => {
  const { run, archive, skip, ports, mesh, clock, ledgers } = await openMesh();
  const [saga, parent] = [await run("s1"), await run("parent", waiting)];
  await skip(8 * day);
  await archive([saga]);
  await skip(40 * day);
  const tombstone = (await clock.until(findTombstone(ports, saga)))!;
  const { seq, storedAt } = mesh.server.ledger.after(saga, 0).at(-1)!;
  const see = (of: typeof tombstone) => {
    const deps = { ports, clock, now: clock.now };
    const options = { forgetAfterMs: 30 * day, isDryRun: false };
    return clock.until(seeToLeft(deps, createLeft(deps, 1), { tombstone: of, seq, storedAt }, options));
  };
  const child = { ...tombstone, parent: { saga: parent, intent: "1-0" as never } };
  expect(await see(child)).toMatchObject({ outcome: "already", reason: "its parent lives" });
  expect(await see({ ...child, parent: { saga, intent: "1-0" as never } })).toMatchObject({
    outcome: "forgotten",
  });
  expect(ledgers()).toEqual([parent]);
});
