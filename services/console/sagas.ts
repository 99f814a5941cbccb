/**
 * Sagas: the list of all sagas, the last change first, with counts. No ledger is read but those of running sagas that are
 * shown, and each of their turns once.
 *
 * BO1 Whoever lists asks `find` alone, so that another source of the same can stand behind it.
 * BO2 What has ended is told by its row, unless signatures count: nobody signs rows. What goes on is told by its ledger.
 * BO3 Where the listing is not whole, what it has is shown with a word of why: no ledger is read for what it lacks.
 * BO4 A row that was taken away says nothing of it, so all are read anew once in a while.
 */
import type { ListedRow, RowKey } from "../../protocol/documents/listing.ts";
import type { SagaRow } from "../../protocol/documents/saga.ts";
import { describeError, isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { parkedOf } from "../client/parked.ts";
import { readRegistry, viewingBy } from "../client/registry.ts";
import type { ClientDeps } from "../client/send.ts";
import { unservedAmong } from "../client/unserved.ts";
import { livingHosts } from "../deployments/served.ts";
import { rowsOf } from "../listing/find.ts";
import { wholeListing } from "../listing/whole.ts";
import { eachOf } from "../process/each-of.ts";
import { rowOfUnreadable } from "../views/saga-row.ts";
import type { ListedSaga, SagaCounts, SagasDocument } from "./documents.ts";
import { createRowReader } from "./running-rows.ts";

/** Which sagas are meant; all conditions hold. */
export interface Wanted {
  readonly status?: string | undefined;
  /** Of this definition. */
  readonly name?: string | undefined;
  /** Its id, or its definition's name, holds this. */
  readonly text?: string | undefined;
  /** A person is asked. */
  readonly asks?: boolean | undefined;
  /** Changed before the one that stands there: the next page. */
  readonly before?: number | undefined;
  readonly limit?: number | undefined;
}

/** BO1. */
export interface SagaFinder {
  /** Throws UNAVAILABLE. */
  find(wanted: Wanted): Promise<SagasDocument>;
  /** Those that ask a person, as their rows say; `note` says why some may be missing. Throws UNAVAILABLE. */
  asking(): Promise<{ readonly sagas: readonly SagaId[]; readonly note?: string }>;
  counts(): SagaCounts;
  /** Learns what changed. Another number than before says that something did, whoever had it learnt. Throws UNAVAILABLE. */
  refresh(): Promise<number>;
}

interface Known {
  readonly key: RowKey;
  readonly row: ListedRow | undefined;
  readonly place: number;
}

const limitDefault = 50;
const limitMax = 200;
/** How many ledgers of running sagas are asked at once for one page. */
const readAtOnce = 8;
/** How long a row that was taken away may still be shown. Milliseconds. */
const anewEveryMs = 60_000;
const namesMax = 50;

export function createSagaFinder(deps: ClientDeps): SagaFinder {
  const { ports, clock } = deps;
  let known = new Map<SagaId, Known>();
  let place = 0;
  let readAnewAt = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | undefined;
  let revision = 0;
  const rowsFor = createShowing(deps);

  const refresh = async (): Promise<void> => {
    if (ports.listing === undefined) return;
    const isAnew = clock.elapsed() - readAnewAt >= anewEveryMs; // BO4
    const next = isAnew ? new Map<SagaId, Known>() : known;
    for await (const rows of rowsOf(ports.listing, {}, isAnew ? 0 : place))
      for (const found of rows) {
        const before = next.get(found.key.saga);
        if (before !== undefined && before.place >= found.place) continue;
        next.set(found.key.saga, found);
        place = Math.max(place, found.place);
        if (!isAnew) revision += 1;
      }
    if (!isAnew) return;
    readAnewAt = clock.elapsed();
    const isOther =
      next.size !== known.size || [...next].some(([saga, one]) => known.get(saga)?.place !== one.place);
    known = next;
    if (isOther) revision += 1;
  };
  /** One at a time: two would read the same rows. */
  const refreshed = (): Promise<void> => (refreshing ??= refresh().finally(() => (refreshing = undefined)));

  /** BO3. */
  const noted = async (): Promise<{ readonly note?: string }> => {
    const whole = await wholeListing(ports);
    return typeof whole === "string" ? { note: `some may be missing: ${whole}` } : {};
  };

  return {
    refresh: async () => {
      await refreshed();
      return revision;
    },
    counts: () => countsOf(known),
    asking: async () => {
      await refreshed();
      const asking = [...known.values()].filter(({ key }) => key.asks);
      return { sagas: asking.map(({ key }) => key.saga), ...(await noted()) };
    },
    find: async ({ before = Number.POSITIVE_INFINITY, limit = limitDefault, ...wanted }) => {
      await refreshed();
      const fitting = [...known.values()].filter(meantBy(wanted));
      const behind = fitting.filter((one) => one.place < before).sort((a, b) => b.place - a.place);
      const shown = behind.slice(0, Math.min(limit, limitMax));
      const last = shown.at(-1);
      return {
        rows: await rowsFor(shown),
        ...(last === undefined || shown.length === behind.length ? {} : { next: last.place }),
        found: fitting.length,
        counts: countsOf(known),
        ...(await noted()),
      };
    },
  };
}

/** Shows sagas as rows (BO2). */
function createShowing({ ports, clock }: ClientDeps): (shown: readonly Known[]) => Promise<ListedSaga[]> {
  const running = createRowReader(ports);
  return async (shown) => {
    const isSigned = (ports.trust?.revision() ?? 0) > 0; // BO2
    const open = shown.filter(({ row }) => row?.ended === undefined || isSigned);
    const viewing = open.length === 0 ? {} : viewingBy(await readRegistry(ports.registry));
    const hosts = open.length === 0 ? [] : await livingHosts(ports.membership);
    return eachOf(shown, readAtOnce, async ({ key, row, place }) => {
      const { asks, saga } = key;
      if (row?.ended !== undefined && !isSigned) return { ...row.ended, asks, place };
      const read = await running(saga, viewing).catch((error: unknown) => unreadable(saga, row, error));
      if (read.status !== "running" || read.fault !== undefined) return { ...read, asks: false, place };
      const unserved = unservedAmong(hosts, { name: read.name, version: read.version, hash: read.hash });
      const parked = await parkedOf({ ports, clock }, saga);
      return {
        ...{ ...read, asks, place },
        ...(unserved === undefined ? {} : { unserved }),
        ...(parked === undefined ? {} : { parked }),
      };
    });
  };
}

function unreadable(saga: SagaId, row: ListedRow | undefined, error: unknown): SagaRow {
  if (isMeshError(error, "UNAVAILABLE")) throw error;
  const code = isMeshError(error) ? error.code : "INTERNAL";
  return rowOfUnreadable({ saga, code, reason: describeError(error) }, row?.turn ?? 0);
}

function meantBy({ status, name, text, asks }: Wanted): (one: Known) => boolean {
  const part = text?.trim().toLowerCase() ?? "";
  return ({ key }) =>
    (status === undefined || key.status === status) &&
    (name === undefined || key.name === name) &&
    (asks !== true || key.asks) &&
    (part === "" || key.saga.includes(part) || key.name.toLowerCase().includes(part));
}

function countsOf(known: ReadonlyMap<SagaId, Known>): SagaCounts {
  const status: Record<string, number> = {};
  const names = new Map<string, number>();
  let asks = 0;
  for (const { key } of known.values()) {
    status[key.status] = (status[key.status] ?? 0) + 1;
    names.set(key.name, (names.get(key.name) ?? 0) + 1);
    if (key.asks) asks += 1;
  }
  const sorted = [...names].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1));
  return { status, asks, names: sorted.slice(0, namesMax).map(([name, count]) => ({ name, count })) };
}
