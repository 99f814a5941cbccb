/** Listed: whether the listing says of each saga what its ledger does. */
import { decodeRow, parseRowKey, rowKey } from "../../protocol/documents/listing.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { canonicalJson, toJson } from "../../protocol/json.ts";
import { accountOf } from "../../services/ledger/account-reader.ts";
import type { StoredTurn } from "../../services/ledger/reader.ts";
import { rowOfTaken } from "../../services/listing/row-of.ts";
import { rowOfView } from "../../services/views/saga-row.ts";
import { viewOfAccount } from "../../services/views/view.ts";
import type { StoredRow } from "../../services/wire/ports.ts";

/** What is listed otherwise than its ledger has it, in words; nothing where the rows are not judged. */
export function misListed(
  rows: readonly StoredRow[] | undefined,
  ledgers: ReadonlyMap<SagaId, readonly StoredTurn[]>,
): string[] {
  if (rows === undefined) return [];
  const bySaga = Map.groupBy(rows, ({ key }) => parseRowKey(key)?.saga);
  return [...ledgers].flatMap(([saga, turns]) => {
    if (turns.length === 0) return [];
    const { key: place, ended } = standOf(turns);
    const key = rowKey(place);
    const found = (bySaga.get(saga) ?? [])
      .filter((row) => row.key === key || !isReadAnyway(row.key))
      .map((row) => [row.key, decodeRow(row.data)?.ended]);
    const isSame =
      found.length === 1 && canonicalJson(toJson(found[0])) === canonicalJson(toJson([key, ended]));
    const says = JSON.stringify([key, ended]);
    return isSame ? [] : [`${saga}: listed as ${JSON.stringify(found)}, and its ledger says ${says}`];
  });
}

/** Of these whoever looks reads the ledger. */
const isReadAnyway = (key: string): boolean =>
  ["running", "unreadable"].includes(parseRowKey(key)?.status ?? "");

/** How a saga stands by its ledger, which is not empty: its row's key, and what that says of its end. */
export function standOf(turns: readonly StoredTurn[]) {
  const account = accountOf(turns.map(({ turn }) => turn));
  const view = viewOfAccount(account, {});
  const tasks = view.open.flatMap(({ intent }) => (intent.kind === "task" ? [intent.id] : []));
  const taken = { asks: tasks.length > 0, hasEnded: view.phase === "ended" };
  const { key, row } = rowOfTaken(rowOfView(account, view, {}), taken);
  return { key, ended: row.ended, status: view.status, tasks };
}
