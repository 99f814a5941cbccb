/**
 * Saga reading: one saga's ledger, message after message, and the rows that are new after some of them.
 *
 * BF1 A saga that is read from its first turn again gives the rows that it gave before: what is written of a turn follows from the
 *     turns up to it. Turns that are in the tables already give none.
 * BF2 Only so many intents that are over are remembered, so a ledger of any length is read in bounded memory.
 */
import { describeError, type MeshError } from "../../protocol/errors.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { Tombstone } from "../../protocol/tombstone.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { Account, AccountReader, Change, StandingEffect, ToldIntent } from "../ledger/account.ts";
import { createAccountReader } from "../ledger/account-reader.ts";
import { emptyHead, type Head, sortingFrom } from "../ledger/chain.ts";
import { decodeTurn, type LedgerSource, readTombstone } from "../ledger/reader.ts";
import type { StoredMessage } from "../wire/ports.ts";
import {
  archivedRow,
  effectRow,
  intentRow,
  type Row,
  sagaRow,
  spendingRow,
  taskRow,
  turnRow,
  unreadableRow,
} from "./rows.ts";
import type { KnownHead, SagaWrite } from "./store.ts";
import { messageRows } from "./words.ts";

/** BF2: more than a turn can close. */
const remembered = 2_000;

/** The turns of an archived saga, from where its tombstone says that they are; undefined where they are not found there. */
export type ReadArchived = (tombstone: Tombstone) => Promise<readonly Turn[] | undefined>;

export interface SagaReading {
  readonly saga: SagaId;
  readonly shard: number;
  /** The newest sequence that was looked at. */
  readonly seenSeq: number;
  /** It has ended, and nothing of it is open: mostly nothing follows. */
  readonly isOver: boolean;
  /** Takes the next message on its subject. Throws what reading one turn does. */
  take(message: StoredMessage): Promise<void>;
  /** What is new since the last time; undefined: nothing. `fault`: why it cannot be read on. */
  news(fault?: MeshError): SagaWrite | undefined;
  /** Whether what is in the tables is of this very ledger, as far as that was read. */
  agrees(): boolean;
  /** Throws LEDGER_BROKEN where what was taken shows that a turn is gone. */
  assertWhole(): void;
}

/** Whose ledger is read, and with what. */
export interface ReadingOf {
  readonly saga: SagaId;
  /** The one that its ledger is in. */
  readonly shard: number;
  /** What of it is in the tables already (BF1); undefined: all that stood is to be replaced. */
  readonly known: KnownHead | undefined;
  readonly blobs: LedgerSource["blobs"];
  readonly readArchived: ReadArchived;
}

/** A reading that begins with the first message on the saga's subject. */
export function readingOf({ saga, shard, known, blobs, readArchived }: ReadingOf): SagaReading {
  const sorting = sortingFrom(saga, emptyHead);
  const reader = createAccountReader(remembered);
  const fresh = createFresh(reader);
  let [taken, seenSeq] = [0, 0];
  let isNew = known === undefined;
  let isOther = false;
  let archived: Tombstone | undefined;
  /** A tombstone without the turns before it: the row that says so. */
  let alone: Row | undefined;

  const takeTurn = (turn: Turn): void => {
    const changes = reader.take(turn);
    taken = turn.turn;
    if (turn.turn > (isNew ? 0 : (known?.turn ?? 0))) fresh.note(turn, changes);
  };
  const takeTombstone = async (tombstone: Tombstone): Promise<void> => {
    archived = tombstone;
    fresh.touch();
    // The turns were purged before they were seen from here; those that are in the tables, or in a file, are the same ones.
    if (taken > 0 || (known?.hash === tombstone.prev && known.turn === tombstone.turns)) return;
    isNew = true;
    const turns = await readArchived(tombstone);
    if (turns === undefined) alone = archivedRow(tombstone);
    else for (const turn of turns) takeTurn(turn);
  };
  const rowNow = (fault: MeshError | undefined): Row[] => {
    const why = fault === undefined ? undefined : describeError(fault);
    if (taken > 0) return [sagaRow(reader.account, why)];
    if (alone !== undefined) return [alone];
    return why === undefined ? [] : [unreadableRow(saga, why)];
  };
  return {
    ...{ saga, shard },
    get seenSeq() {
      return seenSeq;
    },
    get isOver() {
      return archived !== undefined || (taken > 0 && isOver(reader.account));
    },
    take: async (message) => {
      const kind = sorting.take(message);
      if (kind === "turn") takeTurn(await decodeTurn(blobs, message));
      if (kind === "tombstone") await takeTombstone(await readTombstone(blobs, message));
      seenSeq = message.seq;
      if (kind === "turn" && taken === known?.turn && !isNew) isOther ||= sorting.head.hash !== known.hash;
    },
    agrees: () => isNew || archived !== undefined || (!isOther && sorting.head.turn >= (known?.turn ?? 0)),
    assertWhole: () => {
      const gap = sorting.gap();
      if (gap !== undefined) throw gap;
    },
    news: (fault) => {
      const { isTouched, rows, gone } = fresh.gather();
      if (!isTouched && fault === undefined) return undefined;
      const anew = isNew;
      isNew = false;
      const head = { shard, ...headOf(sorting.head, archived) };
      return {
        ...{ saga, anew, fault: fault?.code, gone, archived: archived?.file },
        head: !anew && known !== undefined && head.turn < known.turn ? known : head,
        rows: [...rows, ...rowNow(fault)],
      };
    },
  };
}

