/**
 * Following ledgers over the shards of a mesh: one saga wherever it is, or all of them.
 *
 * FZ1 A saga that has not begun is waited for at its arbiter, which tells where it begins (homes.ts).
 * FZ2 What is stored in one shard is told in the order of storing. Of several, each saga's in its own.
 * FZ3 A shard that was added is followed from when this process hears of it, by the first signpost at the latest: no saga is in
 *     it without one.
 * FZ4 However the reader leaves its loop, every shard's consumer is given back.
 */
import { SagaId } from "../../protocol/ids.ts";
import { arbiterOf } from "../../protocol/shards.ts";
import { ledgerStream, subjects } from "../../protocol/subjects.ts";
import type { StoredMessage } from "../wire/ports.ts";
import { follow, type FollowContext } from "./follow.ts";
import type { Homes } from "./homes.ts";

/** A saga's messages after the sequence of its own shard, as they are stored. */
export async function* followSaga(
  context: FollowContext,
  homes: Homes,
  {
    saga,
    afterSeq,
    signal,
  }: { readonly saga: SagaId; readonly afterSeq: number; readonly signal: AbortSignal },
): AsyncGenerator<StoredMessage> {
  const at = (shard: number, after: number) =>
    follow(context, {
      ...{ stream: ledgerStream(shard), subject: subjects.ledger(saga, shard) },
      ...{ afterSeq: after, signal },
    });
  if (signal.aborted) return;
  const home = await homes.of(saga);
  const shard = home ?? arbiterOf(saga, await homes.shards()); // FZ1
  for await (const message of at(shard, home === undefined ? 0 : afterSeq)) {
    if (await homes.isElsewhere(saga, shard, message)) {
      const decided = await homes.of(saga);
      if (decided !== undefined) {
        yield* at(decided, afterSeq);
        return;
      }
    }
    if (message.seq > afterSeq) yield message;
  }
}

/** Everything that is stored, of every saga. */
export async function* followAll(
  context: FollowContext,
  homes: Homes,
  signal: AbortSignal,
): AsyncGenerator<StoredMessage> {
  if (signal.aborted) return;
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const feeds = new Map<number, Promise<Next>>();
  const iterators: AsyncGenerator<StoredMessage>[] = [];
  const begin = (shard: number): void => {
    const stream = ledgerStream(shard);
    const feed = follow(context, { stream, subject: subjects.ledgers(shard), afterSeq: 0, signal: until });
    iterators[shard] = feed;
    feeds.set(shard, nextOf(shard, feed));
  };
  try {
    for (let shard = 0; shard < (await homes.shards()).all; shard++) begin(shard);
    while (feeds.size > 0) {
      const { shard, message } = await Promise.race(feeds.values());
      feeds.delete(shard);
      if (message === undefined) continue; // It ended with the signal.
      feeds.set(shard, nextOf(shard, iterators[shard]!));
      const saga = SagaId.safeParse(message.subject.split(".")[1]).data;
      if (saga === undefined || !(await homes.isElsewhere(saga, shard, message))) yield message;
      for (const { all } = await homes.shards(); iterators.length < all;) begin(iterators.length); // FZ3
    }
  } finally {
    over.abort(); // FZ4
    await Promise.allSettled(feeds.values());
  }
}

interface Next {
  readonly shard: number;
  readonly message: StoredMessage | undefined;
}

async function nextOf(shard: number, feed: AsyncGenerator<StoredMessage>): Promise<Next> {
  const next = await feed.next();
  return { shard, message: next.done === true ? undefined : next.value };
}
