/**
 * Shards: over how many streams the ledgers of a mesh are spread, and which of them says where a saga's is. Pure.
 *
 * SZ1 A saga's arbiter follows from its id and from how many shards the mesh was made with, which never changes. So whoever
 *     looks for a ledger, and whoever begins one, goes to the same stream first, however often the mesh has grown.
 * SZ2 It is computed as the server computes a partition (FNV-1a of 32 bits): any client can, and a subject mapping
 *     `{{partition(N,1)}}` as well.
 */
import type { SagaId } from "./ids.ts";

/** How many ledger streams a mesh has. Those are numbered from 0. */
export interface Shards {
  /** How many it was made with (SZ1). */
  readonly arbiters: number;
  /** How many it has now: over these the sagas that begin are spread. Never fewer than `arbiters`. */
  readonly all: number;
}

/** A mesh that nobody asked for more. */
export const oneShard: Shards = { arbiters: 1, all: 1 };

/** Whether shards were added since it was made. */
export const isGrown = ({ all, arbiters }: Shards): boolean => all !== arbiters;

/** Most streams that ledgers are spread over: each has a raft group in a cluster, and a listing asks them all. */
export const shardsMax = 64;

/** Where a saga's first message must be, and where it is placed if it begins now. */
export const arbiterOf = (saga: SagaId, { arbiters }: Pick<Shards, "arbiters">): number =>
  arbiters === 1 ? 0 : partition(saga, arbiters);

/** The shard of a saga that begins now. */
export const placeOf = (saga: SagaId, { all }: Pick<Shards, "all">): number =>
  all === 1 ? 0 : partition(saga, all);

const fnvOffset = 0x81_1c_9d_c5;
const fnvPrime = 0x01_00_01_93;

/** SZ2. Ids are ASCII: a character is a byte. */
function partition(saga: SagaId, of: number): number {
  let hash = fnvOffset;
  for (let k = 0; k < saga.length; k++) hash = Math.imul(hash ^ saga.charCodeAt(k), fnvPrime);
  return (hash >>> 0) % of;
}
