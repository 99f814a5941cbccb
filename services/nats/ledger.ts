/**
 * LedgerPort on the ledger streams: LEDGER, and those beside it where a mesh has several shards.
 *
 * NL1 An append is one request with an expectation on the saga's own literal subject. On a wildcard the check
 *     would not see writes that are still on their way through a replicated stream.
 * NL2 An append is never sent twice here. Whether a refused one is stored after all is told by the bytes of the
 *     saga's last turn. A first one that was refused because the saga's place had been decided meanwhile was not stored,
 *     and is sent there.
 * NL3 A stream that is not there at all is no fault of how the server is set up: MESH_INCOMPLETE, which passes.
 */
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { arbiterOf, isGrown } from "../../protocol/shards.ts";
import { headers, ledgerStream, subjects } from "../../protocol/subjects.ts";
import type { Ack, LedgerPiece, LedgerPort, StoredMessage } from "../wire/ports.ts";
import { isWithoutStream, translated } from "./errors.ts";
import type { FollowContext } from "./follow.ts";
import { followAll, followSaga } from "./follow-shards.ts";
import type { Homes, Storing } from "./homes.ts";
import { publish } from "./publish.ts";
import {
  headOf,
  newestOfLeader,
  nextOfLeader,
  readInPieces,
  readRange,
  type Range,
  type ReadContext,
} from "./read.ts";
import { heldIn } from "./shards.ts";
import type { Watched } from "./vigil.ts";

export const createLedger = (context: ReadContext & FollowContext & Watched, homes: Homes): LedgerPort => {
  const { requests, jsm, vigil } = context;
  const storing: Storing = (stream, store) => (vigil === undefined ? store() : vigil.storing(stream, store));
  /** Reads of the saga's ledger, wherever it turns out to be. */
  const reading = async (
    saga: SagaId,
    read: (all: Range) => Promise<StoredMessage[]>,
  ): Promise<StoredMessage[]> => {
    for (;;) {
      const shard = await homes.of(saga);
      if (shard === undefined) return [];
      const messages = await read(wholeOf(saga, shard));
      const post = messages.find((message) => message.headers[headers.shard] !== undefined);
      if (post === undefined || !(await homes.isElsewhere(saga, shard, post))) return messages;
    }
  };
  const appendAt = (shard: number, saga: SagaId, message: Appended): Promise<Ack> => {
    const stream = ledgerStream(shard);
    return storing(
      stream,
      () => publish(requests, { ...message, subject: subjects.ledger(saga, shard), stream }), // NL1
    );
  };
  const begin = async (saga: SagaId, message: Appended): Promise<Ack> => {
    const shard = await homes.place(saga, storing);
    try {
      return await appendAt(shard, saga, message);
    } catch (error) {
      const decided = isMeshError(error, "WRONG_SEQUENCE") ? await homes.of(saga) : undefined;
      if (decided === undefined || decided === shard) throw error;
      return appendAt(decided, saga, message); // NL2
    }
  };
  return {
    append: async (saga, message) => {
      const shard = await homes.of(saga);
      if (shard !== undefined) return appendAt(shard, saga, message);
      return message.expectedSeq === 0
        ? begin(saga, message)
        : appendAt(arbiterOf(saga, await homes.shards()), saga, message); // Refused: nothing is there.
    },
    last: (saga) =>
      present(async () => {
        const [message] = await reading(saga, async ({ stream, subject }) =>
          someOf(await newestOfLeader(jsm, stream, subject)),
        );
        return message;
      }),
    first: (saga) =>
      present(async () => {
        const [message] = await reading(saga, async (all) => someOf(await nextOfLeader(jsm, all)));
        return message;
      }),
    read: (saga, afterSeq, throughSeq, most) =>
      reading(saga, (all) => readRange(context, { ...all, afterSeq, throughSeq }, most)),
    list: () => present(() => listAll(context, homes)),
    since: (places) => piecesSince(context, homes, places),
    purgeBefore: async (saga, seq) => {
      const shard = await homes.of(saga);
      if (shard === undefined) return;
      const { stream, subject: filter } = wholeOf(saga, shard);
      await translated(filter, () => jsm.streams.purge(stream, { filter, seq }));
    },
    end: () => endsOf(context, homes),
    follow: (options) =>
      options.saga === undefined
        ? followAll(context, homes, options.signal)
        : followSaga(context, homes, { afterSeq: 0, ...options }),
  };
};

const someOf = (message: StoredMessage | undefined): StoredMessage[] =>
  message === undefined ? [] : [message];

async function endsOf({ jsm }: ReadContext, homes: Homes): Promise<number[]> {
  const { all } = await homes.shards();
  const shards = Array.from({ length: all }, (_, shard) => ledgerStream(shard));
  return Promise.all(shards.map(async (stream) => (await headOf(jsm, stream)).lastSeq));
}

/** Messages of a piece: as many as make a batch worth its request, and of them no more bytes than one reader should hold. */
const pieceMax = 1_000;

async function* piecesSince(
  context: ReadContext,
  homes: Homes,
  places: readonly number[],
): AsyncGenerator<LedgerPiece> {
  for (const [shard, throughSeq] of (await endsOf(context, homes)).entries()) {
    const [stream, subject] = [ledgerStream(shard), subjects.ledgers(shard)];
    const range = { stream, subject, afterSeq: places[shard] ?? 0, throughSeq };
    for await (const messages of readInPieces(context, range, pieceMax))
      yield { shard, through: messages.at(-1)?.seq ?? range.afterSeq, messages };
    yield { shard, through: throughSeq, messages: [] }; // What lay behind the last of them is no longer there.
  }
}

type Appended = Parameters<LedgerPort["append"]>[1];

const wholeOf = (saga: SagaId, shard: number): Range => ({
  stream: ledgerStream(shard),
  subject: subjects.ledger(saga, shard),
  afterSeq: 0,
  throughSeq: Number.POSITIVE_INFINITY,
});

/** Of all shards. What somebody else stored where no ledger of that saga is counts for none. */
async function listAll({ jsm }: ReadContext, homes: Homes): Promise<{ saga: SagaId; turns: number }[]> {
  let shards = await homes.shards();
  const found = new Map<SagaId, number>();
  for (let shard = 0; shard < shards.all; shard++) {
    const { messages, told } = await heldIn(jsm, shard);
    if (told !== undefined) homes.learn(told); // It may have grown.
    shards = await homes.shards();
    for (const [saga, turns] of messages) {
      // Where a mesh has grown a saga may be in several: a signpost is one message, a ledger is more.
      if (isGrown(shards)) found.set(saga, Math.max(turns, found.get(saga) ?? 0));
      else if (arbiterOf(saga, shards) === shard) found.set(saga, turns);
    }
  }
  return [...found].map(([saga, turns]) => ({ saga, turns }));
}

/** NL3. */
async function present<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isWithoutStream(error)) throw error;
    throw new MeshError("MESH_INCOMPLETE", "a stream of ledgers is not there", { cause: error });
  }
}
