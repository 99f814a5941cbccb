/**
 * Homes: which ledger stream has a saga's turns, and where one that begins has them from now on.
 *
 * HM1 The first message on the subject of a saga's arbiter tells, for ever: a signpost, that its ledger is in the shard that it
 *     names; anything else, that it is in the arbiter itself. It is stored by compare-and-set, as each first turn is, so of those
 *     who begin a saga one decides where, however many shards each of them knows of.
 * HM2 A mesh that was never grown has no signposts: a saga's place is its arbiter. A process that has not heard of the growth
 *     takes a mesh for such a one, and hears of it by the first signpost that it reads: nothing can be appended after a message
 *     that was not read.
 * HM3 That there is a first message any replica may say; that there is none only the leader.
 * HM4 A signpost to a shard that the mesh has not is none, and neither is one behind another message: who may publish there can
 *     write it.
 */
import { isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { arbiterOf, isGrown, oneShard, placeOf, type Shards } from "../../protocol/shards.ts";
import { headers, ledgerStream, subjects } from "../../protocol/subjects.ts";
import type { Ack, StoredMessage } from "../wire/ports.ts";
import { publish } from "./publish.ts";
import { firstByDirectRead, nextOfLeader, type ReadContext } from "./read.ts";
import { shardsNow } from "./shards.ts";
import { signedTo, signpost } from "./signposts.ts";

/** Kept of a grown mesh: more than a host has sagas, less than a megabyte or two. */
const knownMax = 20_000;

export interface Homes {
  /** As this process knows them. */
  readonly shards: () => Promise<Shards>;
  /** Where the saga's turns are; undefined: it has not begun. Throws UNAVAILABLE. */
  of(saga: SagaId): Promise<number | undefined>;
  /** Decides it for a saga that begins, unless it is decided (HM1). Throws as an append does. */
  place(saga: SagaId, store: Storing): Promise<number>;
  /** What was learned of the mesh since. */
  learn(shards: Shards): void;
  /** Whether a message that was read where the saga's ledger was held to be says that it is elsewhere (HM2). */
  isElsewhere(saga: SagaId, shard: number, message: StoredMessage): Promise<boolean>;
}

/** How this process stores in a ledger stream. */
export type Storing = (stream: string, store: () => Promise<Ack>) => Promise<Ack>;

/** `told`: how many shards there are, where that is known already; else LEDGER is asked once. */
export function createHomes(context: ReadContext, told?: Shards): Homes {
  let shards = told;
  const homes = new Map<SagaId, number>();
  const keep = (saga: SagaId, home: number): number => {
    if (homes.size >= knownMax) homes.clear();
    homes.set(saga, home);
    return home;
  };
  const learn = (now: Shards): void => {
    if (shards === undefined || now.all > shards.all) shards = now;
  };
  const askNow = async (): Promise<Shards> => {
    learn((await shardsNow(context.jsm)) ?? oneShard);
    return shards!;
  };
  /** HM4: a process that has not heard of the growth asks before it says so. */
  const read = async (saga: SagaId, first: StoredMessage | undefined): Promise<number | undefined> => {
    if (first === undefined) return undefined;
    const named = signedTo(first);
    if (named !== undefined && named >= shards!.all) await askNow();
    return keep(saga, named !== undefined && named < shards!.all ? named : arbiterOf(saga, shards!));
  };
  const of = async (saga: SagaId): Promise<number | undefined> => {
    shards ??= await askNow();
    const shard = arbiterOf(saga, shards);
    const home = isGrown(shards) ? homes.get(saga) : shard; // HM2
    if (home !== undefined) return home;
    const range = { stream: ledgerStream(shard), subject: subjects.ledger(saga, shard), afterSeq: 0 };
    const all = { ...range, throughSeq: Number.POSITIVE_INFINITY };
    const first = (await firstByDirectRead(context.requests, all)) ?? (await nextOfLeader(context.jsm, all)); // HM3
    return read(saga, first);
  };
  return {
    ...{ of, learn },
    isElsewhere: async (saga, shard, message) => {
      if (message.headers[headers.shard] === undefined) return false;
      homes.delete(saga); // What was known is of a shard that was lost since, if it is not so still.
      if (shards === undefined || !isGrown(shards)) await askNow();
      return (await of(saga)) !== shard;
    },
    shards: async () => shards ?? (await askNow()),
    place: async (saga, store) => {
      shards ??= await askNow();
      const [arbiter, place] = [arbiterOf(saga, shards), placeOf(saga, shards)];
      if (place === arbiter) return arbiter; // Decided by the append itself, and kept once it was read.
      try {
        const stream = ledgerStream(arbiter);
        await store(stream, () => publish(context.requests, signpost(saga, arbiter, place)));
        return keep(saga, place);
      } catch (error) {
        if (!isMeshError(error, "WRONG_SEQUENCE")) throw error;
        const home = await of(saga);
        if (home === undefined) throw error; // Of a server that leads no more: asked again it tells.
        return home;
      }
    },
  };
}
