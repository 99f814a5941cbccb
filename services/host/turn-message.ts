/**
 * Turn message: a decided turn as the bytes and headers that are appended.
 *
 * TM1 A turn has no Msg-Id: the compare-and-set keeps it from being stored twice, and the hash of the bytes, which
 *    any reader can take of what is stored, tells whose a stored turn is. An eighth of a small turn is saved.
 * TM2 What is too large for a message goes to the blob store before it.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import type { DecidedTurn } from "../../actors/kernel/fold.ts";
import { encodeJson, offload } from "../../protocol/codec.ts";
import { chainHash } from "../../protocol/digest.ts";
import { limits } from "../../protocol/limits.ts";
import { headers } from "../../protocol/subjects.ts";
import { ledgerVersion, toStored, type Turn } from "../../protocol/turn.ts";
import type { Head } from "../ledger/reader.ts";
import { patiently } from "../wire/patience.ts";
import { signTurn } from "../wire/signing.ts";
import { type TurnOrigin, turnHeaders } from "../wire/turn-headers.ts";
import type { TurnMessage } from "./refused.ts";
import type { HostDeps } from "./host-deps.ts";
import { loggedOf } from "./logged.ts";

export { definitionSetBy, traceIdOf } from "../wire/turn-headers.ts";

/** The turn that follows `after`, ready to be appended, and its hash for the next one. */
export async function encodeTurn(
  deps: HostDeps,
  { definition, traceId }: { readonly definition: Definition; readonly traceId: string },
  after: Head,
  decided: DecidedTurn,
  at: number,
): Promise<TurnMessage> {
  const { state, steps } = decided;
  const logged = loggedOf(definition.logs, decided);
  const turn = { saga: state.saga, turn: state.turn, at, host: deps.incarnation, steps };
  return encodeAs(deps, { definition, traceId }, after, logged === undefined ? turn : { ...turn, logged });
}

/** The same of a turn that may have been decided elsewhere: a fork's host copies those of its origin. */
export async function encodeAs(
  { ports, clock, signal, signer }: HostDeps,
  from: TurnOrigin,
  after: Head,
  decided: Omit<Turn, "v" | "prev">,
): Promise<TurnMessage> {
  const turn: Turn = { v: ledgerVersion, ...decided, prev: after.hash };
  let data = encodeJson(toStored(turn));
  if (data.length > limits.inlineBytesMax) {
    const smaller = offload(toStored(turn));
    const forever = { patienceMs: Number.POSITIVE_INFINITY, signal };
    for (const { digest, bytes } of smaller.blobs)
      await patiently(clock, () => ports.blobs.put(digest, bytes), forever);
    data = encodeJson(smaller.value);
  }
  const hash = chainHash(data);
  return {
    data,
    hash,
    expectedSeq: after.seq,
    headers: {
      ...turnHeaders(turn, hash, from),
      ...(signer === undefined ? {} : { [headers.signature]: signTurn(signer, data) }),
    },
  };
}
