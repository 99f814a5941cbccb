/** All: archives many sagas, a few at a time. What fails for one says so in its document and hinders no other. */
import type { ArchiveDocument } from "../../protocol/documents/archive.ts";
import { isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { unreadableOf } from "../ledger/many.ts";
import { eachOf } from "../process/each-of.ts";
import { type ArchiveDeps, type ArchiveOptions, archiveSaga } from "./archive.ts";

/** Ledgers held in memory at a time. */
const concurrencyMax = 4;

/**
 * Archives each saga that is due and tells of each, in no order; of one that cannot be read why. Ends early, between two
 * sagas, when the signal comes. Throws UNAVAILABLE.
 */
export async function archiveAll(
  deps: ArchiveDeps,
  sagas: readonly SagaId[],
  options: ArchiveOptions & { readonly signal: AbortSignal },
  tell: (document: ArchiveDocument) => void,
): Promise<void> {
  await eachOf(sagas, concurrencyMax, async (saga) => {
    if (!options.signal.aborted)
      tell(await archiveSaga(deps, saga, options).catch((error: unknown) => failed(saga, error)));
  });
}

function failed(saga: SagaId, error: unknown): ArchiveDocument {
  if (isMeshError(error, "UNAVAILABLE")) throw error;
  const { code, reason } = unreadableOf(saga, error);
  return { saga, outcome: "failed", reason: `[${code}] ${reason}` };
}
