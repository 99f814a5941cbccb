/**
 * Whole: whether the listing has a row for every saga, so that one may go by it.
 *
 * YW1 A mark in the registry says up to where in the ledgers the rows are whole. Beyond that they are as long as the host that
 *     wrote the mark lives and all hosts keep rows; or where nothing was stored since.
 * YW2 The mark holds for the bucket that it was written beside, while that has its pin, which only goes on: in one that was made anew,
 *     was emptied or was put back from a copy rows are missing.
 * YW3 A host whose entry cannot be read may be of a version that keeps none.
 */
import { decodeListingMark, type ListingMark, listingMarkKey } from "../../protocol/documents/listing.ts";
import { decodeHostEntry } from "../../protocol/host-entry.ts";
import { isMeshError } from "../../protocol/errors.ts";
import type { ListingPort, Ports, RowsHolder } from "../wire/ports.ts";

/** What is asked. */
export interface ListingPorts {
  readonly listing?: ListingPort | undefined;
  readonly registry: Pick<Ports["registry"], "read">;
  readonly membership: Pick<Ports["membership"], "hosts">;
  readonly ledger: Pick<Ports["ledger"], "end">;
}

/** The mark, and its revision to write it anew; 0: there is none. Throws UNAVAILABLE. */
export async function readListingMark(
  registry: ListingPorts["registry"],
): Promise<{ readonly mark?: ListingMark | undefined; readonly revision: number }> {
  const stored = await registry.read(listingMarkKey);
  return stored === undefined
    ? { revision: 0 }
    : { mark: decodeListingMark(stored.data), revision: stored.revision };
}

/** The listing where it is whole, else in words why every ledger is read. Throws UNAVAILABLE. */
export async function wholeListing(ports: ListingPorts): Promise<ListingPort | string> {
  const { listing, registry, membership, ledger } = ports;
  if (listing === undefined) return "no listing is kept here";
  const { mark } = await readListingMark(registry);
  const holder = await listing.holder().catch(unmade); // After the mark: the bucket goes on, and the mark is of before.
  if (holder === undefined) return "the listing of sagas was lost";
  if (mark === undefined) return "no host has written the listing of sagas yet";
  if (!isBeside(mark, holder)) return "the listing of sagas was lost and is being written anew"; // YW2
  const end = await ledger.end();
  if (isBeyond(mark, end)) return "the ledgers were put back from a copy";
  const hosts = (await membership.hosts()).map(({ host, data }) => ({ host, entry: decodeHostEntry(data) }));
  const without = hosts.find(({ entry }) => entry?.lists !== true); // YW3
  if (without !== undefined) return `host ${without.host} does not keep the listing of sagas`;
  if (hosts.some(({ host }) => host === mark.keeper)) return listing;
  const isAtEnd = end.every((seq, shard) => seq === (mark.through[shard] ?? 0));
  return isAtEnd ? listing : "the listing of sagas is being caught up with the ledgers";
}

/**
 * Has all ledgers taken in anew, as after a store was put back. The mark's revision then. Throws UNAVAILABLE, WRONG_SEQUENCE where it
 * was written meanwhile.
 */
export async function spoilListing(registry: Pick<Ports["registry"], "read" | "write">): Promise<number> {
  const { revision } = await readListingMark(registry);
  return revision === 0 ? 0 : registry.write(listingMarkKey, new TextEncoder().encode("spoiled"), revision);
}

/** YW2. */
export const isBeside = (mark: ListingMark, { made, pin = 0 }: RowsHolder): boolean =>
  mark.made === made && pin >= (mark.pin ?? 0);

/** Whether the rows know of more than the ledgers hold. */
export const isBeyond = ({ through }: ListingMark, end: readonly number[]): boolean =>
  through.some((seq, shard) => seq > (end[shard] ?? 0));

/** A bucket that is not there, as in a mesh of a former version that is only read. */
function unmade(error: unknown): undefined {
  if (isMeshError(error, "UNAVAILABLE")) throw error;
}
