/**
 * Placement of partitions on hosts: a pure function of what the hosts say they have, so every claim is checked
 * over many groups of hosts, holdings and orders of events.
 *
 * The least number of moves is computed here by itself: with each share rounded up or down, so many partitions can
 * stay as the hosts have within the lesser share, and one more for as many as have more, may have more, and there are
 * larger shares. What a host of the version without weights computes stands in former-placement.ts.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { weightUnits } from "../../../protocol/host-weight.ts";
import { formerAssignment } from "./former-placement.ts";
import { assignPartitions, type Member, nextHoldings } from "../../../services/host/placement.ts";

const partitionCounts = fc.integer({ min: 1, max: 40 });
const hostNames = fc.uniqueArray(fc.stringMatching(/^h-[a-z0-9]{1,8}$/), { minLength: 1, maxLength: 9 });

const weighing = (declared: number, halved = 0): Member["weight"] => ({
  ...{ declared, now: declared / 2 ** halved },
  ...{ load: 0, by: "loop" as const },
});

/** What a host says of its weight, or that it is of a version without; most groups have none of those. */
const weights = fc.option(
  fc
    .tuple(fc.oneof(fc.constant(10), fc.integer({ min: 1, max: 1_000 })), fc.constantFrom(0, 0, 0, 1, 2, 3))
    .map(([tenths, halved]) => weighing(tenths / 10, halved)),
  { nil: undefined, freq: 20 },
);

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
        weight: fc.array(weights, { minLength: hosts.length, maxLength: hosts.length }),
      })
      .map(({ owners, draining, since, weight }) =>
        hosts.map((host, at): Member => ({
          host,
          partitions: owners.flatMap((owner, partition) => (owner === at ? [partition] : [])),
          draining: draining[at] ?? false,
          since: since[at] ?? 0,
          weight: weight[at],
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
          weight: weights,
        }),
      ),
    ),
  );

const mesh = <T>(members: (partitions: number) => fc.Arbitrary<T>) =>
  partitionCounts.chain((partitions) => fc.tuple(fc.constant(partitions), members(partitions)));

const allOf = (partitions: number) => Array.from({ length: partitions }, (_, partition) => partition);
const sorted = (list: readonly number[]) => [...list].sort((a, b) => a - b);
const servingOf = (members: readonly Member[]) => members.filter(({ draining }) => !draining);

/** The exact share of each host that serves, as a fraction of whole numbers. */
function exactShares(partitions: number, members: readonly Member[]) {
  const serving = servingOf(members);
  const weigh = serving.every(({ weight }) => weight !== undefined);
  const units = serving.map(({ weight }) => (weigh && weight !== undefined ? weightUnits(weight) : 1));
  const all = units.reduce((sum, one) => sum + one, 0);
  return serving.map((member, at) => {
    const exact = partitions * (units[at] ?? 0);
    return { member, floor: Math.floor(exact / all), isWhole: exact % all === 0 };
  });
}

/** What each has is its share, rounded up or down. */
function expectShares(
  partitions: number,
  members: readonly Member[],
  counts: ReadonlyMap<string, number>,
): void {
  for (const { member, floor, isWhole } of exactShares(partitions, members))
    expect(isWhole ? [floor] : [floor, floor + 1], member.host).toContain(counts.get(member.host));
}

