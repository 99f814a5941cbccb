/** RegistryPort on the bucket REGISTRY. Keys hold their content's hash, so what is there is never wrong. */
import { buckets } from "../../protocol/subjects.ts";
import type { RegistryPort } from "../wire/ports.ts";
import { entriesOf } from "./entries.ts";
import { publish } from "./publish.ts";
import { newestByDirectRead, type ReadContext } from "./read.ts";
import { bucketStream, entrySubject } from "./streams.ts";

const stream = bucketStream(buckets.registry);

export const createRegistry = (context: ReadContext): RegistryPort => ({
  put: async (key, data) => {
    const subject = entrySubject(buckets.registry, key);
    if ((await newestByDirectRead(context.requests, stream, subject)) !== undefined) return;
    await publish(context.requests, { subject, stream, data });
  },
  list: () => entriesOf(context, buckets.registry),
});
