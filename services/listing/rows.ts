/**
 * Rows: a host writes the row of each saga in its memory as what that says changes.
 *
 * YR1 Before a saga's inputs are acked its row says how it stands after their turns. So of a host that dies before that the
 *     inputs come again, and who takes them writes the row.
 * YR2 A saga that goes on is written within `listedWithinMs`; else only at rest. No turn waits for a row, and one that changes
 *     neither how the saga stands nor whether it asks somebody writes none.
 * YR3 The row before is taken away after the new one is there: a saga may have two for a moment, and never none. Where that
 *     one is not known, because inputs came again or a write failed, all that there may be are looked for.
 * YR4 A host that stood still for longer than a lease writes none: its sagas are others', and nothing is acked.
 * YR5 What cannot be written holds up nothing for long. It is owed: once the host has said so (`lists` in its entry), so that
 *     nobody goes by the listing, its inputs are acked, and it is written as soon as that can be. Should the host die before
 *     that, the listing's keeper has heard it (keep.ts).
 * YR6 A host that was cut off may have lost the saga and not know it. So what is in memory is written only right after a turn of
 *     this host was acked, or where the ledger has no later one before and after; and where a write was not answered the row is
 *     made of the ledger, as one that is taken in (take-in.ts).
 * YR7 A saga may stand before its row is due, and then nothing of it is acked, for long perhaps. So a host that lets one go writes what
 *     it has not, and where it cannot take one it looks whether there is any row.
 */
import type { DecidedTurn } from "../../actors/kernel/fold.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { rowKey, rowPattern } from "../../protocol/documents/listing.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { claimOf } from "../ledger/chain.ts";
import type { ListingPort } from "../wire/ports.ts";
import { keyOfState, type Row, rowOfState } from "./row-of.ts";
import { readBudgets, takeInOne, type TakeInDeps, type TakingIn } from "./take-in.ts";
import { createIds, writeRow } from "./write.ts";

/** What rows are written with. */
export interface RowsDeps extends TakeInDeps {
  readonly hasLapsed: () => boolean;
  /** Whether `said` is told what this host says of itself. A process of one saga says nothing, and owes in silence. */
  readonly saysWhatItOwes: boolean;
}

/** The row of one saga, while a host has that in memory. */
export interface RowOfSaga {
  /** It is in memory, as it stands; without a state it begins. */
  found(state: SagaState | undefined): void;
  /** A turn is acked. */
  turned(decided: Pick<DecidedTurn, "state" | "steps">): void;
  /**
   * YR1: undefined where there is nothing to write. Else true once it is written, or owed; false: nothing may be acked.
   * `again`: what is to be acked was delivered before.
   */
  settle(again: boolean): Promise<boolean> | undefined;
  /** It is no more in memory. */
  forget(): void;
}

/** The rows of a host's sagas. */
export interface Rows {
  of(saga: SagaId): RowOfSaga;
  /** YR7: it could not be taken, and what is in no memory is written by nobody else. Never rejects. */
  stands(saga: SagaId): Promise<void>;
  /** YR5: tries what is owed once more. */
  payOwed(): Promise<void>;
  /** Whether rows are written and none is owed. */
  isWhole(): boolean;
  /** The host has said, and it is stored, that its rows are written, or that they are not. */
  said(isWhole: boolean): void;
}

/** What stands: the row of this key, after this turn of a saga that has ended. */
interface Written {
  readonly key: string;
  readonly turn: number | undefined;
}

/** A row that is owed: since when, by the time elapsed, and the turn that was acked last. */
interface Owed {
  readonly since: number;
  readonly turn: number;
}

/** What stands: this row, none, for the saga begins here, or any (YR3). */
type Before = Written | "none" | "unknown";

