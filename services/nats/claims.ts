/**
 * ClaimPort on the bucket CLAIM: one entry per attempt, written once. Those of a saga go together, once it was archived.
 *
 * NC1 Only the first write of a key is taken: it expects the key to have none. The winner is the caller whose
 *     nonce is found there, however often the answer to it was lost; that it was stored once is not enough, for a rebuilding
 *     writes over what stood in a stream that had forgotten (rebuild.ts).
 */
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import { buckets, streams } from "../../protocol/subjects.ts";
import type { ClaimPort } from "../wire/ports.ts";
import { openBucket, sagasIn } from "./bucket.ts";
import { found } from "./declare.ts";
import { unanswered } from "./errors.ts";
import type { ReadContext } from "./read.ts";
import type { Watched } from "./vigil.ts";

export const createClaims = (context: ReadContext & Watched): ClaimPort => {
  const bucket = openBucket(context, buckets.claim);
  const { stream } = bucket;
  const { vigil } = context;
  return {
    /**
     * Throws WRITE_IN_FLIGHT or DUPLICATE_IN_FLIGHT while a rival's claim, or this one's own lost one, is being
     * stored, UNAVAILABLE where no answer came, and MESH_INCOMPLETE while the claims are gone (vigil.ts): the same call
     * with the same nonce finds out.
     */
    create: async (key, attempt, nonce) => {
      const name = `${key}.${attempt}`;
      const put = () => bucket.store(name, Buffer.from(nonce), { msgId: `${name}.${nonce}`, expectedSeq: 0 }); // NC1
      try {
        const { duplicate } = await (vigil === undefined ? put() : vigil.storing(stream, put));
        if (!duplicate) return { won: true };
      } catch (error) {
        if (!isMeshError(error, "WRONG_SEQUENCE")) throw error;
      }
      const entry = await bucket.newest(name);
      if (entry === undefined)
        throw new MeshError("UNAVAILABLE", `claim ${name} was refused and is not there`);
      const holder = Buffer.from(entry.data).toString();
      return holder === nonce ? { won: true } : { won: false, holder, claimedAt: entry.storedAt };
    },
    list: async (saga) => (await bucket.list(saga)).map(({ key }) => key),
    sagas: () => sagasIn(bucket),
    drop: (saga) => bucket.purge(`${saga}.>`),
    /**
     * The clock of the server that leads the bucket, which is also the one that dates claims: exact but for
     * half a round trip, and for the difference of two servers' clocks after an election. The ledger's while the
     * claims are gone: who reads needs the time as well.
     */
    now: async () => {
      const infoOf = (name: string) => found(name, () => context.jsm.streams.info(name));
      const info = (await infoOf(stream)) ?? (await infoOf(streams.ledger));
      if (info?.ts === undefined) throw unanswered(stream, "the server told no time");
      return Date.parse(info.ts);
    },
  };
};
