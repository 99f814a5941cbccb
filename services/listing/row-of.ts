/**
 * Row of: what a saga's row says, by its state or, of one that is taken in, by its ledger. Pure, and the same of both.
 */
import { asAmounts, sumOf } from "../../actors/kernel/spending.ts";
import { isOpen, type SagaState } from "../../actors/contract/state.ts";
import type { ListedRow, RowKey } from "../../protocol/documents/listing.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { SagaRow } from "../../protocol/documents/saga.ts";

/** A row with its key. */
export interface Row {
  readonly key: RowKey;
  readonly row: ListedRow;
}

/** The key of a saga's row as it stands after a turn: all that is looked at where nothing has changed. */
export function keyOfState({ saga, phase, definition, open }: SagaState): RowKey {
  let asks = false;
  for (const id in open) asks ||= isOpen(open[id as IntentId], "task");
  return {
    status: phase.kind === "ended" ? phase.ending.status : "running",
    ...{ asks, name: definition.name, saga },
  };
}

/** Of a saga as it stands after a turn. */
export function rowOfState(state: SagaState): Row {
  const { turn, updatedAt: at, phase } = state;
  const ended = phase.kind === "ended" ? { ended: endedRow(state, phase.ending.status) } : {};
  return { key: keyOfState(state), row: { turn, at, ...ended } };
}

/** LJ2 of listing.ts (protocol/documents): all that `ls` says of it. */
function endedRow(state: SagaState, status: SagaRow["status"]): SagaRow {
  const { saga, definition, turn: turns, startedAt, updatedAt, parent, fork, spent, below } = state;
  const { name, version, hash } = definition;
  return {
    ...{ saga, name, version, hash, status, turns, startedAt, updatedAt, waitsFor: [] },
    ...(state.startedAs === undefined ? {} : { startedAs: state.startedAs }),
    ...(parent === undefined || fork !== undefined ? {} : { parent }),
    ...(fork === undefined ? {} : { fork: forkOf(fork) }),
    ...(state.paused === undefined ? {} : { paused: state.paused }),
    ...(state.flags === undefined || state.flags.length === 0 ? {} : { flags: [...state.flags] }),
    used: asAmounts(sumOf({ ...spent, unreportedTokens: 0 }, below)),
    ...(state.budget === undefined || Object.keys(state.budget.limits).length === 0
      ? {}
      : { limits: state.budget.limits }),
  };
}

const forkOf = ({ lineage, effects, variant }: NonNullable<SagaState["fork"]>): SagaRow["fork"] => ({
  ...{ saga: lineage.saga, turn: lineage.turn },
  ...(effects === undefined ? {} : { effects }),
  ...variant,
});

/** Of a saga as its ledger tells it. One that is awake again since its end goes on. */
export function rowOfTaken(row: SagaRow, { asks, hasEnded }: { asks: boolean; hasEnded: boolean }): Row {
  const { saga, name, turns: turn, updatedAt: at } = row;
  const status = hasEnded ? row.status : "running";
  return { key: { status, asks, name, saga }, row: { turn, at, ...(hasEnded ? { ended: row } : {}) } };
}
