/**
 * Keep: one of the hosts sees to it that the listing is whole, and says so by the mark (whole.ts).
 *
 * KQ1 The keeper is the first by name of the hosts that serve. What was stored before it became that, or while a host served that
 *     keeps no rows, it takes in: all ledgers where there is no mark, else those on which something was stored since the mark.
 * KQ2 A host that keeps no rows may have served for a moment before it is heard of. So the mark is put to where the ledgers ended
 *     when it was written before, and never to where they end now.
 * KQ3 While not all hosts keep rows the mark stays where it is, and who takes it up goes on from there. It names no keeper then: what
 *     a host without rows stored is in none of them once that is gone and no more seen, until it is taken in. One that came and went
 *     between two looks counts too.
 * KQ4 The pin goes on before the mark does, from where it was seen, so a mark never names one that the rows may lack. Rows without the
 *     pin are believed lost only after as long as a server can lag, or lead no more and answer; then there is no mark until all are
 *     written anew.
 */
import { encodeListingMark, type ListingMark, listingMarkKey } from "../../protocol/documents/listing.ts";
import { limits } from "../../protocol/limits.ts";
import { isRivalry } from "../wire/patience.ts";
import type { ListingPort, RowsHolder } from "../wire/ports.ts";
import type { Rows } from "./rows.ts";
import { takeIn, type TakeInDeps } from "./take-in.ts";
import { isBeside, isBeyond, readListingMark, spoilListing } from "./whole.ts";

/** What the keeping lives on. */
export interface KeepDeps extends TakeInDeps {
  /** Those that live, this host too. */
  readonly hosts: () => readonly {
    readonly host: string;
    readonly draining: boolean;
    readonly lists?: true | undefined;
  }[];
  /** How often one was heard that keeps no rows: what changes, where one came and went unseen. */
  readonly heardWithoutRows: () => number;
  readonly rows: Pick<Rows, "payOwed" | "isWhole">;
}

/** What the keeper has found out. */
interface Kept {
  /** Where the ledgers ended then (KQ2). */
  readonly end: readonly number[];
  /** By the time elapsed. */
  readonly at: number;
}

/** A look, to be had with each beat of a host: it does what is due. Throws UNAVAILABLE. */
export function createKeeping(deps: KeepDeps): () => Promise<void> {
  const { ports, clock, hosts, heardWithoutRows, incarnation, rows } = deps;
  let kept: Kept | undefined;
  /** Whether the mark may name this host. */
  let isNamed = false;
  let withoutRows = heardWithoutRows();
  /** Since when the rows seem to be others, by the time elapsed (KQ4). */
  let doubtedAt: number | undefined;

  /** KQ3: asked of once, of what was since it was asked before. */
  const wereAnyWithout = (): boolean => {
    const before = withoutRows;
    withoutRows = heardWithoutRows();
    return withoutRows !== before || hosts().some(({ lists }) => lists !== true);
  };
  const isDue = (): boolean => {
    const [first] = hosts()
      .flatMap(({ host, draining }) => (draining ? [] : [host]))
      .sort();
    if (first !== incarnation) kept = undefined;
    return (
      first === incarnation && (kept === undefined || clock.elapsed() - kept.at >= limits.listingMarkEveryMs)
    );
  };
  /** KQ3. Throws UNAVAILABLE, WRONG_SEQUENCE. */
  async function stepBack(): Promise<void> {
    kept = undefined;
    if (!isNamed) return;
    const { mark, revision } = await readListingMark(ports.registry);
    if (mark?.keeper === incarnation)
      await ports.registry.write(listingMarkKey, encodeListingMark({ ...mark, keeper: nobody }), revision);
    isNamed = false;
  }

  async function keep(listing: ListingPort, holder: RowsHolder): Promise<void> {
    const { mark, revision } = await readListingMark(ports.registry);
    const end = await ports.ledger.end();
    const isBesideIt = mark !== undefined && isBeside(mark, holder);
    const areOthers = mark?.made === holder.made && !isBesideIt;
    doubtedAt = areOthers ? (doubtedAt ?? clock.elapsed()) : undefined;
    if (doubtedAt !== undefined && clock.elapsed() - doubtedAt < limits.deposedMsMax) return; // KQ4
    const isOfThis = isBesideIt && !isBeyond(mark, end);
    const before = isOfThis && mark.keeper === incarnation ? kept : undefined;
    const isOther = revision > 0 && (mark === undefined || isBeyond(mark, end)); // Spoiled, or of ledgers that were put back.
    const next = { made: holder.made, through: [...(before?.end ?? end)], keeper: incarnation };
    if (before === undefined || !isSame(mark, next)) {
      const stored = areOthers ? await spoilListing(ports.registry) : revision;
      const pin = await listing.pin(holder.pin ?? 0);
      if (before === undefined) await takeIn(deps, listing, isOfThis ? mark.through : undefined, isOther); // KQ1
      if (heardWithoutRows() !== withoutRows) return; // KQ3
      isNamed = true;
      await ports.registry.write(listingMarkKey, encodeListingMark({ ...next, pin }), stored);
    }
    kept = { end, at: clock.elapsed() };
    doubtedAt = undefined;
  }

  const { listing } = ports;
  if (listing === undefined) return () => Promise.resolve();
  return async () => {
    await rows.payOwed();
    if (!rows.isWhole()) return;
    try {
      if (wereAnyWithout()) return await stepBack();
      if (!isDue()) return;
      const holder = await listing.holder();
      if (holder !== undefined) await keep(listing, holder);
    } catch (error) {
      kept = undefined;
      if (!isRivalry(error) && !deps.signal.aborted) throw error;
    }
  };
}

/** No host has this name. */
const nobody = "";

/** But for the pin, which goes on with the rest. */
const isSame = ({ pin: _, ...mark }: Partial<ListingMark> = {}, next: ListingMark): boolean =>
  JSON.stringify(mark) === JSON.stringify(next);
