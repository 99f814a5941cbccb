/**
 * Placement of partitions on hosts: a pure function of what the hosts say they have, so every claim is checked
 * over many groups of hosts, holdings and orders of events.
 *
 * The least number of moves is computed here by itself: with shares that differ by one at most, so many partitions
 * can stay as the hosts have within the lesser share, and one more for as many as have more and there are larger
 * shares.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assignPartitions, type Member, nextHoldings } from "../../../services/host/placement.ts";

const partitionCounts = fc.integer({ min: 1, max: 40 });
const hostNames = fc.uniqueArray(fc.stringMatching(/^h-[a-z0-9]{1,8}$/), { minLength: 1, maxLength: 9 });

/** Members of which no two have the same partition. */
const disjointMembers = (partitions: number) =>
  hostNames.chain((hosts) =>
    fc
      .record({
        owners: fc.array(fc.integer({ min: -1, max: hosts.length - 1 }), {
          minLength: partitions,
          maxLength: partitions,
        }),
        draining: fc.array(fc.boolean(), { minLength: hosts.length, maxLength: hosts.length }),
        since: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: hosts.length, maxLength: hosts.length }),
      })
      .map(({ owners, draining, since }) =>
        hosts.map((host, at): Member => ({
          host,
          partitions: owners.flatMap((owner, partition) => (owner === at ? [partition] : [])),
          draining: draining[at] ?? false,
          since: since[at] ?? 0,
        })),
      ),
  );

/** Members that claim anything, also the same, and partitions that there are not. */
const anyMembers = (partitions: number) =>
  hostNames.chain((hosts) =>
    fc.tuple(
      ...hosts.map((host) =>
        fc.record({
          host: fc.constant(host),
          partitions: fc.uniqueArray(fc.integer({ min: 0, max: partitions + 2 })),
          draining: fc.boolean(),
          since: fc.integer({ min: 0, max: 3 }),
        }),
      ),
    ),
  );

const mesh = <T>(members: (partitions: number) => fc.Arbitrary<T>) =>
  partitionCounts.chain((partitions) => fc.tuple(fc.constant(partitions), members(partitions)));

const allOf = (partitions: number) => Array.from({ length: partitions }, (_, partition) => partition);
const sorted = (list: readonly number[]) => [...list].sort((a, b) => a - b);
const servingOf = (members: readonly Member[]) => members.filter(({ draining }) => !draining);

/** A new group in which everything has settled. */
function settled(partitions: number, hosts: readonly string[]): Member[] {
  const empty = hosts.map((host, since): Member => ({ host, partitions: [], draining: false, since }));
  const assigned = assignPartitions(partitions, empty);
  return empty.map((member) => ({ ...member, partitions: assigned.get(member.host) ?? [] }));
}

/** How many partitions would go to a host that does not have them. */
const movesOf = (partitions: number, members: readonly Member[]): number =>
  [...assignPartitions(partitions, members)].reduce((sum, [host, own]) => {
    const had = new Set(members.find((member) => member.host === host)?.partitions);
    return sum + own.filter((partition) => !had.has(partition)).length;
  }, 0);

function leastMoves(partitions: number, members: readonly Member[]): number {
  const serving = servingOf(members);
  if (serving.length === 0) return 0;
  const least = Math.floor(partitions / serving.length);
  const counts = serving.map((member) => member.partitions.length);
  const within = counts.reduce((sum, count) => sum + Math.min(count, least), 0);
  return partitions - within - Math.min(partitions % serving.length, counts.filter((n) => n > least).length);
}

describe("assignPartitions", () => {
  test("every partition has exactly one host that serves, whatever the hosts claim", () => {
    fc.assert(
      fc.property(mesh(anyMembers), ([partitions, members]) => {
        const assigned = assignPartitions(partitions, members);
        const expected = servingOf(members).length === 0 ? [] : allOf(partitions);
        expect(sorted([...assigned.values()].flat())).toEqual(expected);
        for (const { host, draining } of members) expect(assigned.has(host)).toBe(!draining);
      }),
    );
  });

  test("no host has two partitions more than another", () => {
    fc.assert(
      fc.property(mesh(anyMembers), ([partitions, members]) => {
        const counts = [...assignPartitions(partitions, members).values()].map((own) => own.length);
        if (counts.length > 0) expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }),
    );
  });

  test("the order in which the hosts are named changes nothing", () => {
    const shuffled = mesh(anyMembers).chain(([partitions, members]) =>
      fc.tuple(
        fc.constant(partitions),
        fc.constant(members),
        fc.shuffledSubarray(members, { minLength: members.length }),
      ),
    );
    fc.assert(
      fc.property(shuffled, ([partitions, members, others]) => {
        const byName = (list: readonly Member[]) =>
          [...assignPartitions(partitions, list)].sort(([a], [b]) => (a < b ? -1 : 1));
        expect(byName(others)).toEqual(byName(members));
      }),
    );
  });

  test("from any holdings it moves exactly as many partitions as it must", () => {
    fc.assert(
      fc.property(mesh(disjointMembers), ([partitions, members]) => {
        expect(movesOf(partitions, members)).toBe(leastMoves(partitions, members));
      }),
    );
  });

  test("a host that joins is given its share and nothing else moves", () => {
    fc.assert(
      fc.property(partitionCounts, hostNames, (partitions, hosts) => {
        const before = settled(partitions, hosts);
        const joined = [...before, { host: "new", partitions: [], draining: false, since: 99 }];
        const share = assignPartitions(partitions, joined).get("new")?.length;
        expect(movesOf(partitions, joined)).toBe(share);
        expect(share).toBe(Math.floor(partitions / joined.length));
      }),
    );
  });

  test("a host that leaves, dies or drains moves what it had and nothing else", () => {
    fc.assert(
      fc.property(partitionCounts, hostNames, fc.nat(), (partitions, hosts, at) => {
        fc.pre(hosts.length > 1);
        const before = settled(partitions, hosts);
        const one = before[at % before.length] as Member;
        const without = before.filter((member) => member !== one);
        expect(movesOf(partitions, without)).toBe(one.partitions.length);
        const draining = [...without, { ...one, draining: true }];
        expect(movesOf(partitions, draining)).toBe(one.partitions.length);
      }),
    );
  });

  test("without hosts that serve nothing is assigned", () => {
    expect(assignPartitions(8, [])).toEqual(new Map());
    expect(assignPartitions(8, [{ host: "a", partitions: [1], draining: true, since: 0 }])).toEqual(
      new Map(),
    );
  });
});

