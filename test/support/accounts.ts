/** Accounts: what a fold and a ledger's account both say of a saga, side by side. */
import { isDeferred, type SagaState } from "../../actors/contract/state.ts";
import type { Account } from "../../services/ledger/account.ts";
import { expectEqual } from "./equal.ts";

const byId = (a: { readonly intent: { id: string } }, b: { readonly intent: { id: string } }) =>
  a.intent.id < b.intent.id ? -1 : 1;

/** Fails unless the account says of what is open, stands, is in doubt and was spent what the fold says. */
export function expectSame(account: Account, state: SagaState): void {
  const told = {
    turn: account.turns,
    open: [...account.open.values()]
      .map(({ intent, attempt, deferred }) => ({ intent, attempt, deferred: deferred !== undefined }))
      .sort(byId),
    standing: [...account.effects.values()],
    doubts: [...account.doubts].sort(),
    spent: account.spent,
    below: account.below,
    ended: state.phase.kind === "ended" ? account.end?.intent.status : undefined,
  };
  expectEqual(told, {
    turn: state.turn,
    open: Object.values(state.open)
      .map((open) => ({ intent: open.intent, attempt: open.attempt, deferred: isDeferred(open) }))
      .sort(byId),
    standing: state.effects.map(({ intent, tool, key, outcome }) => ({ intent, tool, key, outcome })),
    doubts: Object.entries(state.doubts)
      .flatMap(([id, { outcome }]) => (outcome === "in_doubt" ? [id] : []))
      .sort(),
    spent: state.spent,
    below: state.below,
    ended: state.phase.kind === "ended" ? state.phase.ending.status : undefined,
  });
}
