/**
 * Take in: the rows of sagas are written from their ledgers, where no host has written them.
 *
 * IT1 A ledger that moved while it was read is read again: its host may have written a row meanwhile, and an older one would take
 *     its place. So the row that stands last is of the last turn, or that turn's host is about to write it.
 * IT2 Ledgers are read a few at a time, beside all else that the host does: who looks meanwhile reads the ledgers itself.
 * IT3 A ledger that cannot be read has a row that says so, and hinders no other.
 * IT4 A ledger that is told without a turn that was acked is told by a leader that is deposed, and is asked for again; or, when none
 *     can be deposed for so long, was put back from a copy.
 */
import { parseRowKey, type RowKey, rowPattern, unreadableKey } from "../../protocol/documents/listing.ts";
import { DefinitionDocument } from "../../protocol/documents/registry.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { readMany } from "../ledger/many.ts";
import { findTombstone } from "../ledger/reader.ts";
import type { Log } from "../process/log.ts";
import { rowOfView } from "../views/saga-row.ts";
import { accountOfSaga, viewOfAccount, type ViewOptions } from "../views/view.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, ListingPort, Ports, StoredMessage } from "../wire/ports.ts";
import { type Row, rowOfTaken } from "./row-of.ts";
import { createIds, dropRows, writeRow } from "./write.ts";

/** What ledgers are read with. */
export interface TakeInDeps {
  readonly ports: Pick<Ports, "ledger" | "blobs" | "loop" | "registry" | "listing">;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** This process, new at each start. */
  readonly incarnation: string;
}

/** IT2. */
const ledgersAtOnce = 2;
/** After so many rounds turns come as fast as they are read, and their host writes the row. */
const roundsMax = 5;
/** How often the log says how far it is. */
const saidEveryMs = 10_000;

/**
 * Takes in all sagas, or those on whose ledgers something was stored after these places. `isOfAnotherTime`: the rows may know of
 * more than the ledgers do now. Throws UNAVAILABLE.
 */
export async function takeIn(
  deps: TakeInDeps,
  listing: ListingPort,
  places: readonly number[] | undefined,
  isOfAnotherTime: boolean,
): Promise<void> {
  const { ports, clock, log, signal } = deps;
  const viewing = await readBudgets(ports.registry);
  const nextId = createIds(`${deps.incarnation}.in${clock.now()}`);
  const taken = new Set<SagaId>();
  let saidAt = clock.elapsed();
  const how: TakingIn = {
    ...{ viewing, patienceMs: limits.serverPatienceMs, idOf: nextId },
    before: isOfAnotherTime ? "replaced" : "unknown",
  };
  const take = async (saga: SagaId): Promise<void> => {
    await takeInOne(deps, listing, saga, how);
    taken.add(saga);
    if (clock.elapsed() - saidAt < saidEveryMs) return;
    saidAt = clock.elapsed();
    log.info({ sagas: taken.size }, "listing: ledgers are taken in");
  };
  const some = { atOnce: ledgersAtOnce, signal };
  if (places === undefined) {
    const all = (await ports.ledger.list()).map(({ saga }) => saga);
    await readMany(all, take, some);
    await removeUnknown(ports.ledger, listing, taken, nextId);
  } else
    for await (const { messages } of ports.ledger.since(places))
      await readMany(
        sagasIn(messages).filter((saga) => !taken.has(saga)),
        take,
        some,
      );
  if (taken.size > 0) log.debug({ sagas: taken.size }, "listing: ledgers were taken in");
}

/** Whose they are, each once. Of a subject that no saga can have there is none. */
const sagasIn = (messages: readonly StoredMessage[]): SagaId[] => [
  ...new Set(messages.flatMap(({ subject }) => SagaId.safeParse(subject.split(".")[1]).data ?? [])),
];

/** Rows of sagas of which there is no ledger, as after one was lost. */
async function removeUnknown(
  ledger: Pick<Ports["ledger"], "last">,
  listing: ListingPort,
  known: ReadonlySet<SagaId>,
  nextId: () => string,
): Promise<void> {
  for await (const rows of listing.read(rowPattern({})))
    for (const { key } of rows) {
      const saga = parseRowKey(key)?.saga;
      if (saga !== undefined && !known.has(saga) && (await ledger.last(saga)) === undefined)
        await listing.remove(key, nextId());
    }
}

