/**
 * Write: a row is put in its place, and those that stood for the saga before are taken away after it.
 *
 * AC1 A write has a Msg-Id of its own, under which it is sent again: the first, should it arrive late, takes no later row's place.
 *     Another write of the same row has another, for the row may have been taken away in between.
 * AC2 A row of a later turn than the one to be written is left alone: whoever would write was told of the ledger by a leader that
 *     is deposed. Once no leader can be deposed for so long the row is of another time, as after a ledger was put back from a copy.
 */
import { decodeRow, encodeRow, otherKeys, type RowKey, rowKey } from "../../protocol/documents/listing.ts";
import type { ListingPort } from "../wire/ports.ts";
import type { Row } from "./row-of.ts";

/**
 * Which row stood there: the one of this key, none, or any, which is looked for. `replaced`: any, and it is known to be of another
 * time (AC2).
 */
export type RowBefore = { readonly key: string } | "none" | "unknown" | "replaced";

/**
 * Writes a row, in place of the one before. After a failure both may stand, and the same may be asked for again under the same id.
 * False where nothing was written (AC2). Throws STORAGE_FULL, UNAVAILABLE.
 */
export async function writeRow(
  listing: ListingPort,
  { key, row }: Row,
  before: RowBefore,
  id: string,
): Promise<boolean> {
  const own = rowKey(key);
  const isAny = before === "unknown" || before === "replaced";
  const standing = isAny ? await listing.standing([own, ...otherKeys(key)]) : [];
  if (before === "unknown" && standing.some(({ data }) => (decodeRow(data)?.turn ?? 0) > row.turn))
    return false; // AC2
  await listing.put(own, encodeRow(row), id);
  const others = isAny || before === "none" ? standing.map((one) => one.key) : [before.key];
  for (const other of others) if (other !== own) await listing.remove(other, `${id}-${other}`);
  return true;
}

/** Takes away whatever stands for a saga of which the key says all but how it stood before. Throws as `writeRow`. */
export async function dropRows(listing: ListingPort, key: RowKey, id: string): Promise<void> {
  const standing = await listing.standing([rowKey(key), ...otherKeys(key)]);
  for (const one of standing) await listing.remove(one.key, `${id}-${one.key}`);
}

/** Ids of writes: of this process, and each once. */
export function createIds(incarnation: string): () => string {
  let count = 0;
  return () => `${incarnation}.row${(count += 1)}`;
}
