/**
 * Write: a row is put in its place, and those that stood for the saga before are taken away after it.
 *
 * AC1 A write has a Msg-Id of its own, under which it is sent again: the first, should it arrive late, takes no later row's place.
 *     Another write of the same row has another, for the row may have been taken away in between.
 */
import { encodeRow, otherKeys, type RowKey, rowKey } from "../../protocol/documents/listing.ts";
import type { ListingPort } from "../wire/ports.ts";
import type { Row } from "./row-of.ts";

/** Which row stood there: the one of this key, none, or any, which is looked for. */
export type RowBefore = { readonly key: string } | "none" | "unknown";

/**
 * Writes a row, in place of the one before. After a failure
 * both may stand, and the same may be asked for again under the same id. Throws STORAGE_FULL, UNAVAILABLE.
 */
export async function writeRow(
  listing: ListingPort,
  { key, row }: Row,
  before: RowBefore,
  id: string,
): Promise<void> {
  const own = rowKey(key);
  await listing.put(own, encodeRow(row), id);
  if (before === "unknown") await removeStanding(listing, otherKeys(key), id);
  else if (before !== "none" && before.key !== own) await listing.remove(before.key, `${id}-${before.key}`);
}

/** Takes away whatever stands for a saga of which the key says all but how it stood before. Throws as `writeRow`. */
export const dropRows = (listing: ListingPort, key: RowKey, id: string): Promise<void> =>
  removeStanding(listing, [rowKey(key), ...otherKeys(key)], id);

async function removeStanding(listing: ListingPort, keys: readonly string[], id: string): Promise<void> {
  for (const key of await listing.standing(keys)) await listing.remove(key, `${id}-${key}`);
}

/** Ids of writes: of this process, and each once. */
export function createIds(incarnation: string): () => string {
  let count = 0;
  return () => `${incarnation}.row${(count += 1)}`;
}
