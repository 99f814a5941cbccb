/**
 * What is kept by name: snapshots, blobs, registered documents and the list of hosts.
 *
 * Nothing is decided by any of these but the throttles and the documents that change, so the others have no sequences and
 * no compare-and-set: the last write counts, and what is named by its content is written once.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { VirtualClock } from "./clock.ts";
import type { RowsHolder, StoredRow } from "../wire/ports.ts";
import { payloadBytesMax } from "./stream.ts";

/** A value, and how often it was written. */
interface Versioned {
  readonly data: Uint8Array;
  readonly revision: number;
}

export interface Shelves {
  getSnapshot(saga: SagaId, name?: string): Uint8Array | undefined;
  putSnapshot(saga: SagaId, data: Uint8Array, name?: string): void;
  dropSnapshots(saga: SagaId): void;
  /** Each begins with its saga's id and a dot. */
  snapshotKeys(): string[];
  getBlob(digest: string): Uint8Array;
  putBlob(digest: string, bytes: Uint8Array): void;
  listDocuments(): { key: string; data: Uint8Array }[];
  putDocument(key: string, data: Uint8Array): void;
  readDocument(key: string): Versioned | undefined;
  /** Returns the new revision. Throws WRONG_SEQUENCE unless the revision still is this; 0: none. */
  writeDocument(key: string, data: Uint8Array, revision: number): number;
  getThrottle(key: string): Versioned | undefined;
  /** Throws WRONG_SEQUENCE unless the revision still is this; 0: none. */
  putThrottle(key: string, data: Uint8Array, revision: number): void;
  listThrottles(): { key: string; data: Uint8Array }[];
  getSuspect(key: string): Versioned | undefined;
  putSuspect(key: string, data: Uint8Array, ttlMs: number): number;
  removeSuspect(key: string, revision: number): void;
  /** Without data it is taken away. The same Msg-Id is known for ever here. */
  putRow(key: string, data: Uint8Array | undefined, msgId: string): void;
  getRow(key: string): StoredRow | undefined;
  /** Those whose keys fit the pattern and that were written after the place, the oldest first. */
  rows(pattern: string, afterPlace?: number): StoredRow[];
  rowsHolder(): RowsHolder;
  /** The pin's new place. Throws WRONG_SEQUENCE unless it stands there; 0: there is none. */
  pinRows(from: number): number;
  /** Takes all rows away, as one who deletes what holds them; or, who empties it, and leaves it there. */
  loseRows(how?: "deleted" | "emptied"): void;
  /** Remembers the rows as they are: what it gives puts them back, as one who restores a copy. */
  copyRows(): () => void;
  beat(host: string, data: Uint8Array, ttlMs: number): void;
  leave(host: string): void;
  /** False unless the revision still is this. */
  removeHost(host: string, revision: number): boolean;
  hosts(): { host: string; data: Uint8Array; revision: number }[];
  /** Calls back at each beat and departure; returns the end of it. */
  watchHosts(hear: (heard: { host: string; data: Uint8Array | undefined }) => void): () => void;
}

export function createShelves(clock: VirtualClock, isFull: () => boolean): Shelves {
  const snapshots = new Map<string, Uint8Array>();
  const blobs = new Map<string, Uint8Array>();
  const suspects = new Map<string, { data: Uint8Array; revision: number; until: number }>();
  let suspectsWritten = 0;

  const write = (what: string, act: () => void, bytes = 0) => {
    if (bytes > payloadBytesMax)
      throw new MeshError("TOO_LARGE", `${what}: ${bytes} bytes are over the server's max_payload`);
    if (isFull()) throw new MeshError("STORAGE_FULL", `${what}: the server's storage is full`);
    act();
  };
  const documents = createVersioned(write);
  const throttles = createVersioned(write);
  return {
    getSnapshot: (saga, name = "") => snapshots.get(`${saga}.${name}`),
    putSnapshot: (saga, data, name = "") =>
      write(`snapshot of ${saga}`, () => snapshots.set(`${saga}.${name}`, data), data.length),
    dropSnapshots: (saga) => {
      for (const name of snapshots.keys()) if (name.startsWith(`${saga}.`)) snapshots.delete(name);
    },
    snapshotKeys: () => [...snapshots.keys()],
    getBlob: (digest) => {
      const bytes = blobs.get(digest);
      if (bytes === undefined) throw new MeshError("LEDGER_BROKEN", `blob ${digest} is not stored`);
      return bytes;
    },
    putBlob: (digest, bytes) => write(`blob ${digest}`, () => blobs.set(digest, bytes)),
    listDocuments: documents.list,
    putDocument: (key, data) => void documents.write(key, data, documents.read(key)?.revision ?? 0),
    readDocument: documents.read,
    writeDocument: documents.write,
    getThrottle: throttles.read,
    putThrottle: (key, data, revision) => void throttles.write(key, data, revision),
    listThrottles: throttles.list,
    getSuspect: (key) => {
      const present = suspects.get(key);
      if (present === undefined || present.until <= clock.now()) return undefined;
      return { data: present.data, revision: present.revision };
    },
    putSuspect: (key, data, ttlMs) => {
      suspectsWritten += 1;
      const revision = suspectsWritten;
      write(key, () => suspects.set(key, { data, revision, until: clock.now() + ttlMs }), data.length);
      return revision;
    },
    removeSuspect: (key, revision) => {
      if ((suspects.get(key)?.revision ?? 0) <= revision) suspects.delete(key);
    },
    ...createRows(write),
    ...createHosts(clock, write),
  };
}

