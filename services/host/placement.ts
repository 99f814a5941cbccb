/**
 * Placement: which partitions a host should have, from what every host says it has. Pure, and for speed only:
 * safety is the ledger's compare-and-set.
 *
 * PM1 Every host computes the same assignment from the same members, whatever their order.
 * PM2 Each host that serves has its share by weight, rounded up or down, and as little moves as that allows: each keeps
 *    what it has up to its share, and only what no host has, or one has beyond its share, goes to another.
 * PM3 A host takes up only what no other serving host says it has. So a move is two beats, one lays down and then
 *    one takes up; where two say they have the same, all know which of them keeps it.
 * PM4 Weights count only while each host that serves says one. Beside a host of a version without weights all are
 *    taken for the same, as that host computes, so both compute one assignment.
 */
import { minOf } from "../../protocol/extremes.ts";
import type { HostEntry } from "../../protocol/host-entry.ts";
import { weightUnits } from "../../protocol/host-weight.ts";
import { firstFor } from "../deployments/rank.ts";

/** A host as its entry says. */
export interface Member extends Pick<HostEntry, "partitions" | "draining" | "since" | "weight"> {
  readonly host: string;
}

/** The partitions of each host that serves, complete and disjoint; empty if none serves. */
export function assignPartitions(partitions: number, members: readonly Member[]): Map<string, number[]> {
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

/** PM3: what the host should have now, on the way to its assignment. A host that drains should have nothing. */
export function nextHoldings(partitions: number, host: string, members: readonly Member[]): number[] {
  const own = new Set(members.find((member) => member.host === host)?.partitions);
  const others = new Set(
    servingOf(members).flatMap((member) => (member.host === host ? [] : member.partitions)),
  );
  const assigned = assignPartitions(partitions, members).get(host) ?? [];
  return assigned.filter((partition) => own.has(partition) || !others.has(partition));
}

/** Those that do not drain, the oldest first. */
const servingOf = (members: readonly Member[]): Member[] =>
  members.filter(({ draining }) => !draining).sort((a, b) => a.since - b.since || (a.host < b.host ? -1 : 1));

/** What each has that no other has a better claim to: of several the one with the least keeps it, else the oldest. */
function claimsOf(partitions: number, serving: readonly Member[]): Map<string, number[]> {
  const claimants = Array.from({ length: partitions }, (_, partition) =>
    serving.filter((member) => member.partitions.includes(partition)).map(({ host }) => host),
  );
  const claims = new Map<string, number[]>(serving.map(({ host }) => [host, []]));
  const count = (host: string) => claims.get(host)?.length ?? 0;
  for (const isDisputed of [false, true])
    for (const [partition, hosts] of claimants.entries())
      if (hosts.length > 1 === isDisputed) {
        const least = minOf(hosts.map(count));
        claims.get(hosts.find((host) => count(host) === least) ?? "")?.push(partition);
      }
  return claims;
}

/**
 * How many each may have: its share by weight rounded down, or up for as many as that leaves over. Of those whose share
 * is no whole number the ones that have more go first, for they need not lay one down; then the ones with most left over.
 */
function sharesOf(
  partitions: number,
  serving: readonly Member[],
  claims: ReadonlyMap<string, readonly number[]>,
): Map<string, number> {
  const weights = weightsOf(serving);
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  const shares = serving.map(({ host }, at) => {
    const exact = partitions * (weights[at] ?? 0);
    const least = Math.floor(exact / all);
    return { host, least, over: exact % all, has: claims.get(host)?.length ?? 0 };
  });
  const larger = partitions - shares.reduce((sum, { least }) => sum + least, 0);
  const first = shares
    .filter(({ over }) => over > 0)
    .sort((a, b) => Number(b.has > b.least) - Number(a.has > a.least) || b.over - a.over || b.has - a.has)
    .slice(0, larger); // Stable: of equal ones the oldest first.
  const rounded = new Set(first.map(({ host }) => host));
  return new Map(shares.map(({ host, least }) => [host, rounded.has(host) ? least + 1 : least]));
}

/** PM4. Whole numbers: every host adds them up to the same. */
function weightsOf(serving: readonly Member[]): number[] {
  const said = serving.flatMap(({ weight }) => (weight === undefined ? [] : [weightUnits(weight)]));
  return said.length === serving.length ? said : serving.map(() => 1);
}
