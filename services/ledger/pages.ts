/**
 * Pages: a ledger's messages some at a time, so that a reader of a hundred thousand turns has a few hundred in memory.
 *
 * QH1 The next page is asked for as the last one is handed on, and no further: who takes long to read holds two pages.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { LedgerPort, StoredMessage } from "../wire/ports.ts";

/** Messages of a page: reading one takes some milliseconds, and waits for one more request. */
const pageMax = 500;

/**
 * The messages on a saga's subject after `afterSeq`, in order, through a sequence that is stored there. Throws UNAVAILABLE where
 * it could not be read so far.
 */
export async function* readPages(
  ledger: Pick<LedgerPort, "read">,
  saga: SagaId,
  afterSeq: number,
  throughSeq: number,
): AsyncGenerator<StoredMessage[]> {
  if (afterSeq >= throughSeq) return;
  const ask = (after: number): Promise<StoredMessage[]> => {
    const page = ledger.read(saga, after, throughSeq, pageMax);
    page.catch(() => undefined); // Thrown where it is waited for.
    return page;
  };
  let readTo = afterSeq;
  for (let page = ask(readTo); readTo < throughSeq;) {
    const messages = await page;
    const last = messages.at(-1)?.seq ?? readTo;
    if (last <= readTo)
      throw new MeshError("UNAVAILABLE", `the ledger of ${saga} was read up to ${readTo}, not ${throughSeq}`);
    readTo = last;
    if (readTo < throughSeq) page = ask(readTo); // QH1
    yield messages;
  }
}
