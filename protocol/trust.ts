/**
 * Trust: whose signature a turn must bear, and from where on. One document in REGISTRY, changed by compare-and-set.
 *
 * YT1 Whether a message may be a turn follows from its bytes, its signature, its place in the stream and this document. A
 *     document that changes never turns a verdict about: what it changes holds for what was stored after a place that is
 *     written in it, and that place is put only once every living host waits for it.
 */
import { z } from "zod";

/** The document's key in REGISTRY. */
export const trustKey = "trust";

const Place = z.object({
  announced: z.int().nonnegative(),
  after: z.int().nonnegative().optional(),
});

/**
 * Something that holds from a place in each stream of ledgers on: in LEDGER as it stands here, in another shard as `shards` has it
 * by the shard's number, and in one that was added later from its first message on. First it is announced: what was stored after `announced` is
 * undecided where this matters. Then it is settled: it holds for what was stored after `after`.
 */
export const FromPlace = z.object({
  ...Place.shape,
  shards: z.record(z.string(), Place).optional(),
  /** Who said so, and when, milliseconds since the epoch. */
  by: z.string(),
  at: z.number(),
});
export type FromPlace = z.infer<typeof FromPlace>;

/** The place in a shard. */
export const placeIn = (from: FromPlace, shard: number): z.infer<typeof Place> =>
  shard === 0
    ? from
    : (from.shards?.[shard] ?? { announced: 0, ...(from.after === undefined ? {} : { after: 0 }) });

/** A public NKey that hosts sign with. Withdrawn, it counts for what it signed before that, and never again. */
export const TrustedKey = z.object({
  name: z.string().optional(),
  by: z.string(),
  at: z.number(),
  withdrawn: FromPlace.optional(),
});
export type TrustedKey = z.infer<typeof TrustedKey>;

/** The document. Without `required` it changes nothing. */
export const TrustDocument = z.object({
  v: z.literal(1),
  /** From where on a turn must be signed by one of the keys. Never taken back. */
  required: FromPlace.optional(),
  keys: z.record(z.string(), TrustedKey),
});
export type TrustDocument = z.infer<typeof TrustDocument>;

/** Whether a key may sign what is stored from now on. */
export const mayStillSign = ({ keys }: TrustDocument, key: string | undefined): boolean =>
  key !== undefined && Object.hasOwn(keys, key) && keys[key]?.withdrawn === undefined;
