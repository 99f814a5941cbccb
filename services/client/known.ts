/**
 * Known: whether an id is a saga's. It is from the moment its start is stored, before any host has taken it.
 *
 * YK1 A saga that has begun has for ever, so a client looks once: by the saga's first message, which tells in one read.
 */
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { beginsWithTurn, lastMessageOf } from "../ledger/begun.ts";
import { isUnjudged } from "../ledger/trust.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, Ports } from "../wire/ports.ts";
import { refusalOfStart } from "./refusal.ts";

/** What asking takes. */
export interface KnownDeps {
  readonly ports: Pick<Ports, "ledger" | "blobs" | "inbox" | "dead">;
  readonly clock: Clock;
}

/** The sagas of which a client has seen that they have begun. */
export type BegunSeen = Pick<Set<SagaId>, "has" | "add">;

/** More than a client speaks to, less than a few megabytes. */
const seenMax = 20_000;

/** None seen. Where it would become too many it begins anew. */
export function createBegunSeen(): BegunSeen {
  const seen = new Set<SagaId>();
  return {
    has: (saga) => seen.has(saga),
    add: (saga) => {
      if (seen.size >= seenMax) seen.clear();
      return seen.add(saga);
    },
  };
}

/**
 * `begun`: it has a ledger. `stored`: its start stands in the inbox. Throws SAGA_UNKNOWN for an id that was never started,
 * saying so where its start was refused.
 */
export async function knownSaga({ ports, clock }: KnownDeps, saga: SagaId): Promise<"begun" | "stored"> {
  try {
    const begins = await patiently(clock, () => beginsWithTurn(ports, saga)); // YK1
    if (begins === true) return "begun";
    if (begins === undefined && (await patiently(clock, () => ports.inbox.standingStart(saga))) !== undefined)
      return "stored";
    await patiently(clock, () => lastMessageOf(ports, saga));
    return "begun";
  } catch (error) {
    if (isMeshError(error, "SAGA_NOT_BEGUN")) return "stored";
    if (isUnjudged(error)) return "begun";
    if (!isMeshError(error, "SAGA_UNKNOWN")) throw error;
    const refusal = await patiently(clock, () => refusalOfStart(ports, saga));
    if (refusal === undefined) throw error;
    const { message, remedy } = refusal;
    throw new MeshError("SAGA_UNKNOWN", `there is no saga ${saga}: ${message}`, { remedy, cause: refusal });
  }
}

/** How often it is looked whether a start that no host has taken was refused. Milliseconds. */
const lookMs = 2_000;

/** Resolves once the saga has begun, or the signal ends. Throws SAGA_UNKNOWN at once, or when its start is refused. */
export async function untilBegun(deps: KnownDeps, saga: SagaId, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    // A server that is away is waited for as long as the saga is.
    const known = await knownSaga(deps, saga).catch((error: unknown) => {
      if (isMeshError(error, "UNAVAILABLE")) return "stored";
      throw error;
    });
    if (known === "begun") return;
    await deps.clock.sleep(lookMs, signal).catch(() => undefined); // Aborted: the loop ends.
  }
}
