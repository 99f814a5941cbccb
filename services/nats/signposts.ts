/**
 * Signposts: the first message of a saga on its arbiter's subject, where its turns are in another shard.
 *
 * HP1 A shard that was emptied or put back from a copy may lack signposts of sagas that are elsewhere. They are put up again
 *     before anything is begun beside it, or such a saga would be taken for one that never was.
 */
import { encodeJson } from "../../protocol/codec.ts";
import { isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { arbiterOf, isGrown, type Shards, shardsMax } from "../../protocol/shards.ts";
import { headers, ledgerStream, subjects } from "../../protocol/subjects.ts";
import { publish, type Storing } from "./publish.ts";
import type { ReadContext } from "./read.ts";
import { heldIn } from "./shards.ts";

/** Says at the arbiter that the saga's turns are in the shard `home`; refused where anything stands there. */
export const signpost = (saga: SagaId, arbiter: number, home: number): Storing => ({
  ...{ stream: ledgerStream(arbiter), subject: subjects.ledger(saga, arbiter) },
  headers: { [headers.saga]: saga, [headers.shard]: String(home) },
  data: encodeJson({ saga, ledger: ledgerStream(home) }), // For people; nothing reads it.
  expectedSeq: 0,
});

/** The shard that a message names; undefined for one that is no signpost. */
export function signedTo({
  headers: fields,
}: {
  readonly headers: Readonly<Record<string, string>>;
}): number | undefined {
  const shard = fields[headers.shard];
  return shard !== undefined && /^\d{1,3}$/.test(shard) && Number(shard) < shardsMax
    ? Number(shard)
    : undefined;
}

/** Of each shard the sagas that it has any message of; none of those that are left out. Throws UNAVAILABLE. */
export const sagasByShard = (
  { jsm }: ReadContext,
  shards: Shards,
  without: readonly number[] = [],
): Promise<ReadonlySet<SagaId>[]> =>
  Promise.all(
    Array.from({ length: shards.all }, async (_, shard) => {
      if (without.includes(shard)) return new Set<SagaId>();
      return new Set((await heldIn(jsm, shard)).messages.keys());
    }),
  );

/** Puts up those that are missing (HP1), and returns how many. Again is free. Throws as an append does. */
export async function mendSignposts(context: ReadContext, shards: Shards): Promise<number> {
  if (!isGrown(shards)) return 0;
  const held = await sagasByShard(context, shards);
  let mended = 0;
  for (const [shard, sagas] of held.entries())
    for (const saga of sagas) {
      const arbiter = arbiterOf(saga, shards);
      if (arbiter === shard || held[arbiter]?.has(saga) === true) continue;
      try {
        await publish(context.requests, signpost(saga, arbiter, shard));
        mended += 1;
      } catch (error) {
        if (!isMeshError(error, "WRONG_SEQUENCE")) throw error; // It stands there by now.
      }
    }
  return mended;
}
