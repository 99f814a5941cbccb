/**
 * List: all sagas of a mesh, a line each; and one saga, everything that its ledger says.
 */
import type { InspectDocument } from "../../protocol/documents/inspect.ts";
import type { SagaRow } from "../../protocol/documents/saga.ts";
import { isSameDefinition } from "../../protocol/deployments.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { readStay, type Stay, stayEntry } from "../../protocol/stay.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import { type Many, manyOf, readMany } from "../ledger/many.ts";
import { findTombstone } from "../ledger/reader.ts";
import { inspectedOf } from "../views/inspected.ts";
import { parseQuery } from "../views/query.ts";
import { rowOfArchived, rowOfLedger, rowOfUnreadable } from "../views/saga-row.ts";
import { readLedger, type ViewOptions } from "../views/view.ts";
import type { Clock, Ports } from "../wire/ports.ts";
import { livingHosts } from "../deployments/served.ts";
import { parkedOf } from "./parked.ts";
import { readRegistry, viewingBy } from "./registry.ts";
import { unservedAmong, type Waiting, waitingOf } from "./unserved.ts";
import { eachOf } from "../process/each-of.ts";
import { inPieces } from "../wire/loop.ts";

/** Which sagas are meant; all conditions hold. */
export interface SagaFilter {
  /** Only those that have not ended. */
  readonly running?: boolean | undefined;
  /** Only those of this definition. */
  readonly name?: string | undefined;
  /** Conditions as `sagamesh ls --query` takes them: `status=failed and ended>2026-01-31`. */
  readonly query?: string | undefined;
}

/** What is described of a saga. */
export interface DescribeOptions {
  /** Its state as it was after this turn; after the last unless given. */
  readonly turn?: number | undefined;
  /** The application that serves it: then what is open, the machine's state and what the model was sent are exact. */
  readonly app?: App | undefined;
}

/** `Mesh.list`. */
export async function listSagas(ports: Ports, filter: SagaFilter, now: number): Promise<Many<SagaRow>> {
  assertKeys("list", filter, { running: "boolean", name: "string", query: "string" });
  const { running = false, name, query } = filter;
  const isMeant = query === undefined ? () => true : parseQuery(query, now);
  const rows = await readRows(ports, viewingBy(await readRegistry(ports.registry)));
  const hosts = await livingHosts(ports.membership);
  const meant = rows
    .filter(
      (row) =>
        (!running || row.status === "running") && (name === undefined || row.name === name) && isMeant(row),
    )
    .map((row) => {
      const isOver = row.status !== "running" || row.fault !== undefined;
      const unserved = isOver ? undefined : unservedAmong(hosts, refOf(row));
      return unserved === undefined ? row : { ...row, unserved };
    });
  return manyOf(await eachOf(meant, lookedAtOnce, (row) => withParked(ports, row, now)), rows.unreadable);
}

/** How many notes are asked for at once. */
const lookedAtOnce = 32;

/** The same, with why its hosts cannot take what comes for it. */
async function withParked(ports: Ports, row: SagaRow, now: number): Promise<SagaRow> {
  if (row.status !== "running") return row;
  const parked = await parkedOf({ ports, clock: { now: () => now } }, row.saga);
  return parked === undefined ? row : { ...row, parked };
}

const refOf = ({ name, version, hash }: SagaRow): DefinitionRef => ({ name, version, hash });

/** A row for each saga, the one that changed last comes last. */
async function readRows(ports: Ports, options: ViewOptions): Promise<Many<SagaRow>> {
  const sagas = new Map((await ports.ledger.list()).map(({ saga, turns }) => [saga, turns]));
  const read = await readMany([...sagas.keys()], (saga) => readRow(ports, saga, options));
  const faulty = read.unreadable.map((one) => rowOfUnreadable(one, sagas.get(one.saga) ?? 0));
  const rows = [...read, ...faulty].sort((a, b) => a.updatedAt - b.updatedAt || (a.saga < b.saga ? -1 : 1));
  return manyOf(rows, read.unreadable);
}

async function readRow(ports: Ports, saga: SagaId, options: ViewOptions): Promise<SagaRow> {
  const tombstone = await findTombstone(ports, saga);
  if (tombstone !== undefined) return rowOfArchived(tombstone);
  return rowOfLedger(
    (await readLedger(ports, saga)).map(({ turn }) => turn),
    options,
  );
}

/** `Mesh.describe`. */
export async function describeSaga(
  deps: { readonly ports: Ports; readonly clock: Clock },
  saga: SagaId,
  options: DescribeOptions,
): Promise<InspectDocument> {
  assertKeys("describe", options, { turn: "number", app: "object" });
  const { turn, app } = options;
  const { ports } = deps;
  const all = (await readLedger(ports, saga)).map((stored) => stored.turn);
  if (turn !== undefined && !(Number.isInteger(turn) && turn >= 1 && turn <= all.length))
    throw new MeshError("TURN_UNKNOWN", `${saga} has turns 1 to ${all.length}, and no turn ${turn}`);
  const viewing = viewingBy(await readRegistry(ports.registry));
  if (turn !== undefined)
    return inPieces(ports.loop, describedUpTo(all.slice(0, turn), all.length, viewing, app));
  const document = await inPieces(ports.loop, describedUpTo(all, undefined, viewing, app));
  const stays = document.status === "running" ? await stayOf(ports, document) : undefined;
  const told = { ...document, ...(stays === undefined ? {} : { stays }) };
  return withWaiting(told, () => waitingOf(deps, saga));
}

/** What keeps a saga where it is, as its host found it out; undefined where it was moved since. Throws UNAVAILABLE. */
export async function stayOf(
  { snapshots }: Pick<Ports, "snapshots">,
  { saga, definition, migrations }: Pick<InspectDocument, "saga" | "definition" | "migrations">,
): Promise<Stay | undefined> {
  const stay = readStay(await snapshots.get(saga, stayEntry));
  const movedAt = migrations?.at(-1)?.turn ?? 0;
  return stay === undefined || stay.head < movedAt || isSameDefinition(stay.to, definition)
    ? undefined
    : stay;
}

/** The same, with why a saga does not go on as it is now. Nothing is said of an earlier turn. */
export async function withWaiting(
  document: InspectDocument,
  look: () => Promise<Waiting>,
): Promise<InspectDocument> {
  if (document.status !== "running" || document.asOf !== undefined) return document;
  return { ...document, ...(await look()) };
}

/** These turns of a saga as a document; `of` so many where they are not all. */
export function* describedUpTo(
  turns: readonly Turn[],
  of: number | undefined,
  viewing: ViewOptions,
  app: App | undefined,
): Generator<undefined, InspectDocument> {
  const last = turns.at(-1);
  const asOf = of === undefined || last === undefined ? {} : { asOf: { turn: last.turn, at: last.at, of } };
  return { ...(yield* inspectedOf(turns, viewing, app)), ...asOf };
}

/** Throws USAGE for what no option is: a filter that is misspelt would mean every saga. */
function assertKeys(call: string, options: unknown, known: Readonly<Record<string, string>>): void {
  if (typeof options !== "object" || options === null)
    throw new MeshError("USAGE", `${call}: its options are one object`);
  for (const [key, value] of Object.entries(options)) {
    const type = Object.hasOwn(known, key) ? known[key] : undefined;
    if (type !== undefined && (value === undefined || typeof value === type)) continue;
    throw new MeshError(
      "USAGE",
      `${call}: ${type === undefined ? `there is no "${key}"` : `${key} is no ${type}`}`,
      {
        remedy: `It takes ${Object.keys(known).join(", ")}.`,
      },
    );
  }
}
