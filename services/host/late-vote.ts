/**
 * Late vote: a vote whose task is not open, held against the ledger that the state no longer remembers.
 */
import { describeError, isMeshError, MeshError } from "../../protocol/errors.ts";
import type { EventOf } from "../../protocol/event.ts";
import { accounting } from "../ledger/account-reader.ts";
import type { Account } from "../ledger/account.ts";
import { refusalOfLate } from "../ledger/late-vote.ts";
import { emptyHead, type Head, readTurns } from "../ledger/reader.ts";
import { patiently } from "../wire/patience.ts";
import type { Owned, Residence } from "./phase.ts";
import { inPieces } from "../wire/loop.ts";

/** A flood of such votes reads a ledger once for each turn that it grows by. */
const accounts = new WeakMap<Head, Promise<Account>>();

/** Why it is refused; undefined if the ledger has this very vote. Throws UNAVAILABLE. */
export async function refusalInLedger(
  self: Residence,
  own: Owned,
  vote: EventOf<"task">,
): Promise<MeshError | undefined> {
  const { head } = own.loaded;
  const reading = accounts.get(head) ?? readAccount(self, head);
  accounts.set(head, reading);
  try {
    return refusalOfLate(await reading, vote);
  } catch (error) {
    accounts.delete(head);
    if (!isMeshError(error) || error.retriable) throw error;
    // A ledger that cannot be read costs the word of who decided, and nothing else.
    const what = `${self.saga}/${vote.intent} is not open, and its ledger cannot be read: ${describeError(error)}`;
    return new MeshError("TASK_OVER", what, { cause: error });
  }
}

async function readAccount({ deps, saga }: Residence, head: Head): Promise<Account> {
  const stored = await patiently(deps.clock, () => readTurns(deps.ports, saga, emptyHead, head.seq));
  return inPieces(deps.ports.loop, accounting(stored.map(({ turn }) => turn)));
}
