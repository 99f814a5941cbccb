/**
 * Placement of partitions on hosts: a pure function, so every claim is checked over many groups of hosts.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assignPartitions } from "../../services/host/placement.ts";

const hostNames = fc.uniqueArray(fc.stringMatching(/^host-[a-z0-9]{1,12}$/), { minLength: 1, maxLength: 12 });
const partitionCounts = fc.integer({ min: 1, max: 64 });

/** The host of each partition. */
function ownersOf(assigned: ReadonlyMap<string, readonly number[]>): string[] {
  const owners: string[] = [];
  for (const [host, own] of assigned) for (const partition of own) owners[partition] = host;
  return owners;
}

describe("assignPartitions", () => {
  test("every partition has exactly one host", () => {
    fc.assert(
      fc.property(partitionCounts, hostNames, (partitions, hosts) => {
        const all = [...assignPartitions(partitions, hosts).values()].flat().sort((a, b) => a - b);
        expect(all).toEqual(Array.from({ length: partitions }, (_, partition) => partition));
      }),
    );
  });

  test("no host has two partitions more than another", () => {
    fc.assert(
      fc.property(partitionCounts, hostNames, (partitions, hosts) => {
        const counts = [...assignPartitions(partitions, hosts).values()].map((own) => own.length);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }),
    );
  });

  test("the order in which the hosts are named changes nothing", () => {
    const shuffled = hostNames.chain((hosts) =>
      fc.tuple(fc.constant(hosts), fc.shuffledSubarray(hosts, { minLength: hosts.length })),
    );
    fc.assert(
      fc.property(partitionCounts, shuffled, (partitions, [hosts, others]) => {
        expect(ownersOf(assignPartitions(partitions, others))).toEqual(
          ownersOf(assignPartitions(partitions, hosts)),
        );
      }),
    );
  });

  test("without hosts nothing is assigned", () => {
    expect(assignPartitions(8, [])).toEqual(new Map());
  });

  test("more hosts than partitions leave some hosts without one, and no partition without a host", () => {
    const assigned = assignPartitions(2, ["a", "b", "c", "d", "e"]);
    expect([...assigned.values()].flat().sort()).toEqual([0, 1]);
  });

  test("a host that comes or goes moves little more than its own share", () => {
    const partitions = 32;
    const groups = 200;
    for (let count = 1; count <= 6; count++) {
      let moved = 0;
      let share = 0;
      for (let group = 0; group < groups; group++) {
        const hosts = Array.from({ length: count }, (_, at) => `host-${group}-${at}`);
        const before = assignPartitions(partitions, hosts);
        const after = assignPartitions(partitions, [...hosts, `host-${group}-new`]);
        const owners = ownersOf(after);
        // Going is the same step backwards, so it moves as many.
        moved += ownersOf(before).filter((host, partition) => host !== owners[partition]).length;
        share += after.get(`host-${group}-new`)?.length ?? 0;
      }
      expect(moved / share).toBeLessThan(1.5);
    }
  });
});
