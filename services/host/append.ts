/**
 * Append: ④ one turn onto one ledger by compare-and-set, with every answer the server can give put into
 * one of three: it is there, the saga is another host's, or the ledger has lost what it is to follow.
 *
 * AD1 A refused append is ours only if a stored message has our hash, never because its number is ours. It need not be
 *    the last one: something foreign may follow it.
 * AD2 A doubtful answer is resolved by sending the identical message again; nothing else happens to the saga
 *    meanwhile.
 * AD3 What is compared is the sequence of the last message on the subject, a turn or not. Where all that was stored since
 *    the turn before ours is foreign (services/ledger/chain.ts), and that turn is there, the same bytes are sent again, after
 *    that. An append that compared with an earlier one can no longer be stored, so there are never two of ours.
 * AD4 A host that stood still for longer than a lease sends nothing again: the saga may be another's by now, which finds the
 *    turn if it was stored.
 */
import { describeError, isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { isTransient, patiently } from "../wire/patience.ts";
import { type AppendDeps, type Appended, type Looked, lookSince, type TurnMessage } from "./refused.ts";

/**
 * Appends until the server says what became of it. Rejects only when aborted, with a turn of unknown fate: the
 * caller drops the saga, and the host that loads it next sees.
 */
export async function appendTurn(
  deps: AppendDeps,
  saga: SagaId,
  message: TurnMessage,
  signal: AbortSignal,
): Promise<Appended> {
  const forever = { patienceMs: Number.POSITIVE_INFINITY, signal };
  const since: Looked = { seq: message.expectedSeq, seen: new Set() };
  let sent = 0;
  const append = async (): Promise<Appended> => {
    for (;;) {
      if (sent++ > 0 && deps.hasLapsed?.() === true) return { type: "fenced" }; // AD4
      try {
        const ack = await deps.ledger.append(saga, { ...message, expectedSeq: since.seq });
        return { type: "appended", seq: ack.seq };
      } catch (error) {
        if (isTransient(error)) deps.onRetry?.(describeError(error));
        if (!isMeshError(error, "WRONG_SEQUENCE")) throw error;
      }
      const found = await lookSince(deps, saga, message, since); // Not answered: the append is sent again.
      if (found !== undefined) return found;
    }
  };
  return patiently(deps.clock, append, forever);
}
