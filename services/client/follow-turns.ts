/**
 * Follow turns: a saga's ledger from its first turn on, as it grows, to its end.
 */
import type { SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import type { Turn } from "../../protocol/turn.ts";
import { decodeTurn, isTombstone, readTombstone } from "../ledger/reader.ts";
import type { Ports } from "../wire/ports.ts";

/**
 * A saga's turns in order, to the end or the signal. What the ledger holds when this begins is given whole: an
 * end may be followed by corrections, and by another end. Throws SAGA_ARCHIVED if turns were purged unseen.
 */
export async function* followTurns(ports: Ports, saga: SagaId, signal?: AbortSignal): AsyncGenerator<Turn> {
  const own = new AbortController();
  const following = signal === undefined ? own.signal : AbortSignal.any([signal, own.signal]);
  const headSeq = (await ports.ledger.last(saga))?.seq ?? 0;
  let ended = false;
  let seen = 0;
  try {
    for await (const message of ports.ledger.follow({ saga, signal: following })) {
      if (isTombstone(message) && (await readTombstone(ports.blobs, message)).turns === seen) return;
      const turn = await decodeTurn(ports.blobs, message);
      yield turn;
      seen = turn.turn;
      ended ||= endIn(turn) !== undefined;
      if (ended && message.seq >= headSeq) return;
    }
  } finally {
    own.abort();
  }
}

/** The end that a turn records, if any. */
export const endIn = (turn: Turn): IntentOf<"end"> | undefined =>
  turn.steps.flatMap((step) => step.intents).find((intent) => intent.kind === "end");
