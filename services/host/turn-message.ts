/**
 * Turn message: a decided turn as the bytes and headers that are appended.
 *
 * T1 A turn has no Msg-Id: the compare-and-set keeps it from being stored twice, and the hash of the bytes, which
 *    anybody can take of what is stored, tells whose a stored turn is. An eighth of a small turn is saved.
 * T2 What is too large for a message goes to the blob store before it.
 */
import type { DecidedTurn } from "../../actors/fold.ts";
import { encodeJson, offload } from "../../protocol/codec.ts";
import { chainHash, sha256, spanOf } from "../../protocol/digest.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { headers } from "../../protocol/subjects.ts";
import { toStored, type Turn } from "../../protocol/turn.ts";
import type { Head } from "../ledger-reader.ts";
import { patiently } from "../patience.ts";
import type { TurnMessage } from "./append.ts";
import type { HostDeps } from "./host-deps.ts";

/** One trace per saga, made of its id: every host and every replay arrives at the same. */
export const traceIdOf = (saga: SagaId): string => sha256(saga).slice(0, 32);

/** The turn that follows `after`, ready to be appended, and its hash for the next one. */
export async function encodeTurn(
  { ports, clock, signal, incarnation }: HostDeps,
  from: { readonly agent: string; readonly traceId: string },
  after: Head,
  { state, steps }: DecidedTurn,
  at: number,
): Promise<TurnMessage> {
  const { saga } = state;
  const turn: Turn = { v: 1, saga, turn: state.turn, at, host: incarnation, prev: after.hash, steps };
  let data = encodeJson(toStored(turn));
  if (data.length > limits.inlineBytesMax) {
    const smaller = offload(toStored(turn));
    const forever = { patienceMs: Number.POSITIVE_INFINITY, signal };
    for (const { digest, bytes } of smaller.blobs)
      await patiently(clock, () => ports.blobs.put(digest, bytes), forever);
    data = encodeJson(smaller.value);
  }
  const hash = chainHash(data);
  const event = steps[0]?.event;
  return {
    data,
    hash,
    expectedSeq: after.seq,
    headers: {
      [headers.saga]: saga,
      [headers.turn]: String(turn.turn),
      [headers.event]: event?.type === "result" ? event.result.outcome : (event?.type ?? ""),
      [headers.agent]: from.agent,
      [headers.trace]: `00-${from.traceId}-${spanOf(hash)}-01`,
    },
  };
}
