/**
 * What is kept by name: snapshots, blobs, registered documents and the list of hosts.
 *
 * Nothing is decided by any of these, so they have no sequences and no compare-and-set: the last write counts,
 * and what is named by its content is written once.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { VirtualClock } from "./clock.ts";
import { payloadBytesMax } from "./stream.ts";

export interface Shelves {
  getSnapshot(saga: SagaId): Uint8Array | undefined;
  putSnapshot(saga: SagaId, data: Uint8Array): void;
  getBlob(digest: string): Uint8Array;
  putBlob(digest: string, bytes: Uint8Array): void;
  listDocuments(): { key: string; data: Uint8Array }[];
  putDocument(key: string, data: Uint8Array): void;
  beat(host: string, data: Uint8Array, ttlMs: number): void;
  leave(host: string): void;
  hosts(): { host: string; data: Uint8Array }[];
}

export function createShelves(clock: VirtualClock, isFull: () => boolean): Shelves {
  const snapshots = new Map<SagaId, Uint8Array>();
  const blobs = new Map<string, Uint8Array>();
  const documents = new Map<string, Uint8Array>();
  const hosts = new Map<string, { data: Uint8Array; until: number }>();

  const write = (what: string, act: () => void, bytes = 0) => {
    if (bytes > payloadBytesMax)
      throw new MeshError("TOO_LARGE", `${what}: ${bytes} bytes are over the server's max_payload`);
    if (isFull()) throw new MeshError("STORAGE_FULL", `${what}: the server's storage is full`);
    act();
  };
  return {
    getSnapshot: (saga) => snapshots.get(saga),
    putSnapshot: (saga, data) => write(`snapshot of ${saga}`, () => snapshots.set(saga, data), data.length),
    getBlob: (digest) => {
      const bytes = blobs.get(digest);
      if (bytes === undefined) throw new MeshError("LEDGER_BROKEN", `blob ${digest} is not stored`);
      return bytes;
    },
    putBlob: (digest, bytes) => write(`blob ${digest}`, () => blobs.set(digest, bytes)),
    listDocuments: () => [...documents].map(([key, data]) => ({ key, data })),
    putDocument: (key, data) => write(key, () => documents.set(key, data), data.length),
    beat: (host, data, ttlMs) =>
      write(host, () => hosts.set(host, { data, until: clock.now() + ttlMs }), data.length),
    leave: (host) => void hosts.delete(host),
    hosts: () => {
      for (const [host, { until }] of hosts) if (until <= clock.now()) hosts.delete(host);
      return [...hosts].map(([host, { data }]) => ({ host, data }));
    },
  };
}
