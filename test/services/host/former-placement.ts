/**
 * Former placement: what a host of the version without weights computes, as it was written then. Hosts of both versions
 * share the partitions while they are replaced one after the other, so both have to compute one assignment.
 */
import { firstFor } from "../../../services/deployments/rank.ts";
import type { Member } from "../../../services/host/placement.ts";

/** The partitions of each host that serves. */
export function formerAssignment(partitions: number, members: readonly Member[]): Map<string, number[]> {
  const serving = servingOf(members);
  const assigned = claimsOf(partitions, serving);
  const shares = sharesOf(partitions, serving, assigned);
  const free = new Set(Array.from({ length: partitions }, (_, partition) => partition));
  for (const [host, own] of assigned) {
    own.splice(shares.get(host) ?? 0);
    for (const partition of own) free.delete(partition);
  }
  const withRoom = () =>
    [...assigned].flatMap(([host, own]) => (own.length < (shares.get(host) ?? 0) ? [{ host, own }] : []));
  for (const partition of free) firstFor(partition, withRoom())?.own.push(partition);
  for (const own of assigned.values()) own.sort((a, b) => a - b);
  return assigned;
}

const servingOf = (members: readonly Member[]): Member[] =>
  members.filter(({ draining }) => !draining).sort((a, b) => a.since - b.since || (a.host < b.host ? -1 : 1));

function claimsOf(partitions: number, serving: readonly Member[]): Map<string, number[]> {
  const claimants = Array.from({ length: partitions }, (_, partition) =>
    serving.filter((member) => member.partitions.includes(partition)).map(({ host }) => host),
  );
  const claims = new Map<string, number[]>(serving.map(({ host }) => [host, []]));
  const count = (host: string) => claims.get(host)?.length ?? 0;
  for (const isDisputed of [false, true])
    for (const [partition, hosts] of claimants.entries())
      if (hosts.length > 1 === isDisputed) {
        const least = Math.min(...hosts.map(count));
        claims.get(hosts.find((host) => count(host) === least) ?? "")?.push(partition);
      }
  return claims;
}

function sharesOf(
  partitions: number,
  serving: readonly Member[],
  claims: ReadonlyMap<string, readonly number[]>,
): Map<string, number> {
  const least = Math.floor(partitions / Math.max(1, serving.length));
  const larger = partitions - least * serving.length;
  const count = ({ host }: Member) => claims.get(host)?.length ?? 0;
  const byClaims = [...serving].sort((a, b) => count(b) - count(a)); // Stable: of equal ones the oldest first.
  return new Map(byClaims.map(({ host }, place) => [host, place < larger ? least + 1 : least]));
}
