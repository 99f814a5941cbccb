/**
 * Find: the sagas of a kind, by their rows where the listing is whole, else all there are.
 */
import { parseRowKey, type RowKey, rowPattern } from "../../protocol/documents/listing.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { LedgerPort } from "../wire/ports.ts";
import { type ListingPorts, wholeListing } from "./whole.ts";

/** What sagas are found with. */
export interface FindPorts extends ListingPorts {
  readonly ledger: Pick<LedgerPort, "end" | "list">;
}

/**
 * The sagas that may be of one of these kinds: no other is left out, and one that was a moment ago may be among them. Where the
 * listing is not whole it is every saga, and `report` is told why. Throws UNAVAILABLE.
 */
export async function sagasOf(
  ports: FindPorts,
  kinds: readonly Partial<RowKey>[],
  report: (why: string) => void = () => undefined,
): Promise<SagaId[]> {
  const listing = await wholeListing(ports);
  if (typeof listing === "string") {
    report(`every ledger is read: ${listing}`);
    return (await ports.ledger.list()).map(({ saga }) => saga);
  }
  const found = new Set<SagaId>();
  for (const kind of kinds)
    for await (const rows of listing.read(rowPattern(kind)))
      for (const { key } of rows) {
        const saga = parseRowKey(key)?.saga;
        if (saga !== undefined) found.add(saga);
      }
  return [...found];
}
