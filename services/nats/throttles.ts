/** ThrottlePort on the bucket THROTTLE: an entry per tool or model, changed by compare-and-set. */
import { buckets } from "../../protocol/subjects.ts";
import type { ThrottlePort } from "../wire/ports.ts";
import { entriesOf } from "./entries.ts";
import { publish } from "./publish.ts";
import { newestOfLeader, type ReadContext } from "./read.ts";
import { bucketStream, entrySubject } from "./streams.ts";

const stream = bucketStream(buckets.throttle);

export const createThrottles = (context: ReadContext): ThrottlePort => ({
  read: async (key) => {
    const entry = await newestOfLeader(context.jsm, stream, entrySubject(buckets.throttle, key));
    return entry === undefined ? undefined : { data: entry.data, revision: entry.seq };
  },
  write: async (key, data, revision) => {
    const subject = entrySubject(buckets.throttle, key);
    await publish(context.requests, { subject, stream, data, expectedSeq: revision });
  },
  list: () => entriesOf(context, buckets.throttle),
});
