/**
 * Listed: sagas a line each, as they are found: by the listing where that is whole, else by reading every ledger.
 *
 * QL1 What has ended is told by its row. What goes on is read from its ledger, which alone tells how it stands now.
 * QL2 Rows come in the order in which it last changed how their sagas stand, and a saga comes once.
 * QL3 Where it was said whose signatures count, no row is believed: nobody signs it, and its ledger tells.
 */
import type { ListedStatus } from "../../protocol/documents/listing.ts";
import type { SagaRow } from "../../protocol/documents/saga.ts";
import type { UnreadableSaga } from "../../protocol/documents/unreadable.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { type LivingHost, livingHosts } from "../deployments/served.ts";
import { readMany } from "../ledger/many.ts";
import { findTombstone } from "../ledger/reader.ts";
import { type FoundRow, rowsOf } from "../listing/find.ts";
import { wholeListing } from "../listing/whole.ts";
import { eachOf } from "../process/each-of.ts";
import { parseQuery } from "../views/query.ts";
import { rowOfArchived, rowOfLedger, rowOfUnreadable } from "../views/saga-row.ts";
import { readLedger, type ViewOptions } from "../views/view.ts";
import type { ListingPort, Ports } from "../wire/ports.ts";
import type { SagaFilter } from "./saga-filter.ts";
import { parkedOf } from "./parked.ts";
import { readRegistry, viewingBy } from "./registry.ts";
import { unservedAmong } from "./unserved.ts";

/** Some rows, with the sagas among them that cannot be read. */
export interface ListedPage {
  readonly rows: readonly SagaRow[];
  readonly unreadable: readonly UnreadableSaga[];
}

/** How many sagas are read for one page. */
const pageMax = 64;
/** How many notes are asked for at once. */
const lookedAtOnce = 32;

interface Listing {
  readonly ports: Ports;
  readonly now: number;
  readonly viewing: ViewOptions;
  readonly hosts: readonly LivingHost[];
}

/** Order in which what changed last comes last. */
export const byChange = (a: SagaRow, b: SagaRow): number =>
  a.updatedAt - b.updatedAt || (a.saga < b.saga ? -1 : 1);

/** The sagas that are meant, a page after the other. `report` is told where every ledger is read, and why. Throws USAGE, UNAVAILABLE. */
export async function* listPages(
  ports: Ports,
  filter: SagaFilter,
  now: number,
  report: (why: string) => void = () => undefined,
): AsyncGenerator<ListedPage> {
  const isMeant = meantBy(filter, now);
  const viewing = viewingBy(await readRegistry(ports.registry));
  const listing = { ports, now, viewing, hosts: await livingHosts(ports.membership) };
  const whole = filter.archived === true ? "archived sagas have no rows" : await wholeListing(ports);
  if (typeof whole === "string") report(`every ledger is read: ${whole}`);
  const pages = typeof whole === "string" ? byLedgers(listing) : byRows(listing, whole, filter);
  let left = filter.limit ?? Number.POSITIVE_INFINITY;
  let isBehind = filter.after === undefined || typeof whole !== "string";
  for await (const { rows, unreadable } of pages) {
    if (left <= 0) return;
    const behind = isBehind ? rows : rows.slice(rows.findIndex(({ saga }) => saga === filter.after) + 1);
    isBehind ||= behind.length < rows.length;
    const meant = isBehind ? behind.filter(isMeant).slice(0, left) : [];
    left -= meant.length;
    yield { rows: await eachOf(meant, lookedAtOnce, (row) => withWaits(listing, row)), unreadable };
  }
}

/** Throws USAGE. One that cannot be read is meant by who asks for all. */
function meantBy(
  { running, status, name, query, archived }: SagaFilter,
  now: number,
): (row: SagaRow) => boolean {
  const fits = query === undefined ? () => true : parseQuery(query, now);
  return (row) =>
    (running !== true || row.status === "running") &&
    (status === undefined || (row.status === status && row.fault === undefined)) &&
    (name === undefined || row.name === name) &&
    (archived === true || row.archived === undefined) &&
    fits(row);
}

