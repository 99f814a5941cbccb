/**
 * Ledger reader: stored messages to turns, with the chain checked on the way.
 *
 * L1 Each turn's `prev` is the hash of the bytes before it, its number the one before plus one, its saga the
 *    subject's. What does not hold throws LEDGER_BROKEN with the turn.
 */
import { z } from "zod";
import { decode, mayHoldBlob } from "../protocol/codec.ts";
import { chainHash } from "../protocol/digest.ts";
import { MeshError } from "../protocol/errors.ts";
import type { SagaId } from "../protocol/ids.ts";
import { headers } from "../protocol/subjects.ts";
import { Turn } from "../protocol/turn.ts";
import { inflate } from "./blobs.ts";
import type { BlobPort, LedgerPort, StoredMessage } from "./ports.ts";

/** Where a ledger stands: what the next turn follows. Sequence 0 and an empty hash before the first. */
export interface Head {
  readonly turn: number;
  readonly seq: number;
  readonly hash: string;
}

export const emptyHead: Head = { turn: 0, seq: 0, hash: "" };

/** A turn with its place in the stream. */
export interface StoredTurn {
  readonly turn: Turn;
  readonly head: Head;
  readonly storedAt: number;
}

/** A ledger's turns after `after` up to sequence `throughSeq`, verified against `after`. */
export async function readTurns(
  ports: { ledger: LedgerPort; blobs: BlobPort },
  saga: SagaId,
  after: Head,
  throughSeq: number,
): Promise<StoredTurn[]> {
  const messages = await ports.ledger.read(saga, after.seq, throughSeq);
  const turns: StoredTurn[] = [];
  let head = after;
  for (const message of messages) {
    const stored = await readTurn(ports.blobs, saga, message, head);
    turns.push(stored);
    head = stored.head;
  }
  if (head.seq !== throughSeq)
    throw new MeshError("UNAVAILABLE", `the ledger of ${saga} was read up to ${head.seq}, not ${throughSeq}`);
  return turns;
}

/** One stored message as the turn that follows `after`. */
export async function readTurn(
  blobs: BlobPort,
  saga: SagaId,
  message: StoredMessage,
  after: Head,
): Promise<StoredTurn> {
  const turn = await decodeTurn(blobs, message);
  const broken = (what: string) =>
    new MeshError("LEDGER_BROKEN", `turn ${after.turn + 1} of ${saga} (sequence ${message.seq}) ${what}`);
  if (turn.saga !== saga) throw broken(`belongs to ${turn.saga}`);
  if (turn.turn !== after.turn + 1) throw broken(`has number ${turn.turn}`);
  if (turn.prev !== after.hash)
    throw broken(`does not follow the turn before it: expected ${after.hash}, got ${turn.prev}`);
  return {
    turn,
    head: { turn: turn.turn, seq: message.seq, hash: chainHash(message.data) },
    storedAt: message.storedAt,
  };
}

/** A turn's bytes as a turn, blobs put back. Throws BAD_MESSAGE or LEDGER_BROKEN. */
export async function decodeTurn(
  blobs: BlobPort,
  message: Pick<StoredMessage, "data" | "headers">,
): Promise<Turn> {
  const value = decode(message.data, message.headers[headers.contentType] ?? "application/json");
  const whole = mayHoldBlob(message.data) ? await inflate(value, (digest) => blobs.get(digest)) : value;
  const parsed = Turn.safeParse(whole);
  if (!parsed.success)
    throw new MeshError("LEDGER_BROKEN", `a ledger message is no turn: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
