/**
 * ListingPort on the bucket LISTING, an entry for each row under the row's own key.
 *
 * JN1 A row that is taken away is written over by a mark that vanishes within seconds: a publish, where a purge of one subject
 *     is a request to the API for each, and nothing is left behind.
 * JN2 A row that is written again while others are read stands behind them all, so reading goes on to where the leader is then:
 *     a row that is there all the while is not missed, and may come twice.
 * JN3 The pin is an entry that is no row.
 */
import { buckets } from "../../protocol/subjects.ts";
import type { ListingPort, StoredMessage, StoredRow } from "../wire/ports.ts";
import { openBucket } from "./bucket.ts";
import { found } from "./declare.ts";
import { natsHeaders } from "./headers.ts";
import { headOf, newestOfEach, type ReadContext, readInPieces } from "./read.ts";
import type { Remaking } from "./remake.ts";
import { bucketStream, entryKey, entrySubject } from "./streams.ts";

const stream = bucketStream(buckets.listing);
/** JN1: the server's least time to live. */
const gone = { ttlMs: 0, control: { [natsHeaders.kvOperation]: "DEL" } } as const;
/** JN3. */
const pinKey = "pin";
const pinned = new TextEncoder().encode("rows");

export const createListing = (context: ReadContext & Remaking): ListingPort => {
  const bucket = openBucket(context, buckets.listing);
  const standing = async (keys: readonly string[]): Promise<StoredRow[]> => {
    const subjects = keys.map((key) => entrySubject(buckets.listing, key));
    return (await newestOfEach(context.requests, stream, subjects)).filter(isRow).map(rowOf);
  };
  return {
    put: async (key, data, msgId) => {
      await bucket.put(key, data, { msgId });
    },
    remove: async (key, msgId) => {
      await bucket.put(key, new Uint8Array(), { ...gone, msgId });
    },
    standing,
    read: (pattern, afterPlace = 0) => readRows(context, pattern, afterPlace),
    holder: async () => {
      const info = await found(stream, () => context.jsm.streams.info(stream));
      if (info === undefined) return undefined;
      const [pin] = await standing([pinKey]);
      return { made: info.created, pin: pin?.place };
    },
    pin: (from) => bucket.put(pinKey, pinned, { expectedSeq: from }),
  };
};

/** Each time less has been written meanwhile; beyond, rows are written as fast as they are read. */
const roundsMax = 10;

async function* readRows(
  context: ReadContext,
  pattern: string,
  afterPlace: number,
): AsyncGenerator<readonly StoredRow[]> {
  const subject = entrySubject(buckets.listing, pattern);
  for (let afterSeq = afterPlace, round = 1; round <= roundsMax; round++) {
    const { lastSeq: throughSeq } = await headOf(context.jsm, stream); // JN2
    if (throughSeq <= afterSeq) return;
    for await (const messages of readInPieces(context, { stream, subject, afterSeq, throughSeq }))
      yield messages.filter(isRow).map(rowOf);
    afterSeq = throughSeq;
  }
}

/** A mark has no bytes. */
const isRow = ({ data }: StoredMessage): boolean => data.length > 0;

const rowOf = ({ subject, seq: place, data }: StoredMessage): StoredRow => ({
  key: entryKey(buckets.listing, subject),
  data,
  place,
});
