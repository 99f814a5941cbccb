/**
 * SuspectPort on the bucket SUSPECT.
 *
 * NU1 A note is read from the leader: one that a replica lacks costs a host its life.
 * NU2 Taking one away purges up to its revision, so a newer one stays and nothing is left behind.
 */
import { buckets } from "../../protocol/subjects.ts";
import type { SuspectPort } from "../wire/ports.ts";
import { translated } from "./errors.ts";
import { natsHeaders } from "./headers.ts";
import { publish } from "./publish.ts";
import { newestOfLeader, type ReadContext } from "./read.ts";
import { bucketStream, entrySubject } from "./streams.ts";

const stream = bucketStream(buckets.suspect);

export const createSuspects = ({ jsm, requests }: ReadContext): SuspectPort => ({
  get: async (key) => {
    const entry = await newestOfLeader(jsm, stream, entrySubject(buckets.suspect, key)); // NU1
    return entry === undefined ? undefined : { data: entry.data, revision: entry.seq };
  },
  put: async (key, data, ttlMs) => {
    // The server counts in whole seconds, from one up.
    const control = { [natsHeaders.ttl]: `${Math.max(1, Math.ceil(ttlMs / 1000))}s` };
    const subject = entrySubject(buckets.suspect, key);
    return (await publish(requests, { subject, stream, data, control })).seq;
  },
  remove: async (key, revision) => {
    const filter = entrySubject(buckets.suspect, key);
    await translated(filter, () => jsm.streams.purge(stream, { filter, seq: revision + 1 })); // NU2
  },
});
