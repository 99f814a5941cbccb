/** RegistryPort on the bucket REGISTRY. Keys hold their content's hash, so what is there is never wrong. */
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
  };
};