/** All there are, the one that changed last comes last. */
async function* byLedgers(listing: Listing): AsyncGenerator<ListedPage> {
  const turnsOf = new Map((await listing.ports.ledger.list()).map(({ saga, turns }) => [saga, turns]));
  const { rows, unreadable } = await readRows(listing, [...turnsOf.keys()], turnsOf);
  yield { rows: [...rows].sort(byChange), unreadable };
}

async function* byRows(
  listing: Listing,
  whole: ListingPort,
  { running = false, status, name, after }: SagaFilter,
): AsyncGenerator<ListedPage> {
  const kind = running ? "running" : status;
  const kinds = kind === undefined ? [name === undefined ? {} : { name }] : [kindOf(kind, name)];
  const isOther = kind !== undefined || name !== undefined;
  const afterPlace = after === undefined ? 0 : await placeOf(whole, after);
  const seen = new Set<SagaId>();
  for (const one of isOther ? [{ status: "unreadable" as const }, ...kinds] : kinds)
    for await (const found of rowsOf(whole, one, afterPlace))
      for (let from = 0; from < found.length; from += pageMax)
        yield await pageOf(listing, found.slice(from, from + pageMax), seen);
}

const kindOf = (status: ListedStatus, name: string | undefined) => ({
  status,
  ...(name === undefined ? {} : { name }),
});

/** Throws USAGE. */
async function placeOf(whole: ListingPort, after: string): Promise<number> {
  let place: number | undefined;
  for await (const rows of rowsOf(whole, { saga: after as SagaId })) place = rows.at(-1)?.place ?? place;
  if (place !== undefined) return place;
  throw new MeshError("USAGE", `there is no saga "${after}" in the listing`, {
    remedy: "Name the last one that was shown.",
  });
}

/** QL1, QL2. */
async function pageOf(listing: Listing, found: readonly FoundRow[], seen: Set<SagaId>): Promise<ListedPage> {
  const isSigned = (listing.ports.trust?.revision() ?? 0) > 0; // QL3
  const told = new Map<SagaId, SagaRow>();
  const fresh: SagaId[] = [];
  for (const { key, row } of found) {
    if (seen.has(key.saga)) continue;
    seen.add(key.saga);
    fresh.push(key.saga);
    if (row?.ended !== undefined && !isSigned) told.set(key.saga, row.ended);
  }
  const { rows, unreadable } = await readRows(
    listing,
    fresh.filter((saga) => !told.has(saga)),
    new Map(),
  );
  for (const row of rows) told.set(row.saga, row);
  return { rows: fresh.flatMap((saga) => told.get(saga) ?? []), unreadable };
}

async function readRows(
  { ports, viewing }: Listing,
  sagas: readonly SagaId[],
  turnsOf: ReadonlyMap<SagaId, number>,
): Promise<ListedPage> {
  const read = await readMany(sagas, (saga) => readRow(ports, saga, viewing));
  const faulty = read.unreadable.map((one) => rowOfUnreadable(one, turnsOf.get(one.saga) ?? 0));
  return { rows: [...read, ...faulty], unreadable: read.unreadable };
}

async function readRow(ports: Ports, saga: SagaId, options: ViewOptions): Promise<SagaRow> {
  const tombstone = await findTombstone(ports, saga);
  if (tombstone !== undefined) return rowOfArchived(tombstone);
  return rowOfLedger(
    (await readLedger(ports, saga)).map(({ turn }) => turn),
    options,
  );
}

/** The same, with what keeps one that goes on from going on. */
async function withWaits({ ports, hosts, now }: Listing, row: SagaRow): Promise<SagaRow> {
  if (row.status !== "running") return row;
  const unserved = row.fault === undefined ? unservedAmong(hosts, refOf(row)) : undefined;
  const parked = await parkedOf({ ports, clock: { now: () => now } }, row.saga);
  return {
    ...row,
    ...(unserved === undefined ? {} : { unserved }),
    ...(parked === undefined ? {} : { parked }),
  };
}

const refOf = ({ name, version, hash }: SagaRow): DefinitionRef => ({ name, version, hash });
