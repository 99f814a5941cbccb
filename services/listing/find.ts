/**
 * Find: the sagas of a kind, by their rows where the listing is whole, else all there are.
 */
import {
  decodeRow,
  type ListedRow,
  parseRowKey,
  type RowKey,
  rowKey,
  rowPattern,
} from "../../protocol/documents/listing.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { LedgerPort, ListingPort } from "../wire/ports.ts";
import { type ListingPorts, wholeListing } from "./whole.ts";

/** What sagas are found with. */
export interface FindPorts extends ListingPorts {
  readonly ledger: Pick<LedgerPort, "end" | "list">;
}

/** A row that was found, with its place among all of them. */
export interface FoundRow {
  readonly key: RowKey;
  /** Undefined of one that cannot be read. */
  readonly row: ListedRow | undefined;
  readonly place: number;
}

/** The rows of a kind that were written after a place, in pieces. A saga may come twice, the right row last. Throws UNAVAILABLE. */
export async function* rowsOf(
  listing: Pick<ListingPort, "read">,
  kind: Partial<RowKey>,
  afterPlace = 0,
): AsyncGenerator<FoundRow[]> {
  for await (const rows of listing.read(rowPattern(kind), afterPlace))
    yield rows.flatMap(({ key, data, place }) => {
      const read = parseRowKey(key);
      return read === undefined ? [] : [{ key: read, row: decodeRow(data), place }];
    });
}

/**
 * The sagas that may be of one of these kinds: no other is left out, and one that was a moment ago may be among them. Where the
 * listing is not whole it is every saga, and `report` is told why. Throws UNAVAILABLE.
 */
export async function sagasOf(
  ports: FindPorts,
  kinds: readonly Partial<RowKey>[],
  report: (why: string) => void = () => undefined,
  isMeant: (row: FoundRow) => boolean = () => true,
): Promise<SagaId[]> {
  const listing = await wholeListing(ports);
  if (typeof listing === "string") {
    report(`every ledger is read: ${listing}`);
    return (await ports.ledger.list()).map(({ saga }) => saga);
  }
  const found = new Set<SagaId>();
  for (const kind of kinds)
    for await (const rows of rowsOf(listing, kind))
      for (const row of rows) if (isMeant(row)) found.add(row.key.saga);
  return [...found];
}

/**
 * The sagas that have no row: of those that have begun the archived ones, and what began just now. Where the listing is not whole it is
 * every saga. Throws UNAVAILABLE.
 */
export async function withoutRow(ports: FindPorts): Promise<SagaId[]> {
  const listing = await wholeListing(ports);
  const listed = new Set<SagaId>();
  if (typeof listing !== "string")
    for await (const rows of rowsOf(listing, {})) for (const { key } of rows) listed.add(key.saga);
  return (await ports.ledger.list()).flatMap(({ saga }) => (listed.has(saga) ? [] : [saga]));
}

/** So many sagas are looked for one by one; of more it costs less to read all rows. */
const singlyMax = 32;

/** Takes away the rows of sagas that were archived; `ids` gives each write a Msg-Id. Throws STORAGE_FULL, UNAVAILABLE. */
export async function forgetRows(
  listing: ListingPort,
  archived: ReadonlySet<SagaId>,
  ids: () => string,
): Promise<void> {
  const kinds = archived.size > singlyMax ? [{}] : [...archived].map((saga) => ({ saga }));
  for (const kind of kinds)
    for await (const rows of rowsOf(listing, kind))
      for (const { key } of rows) if (archived.has(key.saga)) await listing.remove(rowKey(key), ids());
}