/** A new group in which everything has settled. */
function settled(
  partitions: number,
  hosts: readonly string[],
  weightAt: (at: number) => Member["weight"] = () => weighing(1),
): Member[] {
  const empty = hosts.map((host, since): Member => ({
    ...{ host, partitions: [], draining: false, since },
    weight: weightAt(since),
  }));
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
  const shares = exactShares(partitions, members);
  if (shares.length === 0) return 0;
  const stays = shares.reduce((sum, { member, floor }) => sum + Math.min(member.partitions.length, floor), 0);
  const larger = partitions - shares.reduce((sum, { floor }) => sum + floor, 0);
  const more = shares.filter(({ member, floor, isWhole }) => !isWhole && member.partitions.length > floor);
  return partitions - stays - Math.min(larger, more.length);
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

  test("each host that serves has its share by weight, rounded up or down (PM2)", () => {
    fc.assert(
      fc.property(mesh(anyMembers), ([partitions, members]) => {
        const assigned = assignPartitions(partitions, members);
        expectShares(partitions, members, new Map([...assigned].map(([host, own]) => [host, own.length])));
      }),
    );
  });

  test("a host of twice the weight has twice the partitions, and of hosts of one weight none has two more than another", () => {
    const counts = (declared: readonly number[], partitions: number) =>
      settled(
        partitions,
        declared.map((_, at) => `h-${at}`),
        (at) => weighing(declared[at] ?? 1),
      ).map((member) => member.partitions.length);
    expect(counts([2, 1], 9)).toEqual([6, 3]);
    expect(counts([1, 0.5, 0.5], 8)).toEqual([4, 2, 2]);
    expect(counts([0.1, 100], 8)).toEqual([0, 8]);
    expect(counts([7, 7, 7], 8).sort()).toEqual([2, 3, 3]);
  });

  test("beside a host that says no weight, and with equal ones, it is what the version without weights computes (PM4)", () => {
    const members = mesh(anyMembers).chain(([partitions, all]) =>
      fc.tuple(
        fc.constant(partitions),
        fc.constant(all),
        fc.nat(),
        fc.oneof(fc.constant(undefined), fc.integer({ min: 1, max: 1_000 })),
      ),
    );
    fc.assert(
      fc.property(members, ([partitions, all, at, tenths]) => {
        const serving = servingOf(all);
        const silent = serving[at % Math.max(1, serving.length)];
        const group = all.map((member) => {
          if (tenths !== undefined) return { ...member, weight: weighing(tenths / 10) };
          return member === silent ? { ...member, weight: undefined } : member;
        });
        expect(assignPartitions(partitions, group)).toEqual(formerAssignment(partitions, group));
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
        const one = weighing(1);
        const joined = [...before, { host: "new", partitions: [], draining: false, since: 99, weight: one }];
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
    expectShares(
      partitions,
      members,
      new Map(serving.map((member) => [member.host, member.partitions.length])),
    );
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

  test("views that disagree for a while, with hosts of both versions and weights that change, end in one whole", () => {
    /** At each step one host acts on its own present entry and on what it last heard of each other. */
    const steps = fc.array(
      fc.record({
        actor: fc.nat(),
        hears: fc.array(fc.nat(), { maxLength: 3 }),
        weight: fc.option(weights, { nil: "as it was" as const, freq: 3 }),
      }),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(mesh(disjointMembers), steps, ([partitions, members], course) => {
        const now = new Map(members.map((member) => [member.host, member]));
        const views = new Map(members.map(({ host }) => [host, new Map(now)]));
        const names = members.map(({ host }) => host);
        const at = (place: number) => names[place % names.length] ?? "";
        for (const { actor, hears, weight } of course) {
          const host = at(actor);
          const before = now.get(host) as Member;
          if (weight !== "as it was") now.set(host, { ...before, weight });
          const view = views.get(host);
          for (const other of [host, ...hears.map(at)]) view?.set(other, now.get(other) as Member);
          const next = nextHoldings(partitions, host, [...(view?.values() ?? [])]);
          now.set(host, { ...(now.get(host) as Member), partitions: before.draining ? [] : next });
        }
        const once = (group: readonly Member[]) =>
          names.reduce((all, one) => act(partitions, all, one), group);
        const end = [1, 2, 3].reduce<readonly Member[]>(once, [...now.values()]);
        expectSettled(
          partitions,
          end.map((member) => (member.draining ? { ...member, partitions: [] } : member)),
        );
      }),
    );
  });

  test("a host that joins waits until the others have laid its share down", () => {
    const before = settled(8, ["a", "b"]);
    const weight = weighing(1);
    const joined = [...before, { host: "c", partitions: [], draining: false, since: 9, weight }];
    expect(nextHoldings(8, "c", joined)).toEqual([]);
    const laidDown = act(8, act(8, joined, "a"), "b");
    expect(nextHoldings(8, "c", laidDown)).toHaveLength(2);
  });

  test("what a host that drains has is taken up at once", () => {
    const [a, b] = settled(8, ["a", "b"]) as [Member, Member];
    expect(nextHoldings(8, "b", [{ ...a, draining: true }, b])).toEqual(allOf(8));
  });
});
