/**
 * Suspects: a host's quarantine. Its keys are sagas, its groups partitions.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { parseInboxSubject } from "../../protocol/subjects.ts";
import { deadLetter } from "../wire/dead-letter.ts";
import { ackDelivery } from "../wire/delivery.ts";
import type { Isolate } from "../suspects/child.ts";
import type { Returns } from "../suspects/returns.ts";
import { sagaOf } from "../suspects/saga-key.ts";
import { createQuarantine, noQuarantine, type Quarantine } from "../suspects/quarantine.ts";
import type { Delivery } from "../wire/ports.ts";
import type { HostDeps } from "./host-deps.ts";
import { readEvent } from "./intake.ts";
import { presentDefinitionOf } from "./routing.ts";
import { Unserved } from "./unserved.ts";

/** What is said of an input that is set aside, and of what it had begun. */
export const poison = (what: string): MeshError =>
  new MeshError(
    "POISON",
    `${what}: ${limits.victimsMax} processes of its own died of it, one after the other`,
  );

/** What a host's quarantine lives on, beside what the parts of its incarnation share. */
export interface HostQuarantine {
  /** The host's process: its name in its first incarnation. */
  readonly process: string;
  readonly returns: Returns;
  /** The hosts that live, by their incarnations. */
  readonly living: () => readonly string[];
  readonly isolate: Isolate | undefined;
  /** Releases a saga that is resident. */
  readonly evict: (saga: SagaId) => Promise<void>;
}

/** Without a way to start a process nothing is suspected. */
export function hostQuarantine(
  deps: HostDeps,
  { process, returns, living, isolate, evict }: HostQuarantine,
): Quarantine {
  if (isolate === undefined) return noQuarantine;
  return createQuarantine({
    ...deps,
    incarnation: process,
    returns,
    isAlive: (marker) => living().some((host) => isSameProcess(host, marker)),
    isolate,
    settlesInChild: true,
    isOurs: (key, deliveries) => isServedHere(deps, sagaOf(key), deliveries),
    evict: (key) => evict(sagaOf(key)),
    // Even the child that performs nothing died: the ledger itself cannot be folded, so the letter is all.
    giveUp: async (key, deliveries) => {
      const error = poison(`${sagaOf(key)} cannot even be folded with it`);
      for (const delivery of deliveries) {
        deps.observe.refused(error.code);
        await deadLetter(deps, "inbox", delivery, error);
        await ackDelivery(delivery);
      }
    },
  });
}

/** Incarnations of one process are called as its first, with a number. Former versions put marks under each of these names. */
const isSameProcess = (a: string, b: string): boolean =>
  a === b || a.startsWith(`${b}-`) || b.startsWith(`${a}-`);

/** Whether this host has the definition: the ledger tells, and of a saga without one its start. Throws UNAVAILABLE. */
async function isServedHere(deps: HostDeps, saga: SagaId, deliveries: readonly Delivery[]): Promise<boolean> {
  const present = await presentDefinitionOf(deps, saga);
  if (present !== undefined) return deps.app.definition(present) !== undefined;
  for (const delivery of deliveries) {
    const address = parseInboxSubject(delivery.subject);
    if (address.kind !== "start") continue;
    const failure = await readEvent(deps, address, delivery).catch((error: unknown) => error);
    if (failure instanceof Unserved) return false;
  }
  return true;
}