const isOver = ({ end, open }: Account): boolean => end !== undefined && open.size === 0;

const headOf = ({ turn, seq, hash }: Head, archived: Tombstone | undefined): Omit<KnownHead, "shard"> =>
  archived === undefined
    ? { turn, seq, hash, archived: false }
    : { turn: archived.turns, seq, hash: archived.prev, archived: true };

interface Fresh {
  /** A turn was taken that is not in the tables. */
  note(turn: Turn, changes: readonly Change[]): void;
  /** Something was taken that is no turn. */
  touch(): void;
  /** What is new, and begins anew. */
  gather(): { readonly isTouched: boolean; readonly rows: Row[]; readonly gone: IntentId[] };
}

/** Gathers what turns have changed. Each row is made right after its turn (BF1); of several of an intent the last one counts. */
function createFresh(reader: AccountReader): Fresh {
  let rows: Row[] = [];
  const intents = new Map<IntentId, Row>();
  const tasks = new Map<IntentId, Row>();
  const effects = new Map<IntentId, Row | undefined>();
  let isTouched = false;

  const noteIntent = (told: ToldIntent): void => {
    intents.set(told.intent.id, intentRow(reader.account, told));
    const task = taskRow(reader.account, told);
    if (task !== undefined) tasks.set(told.intent.id, task);
  };
  const noteEffect = (effect: StandingEffect): void =>
    void effects.set(effect.intent, effectRow(reader.account, effect));
  const noteChange = (change: Change, turn: Turn): void => {
    if (change.type === "paid") rows.push(spendingRow(reader.account, turn, change));
    else if ("effect" in change) noteEffect(change.effect);
    else if (change.type === "said") noteIntent(change.task);
    else if (change.type !== "spent") noteIntent(change.intent);
    if (change.type === "corrected") noteCorrected(change.intent);
  };
  /** It may have stood in doubt, and not have happened after all. */
  const noteCorrected = ({ intent }: ToldIntent): void => {
    const { account } = reader;
    if (account.effects.has(intent.id) || account.undone.has(intent.id)) return;
    if (intent.kind === "tool" || intent.kind === "saga") effects.set(intent.id, undefined);
  };
  return {
    touch: () => {
      isTouched = true;
    },
    note: (turn, changes) => {
      isTouched = true;
      const { account } = reader;
      rows.push(turnRow(turn), ...messageRows(account, turn));
      for (const { event, intents: decided } of turn.steps) {
        for (const { id } of decided) {
          const told = account.intents.get(id);
          if (told !== undefined) noteIntent(told);
        }
        if (event.type === "forked") for (const told of account.open.values()) noteIntent(told); // They are put off.
      }
      for (const change of changes) noteChange(change, turn);
    },
    gather: () => {
      const stood = [...effects.values()].filter((row) => row !== undefined);
      const gone = [...effects].flatMap(([id, row]) => (row === undefined ? [id] : []));
      const gathered = { isTouched, gone, rows: [...rows, ...intents.values(), ...tasks.values(), ...stood] };
      rows = [];
      for (const noted of [intents, tasks, effects]) noted.clear();
      isTouched = false;
      return gathered;
    },
  };
}
