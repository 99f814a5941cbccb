/**
 * Follow turns: a saga's ledger from its first turn on, as it grows, to its end.
 */
import type { SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import type { Turn } from "../../protocol/turn.ts";
import { chainOf, emptyHead, type Head, walkFrom } from "../ledger/chain.ts";
import { assertNotArchived, decodeTurn, isTombstone } from "../ledger/reader.ts";
import type { Ports, StoredMessage } from "../wire/ports.ts";

/**
 * A saga's turns in order, to the end or the signal. What the ledger holds when this begins is given whole: an
 * end may be followed by corrections, and by another end. Throws SAGA_ARCHIVED if turns were purged unseen.
 */
export async function* followTurns(ports: Ports, saga: SagaId, signal?: AbortSignal): AsyncGenerator<Turn> {
  const own = new AbortController();
  const following = signal === undefined ? own.signal : AbortSignal.any([signal, own.signal]);
  const headSeq = (await ports.ledger.last(saga))?.seq ?? 0;
  let ended = false;
  const seen = new Set<number>(); // Of what is foreign.
  const walk = walkFrom(saga, emptyHead);
  try {
    for await (const message of ports.ledger.follow({ saga, signal: following })) {
      const kind = walk.take(message);
      if (kind === "tombstone" && walk.head.turn === 0) await assertNotArchived(ports.blobs, message);
      if (kind === "tombstone") return;
      if (kind === "turn") {
        const turn = await decodeTurn(ports.blobs, message);
        yield turn;
        ended ||= endIn(turn) !== undefined;
      } else {
        if (isTombstone(message)) await assertNotPurged(ports, saga, { after: walk.head, seen, message });
        seen.add(message.seq);
      }
      if (ended && message.seq >= headSeq) return;
    }
  } finally {
    own.abort();
  }
}

/** Throws SAGA_ARCHIVED for the tombstone of turns that were purged before they were seen. */
async function assertNotPurged(
  ports: Ports,
  saga: SagaId,
  { after, seen, message }: { after: Head; seen: ReadonlySet<number>; message: StoredMessage },
): Promise<void> {
  const { tombstone } = chainOf(saga, after, [message], seen);
  if (tombstone !== undefined) await assertNotArchived(ports.blobs, tombstone);
}

/** The end that a turn records, if any. */
export const endIn = (turn: Turn): IntentOf<"end"> | undefined =>
  turn.steps.flatMap((step) => step.intents).find((intent) => intent.kind === "end");
