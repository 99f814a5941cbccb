/**
 * SnapshotPort on the bucket SNAPSHOT: the entry `<saga>`, and beside it `<saga>.<name>`.
 *
 * A snapshot is read directly, from any replica: an older one than the newest costs a few turns to fold, and
 * the ledger's head is what the reader compares with.
 */
import { SagaId } from "../../protocol/ids.ts";
import { buckets } from "../../protocol/subjects.ts";
import type { SnapshotPort } from "../wire/ports.ts";
import { openBucket, sagasIn } from "./bucket.ts";
import type { ReadContext } from "./read.ts";

const keyOf = (saga: string, name?: string): string => (name === undefined ? saga : `${saga}.${name}`);

/** What is there, by name: `<saga>`, and `<saga>.<name>` beside it. One question. Throws UNAVAILABLE. */
export const snapshotNames = async (context: ReadContext): Promise<ReadonlySet<string>> =>
  new Set(await openBucket(context, buckets.snapshot).keys());

/** The sagas that have an entry of this name beside their snapshot. One question, answered with these alone. Throws UNAVAILABLE. */
export const sagasNoted = async (context: ReadContext, name: string): Promise<SagaId[]> =>
  (await openBucket(context, buckets.snapshot).keys(`*.${name}`)).flatMap(
    (key) => SagaId.safeParse(key.slice(0, -name.length - 1)).data ?? [],
  );

export const createSnapshots = (context: ReadContext): SnapshotPort => {
  const bucket = openBucket(context, buckets.snapshot);
  return {
    get: async (saga, name) => {
      const entry = await bucket.glance(keyOf(saga, name));
      // An entry deleted by hand leaves a marker without bytes.
      return entry === undefined || entry.data.length === 0 ? undefined : entry.data;
    },
    put: async (saga, data, name) => {
      await bucket.put(keyOf(saga, name), data);
    },
    sagas: () => sagasIn(bucket),
    drop: async (saga) => {
      for (const key of [keyOf(saga), keyOf(saga, ">")]) await bucket.purge(key);
    },
  };
};