type Write = (what: string, act: () => void, bytes?: number) => void;

/** The rows of the listing. A pattern is one of subjects: `*` is any token. */
function createRows(
  write: Write,
): Pick<Shelves, "putRow" | "getRow" | "rows" | "rowsHolder" | "pinRows" | "loseRows" | "copyRows"> {
  let rows = new Map<string, StoredRow>();
  let known = new Set<string>();
  let place = 0;
  let made = 1;
  let pin: number | undefined;
  return {
    putRow: (key, data, msgId) =>
      write(key, () => {
        if (known.has(msgId)) return;
        known.add(msgId);
        rows.delete(key); // The one written last stands last.
        if (data !== undefined) rows.set(key, { key, data, place: (place += 1) });
      }),
    getRow: (key) => rows.get(key),
    rows: (pattern, afterPlace = 0) => {
      const wanted = pattern.split(".");
      const fits = (key: string) =>
        key.split(".").every((token, at) => wanted[at] === "*" || wanted[at] === token);
      return [...rows.values()].filter((row) => row.place > afterPlace && fits(row.key));
    },
    rowsHolder: () => ({ made: String(made), pin }),
    pinRows: (from) => {
      if (from !== (pin ?? 0))
        throw new MeshError("WRONG_SEQUENCE", `pin: expected ${from}, got ${pin ?? 0}`);
      write("pin", () => (pin = place += 1));
      return place;
    },
    loseRows: (how = "deleted") => {
      rows.clear();
      known.clear();
      pin = undefined;
      if (how === "deleted") [made, place] = [made + 1, 0];
    },
    copyRows: () => {
      const copy = { rows: new Map(rows), known: new Set(known), place, pin };
      return () => ({ rows, known, place, pin } = copy);
    },
  };
}

/** What hosts say of themselves. */
function createHosts(
  clock: VirtualClock,
  write: Write,
): Pick<Shelves, "beat" | "leave" | "removeHost" | "watchHosts" | "hosts"> {
  const hosts = new Map<string, { data: Uint8Array; revision: number; until: number }>();
  const watchers = new Set<(heard: { host: string; data: Uint8Array | undefined }) => void>();
  let beats = 0;
  const leave = (host: string) => {
    hosts.delete(host);
    for (const hear of watchers) hear({ host, data: undefined });
  };
  return {
    beat: (host, data, ttlMs) => {
      const revision = (beats += 1);
      write(host, () => hosts.set(host, { data, revision, until: clock.now() + ttlMs }), data.length);
      for (const hear of watchers) hear({ host, data });
    },
    leave,
    removeHost: (host, revision) => {
      const isThis = hosts.get(host)?.revision === revision;
      if (isThis) leave(host);
      return isThis;
    },
    watchHosts: (hear) => {
      watchers.add(hear);
      return () => void watchers.delete(hear);
    },
    hosts: () => {
      for (const [host, { until }] of hosts) if (until <= clock.now()) hosts.delete(host);
      return [...hosts].map(([host, { data, revision }]) => ({ host, data, revision }));
    },
  };
}

/** Values that change by compare-and-set. */
function createVersioned(store: (what: string, act: () => void, bytes: number) => void) {
  const kept = new Map<string, Versioned>();
  return {
    read: (key: string) => kept.get(key),
    list: () => [...kept].map(([key, { data }]) => ({ key, data })),
    write: (key: string, data: Uint8Array, expected: number): number => {
      const present = kept.get(key)?.revision ?? 0;
      if (present !== expected)
        throw new MeshError("WRONG_SEQUENCE", `${key}: expected revision ${expected}, got ${present}`);
      store(key, () => kept.set(key, { data, revision: present + 1 }), data.length);
      return present + 1;
    },
  };
}
