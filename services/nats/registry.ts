/**
 * RegistryPort on the bucket REGISTRY. Keys of what is put hold their content's hash, so what is there is never wrong; what
 * is written changes by compare-and-set.
 */
import { buckets } from "../../protocol/subjects.ts";
import type { RegistryPort } from "../wire/ports.ts";
import { openBucket } from "./bucket.ts";
import type { ReadContext } from "./read.ts";

export const createRegistry = (context: ReadContext): RegistryPort => {
  const bucket = openBucket(context, buckets.registry);
  return {
    put: async (key, data) => {
      if ((await bucket.glance(key)) === undefined) await bucket.put(key, data);
    },
    list: () => bucket.list(),
    read: (key) => bucket.newest(key),
    write: (key, data, revision) => bucket.put(key, data, { expectedSeq: revision }),
  };
};
