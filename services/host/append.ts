/**
 * Append: ④ one turn onto one ledger by compare-and-set, with every answer the server can give put into
 * one of two: it is there, or the saga is another host's.
 *
 * AD1 A refused append is ours only if the stored turn has our hash, never because its number is ours.
 * AD2 A doubtful answer is resolved by sending the identical message again; nothing else happens to the saga
 *    meanwhile.
 * AD3 A refusal that the ledger does not bear out is a deposed leader's, which has not seen the turn before this one:
 *    a doubtful answer like any other. To believe it would be safe, and would drop a saga for nothing.
 */
import { chainHash } from "../../protocol/digest.ts";
import { describeError, isMeshError, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Headers } from "../../protocol/subjects.ts";
import { isTransient, patiently } from "../wire/patience.ts";
import type { Clock, LedgerPort } from "../wire/ports.ts";

/** A turn as it is sent. */
export interface TurnMessage {
  readonly data: Uint8Array;
  /** Of `data`, as the next turn will name it. */
  readonly hash: string;
  readonly headers: Headers;
  readonly expectedSeq: number;
}

/** `fenced`: another host has appended since the turn was decided. */
export type Appended = { readonly type: "appended"; readonly seq: number } | { readonly type: "fenced" };

/**
 * Appends until the server says what became of it. Rejects only when aborted, with a turn of unknown fate: the
 * caller drops the saga, and the host that loads it next sees.
 */
export async function appendTurn(
  deps: { ledger: LedgerPort; clock: Clock; onRetry?: (reason: string) => void },
  saga: SagaId,
  message: TurnMessage,
  signal: AbortSignal,
): Promise<Appended> {
  const forever = { patienceMs: Number.POSITIVE_INFINITY, signal };
  const append = async (): Promise<Appended> => {
    try {
      return { type: "appended", seq: (await deps.ledger.append(saga, message)).seq };
    } catch (error) {
      if (isTransient(error)) deps.onRetry?.(describeError(error));
      if (!isMeshError(error, "WRONG_SEQUENCE")) throw error;
    }
    const last = await patiently(deps.clock, () => deps.ledger.last(saga), forever);
    if (last !== undefined && chainHash(last.data) === message.hash)
      return { type: "appended", seq: last.seq }; // AD1
    if (last === undefined || last.seq > message.expectedSeq) return { type: "fenced" };
    throw new MeshError("UNAVAILABLE", `${saga}: refused, though nothing was appended since`); // AD3
  };
  return patiently(deps.clock, append, forever);
}
