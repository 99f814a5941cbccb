/**
 * Choose: which definition a start becomes a saga of, and which host takes a saga's inputs, from what hosts say and
 * people declared. Pure.
 *
 * CE1 All who know of the same hosts and declarations choose the same, whatever the order; and the same for a start that
 *    is repeated, because only the saga's id decides whether it belongs to a ramp's share.
 * CE2 A name that was declared is strict: its starts wait for the current definition rather than go to another. A ramp is
 *    not: while no host serves its target, its share goes to the current one, so a canary that dies holds up no start.
 * CE3 A larger share of a ramp holds all that a lesser one held.
 * CE4 A host that drains is chosen for nothing.
 */
import { type Declaration, isSameDefinition, type ServedDefinition } from "../../protocol/deployments.ts";
import { sha256 } from "../../protocol/digest.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { firstFor } from "./rank.ts";

/** A living host, by its entry. */
export interface ServingHost {
  readonly host: string;
  readonly draining: boolean;
  /** When it began, milliseconds since the epoch by its own clock. */
  readonly since: number;
  readonly serves: readonly ServedDefinition[];
}

/** What a start asks for. Without a version what is declared, and else the newest that is served. */
export interface Wanted {
  readonly name: string;
  readonly version?: number | undefined;
  /** That very definition, whatever is declared: of a child under its parent's policies. */
  readonly hash?: string | undefined;
}

/** The definition that a start becomes a saga of; or the one that it waits for; undefined: no host serves any such. */
export type Chosen = DefinitionRef | { readonly waitsFor: DefinitionRef } | undefined;

/** Chooses for a start of the saga of this id. `declared` is what was declared of each name. */
export function chooseForStart(
  { name, version, hash }: Wanted,
  saga: SagaId,
  hosts: readonly ServingHost[],
  declared: ReadonlyMap<string, Declaration>,
): Chosen {
  if (hash !== undefined) return onceServed({ name, version: version ?? 0, hash }, hosts);
  const { current, ramp } = declared.get(name) ?? {};
  const isAsked = (ref: DefinitionRef) => version === undefined || ref.version === version;
  const isRamped = ramp !== undefined && isAsked(ramp.to) && isServed(ramp.to, hosts);
  if (current !== undefined && isAsked(current))
    return isRamped && fractionOf(saga) < ramp.share ? ramp.to : onceServed(current, hosts);
  return isRamped ? ramp.to : newestServed(name, version, hosts); // It asks for a version that is not the current one.
}

/** The host that takes the inputs of a saga of this definition and partition; undefined: none serves it. */
export const hostFor = <T extends ServingHost>(
  ref: DefinitionRef,
  partition: number,
  hosts: readonly T[],
): T | undefined => firstFor(partition, takersOf(ref, hosts));

/** Those that take sagas of this definition: they serve it and do not drain. */
export const takersOf = <T extends ServingHost>(ref: DefinitionRef, hosts: readonly T[]): T[] =>
  hosts.filter(({ draining, serves }) => !draining && serves.some((served) => isSameDefinition(served, ref)));

/** Of those that a start by name may choose, the highest version; of equal ones the one whose first host joined last. */
export function newestServed(
  name: string,
  version: number | undefined,
  hosts: readonly ServingHost[],
): DefinitionRef | undefined {
  const began = new Map<string, { readonly ref: DefinitionRef; since: number }>();
  for (const { draining, since, serves } of hosts)
    for (const ref of serves) {
      if (draining || !ref.startable || ref.name !== name) continue;
      if (version !== undefined && ref.version !== version) continue;
      const known = began.get(ref.hash);
      if (known === undefined) began.set(ref.hash, { ref, since });
      else known.since = Math.min(known.since, since);
    }
  const [newest] = [...began.values()].sort(
    (a, b) => b.ref.version - a.ref.version || b.since - a.since || (a.ref.hash < b.ref.hash ? -1 : 1),
  );
  return newest && { name, version: newest.ref.version, hash: newest.ref.hash };
}

/** Whether one of them takes sagas of this definition. */
export const isServed = (ref: DefinitionRef, hosts: readonly ServingHost[]): boolean =>
  takersOf(ref, hosts).length > 0;

/** CE2. */
const onceServed = (ref: DefinitionRef, hosts: readonly ServingHost[]): Chosen =>
  isServed(ref, hosts) ? ref : { waitsFor: ref };

const hexDigits = 8;

/** Where an id lies among all, evenly in [0, 1). */
const fractionOf = (saga: SagaId): number =>
  Number.parseInt(sha256(saga).slice(0, hexDigits), 16) / 16 ** hexDigits;
