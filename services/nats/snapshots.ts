/**
 * SnapshotPort on the bucket SNAPSHOT: the entry `<saga>`, and beside it `<saga>.<name>`.
 *
 * A snapshot is read directly, from any replica: an older one than the newest costs a few turns to fold, and
 * the ledger's head is what the reader compares with.
 */
import { buckets } from "../../protocol/subjects.ts";
import type { SnapshotPort } from "../wire/ports.ts";
import { translated } from "./errors.ts";
import { publish } from "./publish.ts";
import { newestByDirectRead, type ReadContext } from "./read.ts";
import { bucketStream, entrySubject } from "./streams.ts";

const stream = bucketStream(buckets.snapshot);
const subjectOf = (saga: string, name?: string): string =>
  entrySubject(buckets.snapshot, name === undefined ? saga : `${saga}.${name}`);

export const createSnapshots = ({ requests, jsm }: ReadContext): SnapshotPort => ({
  get: async (saga, name) => {
    const entry = await newestByDirectRead(requests, stream, subjectOf(saga, name));
    // An entry deleted by hand leaves a marker without bytes.
    return entry === undefined || entry.data.length === 0 ? undefined : entry.data;
  },
  put: async (saga, data, name) => {
    await publish(requests, { subject: subjectOf(saga, name), stream, data });
  },
  drop: async (saga) => {
    for (const filter of [subjectOf(saga), subjectOf(saga, ">")])
      await translated(filter, () => jsm.streams.purge(stream, { filter }));
  },
});
