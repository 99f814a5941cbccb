/**
 * Rank: which of several hosts is the first for a partition. All who know of the same hosts agree, and those who know of
 * other ones mostly agree all the same: a host that comes or goes changes nothing for a partition but what is its own.
 */
import { sha256 } from "../../protocol/digest.ts";

/** The first of them for a partition, whatever their order; undefined of none. */
export const firstFor = <T extends { readonly host: string }>(
  partition: number,
  hosts: readonly T[],
): T | undefined =>
  hosts.reduce<T | undefined>(
    (first, one) =>
      first === undefined || rank(one.host, partition) < rank(first.host, partition) ? one : first,
    undefined,
  );

const rank = (host: string, partition: number): string => sha256(`${host}/${partition}`);
