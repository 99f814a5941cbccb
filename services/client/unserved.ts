/**
 * Unserved: a saga whose definition no living host serves. What is sent to it is stored, and it goes on when a host
 * serves it or it is moved to a definition that is served; until then nothing happens, and its reader is told.
 */
import { briefDefinition } from "../../protocol/definition-text.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { isServed, type ServingHost } from "../deployments/choose.ts";
import { livingHosts } from "../deployments/served.ts";
import { isTombstone } from "../ledger/reader.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, MembershipPort, Ports } from "../wire/ports.ts";
import { definitionTold } from "../wire/turn-headers.ts";
import { lastTurnOf } from "../ledger/chain.ts";
import { isUnjudged } from "../ledger/trust.ts";
import type { Parked } from "../../protocol/parked.ts";
import { parkedOf, parkedText } from "./parked.ts";

/** The definition that a saga waits for a host of; undefined where one serves it, or there is no such saga. */
export async function unservedOf(
  { ports, clock }: { readonly ports: Pick<Ports, "ledger" | "membership">; readonly clock: Clock },
  saga: SagaId,
): Promise<DefinitionRef | undefined> {
  const last = await patiently(clock, () => lastTurnOf(ports, saga)).catch((error: unknown) => {
    if (isUnjudged(error)) return undefined; // It waits for another thing.
    throw error;
  });
  if (last === undefined || isTombstone(last)) return undefined;
  const ref = definitionTold(last);
  return ref && patiently(clock, () => unservedNow(ports.membership, ref));
}

/** The definition itself, if no living host takes sagas of it. Throws UNAVAILABLE. */
export const unservedNow = async (
  membership: MembershipPort,
  ref: DefinitionRef,
): Promise<DefinitionRef | undefined> => unservedAmong(await livingHosts(membership), ref);

/** The definition itself, if none of these hosts takes sagas of it. */
export const unservedAmong = (
  hosts: readonly ServingHost[],
  ref: DefinitionRef,
): DefinitionRef | undefined => (isServed(ref, hosts) ? undefined : ref);

/** What a person is told of a saga that waits for a host, and what helps. */
export const unservedText = (ref: DefinitionRef): string =>
  `no host serves ${briefDefinition(ref)}: start a host of it, or move its sagas with \`sagamesh migrate\``;

/** Why what is sent to a saga waits. */
export interface Waiting {
  /** The definition that no living host serves. */
  readonly unserved?: DefinitionRef;
  /** Why its hosts cannot take it. */
  readonly parked?: Parked;
}

/** Why what is sent to a saga waits; nothing of one that goes on. Throws UNAVAILABLE. */
export async function waitingOf(deps: WaitingDeps, saga: SagaId): Promise<Waiting> {
  const unserved = await unservedOf(deps, saga);
  const parked = await patiently(deps.clock, () => parkedOf(deps, saga));
  return { ...(unserved && { unserved }), ...(parked && { parked }) };
}

interface WaitingDeps {
  readonly ports: Pick<Ports, "ledger" | "membership" | "snapshots">;
  readonly clock: Clock;
}

/** That something is stored, and what it waits for where its saga does not go on. */
export const storedText = (what: string, { unserved, parked }: Waiting): string =>
  [
    what,
    ...(unserved === undefined ? [] : [unservedText(unserved)]),
    ...(parked === undefined ? [] : [parkedText(parked)]),
  ].join("; ");
