/**
 * SnapshotPort on the bucket SNAPSHOT, one entry per saga.
 *
 * A snapshot is read directly, from any replica: an older one than the newest costs a few turns to fold, and
 * the ledger's head is what the reader compares with.
 */
import { buckets } from "../../protocol/subjects.ts";
import type { SnapshotPort } from "../ports.ts";
import { publish } from "./publish.ts";
import { newestByDirectRead } from "./read.ts";
import type { Requests } from "./requests.ts";
import { bucketStream, entrySubject } from "./streams.ts";

const stream = bucketStream(buckets.snapshot);

export const createSnapshots = (requests: Requests): SnapshotPort => ({
  get: async (saga) => {
    const entry = await newestByDirectRead(requests, stream, entrySubject(buckets.snapshot, saga));
    // An entry deleted by hand leaves a marker without bytes.
    return entry === undefined || entry.data.length === 0 ? undefined : entry.data;
  },
  put: async (saga, data) => {
    await publish(requests, { subject: entrySubject(buckets.snapshot, saga), stream, data });
  },
});