/** How one is taken in. */
export interface TakingIn {
  readonly viewing: ViewOptions;
  /** How long a server that does not answer is asked again. */
  readonly patienceMs: number;
  readonly before: "unknown" | "replaced";
  /** When it was tried first, by the time elapsed; now unless given. */
  readonly since?: number | undefined;
  /** A turn that is known to be stored. */
  readonly turn?: number | undefined;
  /** The Msg-Id of a write. */
  readonly idOf: (row: Pick<Row, "key"> & { readonly row: Row["row"] | undefined }) => string;
}

/** IT1: the row of one saga, for which nobody else need be waited. Throws STORAGE_FULL, UNAVAILABLE. */
export async function takeInOne(
  { ports, clock, signal }: TakeInDeps,
  listing: ListingPort,
  saga: SagaId,
  { viewing, patienceMs, idOf, before, turn = 0, since = clock.elapsed() }: TakingIn,
): Promise<void> {
  const patience = { patienceMs, signal };
  const endOf = async () => (await patiently(clock, () => ports.ledger.last(saga), patience))?.seq;
  const write = async (): Promise<void> => {
    const isOther = clock.elapsed() - since > limits.deposedMsMax; // AC2 of write.ts
    const told = await readRow(ports, viewing, saga, isOther ? 0 : turn);
    if (told === undefined) return;
    const { key, row } = told;
    const id = idOf({ key, row });
    if (row === undefined) return dropRows(listing, key, id);
    if (await writeRow(listing, { key, row }, isOther ? "replaced" : before, id)) return;
    throw new MeshError("UNAVAILABLE", `the row of ${saga} knows of more turns than its ledger`);
  };
  let end = await endOf();
  for (let round = 1; round <= roundsMax; round++) {
    await patiently(clock, write, patience);
    const next = await endOf();
    if (next === end) return;
    end = next;
  }
}

/** Without a row: it is archived. Undefined of one whose start waits: it is no saga yet. Throws UNAVAILABLE, too where the ledger is told without this turn (IT4). */
async function readRow(
  ports: TakeInDeps["ports"],
  viewing: ViewOptions,
  saga: SagaId,
  turn: number,
): Promise<Row | { readonly key: RowKey; readonly row: undefined } | undefined> {
  try {
    const tombstone = await findTombstone(ports, saga);
    if (tombstone !== undefined) {
      const { definition, end } = tombstone;
      return { key: { status: end.status, asks: false, name: definition.name, saga }, row: undefined };
    }
    const account = await accountOfSaga(ports, saga);
    if (account.turns < turn) throw lacking(saga, turn);
    const view = viewOfAccount(account, viewing);
    const asks = view.open.some(({ intent }) => intent.kind === "task");
    return rowOfTaken(rowOfView(account, view, viewing), { asks, hasEnded: view.phase === "ended" });
  } catch (error) {
    if (isMeshError(error, "UNAVAILABLE")) throw error;
    const isWaiting = isMeshError(error, "SAGA_NOT_BEGUN");
    if (turn > 0 && (isWaiting || isMeshError(error, "SAGA_UNKNOWN"))) throw lacking(saga, turn);
    if (isWaiting) return undefined;
    return { key: unreadableKey(saga), row: { turn: 0, at: 0 } }; // IT3
  }
}

const lacking = (saga: SagaId, turn: number): MeshError =>
  new MeshError("UNAVAILABLE", `the ledger of ${saga} is told without turn ${turn}`);

/** What definitions declare of their budgets, as they were registered. */
export async function readBudgets(registry: Pick<Ports["registry"], "list">): Promise<ViewOptions> {
  const budgets = new Map<string, DefinitionDocument["budget"]>();
  for (const { key, data } of await registry.list()) {
    const read = key.startsWith("saga.") ? DefinitionDocument.safeParse(parsed(data)) : undefined;
    if (read?.success === true) budgets.set(read.data.hash, read.data.budget);
  }
  return { budgetOf: ({ hash }) => budgets.get(hash) };
}

function parsed(data: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(data));
  } catch {
    return undefined; // Of another hand.
  }
}
