/**
 * SuspectPort on the bucket SUSPECT.
 *
 * NU1 A note is read from the leader: one that a replica lacks costs a host its life.
 * NU2 Taking one away purges up to its revision, so a newer one stays and nothing is left behind.
 */
import type { NatsConnection } from "@nats-io/nats-core";
import { buckets } from "../../protocol/subjects.ts";
import type { SuspectPort } from "../wire/ports.ts";
import { openBucket } from "./bucket.ts";
import type { ReadContext } from "./read.ts";
import { createRequests } from "./requests.ts";
import { managerOf } from "./manager.ts";

export const createSuspects = (context: ReadContext): SuspectPort => {
  const bucket = openBucket(context, buckets.suspect);
  return {
    get: (key) => bucket.newest(key), // NU1
    put: (key, data, ttlMs) => bucket.put(key, data, { ttlMs }),
    remove: (key, revision) => bucket.purge(key, revision), // NU2
  };
};

/** The port alone, on a connection of its own; `close` ends both. */
export async function openSuspects(nc: NatsConnection): Promise<SuspectPort & { close(): Promise<void> }> {
  const requests = createRequests(nc);
  const jsm = await managerOf(nc);
  return {
    ...createSuspects({ requests, jsm }),
    close: async () => {
      requests.close();
      await nc.close();
    },
  };
}
