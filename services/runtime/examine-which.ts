/**
 * Examining sagas, for doctor: which of them are looked at. By the rows of the listing where that is whole, so that what it costs
 * grows neither with the sagas that have ended nor with those that wait; else all there are.
 *
 * ZW1 A row names a saga and proves nothing: whatever is said of it is read from its ledger.
 * ZW2 Of those that go on, the ones that were listed first are looked at, up to a number, and that there are more is said. Hosts
 *     see to all of them meanwhile (services/host/audit.ts), and what these note beside a ledger is found by its name.
 * ZW3 Where the listing is not whole every ledger is looked at, and why is said.
 */
import { isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { lastTurnOf } from "../ledger/chain.ts";
import { rowsOf } from "../listing/find.ts";
import { wholeListing } from "../listing/whole.ts";
import type { Examination } from "../nats/examine.ts";
import type { Ledgers } from "../nats/ledgers.ts";
import { eachOf } from "../process/each-of.ts";
import type { ListingPort } from "../wire/ports.ts";

/** Sagas that are read whole: a second or so. */
export const lookedAtMax = 1_000;
/** Sagas of which the last message is read, to find those: less than a second. */
export const glancedAtMax = 5_000;
const glancesAtOnce = 32;
const glancedTogether = 256;

/** By what sagas are looked for. */
export interface Which {
  /** Undefined: all ledgers there are. */
  readonly rows: ListingPort | undefined;
  /** Why all, where nobody has asked for that. */
  readonly why?: string;
}

/** ZW3. Throws what is no coded error. */
export async function whichOf(
  { listing, registry, ledger }: Pick<Ledgers, "listing" | "registry" | "ledger">,
  { hosts }: Pick<Examination, "hosts">,
  isDeep: boolean,
): Promise<Which> {
  if (isDeep) return { rows: undefined };
  if (hosts === undefined) return { rows: undefined, why: "which hosts live cannot be read" };
  const living = hosts.map(({ key, data, revision }) => ({ host: key, data, revision }));
  try {
    const rows = await wholeListing({
      ...{ listing, registry, ledger },
      membership: { hosts: () => Promise.resolve(living) },
    });
    return typeof rows === "string" ? { rows: undefined, why: rows } : { rows };
  } catch (error) {
    if (!isMeshError(error)) throw error;
    return { rows: undefined, why: `the listing of sagas cannot be read (${error.code})` };
  }
}

/** What was found by rows. */
export interface Listed {
  readonly sagas: readonly SagaId[];
  /** By their rows they go on, and there is no ledger of theirs. */
  readonly gone: readonly SagaId[];
  /** There are others, which were not looked at (ZW2). */
  readonly more: boolean;
}

/** Those that may go on, or could not be read, and that have no turn since. Throws UNAVAILABLE. */
export async function quietAmong(
  rows: ListingPort,
  ledgers: Pick<Ledgers, "ledger">,
  quietSince: number,
): Promise<Listed> {
  const found = { seen: new Set<SagaId>(), sagas: [] as SagaId[], gone: [] as SagaId[] };
  for (const status of ["unreadable", "running"] as const)
    for await (const some of inPieces(rowsOf(rows, { status }))) {
      if (found.sagas.length >= lookedAtMax || found.seen.size >= glancedAtMax)
        return { ...found, more: true };
      const fresh = some.filter((saga) => !found.seen.has(saga));
      for (const saga of fresh) found.seen.add(saga);
      const stand = await eachOf(fresh, glancesAtOnce, (saga) => glance(ledgers, saga, quietSince));
      for (const [k, saga] of fresh.entries()) {
        if (stand[k] === "rests") found.sagas.push(saga);
        if (stand[k] === "gone") found.gone.push(saga);
      }
    }
  return { ...found, more: false };
}

/** Those that may go on under definitions of these names. Throws UNAVAILABLE. */
export async function listedUnder(rows: ListingPort, names: ReadonlySet<string>): Promise<Listed> {
  const sagas = new Set<SagaId>();
  for (const name of names)
    for await (const some of inPieces(rowsOf(rows, { status: "running", name }))) {
      if (sagas.size >= glancedAtMax) return { sagas: [...sagas], gone: [], more: true };
      for (const saga of some) sagas.add(saga);
    }
  return { sagas: [...sagas], gone: [], more: false };
}

/** Sagas of rows, a few hundred at a time. */
async function* inPieces(found: ReturnType<typeof rowsOf>): AsyncGenerator<SagaId[]> {
  for await (const rows of found)
    for (let from = 0; from < rows.length; from += glancedTogether)
      yield rows.slice(from, from + glancedTogether).map(({ key }) => key.saga);
}

/** What is wrong with one is told where it is read whole. */
async function glance(
  ledgers: Pick<Ledgers, "ledger">,
  saga: SagaId,
  quietSince: number,
): Promise<"rests" | "moves" | "gone"> {
  try {
    const last = await lastTurnOf(ledgers, saga);
    if (last === undefined) return "gone";
    return last.storedAt < quietSince ? "rests" : "moves";
  } catch (error) {
    if (!isMeshError(error) || error.code === "UNAVAILABLE") throw error;
    return "rests";
  }
}