describe("nextHoldings", () => {
  /** One host looks at all the others as they are now, and does what it should. */
  const act = (partitions: number, members: readonly Member[], host: string): Member[] =>
    members.map((member) =>
      member.host === host
        ? { ...member, partitions: member.draining ? [] : nextHoldings(partitions, host, members) }
        : member,
    );
  /** All look at the same moment, and then all have done it. */
  const actTogether = (partitions: number, members: readonly Member[]): Member[] =>
    members.map((member) => ({ ...member, partitions: nextHoldings(partitions, member.host, members) }));

  function expectSettled(partitions: number, members: readonly Member[]): void {
    const serving = servingOf(members);
    if (serving.length === 0) return;
    expect(sorted(serving.flatMap((member) => member.partitions))).toEqual(allOf(partitions));
    const counts = serving.map((member) => member.partitions.length);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    expect(actTogether(partitions, members), "it is stable").toEqual(members);
  }

  test("nobody takes up what another that serves says it has", () => {
    fc.assert(
      fc.property(mesh(anyMembers), ([partitions, members]) => {
        for (const { host, partitions: had } of members) {
          const taken = nextHoldings(partitions, host, members).filter(
            (partition) => !had.includes(partition),
          );
          const others = servingOf(members).filter((member) => member.host !== host);
          for (const partition of taken)
            expect(others.some((member) => member.partitions.includes(partition))).toBe(false);
        }
      }),
    );
  });

  test("what several say they have, one of them keeps", () => {
    fc.assert(
      fc.property(mesh(anyMembers), ([partitions, members]) => {
        const next = servingOf(actTogether(partitions, members));
        const held = next.flatMap((member) => member.partitions);
        expect(new Set(held).size).toBe(held.length);
      }),
    );
  });

  test("from whatever everybody says it has, two looks at the same moment end in a stable, even, disjoint whole", () => {
    fc.assert(
      fc.property(mesh(anyMembers), ([partitions, members]) => {
        expectSettled(partitions, actTogether(partitions, actTogether(partitions, members)));
      }),
    );
  });

  test("looks one after the other, in any order, end there too once everybody has looked three times", () => {
    const orders = mesh(anyMembers).chain(([partitions, members]) =>
      fc.tuple(
        fc.constant(partitions),
        fc.constant(members),
        fc.array(fc.constantFrom(...members.map(({ host }) => host)), { maxLength: 20 }),
        fc.shuffledSubarray(
          members.map(({ host }) => host),
          { minLength: members.length },
        ),
        fc.shuffledSubarray(
          members.map(({ host }) => host),
          { minLength: members.length },
        ),
        fc.shuffledSubarray(
          members.map(({ host }) => host),
          { minLength: members.length },
        ),
      ),
    );
    fc.assert(
      fc.property(orders, ([partitions, members, some, first, second, third]) => {
        const end = [...some, ...first, ...second, ...third].reduce<Member[]>(
          (now, host) => act(partitions, now, host),
          members,
        );
        expectSettled(
          partitions,
          end.map((member) => (member.draining ? { ...member, partitions: [] } : member)),
        );
      }),
    );
  });

  test("a host that joins waits until the others have laid its share down", () => {
    const before = settled(8, ["a", "b"]);
    const joined = [...before, { host: "c", partitions: [], draining: false, since: 9 }];
    expect(nextHoldings(8, "c", joined)).toEqual([]);
    const laidDown = act(8, act(8, joined, "a"), "b");
    expect(nextHoldings(8, "c", laidDown)).toHaveLength(2);
  });

  test("what a host that drains has is taken up at once", () => {
    const [a, b] = settled(8, ["a", "b"]) as [Member, Member];
    expect(nextHoldings(8, "b", [{ ...a, draining: true }, b])).toEqual(allOf(8));
  });
});
