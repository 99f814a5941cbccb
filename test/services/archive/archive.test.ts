/**
 * Archiving: what is in the file, what stays in the ledger, and what an input finds there. Nothing is lost wherever
 * the archiver dies, and no saga is archived that still lives.
 *
 * Method: sagas run on a memory mesh; the files are real. An archiver dies by a port that throws where it stands, as
 * a process would that is no more; the kill by a signal is in test/end-to-end/archive.test.ts.
 */
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool, NotPerformed } from "../../../actors/contract/tool.ts";
import type { ArchiveDocument } from "../../../protocol/documents/archive.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import { headers, subjects } from "../../../protocol/subjects.ts";
import { tombstoneEvent } from "../../../protocol/tombstone.ts";
import { archiveAll } from "../../../services/archive/all.ts";
import { openFolder } from "../../../services/archive/archive.ts";
import { readIndex } from "../../../services/archive/bundle.ts";
import { readArchive } from "../../../services/archive/file.ts";
import { openArchives, readSaga } from "../../../services/archive/folder.ts";
import type { ArchiveOptions } from "../../../services/archive/look.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { readRegistry, viewingBy } from "../../../services/client/registry.ts";
import { verifyLedger } from "../../../services/views/verify.ts";
import { readView } from "../../../services/views/view.ts";
import { startHost } from "../../../services/host/host.ts";
import { findTombstone } from "../../../services/ledger/reader.ts";
import { silentLog } from "../../../services/process/log.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import type { Ports, StoredMessage } from "../../../services/wire/ports.ts";
import { codeOf, sagaId } from "../../contract/mesh-under-test.ts";
import { archiveOne, drive, fileOfSaga, readArchived } from "../../support/archiving.ts";
import { calling, Of, sequence } from "../../support/workbench.ts";

const large = "z".repeat(200_000);
let performed: string[];
const place = defineTool({
  name: "place",
  description: "Places what it is told, once.",
  effect: "once",
  placement: "host",
  onDoubt: "model",
  compensation: "point_of_no_return",
  input: Of,
  output: z.object({ id: z.string(), text: z.string() }),
  perform: async ({ of }, { key }) => {
    if (of === "refuse") throw new NotPerformed("no", { retry: false });
    performed.push(key);
    if (of === "break") throw new Error("the line broke");
    return { id: key, text: of === "large" ? large : "" };
  },
});
const placing = calling(place);
/** Nobody serves its tool. */
const waiting = sequence(
  defineTool({ name: "idle", description: "Idles.", effect: "read", input: Of, output: z.json() }),
);
const app = defineApp({ sagas: [placing, waiting] });

