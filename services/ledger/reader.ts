/**
 * Ledger reader: stored messages to turns, with the chain checked on the way.
 *
 * LR1 Each turn's `prev` is the hash of the bytes before it, its number the one before plus one, its saga the
 *     subject's. What does not hold is no turn and is skipped (chain.ts).
 * LR2 A tombstone is no turn. A reader that asks for the turns of an archived saga is refused: SAGA_ARCHIVED.
 * LR3 What was ever written is read, deeper than any value may come in today: a saga that took such a value before there
 *     was a limit can be looked at, cancelled and undone.
 */
import { z } from "zod";
import { mayHoldBlob } from "../../protocol/codec.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { headers } from "../../protocol/subjects.ts";
import { Tombstone, tombstoneEvent } from "../../protocol/tombstone.ts";
import { ledgerVersion, Turn } from "../../protocol/turn.ts";
import { inflate } from "../wire/blobs.ts";
import type { BlobPort, InboxPort, LoopPort, StoredMessage } from "../wire/ports.ts";
import { type ChainSource, type Head, lastTurnOf, type Link, readChain, sortingFrom } from "./chain.ts";
import { contentOf } from "./content.ts";
import { readPages } from "./pages.ts";

export { emptyHead, type Head } from "./chain.ts";

/** What reading needs. A mesh has it, and so has an archive. */
export interface LedgerSource extends ChainSource {
  readonly blobs: Pick<BlobPort, "get">;
  /** Tells a saga that waits for its first host from one that is not; an archive has no such thing. */
  readonly inbox?: Pick<InboxPort, "standingStart">;
  /** Given way to between turns. */
  readonly loop?: LoopPort;
}

/** A turn with its place in the stream. */
export interface StoredTurn {
  readonly turn: Turn;
  readonly head: Head;
  readonly storedAt: number;
  /** Of the message's body, without what it keeps as blobs. */
  readonly bytes: number;
}

/**
 * A ledger's turns after `after` up to sequence `throughSeq`, chained to it; foreign messages are skipped. Throws
 * SAGA_ARCHIVED (LR2), LEDGER_BROKEN, LEDGER_VERSION, UNAVAILABLE.
 */
export async function readTurns(
  ports: LedgerSource,
  saga: SagaId,
  after: Head,
  throughSeq: number,
): Promise<StoredTurn[]> {
  const chain = await readChain(ports, saga, after, throughSeq);
  if (chain.tombstone !== undefined) await assertNotArchived(ports.blobs, chain.tombstone);
  return turnsOf(ports, chain.links);
}

/**
 * The same, some turns at a time (pages.ts), so that only these are in memory. That the ledger was archived, or that a turn of it is
 * gone, may show only at its end: then it is thrown there, and what was taken counts for nothing.
 */
export async function* turnsInPages(
  ports: LedgerSource,
  saga: SagaId,
  after: Head,
  throughSeq: number,
): AsyncGenerator<StoredTurn[]> {
  const sorting = sortingFrom(saga, after);
  let foreign = 0;
  for await (const messages of readPages(ports.ledger, saga, after.seq, throughSeq)) {
    const turns: StoredTurn[] = [];
    for (const message of messages) {
      const kind = sorting.take(message);
      if (kind === "turn") turns.push(await turnOfLink(ports.blobs, { message, head: sorting.head }));
      else if (kind === "tombstone") await assertNotArchived(ports.blobs, message);
      else foreign += 1;
      const wait = ports.loop?.breathe();
      if (wait !== undefined) await wait;
    }
    if (turns.length > 0) yield turns;
  }
  const gap = sorting.gap();
  if (gap !== undefined) throw gap;
  if (foreign > 0) ports.met?.(saga, foreign);
}

/** A chain's messages as turns. Throws LEDGER_BROKEN, LEDGER_VERSION, UNAVAILABLE. */
export async function turnsOf(
  ports: Pick<LedgerSource, "blobs" | "loop">,
  links: readonly Link[],
): Promise<StoredTurn[]> {
  const turns: StoredTurn[] = [];
  for (const link of links) {
    turns.push(await turnOfLink(ports.blobs, link));
    await ports.loop?.breathe();
  }
  return turns;
}

/** One link as a turn. Throws as `turnsOf`. */
export async function turnOfLink(blobs: LedgerSource["blobs"], { message, head }: Link): Promise<StoredTurn> {
  const turn = await decodeTurn(blobs, message);
  return { turn, head, storedAt: message.storedAt, bytes: message.data.length };
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
  const last = await lastTurnOf(ports, saga);
  return last !== undefined && isTombstone(last) ? readTombstone(ports.blobs, last) : undefined;
}

async function valueOf(
  blobs: LedgerSource["blobs"],
  message: Pick<StoredMessage, "data" | "headers">,
): Promise<Json> {
  const value = contentOf(message);
  return mayHoldBlob(message.data) ? inflate(value, (digest) => blobs.get(digest)) : value;
}
