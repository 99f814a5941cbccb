/**
 * Saga row: one saga in one line, of its ledger or of what is left once that is archived.
 */
import { asAmounts, sumOf } from "../../actors/kernel/spending.ts";
import type { Amounts } from "../../protocol/budget.ts";
import type { SagaRow } from "../../protocol/documents/saga.ts";
import { describeError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Tombstone } from "../../protocol/tombstone.ts";
import type { Turn } from "../../protocol/turn.ts";
import { accountOf } from "../ledger/account-reader.ts";
import { steeringOf } from "./steering-view.ts";
import { type IntentView, type SagaView, type ViewOptions, viewOfAccount } from "./view.ts";

/** The row of a ledger. Throws LEDGER_BROKEN. */
export function rowOfLedger(ledger: readonly Turn[], options: ViewOptions): SagaRow {
  const account = accountOf(ledger);
  const view = viewOfAccount(account, options);
  const { saga, status, turns, startedAt, updatedAt } = view;
  const { name, version } = view.definition;
  return {
    ...{ saga, name, version, status, turns, startedAt, updatedAt },
    waitsFor: view.phase === "running" && view.open.length === 0 ? ["signal"] : view.open.map(waitOf),
    ...(view.parent === undefined ? {} : { parent: view.parent }),
    ...(view.migrations?.[0] === undefined ? {} : { startedAs: view.migrations[0].from }),
    ...(view.fork === undefined ? {} : { fork: view.fork }),
    ...steeringOf(account),
    used: usedBy(view),
    ...(view.budget === undefined ? {} : { limits: view.budget.limits }),
  };
}

/** The row of an archived saga. */
export function rowOfArchived(tombstone: Tombstone): SagaRow {
  const { saga, definition, end, turns, startedAt, endedAt, parent, fork, file } = tombstone;
  const { name, version } = definition;
  return {
    ...{ saga, name, version, status: end.status, turns, startedAt, updatedAt: endedAt, waitsFor: [] },
    ...(parent === undefined ? {} : { parent }),
    ...(fork === undefined ? {} : { fork }),
    archived: file,
  };
}

/** The row of a ledger that cannot be read: it says so, and hides no other. */
export const rowOfUnreadable = (saga: SagaId, turns: number, error: unknown): SagaRow => ({
  ...{ saga, name: "?", version: 0, status: "running", turns, startedAt: 0, updatedAt: 0, waitsFor: [] },
  fault: describeError(error),
});

/** What it and all below it have used. */
export const usedBy = ({ spent, below, budget }: SagaView): Amounts => ({
  ...asAmounts(sumOf({ ...spent, unreportedTokens: 0 }, below)),
  ...budget?.used,
});

function waitOf({ intent }: IntentView): string {
  if (intent.kind === "task") return intent.about;
  return "name" in intent ? `${intent.kind} ${intent.name}` : intent.kind;
}
