/**
 * Append: ④ one turn onto one ledger by compare-and-set, with every answer the server can give put into
 * one of two: it is there, or the saga is somebody else's.
 *
 * H1 A refused append is ours only if the stored turn has our hash, never because its number is ours.
 * H2 A doubtful answer is resolved by sending the identical message again; nothing else happens to the saga
 *    meanwhile.
 */
import { describeError, isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { type Headers, headers } from "../../protocol/subjects.ts";
import { isTransient, patiently } from "../patience.ts";
import type { Clock, LedgerPort } from "../ports.ts";

export interface TurnMessage {
  readonly data: Uint8Array;
  readonly headers: Headers;
  readonly msgId: string;
  readonly expectedSeq: number;
}

export type Appended = { readonly type: "appended"; readonly seq: number } | { readonly type: "fenced" };

/**
 * Appends until the server says what became of it. Rejects only when aborted, with a turn of unknown fate: the
 * caller drops the saga, and whoever loads it next sees.
 */
export async function appendTurn(
  deps: { ledger: LedgerPort; clock: Clock; onRetry?: (reason: string) => void },
  saga: SagaId,
  message: TurnMessage,
  signal: AbortSignal,
): Promise<Appended> {
  const forever = { patienceMs: Number.POSITIVE_INFINITY, signal };
  try {
    const ack = await patiently(
      deps.clock,
      () =>
        deps.ledger.append(saga, message).catch((error: unknown) => {
          if (isTransient(error)) deps.onRetry?.(describeError(error));
          throw error;
        }),
      forever,
    );
    return { type: "appended", seq: ack.seq };
  } catch (error) {
    if (!isMeshError(error, "WRONG_SEQUENCE")) throw error;
  }
  const last = await patiently(deps.clock, () => deps.ledger.last(saga), forever);
  return last?.headers[headers.msgId] === message.msgId
    ? { type: "appended", seq: last.seq }
    : { type: "fenced" };
}
