/**
 * Ledger reader: stored messages to turns, with the chain checked on the way.
 *
 * LR1 Each turn's `prev` is the hash of the bytes before it, its number the one before plus one, its saga the
 *     subject's. What does not hold throws LEDGER_BROKEN with the turn.
 * LR2 A tombstone is no turn. A reader that asks for the turns of an archived saga is refused: SAGA_ARCHIVED.
 * LR3 What was ever written is read, deeper than any value may come in today: a saga that took such a value before there
 *     was a limit can be looked at, cancelled and undone.
 */
import { z } from "zod";
import { decodeOwn, mayHoldBlob } from "../../protocol/codec.ts";
import { chainHash } from "../../protocol/digest.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { headers } from "../../protocol/subjects.ts";
import { Tombstone, tombstoneEvent } from "../../protocol/tombstone.ts";
import { ledgerVersion, Turn } from "../../protocol/turn.ts";
import { inflate } from "../wire/blobs.ts";
import type { BlobPort, InboxPort, LedgerPort, LoopPort, StoredMessage } from "../wire/ports.ts";

/** What reading needs. A mesh has it, and so has an archive. */
export interface LedgerSource {
  readonly ledger: Pick<LedgerPort, "last" | "read">;
  readonly blobs: Pick<BlobPort, "get">;
  /** Tells a saga that waits for its first host from one that is not; an archive has no such thing. */
  readonly inbox?: Pick<InboxPort, "standingStart">;
  /** Given way to between turns. */
  readonly loop?: LoopPort;
}

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
  /** Of the message's body, without what it keeps as blobs. */
  readonly bytes: number;
}

/** A ledger's turns after `after` up to sequence `throughSeq`, verified against `after`. */
export async function readTurns(
  ports: LedgerSource,
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
    await ports.loop?.breathe();
  }
  if (head.seq !== throughSeq)
    throw new MeshError("UNAVAILABLE", `the ledger of ${saga} was read up to ${head.seq}, not ${throughSeq}`);
  return turns;
}

/** One stored message as the turn that follows `after`. */
export async function readTurn(
  blobs: LedgerSource["blobs"],
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
    bytes: message.data.length,
  };
}

/**
 * A turn's bytes as a turn, blobs put back. Throws BAD_MESSAGE, LEDGER_BROKEN, SAGA_ARCHIVED (LR2), or LEDGER_VERSION for
 * a turn of another format.
 */
export async function decodeTurn(
  blobs: LedgerSource["blobs"],
  message: Pick<StoredMessage, "data" | "headers">,
): Promise<Turn> {
  await assertNotArchived(blobs, message);
  const value = await valueOf(blobs, message);
  const parsed = Turn.safeParse(value);
  if (parsed.success) return parsed.data;
  const { v } = OfVersion.safeParse(value).data ?? {};
  throw v === undefined || v === ledgerVersion
    ? new MeshError("LEDGER_BROKEN", `a ledger message is no turn: ${z.prettifyError(parsed.error)}`)
    : new MeshError(
        "LEDGER_VERSION",
        `a ledger message has the format ${v}; this version reads ${ledgerVersion}`,
      );
}

/** A turn of whatever format. */
const OfVersion = z.object({ v: z.int(), saga: z.string(), turn: z.int() });

/** Whether a ledger message is the last one of an archived saga. */
export const isTombstone = (message: Pick<StoredMessage, "headers">): boolean =>
  message.headers[headers.event] === tombstoneEvent;

/** Throws SAGA_ARCHIVED for a tombstone (LR2). */
export async function assertNotArchived(
  blobs: LedgerSource["blobs"],
  message: Pick<StoredMessage, "data" | "headers">,
): Promise<void> {
  if (!isTombstone(message)) return;
  const { saga, turns, file } = await readTombstone(blobs, message);
  throw new MeshError("SAGA_ARCHIVED", `the ${turns} turns of ${saga} were archived to ${file}`);
}

/** What is left of an archived saga. Throws LEDGER_BROKEN for what is none. */
export async function readTombstone(
  blobs: LedgerSource["blobs"],
  message: Pick<StoredMessage, "data" | "headers">,
): Promise<Tombstone> {
  const parsed = Tombstone.safeParse(await valueOf(blobs, message));
  if (!parsed.success)
    throw new MeshError("LEDGER_BROKEN", `a tombstone cannot be read: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** The same by the saga's id; undefined for one that was not archived, or never started. Throws UNAVAILABLE. */
export async function findTombstone(ports: LedgerSource, saga: SagaId): Promise<Tombstone | undefined> {
  const last = await ports.ledger.last(saga);
  return last !== undefined && isTombstone(last) ? readTombstone(ports.blobs, last) : undefined;
}

async function valueOf(
  blobs: LedgerSource["blobs"],
  message: Pick<StoredMessage, "data" | "headers">,
): Promise<Json> {
  const value = decodeOwn(message.data, message.headers[headers.contentType] ?? "application/json");
  return mayHoldBlob(message.data) ? inflate(value, (digest) => blobs.get(digest)) : value;
}
