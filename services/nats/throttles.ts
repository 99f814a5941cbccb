/** ThrottlePort on the bucket THROTTLE: an entry per tool or model, changed by compare-and-set. */
import { buckets } from "../../protocol/subjects.ts";
import type { ThrottlePort } from "../wire/ports.ts";
import { openBucket } from "./bucket.ts";
import type { ReadContext } from "./read.ts";

export const createThrottles = (context: ReadContext): ThrottlePort => {
  const bucket = openBucket(context, buckets.throttle);
  return {
    read: (key) => bucket.newest(key),
    write: async (key, data, revision) => {
      await bucket.put(key, data, { expectedSeq: revision });
    },
    list: () => bucket.list(),
  };
};
