/**
 * The census in its buckets. It is kept in two of them, neither of which it is needed for: what counts a stream must not go
 * with it.
 */
import { Census, censusKey, countedOn } from "../../protocol/census.ts";
import { isMeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { buckets } from "../../protocol/subjects.ts";
import { openBucket } from "./bucket.ts";
import type { ReadContext } from "./read.ts";

const keptIn = [buckets.registry, buckets.throttle];

/** What is kept, with the highest count of each stream. Undefined where nothing was counted yet, or none can be read. */
export async function readCensus(context: ReadContext): Promise<Census | undefined> {
  const all = await Promise.all(keptIn.map((bucket) => entryOf(context, bucket)));
  const [newest, older] = all
    .flatMap((one) => (one.census === undefined ? [] : [one.census]))
    .sort((a, b) => b.at - a.at);
  return newest && countedOn(older, newest);
}

/**
 * Keeps what was counted now, where nothing was for a while or `isDue` says so. Of several hosts one writes: the entry is
 * changed by compare-and-set. What cannot be written is another host's, or the next time's.
 */
export async function keepCensus(context: ReadContext, now: Census, isDue = false): Promise<void> {
  for (const bucket of keptIn) {
    const { census, revision } = await entryOf(context, bucket);
    if (!isDue && census?.mesh === now.mesh && now.at - census.at < limits.censusEveryMs) continue;
    const data = Buffer.from(JSON.stringify(countedOn(census, now)));
    await openBucket(context, bucket)
      .put(censusKey, data, { expectedSeq: revision })
      .catch((error: unknown) => {
        if (!isMeshError(error)) throw error;
      });
  }
}

async function entryOf(
  context: ReadContext,
  bucket: string,
): Promise<{ census: Census | undefined; revision: number }> {
  try {
    const entry = await openBucket(context, bucket).newest(censusKey);
    if (entry === undefined) return { census: undefined, revision: 0 };
    const read = Census.safeParse(JSON.parse(Buffer.from(entry.data).toString()));
    return { census: read.success ? read.data : undefined, revision: entry.revision };
  } catch (error) {
    if (isMeshError(error) || error instanceof SyntaxError) return { census: undefined, revision: 0 };
    throw error;
  }
}
