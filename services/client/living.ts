/** Living: the sagas that have not ended, each with the definition that decides its next turn. */
import type { AwaitedDocument } from "../../protocol/documents/saga.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { type Many, manyOf, readMany } from "../ledger/many.ts";
import { decodeTurn, isTombstone, type LedgerSource } from "../ledger/reader.ts";
import { onlyAwaited } from "../views/awaited.ts";
import { accountOfSaga, isAsleep, type SagaView, viewOfAccount } from "../views/view.ts";
import type { Ports, StoredMessage } from "../wire/ports.ts";
import { definitionTold } from "../wire/turn-headers.ts";
import { claimOf, lastTurnOf } from "../ledger/chain.ts";

/** A saga that has not ended. */
export interface LivingSaga {
  readonly saga: SagaId;
  readonly definition: DefinitionRef;
  /** Neither a model nor a tool is under way: it waits for a signal, a time, a person or another saga. */
  readonly asleep: boolean;
  /** What it waits for where only a signal moves it on (`onlyAwaited`); absent for one that is paused. */
  readonly awaits?: AwaitedDocument;
  /** When its last turn was decided, milliseconds since the epoch. */
  readonly updatedAt: number;
  readonly turns: number;
  /** Its moves so far. */
  readonly migrations: SagaView["migrations"];
}

export interface LivingOptions {
  /** Only these; all that there are unless given. */
  readonly of?: readonly SagaId[];
  /** Only those under such a definition: the others' last messages alone are read. */
  readonly under?: (definition: DefinitionRef) => boolean;
  /** Only those whose last turn was stored before this, milliseconds since the epoch by the server's clock. */
  readonly quietSince?: number;
  /**
   * Filled with how many messages on a ledger are no turns: of all sagas where counting alone tells, those stored beside the last
   * turn; of those that are named where the ledger is read.
   */
  readonly foreign?: Map<SagaId, number>;
  /** Sagas known to have ended, which are not read; filled with those that are found so. */
  readonly ended?: Set<SagaId>;
  /** Told after each saga that was looked at, with how many there are to look at. */
  readonly told?: ((looked: number, of: number) => void) | undefined;
}

/**
 * The living sagas, by their ids; beside them those that cannot be read and may live. Of a saga that the options leave out
 * the last message alone is looked at. Throws UNAVAILABLE.
 */
export async function livingSagas(
  ports: {
    readonly ledger: Pick<Ports["ledger"], "last" | "read" | "list">;
    readonly blobs: LedgerSource["blobs"];
  },
  {
    of,
    under = () => true,
    quietSince = Number.POSITIVE_INFINITY,
    ended = new Set(),
    foreign,
    told,
  }: LivingOptions = {},
): Promise<Many<LivingSaga>> {
  const listed = new Map(
    of === undefined ? (await ports.ledger.list()).map(({ saga, turns }) => [saga, turns]) : [],
  );
  const sagas = (of ?? [...listed.keys()]).filter((saga) => !ended.has(saga));
  const source: LedgerSource =
    of === undefined ? ports : { ...ports, met: (saga, messages) => foreign?.set(saga, messages) };
  let looked = 0;
  const living = await readMany(sagas, async (saga) => {
    told?.((looked += 1), sagas.length);
    const last = await lastTurnOf(source, saga);
    // The list is older than the last turn: it can only count too few.
    const beside = (listed.get(saga) ?? 0) - turnsUpTo(last);
    if (beside > 0) foreign?.set(saga, beside);
    const found = await readLiving(source, saga, { under, quietSince, last });
    if (found === "ended") ended.add(saga);
    return typeof found === "string" ? undefined : found;
  });
  return manyOf(
    living.sort((a, b) => (a.saga < b.saga ? -1 : 1)),
    living.unreadable,
  );
}

/** How many turns there are by the last one; of what was archived that is not asked. */
const turnsUpTo = (last: StoredMessage | undefined): number => {
  const claim = last && claimOf(last);
  return claim?.kind === "tombstone" ? Number.POSITIVE_INFINITY : (claim?.turn ?? 0);
};

async function readLiving(
  ports: LedgerSource,
  saga: SagaId,
  {
    under,
    quietSince,
    last,
  }: Required<Pick<LivingOptions, "under" | "quietSince">> & { last: StoredMessage | undefined },
): Promise<LivingSaga | "ended" | "another"> {
  if (last === undefined || isTombstone(last)) return "ended";
  const told = definitionTold(last);
  const isMeant = last.storedAt < quietSince && (told === undefined || under(told));
  const turn = await decodeTurn(ports.blobs, last); // Of what cannot be read nobody knows what it is.
  if (!isMeant) return "another";
  // Of most that have ended the last turn says so; the others are read whole.
  if (turn.steps.some(({ intents }) => intents.some(({ kind }) => kind === "end"))) return "ended";
  const account = await accountOfSaga(ports, saga);
  const view = viewOfAccount(account);
  if (view.status !== "running") return "ended";
  const { definition, migrations, updatedAt, turns } = view;
  if (!under(definition)) return "another";
  const awaits = account.paused === undefined ? onlyAwaited(view) : undefined;
  const waiting = awaits === undefined ? {} : { awaits };
  return { saga, definition, asleep: isAsleep(view), migrations, updatedAt, turns, ...waiting };
}
