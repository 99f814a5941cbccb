/**
 * Ledger index: where in a ledger each intent stands, what it was decided on, and what was new to each decision, as
 * graphs and stories look it up. A projection of the account (ledger/account.ts).
 */
import type { IntentId } from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { Account, DecidedIntent, StepPlace } from "../ledger/account.ts";
import { stepsOf } from "../ledger/account-reader.ts";

/** Where an intent was decided. */
export interface Place extends StepPlace {
  readonly intent: DecidedIntent;
  /** The decision whose call it is. */
  readonly proposedBy: IntentId | undefined;
}

export interface LedgerIndex extends Pick<Account, "numbers" | "news" | "superseded" | "undone"> {
  readonly steps: readonly StepPlace[];
  readonly places: ReadonlyMap<IntentId, Place>;
}

/** The index of the turns that the account is of. */
export function indexOf(turns: readonly Turn[], account: Account): LedgerIndex {
  const { numbers, news, superseded, undone } = account;
  const places = new Map(
    [...account.intents].map(([id, { place, intent, proposedBy }]) => [id, { ...place, intent, proposedBy }]),
  );
  return { steps: turns.flatMap(stepsOf), places, numbers, news, superseded, undone };
}