let folder: string;
beforeEach(async () => {
  performed = [];
  folder = await mkdtemp(join(tmpdir(), "sagamesh-archive-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const now: ArchiveOptions = { afterMs: 0, isForced: false, isDryRun: false };
const month = 30 * 86_400_000;

/** A mesh with a host, a client, and as many archivers as are called. */
async function openMesh() {
  const mesh = createMemoryMesh({ seed: 1 });
  const { clock } = mesh;
  const hostProcess = mesh.spawn("host");
  const common = { log: silentLog, incarnation: "host", callbackBase: "sagamesh:" };
  await clock.until(startHost({ ...hostProcess, ...common }, app));
  const outside = mesh.spawn("client");
  const client = createClient({ ...outside, from: "tester" }, async () => undefined);
  const { ports } = outside;

  const registered = await clock.until(readRegistry(ports.registry));
  let archivers = 0;
  const archiver = (change: (ports: Ports) => Ports = (own) => own) => {
    const process = mesh.spawn(`archiver-${archivers++}`);
    const deps = {
      ...process,
      ports: change(process.ports),
      by: "tester",
      folder,
      registered,
    };
    return {
      deps,
      archive: (saga: SagaId, options: ArchiveOptions = now) =>
        drive(mesh, process.gate, archiveOne(deps, saga, options)),
      drive: <T>(work: Promise<T>) => drive(mesh, process.gate, work),
    };
  };
  const settled = async () => {
    for (let quiet = 0; quiet < 3; quiet = mesh.server.open().inbox === 0 ? quiet + 1 : 0)
      await clock.advance(500);
  };
  return {
    mesh,
    ports,
    client,
    archiver,
    settled,
    /** Lets time go by that the host spends frozen. */
    skip: async (ms: number) => {
      hostProcess.gate.pause();
      await clock.run({ until: clock.now() + ms });
      hostProcess.gate.resume();
    },
    until: <T>(work: Promise<T>) => clock.until(work),
    run: async (id: string, of: string): Promise<SagaId> => {
      await clock.until(client.start(placing, { of }, { id }));
      await settled();
      return sagaId(id);
    },
    messages: (saga: SagaId): StoredMessage[] => mesh.server.ledger.after(saga, 0),
    publish: async (subject: string, body: unknown) => {
      await clock.until(
        ports.inbox.publish({ subject, data: Buffer.from(JSON.stringify(body)), headers: {} }),
      );
      await settled();
    },
    reasons: () => mesh.server.dead.list().map((letter) => letter.headers[headers.reason] ?? ""),
  };
}

const fileOf = (saga: SagaId) => fileOfSaga(folder, saga);
const bundleNamed = expect.stringMatching(/^archived-[\dT-]+-\w{1,8}\.jsonl\.gz$/) as string;
const bytesOf = (messages: readonly StoredMessage[]) =>
  messages.map(({ seq, storedAt, headers: fields, data }) => [
    seq,
    storedAt,
    fields,
    Buffer.from(data).toString(),
  ]);

describe("an archived saga", () => {
  test("is in its file byte for byte, and only a tombstone is left in its ledger", async () => {
    const { run, archiver, messages, ports, until } = await openMesh();
    const saga = await run("s1", "rome");
    const before = messages(saga);
    expect(before.length).toBeGreaterThan(1);
    const document = await archiver().archive(saga);
    expect(document).toMatchObject({ outcome: "archived", turns: before.length, file: bundleNamed });
    const archive = await readArchived(folder, saga);
    expect(bytesOf(archive.messages)).toEqual(bytesOf(before));
    expect(messages(saga)).toHaveLength(1);
    expect(await until(findTombstone(ports, saga))).toMatchObject({
      turns: before.length,
      prev: archive.manifest.head.hash,
      end: { status: "completed" },
      unsettled: {},
    });
  });

  test("has a tombstone behind what somebody else published after its last turn, and none of that is left", async () => {
    const { run, archiver, messages, mesh } = await openMesh();
    const saga = await run("s1", "rome");
    const turns = messages(saga).length;
    const foreign = { data: Buffer.from("hello"), headers: {}, subject: subjects.ledger(saga) };
    mesh.server.ledger.append(foreign, () => undefined);
    await mesh.clock.advance(100);
    expect(messages(saga)).toHaveLength(turns + 1);
    expect(await archiver().archive(saga)).toMatchObject({ outcome: "archived", turns });
    expect(messages(saga)).toHaveLength(1);
    expect((await readArchived(folder, saga)).messages).toHaveLength(turns);
  });

  test("reads and verifies in its file as it did in the ledger, large values included", async () => {
    const { run, archiver, ports, until, mesh } = await openMesh();
    const saga = await run("s1", "large");
    const viewing = viewingBy(await until(readRegistry(ports.registry)));
    const view = await until(readView(ports, saga, viewing));
    expect(JSON.stringify(view)).toContain(large);
    await archiver().archive(saga);
    const { source, manifest } = await readArchived(folder, saga);
    expect(mesh.server.ledger.list()).toEqual([{ saga, turns: 1 }]);
    const { tools } = manifest;
    expect(await readView(source, saga, viewingBy({ definitions: [], tools }))).toEqual(view);
    expect(await verifyLedger(source, saga, app)).toMatchObject({ ok: true, folded: true, findings: [] });
  });

  test("is told as archived to whoever asks for its turns, and as it ended to whoever asks for its end", async () => {
    const { run, archiver, ports, until, client } = await openMesh();
    const saga = await run("s1", "rome");
    const handle = client.saga(placing, saga);
    const end = await until(handle.result());
    await archiver().archive(saga);
    expect(await codeOf(until(readView(ports, saga)))).toBe("SAGA_ARCHIVED");
    expect(await codeOf(until(verifyLedger(ports, saga)))).toBe("SAGA_ARCHIVED");
    expect(await codeOf(until(handle.entries()[Symbol.asyncIterator]().next()))).toBe("SAGA_ARCHIVED");
    expect(await until(handle.result())).toEqual(end);
    expect(await until(client.tasks())).toEqual([]);
  });

  test("is not started again by a late duplicate of its start, nor by a start with another input", async () => {
    const { run, archiver, publish, messages, reasons, mesh, client, until } = await openMesh();
    const saga = await run("s1", "rome");
    await archiver().archive(saga);
    await publish("saga.s1.start", { name: "calling", input: { of: "rome" } });
    expect(reasons()).toEqual([]);
    await publish("saga.s1.start", { name: "calling", input: { of: "oslo" } });
    expect(reasons()).toEqual([expect.stringMatching(/^\[SAGA_ID_TAKEN\]/)]);
    expect(performed).toHaveLength(1);
    expect(messages(saga)).toHaveLength(1);
    expect(mesh.server.open().inbox).toBe(0);
    expect(await codeOf(until(client.start(placing, { of: "oslo" }, { id: "s1" })))).toBe("SAGA_ID_TAKEN");
    const again = await until(client.start(placing, { of: "rome" }, { id: "s1" }));
    expect((await until(again.result())).status).toBe("completed");
  });

  test("takes a repeated result for known, and sets aside one that would have corrected it", async () => {
    const { run, archiver, publish, reasons, mesh } = await openMesh();
    const done = await run("done", "rome");
    const failed = await run("failed", "refuse");
    for (const saga of [done, failed]) expect((await archiver().archive(saga)).outcome).toBe("archived");
    const said = { attempt: 1, by: "w", outcome: "succeeded", output: { id: "k", text: "" } };
    await publish("saga.done.result.1-0", said);
    await publish("saga.failed.result.1-0", {
      attempt: 1,
      by: "w",
      outcome: "failed",
      code: "X",
      reason: "no",
    });
    expect(reasons()).toEqual([]);
    await publish("saga.failed.result.1-0", said);
    await publish("saga.done.result.99-0", said);
    await publish("saga.done.signal.cancel", {});
    expect(reasons().map((reason) => /^\[(\w+)\]/.exec(reason)?.[1])).toEqual([
      "SAGA_ARCHIVED",
      "INTENT_UNKNOWN",
      "SAGA_ENDED",
    ]);
    expect(mesh.server.open().inbox).toBe(0);
  });

  test("is archived for a host that still has it in memory", async () => {
    const { archiver, publish, messages, client, reasons, until } = await openMesh();
    const handle = await until(client.start(placing, { of: "refuse" }, { id: "s1" }));
    await until(handle.result());
    const saga = handle.id;
    await archiver().archive(saga);
    // The host lingers with the state of before: its append must be refused, not stored behind the tombstone.
    await publish("saga.s1.result.1-0", {
      attempt: 1,
      by: "w",
      outcome: "succeeded",
      output: { id: "k", text: "" },
    });
    expect(messages(saga)).toHaveLength(1);
    expect((await until(client.saga(placing, saga).result())).status).toBe("failed");
    expect(reasons()).toHaveLength(1);
  });
});

describe("what is not archived", () => {
  test("a saga whose last turn is young, and one in doubt, stay as they are until they are old or forced", async () => {
    const { run, archiver, messages, ports, until, skip } = await openMesh();
    const doubt = await run("doubt", "break");
    const young = await run("young", "rome");
    const view = await until(readView(ports, doubt));
    expect(view).toMatchObject({ status: "failed", effects: [{ outcome: "in_doubt" }] });
    const before = new Map([doubt, young].map((saga) => [saga, messages(saga).length]));
    expect(await archiver().archive(doubt)).toMatchObject({
      outcome: "kept",
      reason: expect.stringContaining("doubt"),
    });
    expect(await archiver().archive(young, { ...now, afterMs: month })).toMatchObject({ outcome: "kept" });
    for (const [saga, turns] of before) expect(messages(saga)).toHaveLength(turns);
    expect(await readdir(folder)).toEqual([]);
    await skip(month);
    expect(await archiver().archive(young, { ...now, afterMs: month })).toMatchObject({
      outcome: "archived",
    });
    expect(await archiver().archive(doubt, { ...now, isForced: true })).toMatchObject({
      outcome: "archived",
    });
    expect(await until(findTombstone(ports, doubt))).toMatchObject({ unsettled: { "1-0": "in_doubt" } });
  });

  test("a saga whose last turn is young, though something that says it is a tombstone stands behind it", async () => {
    const { run, archiver, messages, mesh } = await openMesh();
    const saga = await run("s1", "rome");
    const [{ data } = { data: Buffer.from("") }] = messages(saga);
    const turns = messages(saga).length;
    const forged = { data, headers: { [headers.event]: tombstoneEvent }, subject: subjects.ledger(saga) };
    mesh.server.ledger.append(forged, () => undefined);
    await mesh.clock.advance(100);
    expect(await archiver().archive(saga, { ...now, afterMs: month })).toMatchObject({ outcome: "kept" });
    expect(messages(saga)).toHaveLength(turns + 1);
    expect(await archiver().archive(saga)).toMatchObject({ outcome: "archived", turns });
  });

  test("a saga that runs is kept however old its last turn is", async () => {
    const { archiver, messages, until, client, settled, skip } = await openMesh();
    const { id } = await until(client.start(waiting, null, { id: "s1" }));
    await settled();
    await skip(10 * month);
    const turns = messages(id).length;
    expect(turns).toBeGreaterThan(0);
    for (const isForced of [false, true])
      expect(await archiver().archive(id, { ...now, isForced })).toMatchObject({
        outcome: "kept",
        reason: "it has not ended",
      });
    expect(messages(id)).toHaveLength(turns);
  });

  test("a dry run says what is due and changes nothing", async () => {
    const { run, archiver, messages } = await openMesh();
    const saga = await run("s1", "rome");
    const before = bytesOf(messages(saga));
    expect(await archiver().archive(saga, { ...now, isDryRun: true })).toMatchObject({ outcome: "due" });
    expect(bytesOf(messages(saga))).toEqual(before);
    expect(await readdir(folder)).toEqual([]);
  });

  test.each(["snapshots.drop", "ledger.append"])(
    "a turn that comes at %s, with the file written, refuses the tombstone and is archived too",
    async (point) => {
      const { run, archiver, messages, ports, until } = await openMesh();
      const saga = await run("s1", "break");
      const turns = messages(saga).length;
      const [port, method] = point.split(".") as ["ledger", "append"];
      let calls = 0;
      const late = archiver((own) => {
        const call = own[port][method] as (...args: unknown[]) => Promise<unknown>;
        const overtaken = async (...args: unknown[]) => {
          if (calls++ === 0) {
            const body = { attempt: 1, by: "w", outcome: "succeeded", output: { id: "k", text: "late" } };
            const data = Buffer.from(JSON.stringify(body));
            await own.inbox.publish({ subject: "saga.s1.result.1-0", data, headers: {} });
            for (let n = 0; n < 100 && messages(saga).length === turns; n++) await own.claims.now();
          }
          return call(...args);
        };
        return { ...own, [port]: { ...own[port], [method]: overtaken } } as Ports;
      });
      expect(await late.archive(saga, { ...now, isForced: true })).toMatchObject({
        outcome: "archived",
        turns: turns + 1,
      });
      expect(calls).toBe(2);
      const { source } = await readArchived(folder, saga);
      expect(JSON.stringify(await readView(source, saga))).toContain("late");
      expect(await until(findTombstone(ports, saga))).toMatchObject({ turns: turns + 1, unsettled: {} });
    },
  );
});

describe("an archiver that dies", () => {
  /** `blobs.get` is called by who reads the ledger, and then by who writes the file. */
  const points = [
    ["blobs.get", 1],
    ["blobs.get", "last"],
    ["snapshots.drop", 1],
    ["ledger.append", 1],
    ["ledger.purgeBefore", 1],
  ] as const;
  const dyingAt = (point: string, when: "before" | "after", nth = 1) => {
    const [port, method] = point.split(".") as ["ledger", "append"];
    let calls = 0;
    const change = (own: Ports): Ports => {
      const call = own[port][method] as (...args: unknown[]) => Promise<unknown>;
      const doomed = async (...args: unknown[]) => {
        calls += 1;
        if (calls > nth || (calls === nth && when === "before")) throw new Error("dead");
        const answer = await call(...args);
        if (calls === nth) throw new Error("dead");
        return answer;
      };
      return { ...own, [port]: { ...own[port], [method]: doomed } } as Ports;
    };
    return { change, calls: () => calls };
  };
  /** How often it is called when nobody dies. */
  const callsOf = async (point: string): Promise<number> => {
    const { run, archiver } = await openMesh();
    const counted = dyingAt(point, "before", Number.POSITIVE_INFINITY);
    await archiver(counted.change).archive(await run("s1", "large"));
    await rm(await fileOfSaga(folder, sagaId("s1")));
    performed = [];
    return counted.calls();
  };

  test.each(
    points.flatMap(([point, nth]) => [[point, nth, "before"] as const, [point, nth, "after"] as const]),
  )("at %s (%s, %s) has lost nothing, and the next one ends what it began", async (point, nth, when) => {
    const place = nth === "last" ? await callsOf(point) : nth;
    const { run, archiver, messages, reasons, publish, ports, until } = await openMesh();
    const saga = await run("s1", "large");
    const before = bytesOf(messages(saga));
    await expect(archiver(dyingAt(point, when, place).change).archive(saga)).rejects.toThrow("dead");
    const left = bytesOf(messages(saga)).slice(0, before.length);
    // Until they are purged, the turns are where they were; once they are, a whole file has them.
    if (left.length < before.length)
      expect(bytesOf((await readArchived(folder, saga)).messages)).toEqual(before);
    else expect(left).toEqual(before);
    const { outcome } = await archiver().archive(saga);
    expect(outcome).toBe(point === "ledger.purgeBefore" && when === "after" ? "already" : "archived");
    const archive = await readArchived(folder, saga);
    expect(bytesOf(archive.messages)).toEqual(before);
    expect((await verifyLedger(archive.source, saga, app)).ok).toBe(true);
    expect(messages(saga)).toHaveLength(1);
    expect(await until(findTombstone(ports, saga))).toMatchObject({ prev: archive.manifest.head.hash });
    await publish("saga.s1.start", { name: "calling", input: { of: "large" } });
    expect([performed.length, reasons()]).toEqual([1, []]);
  });

  test("between tombstone and purge leaves a saga that is archived for every input", async () => {
    const { run, archiver, messages, publish, reasons } = await openMesh();
    const saga = await run("s1", "refuse");
    await expect(archiver(dyingAt("ledger.purgeBefore", "before").change).archive(saga)).rejects.toThrow(
      "dead",
    );
    const held = messages(saga).length;
    await publish("saga.s1.result.1-0", {
      attempt: 1,
      by: "w",
      outcome: "succeeded",
      output: { id: "k", text: "" },
    });
    expect(messages(saga)).toHaveLength(held);
    expect(reasons()).toEqual([expect.stringMatching(/^\[SAGA_ARCHIVED\]/)]);
  });

  test("leaves a draft that is cleared once it is old, and is never taken for an archive", async () => {
    const { run, archiver } = await openMesh();
    const saga = await run("s1", "rome");
    const draft = join(folder, ".archived-x.jsonl.gz.draft");
    await writeFile(draft, "half");
    await archiver().archive(saga);
    await openFolder(folder, Date.now());
    expect((await readdir(folder)).sort()).toEqual([".archived-x.jsonl.gz.draft", bundleNamed]);
    await utimes(draft, new Date(0), new Date(0));
    await openFolder(folder, Date.now());
    expect(await readdir(folder)).toEqual([bundleNamed]);
  });
});

describe("two archivers at once", () => {
  test("of which one purges while the other reads leave nothing to do to that one", async () => {
    const { run, archiver, messages } = await openMesh();
    const saga = await run("s1", "rome");
    const rival = archiver();
    let reads = 0;
    const slow = archiver((own) => ({
      ...own,
      ledger: {
        ...own.ledger,
        read: async (...range) => {
          if (reads++ === 0) expect((await rival.archive(saga)).outcome).toBe("archived");
          return own.ledger.read(...range);
        },
      },
    }));
    expect((await slow.archive(saga)).outcome).toBe("already");
    expect(messages(saga)).toHaveLength(1);
  });

  test.each(["the same folder", "folders of their own"])(
    "with %s leave whole files and one tombstone",
    async (where) => {
      const { run, archiver, messages, until, ports } = await openMesh();
      const saga = await run("s1", "large");
      const before = bytesOf(messages(saga));
      const other = where === "the same folder" ? folder : await mkdtemp(join(folder, "other-"));
      const [first, second] = [archiver(), archiver()];
      const documents = await Promise.all([
        first.archive(saga),
        second.drive(archiveOne({ ...second.deps, folder: other }, saga, now)),
      ]);
      for (const { outcome } of documents) expect(["archived", "already"]).toContain(outcome);
      expect(documents.map(({ outcome }) => outcome)).toContain("archived");
      expect(messages(saga)).toHaveLength(1);
      expect(await until(findTombstone(ports, saga))).toMatchObject({ turns: before.length });
      for (const [index, place] of [folder, other].entries())
        if (documents[index]?.outcome === "archived")
          expect(bytesOf((await readArchived(place, saga)).messages)).toEqual(before);
    },
  );
});

describe("an archive's file", () => {
  const archived = async (of = "large") => {
    const opened = await openMesh();
    const saga = await opened.run("s1", of);
    await opened.archiver().archive(saga);
    return { ...opened, saga };
  };
  /** Changes the file's text and packs it again. */
  const change = async (path: string, edit: (text: string) => string) =>
    writeFile(path, gzipSync(edit(gunzipSync(await readFile(path)).toString())));

  test("is lines of JSON that begin with a manifest", async () => {
    const { saga } = await archived("rome");
    const [manifest, ...lines] = gunzipSync(await readFile(await fileOf(saga)))
      .toString()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(manifest).toMatchObject({ format: "sagamesh.archive", v: 1, saga: "s1", status: "completed" });
    expect(lines).toHaveLength((manifest?.["turns"] as number) + 1);
    expect(lines.at(-1)).toMatchObject({ format: "sagamesh.index", blocks: [{ at: 0, sagas: ["s1"] }] });
    expect(JSON.parse(lines[0]?.["body"] as string)).toMatchObject({ saga: "s1", turn: 1 });
  });

  test("that was changed, cut or emptied is found to be", async () => {
    const { saga } = await archived();
    const path = await fileOf(saga);
    const whole = await readFile(path);
    await change(path, (text) => text.replace('\\"of\\":\\"large\\"', '\\"of\\":\\"LARGE\\"'));
    const { findings } = await verifyLedger((await readArchive(path)).source, saga);
    expect(findings).toContainEqual(expect.objectContaining({ turn: 2, code: "LEDGER_BROKEN" }));
    for (const damaged of [whole.subarray(0, whole.length - 20), Buffer.from("not gzip"), gzipSync("")]) {
      await writeFile(path, damaged);
      expect(await codeOf(readArchive(path))).toBe("ARCHIVE_BROKEN");
    }
    await writeFile(path, whole);
    await change(path, (text) => text.replace(/\n\{"blob"[^\n]*\n/, "\n"));
    expect((await verifyLedger((await readArchive(path)).source, saga)).ok).toBe(false);
    await writeFile(path, whole);
    await change(path, (text) => text.split("\n").toSpliced(2, 1).join("\n"));
    expect(await codeOf(readArchive(path))).toBe("ARCHIVE_BROKEN");
  });

  test("of another mesh's saga of the same id is not written over, and the tombstone tells which is meant", async () => {
    const { saga } = await archived("rome");
    const path = await fileOf(saga);
    const theirs = await readFile(path);
    const { run, archiver, messages, ports, until } = await openMesh();
    await run("s1", "oslo");
    const before = messages(saga);
    expect(await archiver().archive(saga)).toMatchObject({ outcome: "archived" });
    expect(await readFile(path)).toEqual(theirs);
    const tombstone = await until(findTombstone(ports, saga));
    const archives = openArchives(folder);
    const ours = await archives.find(saga, tombstone?.file);
    expect(ours).not.toBe(path);
    expect(bytesOf((await readSaga(archives, ours!, saga)).messages)).toEqual(bytesOf(before));
  });

  /** Ports that give a blob's bytes wrongly from the n-th time on: what the disk would do to the file. */
  const damaging = (nth: number) => {
    let calls = 0;
    return (own: Ports): Ports => ({
      ...own,
      blobs: {
        ...own.blobs,
        get: async (digest) => {
          const bytes = Buffer.from(await own.blobs.get(digest));
          calls += 1;
          if (calls >= nth) bytes.write("Z", bytes.length >> 1);
          return bytes;
        },
      },
    });
  };

  test("that does not hold what the ledger does never gets its name, and nothing is purged", async () => {
    const { run, archiver, messages } = await openMesh();
    const saga = await run("s1", "large");
    const before = bytesOf(messages(saga));
    const count = { calls: 0 };
    await archiver((own) => ({
      ...own,
      ledger: { ...own.ledger, append: () => Promise.reject(new Error("dead")) },
      blobs: { ...own.blobs, get: (digest) => ((count.calls += 1), own.blobs.get(digest)) },
    }))
      .archive(saga)
      .catch(() => undefined);
    await rm(await fileOf(saga));
    expect(await codeOf(archiver(damaging(count.calls)).archive(saga))).toBe("ARCHIVE_BROKEN");
    expect(bytesOf(messages(saga))).toEqual(before);
    expect(await readdir(folder)).toEqual([]);
    expect((await archiver().archive(saga)).outcome).toBe("archived");
  });

  test("that an archiver has left before it died, and was damaged since, is not relied on", async () => {
    const { run, archiver, messages, until, ports } = await openMesh();
    const saga = await run("s1", "large");
    const before = bytesOf(messages(saga));
    const dying = (own: Ports): Ports => ({
      ...own,
      ledger: { ...own.ledger, append: () => Promise.reject(new Error("dead")) },
    });
    await expect(archiver(dying).archive(saga)).rejects.toThrow("dead");
    const left = await fileOf(saga);
    await writeFile(left, "something else");
    expect((await archiver().archive(saga)).outcome).toBe("archived");
    expect(bytesOf((await readArchived(folder, saga)).messages)).toEqual(before);
    expect((await until(findTombstone(ports, saga)))?.file).not.toBe(basename(left));
  });

  test("is not made of a ledger that is not whole", async () => {
    const { run, archiver, mesh } = await openMesh();
    const saga = await run("s1", "rome");
    const [, second] = mesh.server.ledger.after(saga, 0);
    const headersThen = { ...second?.headers, [headers.trace]: "00-0-0-01" };
    const lying = (own: Ports): Ports => ({
      ...own,
      ledger: {
        ...own.ledger,
        read: async (...range) =>
          (await own.ledger.read(...range)).map((message) =>
            message.seq === second?.seq ? { ...message, headers: headersThen } : message,
          ),
      },
    });
    expect(await codeOf(archiver(lying).archive(saga))).toBe("LEDGER_BROKEN");
    expect(await readdir(folder)).toEqual([]);
  });

  test("that cannot be written is told with its folder, and nothing is purged", async () => {
    const { run, archiver, messages } = await openMesh();
    const saga = await run("s1", "rome");
    const before = messages(saga).length;
    await rm(folder, { recursive: true });
    expect(await codeOf(archiver().archive(saga))).toBe("ARCHIVE_UNWRITABLE");
    expect(messages(saga)).toHaveLength(before);
  });
});

describe("archiving many", () => {
  test("asks the server for no more than a look, a read, a tombstone and two purges of each saga, and once for the time", async () => {
    const { run, archiver } = await openMesh();
    const sagas: SagaId[] = [];
    for (const id of ["a", "b", "c"]) sagas.push(await run(id, "rome"));
    const asked: Record<string, number> = {};
    const counted = <P extends object>(name: string, port: P): P =>
      new Proxy(port, {
        get: (target, method, receiver) => {
          const call: unknown = Reflect.get(target, method, receiver);
          const key = `${name}.${String(method)}`;
          if (typeof call !== "function") return call;
          return (...args: unknown[]): unknown => {
            asked[key] = (asked[key] ?? 0) + 1;
            return Reflect.apply(call, target, args);
          };
        },
      });
    const { deps, drive } = archiver((own) => ({
      ...own,
      ledger: counted("ledger", own.ledger),
      snapshots: counted("snapshots", own.snapshots),
      claims: counted("claims", own.claims),
    }));
    const options = { ...now, signal: new AbortController().signal };
    await drive(archiveAll(deps, sagas, options, () => undefined));
    expect(asked).toEqual({
      "claims.now": 1,
      "ledger.last": 3,
      "ledger.read": 3,
      "snapshots.drop": 3,
      "ledger.append": 3,
      "ledger.purgeBefore": 3,
    });
    for (const key of Object.keys(asked)) delete asked[key];
    await drive(archiveAll(deps, sagas, options, () => undefined));
    expect(asked).toEqual({ "claims.now": 1, "ledger.last": 3, "ledger.read": 3 });
  });

  test("what fails for one is told and hinders no other", async () => {
    const { run, archiver, mesh } = await openMesh();
    const sagas: SagaId[] = [];
    for (const id of ["a", "b", "c"]) sagas.push(await run(id, "rome"));
    const documents: ArchiveDocument[] = [];
    const { deps, drive } = archiver((own) => ({
      ...own,
      ledger: {
        ...own.ledger,
        read: async (...range) =>
          (await own.ledger.read(...range)).map((message) =>
            range[0] === "b"
              ? { ...message, headers: { ...message.headers, [headers.trace]: "x" } }
              : message,
          ),
      },
    }));
    const options = { ...now, signal: new AbortController().signal };
    await drive(archiveAll(deps, sagas, options, (document) => documents.push(document)));
    expect(Object.fromEntries(documents.map(({ saga, outcome }) => [saga, outcome]))).toEqual({
      a: "archived",
      b: "failed",
      c: "archived",
    });
    expect(mesh.server.ledger.list().filter(({ turns }) => turns === 1)).toHaveLength(2);
    const [bundle, ...others] = await readdir(folder);
    expect([bundle, others]).toEqual([bundleNamed, []]);
    expect((await readIndex(join(folder, bundle!)))?.blocks.flatMap(({ sagas: of }) => of).sort()).toEqual([
      "a",
      "c",
    ]);
  });
});
