/**
 * Running rows: how sagas that go on stand now, read from their ledgers. What is kept of one is its account with the latest
 * of what is over, not its turns.
 */
import type { SagaRow } from "../../protocol/documents/saga.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { createAccountReader } from "../ledger/account-reader.ts";
import { findTombstone } from "../ledger/reader.ts";
import { rowOfArchived, rowOfView } from "../views/saga-row.ts";
import { type ViewOptions, viewOfAccount } from "../views/view.ts";
import { createGrowing, type GrowingPorts } from "./growing.ts";

/** Throws SAGA_UNKNOWN, SAGA_NOT_BEGUN, LEDGER_BROKEN, LEDGER_VERSION, UNAVAILABLE. */
export type RowReader = (saga: SagaId, viewing: ViewOptions) => Promise<SagaRow>;

/** Some pages of the list. */
const sagasMax = 400;
/** Of what is over: a row tells of what is open. */
const remembers = 50;

export function createRowReader(ports: GrowingPorts): RowReader {
  const accounts = createGrowing(ports, {
    begin: () => createAccountReader(remembers),
    take: (reader, { turn }) => void reader.take(turn),
    sagasMax,
    bytesMax: Number.POSITIVE_INFINITY, // An account keeps no turn.
  });
  return async (saga, viewing) => {
    try {
      const { account } = await accounts(saga);
      return rowOfView(account, viewOfAccount(account, viewing), viewing);
    } catch (error) {
      const tombstone = await findTombstone(ports, saga).catch(() => undefined);
      if (tombstone === undefined) throw error;
      return rowOfArchived(tombstone);
    }
  };
}