/** Rows of a host that has none in memory yet. */
export function createRows(deps: RowsDeps): Rows {
  const { ports, clock, log, hasLapsed, signal, saysWhatItOwes } = deps;
  const { listing } = ports;
  const nextId = createIds(deps.incarnation);
  const owed = new Map<SagaId, Owed>();
  let isSaid = false;

  /** YR6. `sent`: what was not answered, and under which id (AC1 of write.ts). Throws what the port does. */
  async function mend(to: ListingPort, saga: SagaId, sent?: { row: Row; id: string }): Promise<void> {
    const viewing = await readBudgets(ports.registry);
    const idOf: TakingIn["idOf"] = ({ key, row }) =>
      sent !== undefined && row?.turn === sent.row.row.turn && rowKey(key) === rowKey(sent.row.key)
        ? sent.id
        : nextId();
    await takeInOne(deps, to, saga, {
      ...{ viewing, patienceMs: limits.listingPatienceMs, idOf },
      before: "unknown",
      since: owed.get(saga)?.since,
      turn: sent?.row.row.turn ?? owed.get(saga)?.turn,
    });
    owed.delete(saga);
  }

  /** YR5. */
  async function owe({ saga, turn }: Pick<SagaState, "saga" | "turn">, error: unknown): Promise<void> {
    if (!owed.has(saga) && !signal.aborted) log.warn({ err: error, sagaId: saga }, "row not written");
    owed.set(saga, { since: owed.get(saga)?.since ?? clock.elapsed(), turn });
    const isUnsaid = () => saysWhatItOwes && !isSaid && owed.has(saga) && !hasLapsed();
    while (isUnsaid() && !signal.aborted) await clock.sleep(lookMs, signal).catch(() => undefined);
  }

  /** Never rejects. What stands then. */
  async function write(to: ListingPort, state: SagaState, before: Before): Promise<Before> {
    const sent = { row: rowOfState(state), id: nextId() };
    try {
      if (before !== "unknown" || (await isLast(state))) {
        const isWritten = await writeRow(to, sent.row, before, sent.id);
        if (isWritten && (before !== "unknown" || (await isLast(state)))) return writtenOf(state);
      }
    } catch {
      // Written by what the ledger says.
    }
    return remedy(to, state, sent);
  }

  /** YR6. Throws UNAVAILABLE. */
  async function isLast({ saga, turn }: SagaState): Promise<boolean> {
    const last = await ports.ledger.last(saga);
    const claim = last && claimOf(last); // Of what somebody else published there is none: then the ledger is read.
    return claim?.kind === "turn" && claim.turn === turn;
  }

  async function remedy(to: ListingPort, state: SagaState, sent: { row: Row; id: string }): Promise<Before> {
    try {
      await mend(to, state.saga, sent);
      return writtenOf(state);
    } catch (error) {
      await owe(state, error);
      return "unknown";
    }
  }

  return {
    of: () => (listing === undefined ? noRow : createRow(deps, (...row) => write(listing, ...row))),
    stands: async (saga) => {
      if (listing === undefined || hasLapsed()) return;
      const see = async () => (await hasRow(listing, saga)) || (await mend(listing, saga));
      await see().catch(() => owed.has(saga) || owed.set(saga, { since: clock.elapsed(), turn: 0 }));
    },
    payOwed: async () => {
      if (listing === undefined || hasLapsed()) return;
      for (const saga of [...owed.keys()])
        await mend(listing, saga).catch((error: unknown) =>
          log.debug({ err: error, sagaId: saga }, "row not written"),
        );
    },
    isWhole: () => listing !== undefined && owed.size === 0,
    said: (isWhole) => void (isSaid = !isWhole),
  };
}

async function hasRow(listing: ListingPort, saga: SagaId): Promise<boolean> {
  for await (const rows of listing.read(rowPattern({ saga }))) if (rows.length > 0) return true;
  return false;
}

/** Between two looks whether it was said what is owed: with the next beat it is. */
const lookMs = limits.hostBeatMs / 4;

/** YR6: no host is found dead so soon after a turn of its own. */
const freshMs = limits.listedWithinMs + 100;

/** Where none are written. */
const noRow: RowOfSaga = {
  found: () => undefined,
  turned: () => undefined,
  settle: () => undefined,
  forget: () => undefined,
};

function createRow(
  { clock, hasLapsed }: RowsDeps,
  write: (state: SagaState, before: Before) => Promise<Before>,
): RowOfSaga {
  let state: SagaState | undefined;
  let before: Before = "unknown";
  let last: Promise<boolean> = Promise.resolve(true);
  /** Takes the next look back (YR2). */
  let cancel: (() => void) | undefined;
  /** When a turn was acked last, by the time elapsed (YR6). */
  let turnedAt = Number.NEGATIVE_INFINITY;

  const isFresh = () => clock.elapsed() - turnedAt < freshMs;
  const isWritten = () =>
    state === undefined || (typeof before === "object" && isSame(before, writtenOf(state)));
  const writeNow = async (): Promise<boolean> => {
    if (state === undefined || isWritten()) return true;
    if (hasLapsed()) return false; // YR4
    before = await write(state, isFresh() ? before : "unknown");
    return before !== "unknown" || !hasLapsed();
  };
  /** One at a time. */
  const writeNext = () => (last = last.then(writeNow));
  const disarm = () => {
    cancel?.();
    cancel = undefined;
  };

  return {
    found: (loaded) => {
      state = loaded;
      before = loaded === undefined ? "none" : isCopied(loaded) ? "unknown" : writtenOf(loaded); // YR1
    },
    turned: ({ state: after, steps }) => {
      state = after;
      turnedAt = clock.elapsed();
      if (cancel !== undefined || !(typeof before === "string" || steps.some(asksSomebody))) return;
      cancel = clock.after(limits.listedWithinMs, () => {
        cancel = undefined;
        void writeNext();
      });
    },
    settle: (again) => {
      disarm();
      if (again) before = "unknown"; // YR3
      return isWritten() ? undefined : writeNext();
    },
    forget: () => {
      disarm();
      if (isWritten()) return;
      before = "unknown"; // Who has it next may have written.
      void writeNext();
    },
  };
}

/** A fork whose turns are its origin's alone: nobody has listed it. */
const isCopied = ({ fork }: SagaState): boolean => fork !== undefined && fork.effects === undefined;

const asksSomebody = ({ intents }: DecidedTurn["steps"][number]): boolean =>
  intents.some(({ kind }) => kind === "task");

/** Of a saga that has ended each turn says something new. */
const writtenOf = (state: SagaState): Written => ({
  key: rowKey(keyOfState(state)),
  turn: state.phase.kind === "ended" ? state.turn : undefined,
});

const isSame = (a: Written, b: Written): boolean => a.key === b.key && a.turn === b.turn;
