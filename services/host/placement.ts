/**
 * Placement: which partitions are this host's. For speed only; safety is the ledger's compare-and-set.
 *
 * O1 Every host computes the same assignment from the same members: rendezvous hashing with a bound, so that
 *    partitions spread evenly within one and few move when a host comes or goes.
 */
import { sha256 } from "../../protocol/digest.ts";

/** The partitions of each host. Pure; the order of the hosts does not matter. */
export function assignPartitions(partitions: number, hosts: readonly string[]): Map<string, number[]> {
  const assigned = new Map<string, number[]>(hosts.map((host) => [host, []]));
  if (hosts.length === 0) return assigned;
  const least = Math.floor(partitions / hosts.length);
  let larger = partitions % hosts.length; // So many hosts take one more than the least.
  const taken = new Set<number>();
  const wishes = hosts
    .flatMap((host) =>
      Array.from({ length: partitions }, (_, partition) => ({
        host,
        partition,
        score: sha256(`${host}/${partition}`),
      })),
    )
    .sort((a, b) => (a.score < b.score ? 1 : -1));
  for (const { host, partition } of wishes) {
    const own = assigned.get(host);
    if (own === undefined || taken.has(partition) || own.length > least) continue;
    if (own.length === least) {
      if (larger === 0) continue;
      larger -= 1;
    }
    own.push(partition);
    taken.add(partition);
  }
  return assigned;
}
