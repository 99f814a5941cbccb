/**
 * View: a saga as its ledger tells it, without its definition: the account of its turns (ledger/account.ts) as rows.
 */
import type { SagaState } from "../../actors/contract/state.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";
import { accounting, accountOf, createAccountReader } from "../ledger/account-reader.ts";
import type { Account, ToldIntent } from "../ledger/account.ts";
import { lastMessageOf } from "../ledger/begun.ts";
import { reasonOf } from "../ledger/closing-words.ts";
import { emptyHead, type LedgerSource, type StoredTurn, turnsInPages } from "../ledger/reader.ts";
import { budgetOf } from "./view-budget.ts";
import type { IntentView, SagaView, ViewOptions } from "./viewing.ts";

export type { IntentView, SagaView, ViewOptions } from "./viewing.ts";

/**
 * Reads a saga's whole ledger. Throws SAGA_UNKNOWN, SAGA_NOT_BEGUN, SAGA_ARCHIVED, LEDGER_VERSION, or LEDGER_BROKEN with
 * the turn.
 */
export async function readLedger(ports: LedgerSource, saga: SagaId): Promise<StoredTurn[]> {
  const turns: StoredTurn[] = [];
  for await (const page of ledgerInPages(ports, saga)) for (const turn of page) turns.push(turn);
  return turns;
}

/** The same some turns at a time, for who needs no more of them in memory. Throws as `readLedger`, at the end at the latest. */
export async function* ledgerInPages(ports: LedgerSource, saga: SagaId): AsyncGenerator<StoredTurn[]> {
  const last = await ports.ledger.last(saga);
  let isBegun = false;
  for await (const page of last === undefined ? [] : turnsInPages(ports, saga, emptyHead, last.seq)) {
    isBegun = true;
    yield page;
  }
  if (isBegun) return;
  const { seq } = await lastMessageOf(ports, saga); // It may have begun between the two looks.
  yield* turnsInPages(ports, saga, emptyHead, seq);
}

/** Hands a stored ledger to somebody who takes it turn by turn, and gives way between them. Throws as `readLedger`. */
export async function takeLedger(
  ports: LedgerSource,
  saga: SagaId,
  taker: { take(turn: Turn): unknown },
): Promise<void> {
  for await (const page of ledgerInPages(ports, saga))
    for (const { turn } of page) {
      taker.take(turn);
      const wait = ports.loop?.breathe();
      if (wait !== undefined) await wait;
    }
}

/** The view of a stored ledger. Throws as `readLedger` does. */
export const readView = async (ports: LedgerSource, saga: SagaId, options?: ViewOptions): Promise<SagaView> =>
  viewOfAccount(await accountOfSaga(ports, saga), options);

/** The account of a stored ledger. Throws as `readLedger` does. */
export async function accountOfSaga(ports: LedgerSource, saga: SagaId): Promise<Account> {
  const reader = createAccountReader();
  await takeLedger(ports, saga, reader);
  return reader.account;
}

/** The view of a ledger, or of its first turns. Throws LEDGER_BROKEN unless it begins with a start. */
export const viewOf = (turns: readonly Turn[], options: ViewOptions = {}): SagaView =>
  viewOfAccount(accountOf(turns), options);

/** The same in pieces, a turn each. */
export function* viewInPieces(
  turns: readonly Turn[],
  options: ViewOptions = {},
): Generator<undefined, SagaView> {
  return viewOfAccount(yield* accounting(turns), options);
}

/** The view of an account as it stands. */
export function viewOfAccount(account: Account, { state, budgetOf: declaredOf }: ViewOptions = {}): SagaView {
  const { saga, start, definition, fork, end, spent } = account;
  const places = placesInLine(account);
  const intents = [...account.intents.values()].map((told) => ({
    ...intentView(account, told, state),
    inLine: places.get(told.intent.id),
  }));
  return {
    saga,
    definition,
    ...migrationsOf(account),
    // A fork of a child has no parent.
    parent: start.fork === undefined ? start.parent : undefined,
    ...(fork === undefined ? {} : { fork }),
    input: start.input,
    status: end?.intent.status ?? "running",
    phase: state?.phase.kind ?? phaseOf(account),
    end: end?.intent,
    turns: account.turns,
    startedAt: account.startedAt,
    updatedAt: account.updatedAt,
    intents,
    open: intents.filter(({ intent }) => intent.kind !== "end" && account.open.has(intent.id)),
    effects: [...account.effects.values()],
    spent,
    ...budgetOf(account, { state, declared: declaredOf?.(definition) }),
    ...(start.tree === undefined || start.fork !== undefined
      ? {}
      : { tree: { root: start.tree.root, depth: start.tree.depth } }),
    hosts: [...account.hosts],
  };
}

/** The children that wait for a place, by their places in the line, from 1. */
export function placesInLine({ open }: Account): Map<IntentId, number> {
  const places = new Map<IntentId, number>();
  for (const [id, { inLine }] of open) if (inLine) places.set(id, places.size + 1);
  return places;
}

/** One of its intents, but for its place in the line. */
export function intentView(
  account: Account,
  told: ToldIntent,
  state?: SagaState,
): Omit<IntentView, "inLine"> {
  const { intent, place, attempt, ended } = told;
  return {
    intent,
    input: told.input === undefined ? state?.open[intent.id]?.input : told.input,
    turn: place.turn,
    attempt,
    deferred: told.deferred !== undefined,
    outcome: outcomeOf(told),
    output: ended?.output,
    reason: reasonOf(account, told),
    settledTurn: ended?.turn,
    by: ended?.from ?? told.said.at(-1)?.vote.by,
  };
}

/** A deferred call that was given up before its answer came may have happened: it is shown as in doubt. */
export const outcomeOf = ({ ended }: ToldIntent): IntentView["outcome"] =>
  ended?.as === "cancelled" && ended.stands === true ? "in_doubt" : ended?.as;

function phaseOf({ open, end }: Account): SagaView["phase"] {
  for (const { intent } of open.values())
    if (
      (intent.kind === "tool" && intent.undoes !== undefined) ||
      (intent.kind === "task" && intent.about === "stuck")
    )
      return "undoing";
  return end === undefined ? "running" : "ended";
}

/** Every move of the saga to another definition. */
const migrationsOf = ({ moves }: Account): Pick<SagaView, "migrations"> =>
  moves.length === 0
    ? {}
    : { migrations: moves.map(({ turn, at, event: { from, to, by } }) => ({ turn, at, from, to, by })) };

/** Whether neither a model nor a tool is under way: it waits for a signal, a time, a person or another saga. */
export const isAsleep = ({ open }: Pick<SagaView, "open">): boolean =>
  !open.some(({ intent, deferred }) => intent.kind === "model" || (intent.kind === "tool" && !deferred));
