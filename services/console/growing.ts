/**
 * Growing: what is made of ledgers turn by turn, kept as far as they were read, so that each turn is read once however
 * often a page asks again.
 *
 * BR1 What is kept is bounded: what was used least lately goes first. What is asked for is read whole all the same.
 * BR2 What does not go on, because the ledger was set back or archived, is dropped, and the saga is read anew.
 */
import type { SagaId } from "../../protocol/ids.ts";
import { emptyHead, type Head, type StoredTurn, turnsInPages } from "../ledger/reader.ts";
import { ledgerInPages } from "../views/view.ts";
import type { Ports } from "../wire/ports.ts";

export type GrowingPorts = Pick<Ports, "ledger" | "blobs" | "inbox" | "loop">;

/** What is made of each ledger, and how much of it may be kept. */
export interface Making<T> {
  /** Of a saga of which nothing was read yet. */
  readonly begin: (saga: SagaId) => T;
  readonly take: (made: T, stored: StoredTurn) => void;
  readonly sagasMax: number;
  /** Of messages as they are stored, all sagas together. */
  readonly bytesMax: number;
}

interface Kept<T> {
  readonly made: T;
  head: Head;
  bytes: number;
}

/**
 * Gives what was made of a saga's ledger up to its last turn. Throws SAGA_UNKNOWN, SAGA_NOT_BEGUN, SAGA_ARCHIVED,
 * LEDGER_BROKEN, LEDGER_VERSION, UNAVAILABLE.
 */
export function createGrowing<T>(ports: GrowingPorts, making: Making<T>): (saga: SagaId) => Promise<T> {
  /** What was used last stands last. */
  const kept = new Map<SagaId, Kept<T>>();
  const underWay = new Map<SagaId, Promise<T>>();

  const takeAll = async (one: Kept<T>, pages: AsyncIterable<readonly StoredTurn[]>): Promise<void> => {
    for await (const page of pages)
      for (const stored of page) {
        making.take(one.made, stored);
        one.head = stored.head;
        one.bytes += stored.bytes;
        const wait = ports.loop?.breathe();
        if (wait !== undefined) await wait;
      }
  };
  const goesOn = async (saga: SagaId, one: Kept<T>): Promise<boolean> => {
    const last = await ports.ledger.last(saga);
    if (last === undefined || last.seq < one.head.seq) return false;
    if (last.seq > one.head.seq) await takeAll(one, turnsInPages(ports, saga, one.head, last.seq));
    return true;
  };
  const read = async (saga: SagaId): Promise<T> => {
    const known = kept.get(saga);
    kept.delete(saga);
    if (known !== undefined && (await goesOn(saga, known).catch(() => false))) return keep(saga, known); // BR2
    const one: Kept<T> = { made: making.begin(saga), head: emptyHead, bytes: 0 };
    await takeAll(one, ledgerInPages(ports, saga)); // It says what is wrong, if anything still is.
    return keep(saga, one);
  };
  /** BR1. */
  const keep = (saga: SagaId, one: Kept<T>): T => {
    kept.set(saga, one);
    let bytes = 0;
    for (const { bytes: own } of kept.values()) bytes += own;
    for (const [oldest, { bytes: own }] of kept) {
      const isOver = bytes > making.bytesMax || kept.size > making.sagasMax;
      if (!isOver || oldest === saga) break;
      kept.delete(oldest);
      bytes -= own;
    }
    return one.made;
  };

  return (saga) => {
    // Two requests for one saga read it once, and neither takes a turn twice.
    const reading = underWay.get(saga) ?? read(saga).finally(() => underWay.delete(saga));
    underWay.set(saga, reading);
    return reading;
  };
}
