/**
 * List: all sagas of a mesh, a line each; and one saga, everything that its ledger says.
 */
import type { InspectDocument } from "../../protocol/documents/inspect.ts";
import type { SagaRow } from "../../protocol/documents/saga.ts";
import type { UnreadableSaga } from "../../protocol/documents/unreadable.ts";
import { isSameDefinition } from "../../protocol/deployments.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { readStay, type Stay, stayEntry } from "../../protocol/stay.ts";
import type { App } from "../app/app.ts";
import { type Many, manyOf } from "../ledger/many.ts";
import { readInspected } from "../views/inspected.ts";
import { ledgerUpTo, type ReadUpTo } from "../views/up-to.ts";
import type { Clock, Ports } from "../wire/ports.ts";
import { byChange, listPages } from "./listed.ts";
import { assertFilter, assertKeys, type SagaFilter } from "./saga-filter.ts";
import { readRegistry, viewingBy } from "./registry.ts";
import { type Waiting, waitingOf } from "./unserved.ts";

/** What is described of a saga. */
export interface DescribeOptions {
  /** Its state as it was after this turn; after the last unless given. */
  readonly turn?: number | undefined;
  /** The application that serves it: then what is open, the machine's state and what the model was sent are exact. */
  readonly app?: App | undefined;
}

/** `Mesh.list`; `report` is told where every ledger is read, and why. */
export async function listSagas(
  ports: Ports,
  filter: SagaFilter,
  now: number,
  report?: (why: string) => void,
): Promise<Many<SagaRow>> {
  assertFilter(filter);
  const rows: SagaRow[] = [];
  const unreadable: UnreadableSaga[] = [];
  for await (const page of listPages(ports, filter, now, report)) {
    for (const row of page.rows) rows.push(row);
    for (const one of page.unreadable) unreadable.push(one);
  }
  // By pages the order is that of the listing; whoever has all of them wants what changed last to come last.
  if (filter.limit === undefined && filter.after === undefined) rows.sort(byChange);
  return manyOf(rows, unreadable);
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
  const isPast = turn !== undefined;
  const viewing = viewingBy(await readRegistry(ports.registry));
  const read = turnsUpTo(ledgerUpTo(ports, saga, { turn }), saga, turn);
  const document = await readInspected(read, { viewing, remembers: undefined, app, isPast });
  if (isPast) return document;
  const stays = document.status === "running" ? await stayOf(ports, document) : undefined;
  const told = { ...document, ...(stays === undefined ? {} : { stays }) };
  return withWaiting(told, () => waitingOf(deps, saga));
}

/** The same reading. Throws TURN_UNKNOWN where this is none of the ledger's turns. */
const turnsUpTo =
  (read: ReadUpTo, saga: SagaId, turn: number | undefined): ReadUpTo =>
  async (begin, through) => {
    const found = await read(begin, through);
    if (through === undefined && turn !== undefined && found.last?.turn !== turn)
      throw new MeshError("TURN_UNKNOWN", `${saga} has turns 1 to ${found.of}, and no turn ${turn}`);
    return found;
  };

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
