/**
 * Saga row: one saga in one line, of its ledger or of what is left once that is archived.
 */
import { asAmounts, sumOf } from "../../actors/kernel/spending.ts";
import type { Amounts } from "../../protocol/budget.ts";
import type { SagaRow } from "../../protocol/documents/saga.ts";
import type { UnreadableSaga } from "../../protocol/documents/unreadable.ts";
import type { Tombstone } from "../../protocol/tombstone.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { Account } from "../ledger/account.ts";
import { accountOf } from "../ledger/account-reader.ts";
import { awaitedBy, describeAwaited, onlyAwaited, waitOf } from "./awaited.ts";
import { steeringOf } from "./steering-view.ts";
import { type IntentView, type SagaView, type ViewOptions, viewOfAccount } from "./view.ts";

/** The row of a ledger. Throws LEDGER_BROKEN. */
export function rowOfLedger(ledger: readonly Turn[], options: ViewOptions): SagaRow {
  const account = accountOf(ledger);
  return rowOfView(account, viewOfAccount(account, options), options);
}

/** The row of an account and its view. */
export function rowOfView(account: Account, view: SagaView, options: ViewOptions): SagaRow {
  const { saga, status, turns, startedAt, updatedAt } = view;
  const { name, version, hash } = view.definition;
  return {
    ...{ saga, name, version, hash, status, turns, startedAt, updatedAt },
    waitsFor: waitsOf(view, options),
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
  const { name, version, hash } = definition;
  return {
    ...{ saga, name, version, hash, status: end.status, turns, startedAt, updatedAt: endedAt, waitsFor: [] },
    ...(parent === undefined ? {} : { parent }),
    ...(fork === undefined ? {} : { fork }),
    archived: file,
  };
}

/** The row of a ledger that cannot be read: it says so, and hides no other. */
export const rowOfUnreadable = ({ saga, code, reason }: UnreadableSaga, turns: number): SagaRow => ({
  ...{
    saga,
    name: "?",
    version: 0,
    hash: "",
    status: "running",
    turns,
    startedAt: 0,
    updatedAt: 0,
    waitsFor: [],
  },
  fault: `[${code}] ${reason}`,
});

/** What it and all below it have used. */
export const usedBy = ({ spent, below, budget }: SagaView): Amounts => ({
  ...asAmounts(sumOf({ ...spent, unreportedTokens: 0 }, below)),
  ...budget?.used,
});

/** What is open, and the signals of a wait in the place of its timer. */
function waitsOf(view: SagaView, { signalsOf }: ViewOptions): string[] {
  const { open, intents, status, definition } = view;
  const awaited = onlyAwaited(view) ?? (status === "running" ? awaitedBy(intents) : undefined);
  const others = open.filter((one) => awaited === undefined || waitOf(intents, one) === undefined);
  return [
    ...others.map(nameOf),
    ...(awaited === undefined ? [] : [describeAwaited(awaited, signalsOf?.(definition))]),
  ];
}

function nameOf({ intent }: IntentView): string {
  if (intent.kind === "task") return intent.about;
  return "name" in intent ? `${intent.kind} ${intent.name}` : intent.kind;
}
