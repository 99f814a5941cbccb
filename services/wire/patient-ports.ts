/**
 * Patient ports: reads that are repeated while the server does not answer, for commands that read a mesh for a person
 * and have no loop of their own in which they would ask again.
 *
 * PB1 Only reads are wrapped. A write is repeated by its caller, which knows whether it may be repeated.
 */
import { patiently } from "./patience.ts";
import type { Clock, Ports } from "./ports.ts";

/** The ports with reads that outlast an election: they throw UNAVAILABLE only after 30 s without an answer. */
export function withPatientReads(ports: Ports, clock: Clock): Ports {
  const patient = <T>(read: () => Promise<T>): Promise<T> => patiently(clock, read);
  const { ledger, inbox, snapshots, blobs, dead, registry, membership, listing } = ports;
  return {
    ...ports,
    ledger: {
      ...ledger,
      last: (saga) => patient(() => ledger.last(saga)),
      read: (...range) => patient(() => ledger.read(...range)),
      list: () => patient(() => ledger.list()),
      end: () => patient(() => ledger.end()),
    },
    inbox: { ...inbox, standingStart: (saga) => patient(() => inbox.standingStart(saga)) },
    snapshots: { ...snapshots, get: (saga, name) => patient(() => snapshots.get(saga, name)) },
    blobs: { ...blobs, get: (digest) => patient(() => blobs.get(digest)) },
    dead: { ...dead, list: () => patient(() => dead.list()) },
    registry: {
      ...registry,
      list: () => patient(() => registry.list()),
      read: (key) => patient(() => registry.read(key)),
    },
    ...(listing === undefined
      ? {}
      : { listing: { ...listing, holder: () => patient(() => listing.holder()) } }),
    membership: { ...membership, hosts: () => patient(() => membership.hosts()) },
  };
}
