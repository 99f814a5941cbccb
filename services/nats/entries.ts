/** Listing a bucket: for registry.ts and membership.ts. */
import { natsHeaders } from "./headers.ts";
import { headOf, type ReadContext, readRange } from "./read.ts";
import { bucketStream, entryKey, entrySubject } from "./streams.ts";

/**
 * The bucket's entries as they were when asked for, oldest first. Read as a range of messages; the client's
 * scan of keys can miss some while others are written.
 */
export async function entriesOf(
  context: ReadContext,
  bucket: string,
): Promise<{ key: string; data: Uint8Array }[]> {
  const stream = bucketStream(bucket);
  const { lastSeq } = await headOf(context.jsm, stream);
  const messages = await readRange(context, {
    stream,
    subject: entrySubject(bucket, ">"),
    afterSeq: 0,
    throughSeq: lastSeq,
  });
  // A replica that lags gives an entry's former value, and the leader then its newer one: the last counts.
  const entries = new Map<string, Uint8Array>();
  for (const message of messages)
    // What was deleted by hand has a marker as its last value.
    if (message.headers[natsHeaders.kvOperation] === undefined)
      entries.set(entryKey(bucket, message.subject), message.data);
    else entries.delete(entryKey(bucket, message.subject));
  return [...entries].map(([key, data]) => ({ key, data }));
}
