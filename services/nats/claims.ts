/**
 * ClaimPort on the bucket CLAIM: one entry per attempt, written once, for ever.
 *
 * NC1 Only the first write of a key is taken: it expects the key to have none. The winner is the caller whose
 *     nonce is found there, however often the answer to it was lost.
 */
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import { buckets } from "../../protocol/subjects.ts";
import type { ClaimPort } from "../wire/ports.ts";
import { openBucket } from "./bucket.ts";
import { headOf, type ReadContext } from "./read.ts";

export const createClaims = (context: ReadContext): ClaimPort => {
  const bucket = openBucket(context, buckets.claim);
  return {
    /**
     * Throws WRITE_IN_FLIGHT or DUPLICATE_IN_FLIGHT while a rival's claim, or this one's own lost one, is being
     * stored, and UNAVAILABLE where no answer came: the same call with the same nonce finds out.
     */
    create: async (key, attempt, nonce) => {
      const name = `${key}.${attempt}`;
      try {
        await bucket.put(name, Buffer.from(nonce), { msgId: `${name}.${nonce}`, expectedSeq: 0 }); // NC1
        return { won: true };
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
    /**
     * The clock of the server that leads the bucket, which is also the one that dates claims: exact but for
     * half a round trip, and for the difference of two servers' clocks after an election.
     */
    now: async () => (await headOf(context.jsm, bucket.stream)).now,
  };
};
