/**
 * Shedding: what an overloaded host takes less of, and when it takes it again.
 *
 * Method: hosts of the product's own weighing and placement share partitions in virtual time, a beat after the other. How much
 * of each is in use follows from the partitions that it has: what each of them brings, by how fast the host is.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { WeightNow } from "../../../protocol/host-weight.ts";
import { limits } from "../../../protocol/limits.ts";
import { type Member, nextHoldings } from "../../../services/host/placement.ts";
import { createWeighing } from "../../../services/host/shedding.ts";
import { silentLog } from "../../../services/process/log.ts";

const second = 1_000;
const minute = 60 * second;
/** Longer than theirs, for which nothing here but the number of looks depends on it. */
const beatMs = 1_800;

/** A clock that is set by hand, which is all that weighing asks of one. */
function handClock() {
  let at = 0;
  const no = () => Promise.reject(new Error("nothing waits here"));
  const clock = { now: () => at, elapsed: () => at, sleep: no, after: () => () => undefined };
  return { clock, pass: (ms: number) => void (at += ms), at: () => at };
}

/** Hosts of so much speed each, with weights, over partitions that each bring `demand(partition, at)` of a host's loop. */
function meshOf(
  speeds: readonly number[],
  demand: (partition: number, at: number) => number,
  { partitions = 16, declared = [] as readonly number[] } = {},
) {
  const { clock, pass, at } = handClock();
  const said: object[] = [];
  const log = {
    ...silentLog,
    warn: (fields: object) => void said.push({ at: at(), ...fields }),
    info: (fields: object) => void said.push({ at: at(), ...fields }),
  };
  const hosts = speeds.map((speed, place) => {
    const host = `h${place}`;
    const held: number[] = [];
    const use = () => Math.min(1, held.reduce((sum, one) => sum + demand(one, at()), 0) / speed);
    const uses = { loop: use, hands: () => 0, pulse: () => 0 };
    const weighing = createWeighing({ clock, log }, { host, declared: declared[place] ?? 1, uses });
    return { host, held, use, weighing };
  });
  const members = (): Member[] =>
    hosts.map(({ host, held, weighing }, since) => ({
      ...{ host, partitions: [...held], draining: false, since, weight: weighing.now() },
    }));
  let moves = 0;
  let placedBy = "";
  const place = () => {
    for (const { host, held } of hosts) {
      const next = nextHoldings(partitions, host, members());
      moves += next.filter((one) => !held.includes(one)).length;
      held.splice(0, held.length, ...next);
    }
  };
  const beat = () => {
    for (const { host, weighing } of hosts)
      weighing.weigh(hosts.flatMap((one) => (one.host === host ? [] : [one.weighing.now()])));
    const weights = hosts.map(({ weighing }) => weighing.now().now).join();
    if (weights !== placedBy) for (const _ of [1, 2, 3]) place(); // Else there is nothing to move.
    placedBy = weights;
    pass(beatMs);
  };
  const run = (ms: number) => {
    const until = at() + ms;
    while (at() < until) beat();
  };
  run(5 * second); // All is taken up.
  moves = 0;
  return {
    run,
    said,
    moves: () => moves,
    counts: () => hosts.map(({ held }) => held.length),
    uses: () => hosts.map(({ use }) => use()),
  };
}

describe("a host that is overloaded", () => {
  test("leaves partitions to one that has room, until it is overloaded no more", () => {
    const mesh = meshOf([1, 3], () => 2 / 16);
    expect(mesh.counts()).toEqual([8, 8]);
    expect(mesh.uses()).toEqual([1, 1 / 3]);
    mesh.run(10 * minute);
    for (const use of mesh.uses()) expect(use).toBeLessThan(limits.overloaded);
    expect(mesh.said).toEqual([
      expect.objectContaining({ host: "h0", declared: 1, weight: 1 / 2, by: "loop" }),
    ]);
    expect(mesh.moves(), "as many as its share became less").toBe(2);
  });

  test("of half the speed comes to half of the partitions of the others, beside them and whatever it was given", () => {
    const mesh = meshOf([2, 2, 1], () => 4 / 20, { partitions: 20, declared: [2, 2, 2] });
    mesh.run(20 * minute);
    expect(mesh.counts()).toEqual([8, 8, 4]);
  });

  test("leaves nothing where every other would be overloaded by it: nothing moves (SO1)", () => {
    const mesh = meshOf([1, 1, 1, 1], () => 4 / 16);
    mesh.run(60 * minute);
    expect([mesh.moves(), mesh.said]).toEqual([0, []]);
    const nearly = meshOf([1, 1.25], () => 1.9 / 16);
    nearly.run(60 * minute);
    expect(nearly.moves()).toBe(0);
  });

  test("leaves nothing beside a host that knows of no weight, nor alone (SO1)", () => {
    for (const others of [
      [],
      [undefined],
      [undefined, { declared: 1, now: 1, load: 0, by: "loop" as const }],
    ]) {
      const { clock, pass } = handClock();
      const uses = { loop: () => 1, hands: () => 1, pulse: () => 1 };
      const weighing = createWeighing({ clock, log: silentLog }, { host: "h", declared: 2, uses });
      for (let beats = 0; beats < 1_000; beats++, pass(limits.hostBeatMs)) weighing.weigh(others);
      expect(weighing.now()).toEqual({ declared: 2, now: 2, load: 1, by: "loop" });
    }
  });

  test("keeps an eighth, though it is used up all the same (SO3)", () => {
    const mesh = meshOf([0.001, 9], () => 2 / 16);
    mesh.run(60 * minute);
    expect(mesh.counts()).toEqual([2, 14]);
    expect(mesh.said).toHaveLength(limits.halvedMax);
  });

  test("takes it again once it is used so little that it has room for it", () => {
    let busy = true;
    const mesh = meshOf([1, 3], () => (busy ? 2 : 0.5) / 16);
    mesh.run(10 * minute);
    expect(mesh.counts()).toEqual([6, 10]);
    busy = false;
    mesh.run(10 * minute);
    expect(mesh.counts()).toEqual([8, 8]);
    expect(mesh.said).toHaveLength(2);
  });

  test.each(["loop", "hands", "pulse"] as const)("is one by its %s alone, and says so", (by) => {
    const { clock, pass } = handClock();
    const uses = { loop: () => 0.1, hands: () => 0.1, pulse: () => 0.1, [by]: () => 1 };
    const weighing = createWeighing({ clock, log: silentLog }, { host: "h", declared: 1, uses });
    const other: WeightNow = { declared: 1, now: 1, load: 0.2, by: "loop" };
    for (let beats = 0; beats < 120; beats++, pass(limits.hostBeatMs)) weighing.weigh([other]);
    expect(weighing.now()).toMatchObject({ now: 1 / 2, by });
  });

  test("is none for half a minute of all that it has, nor for standing still for an hour", () => {
    const { clock, pass } = handClock();
    let use = 0;
    const uses = { loop: () => use, hands: () => 0, pulse: () => 0 };
    const weighing = createWeighing({ clock, log: silentLog }, { host: "h", declared: 1, uses });
    const other: WeightNow = { declared: 1, now: 1, load: 0.2, by: "loop" };
    const beats = (count: number) => {
      for (let beat = 0; beat < count; beat++, pass(limits.hostBeatMs)) weighing.weigh([other]);
    };
    for (let round = 0; round < 20; round++) {
      use = 1;
      beats(50);
      pass(60 * minute);
      use = 0;
      beats(100);
    }
    expect(weighing.now().now).toBe(1);
  });
});

describe("partitions do not flap", () => {
  const loads = fc.record({
    speeds: fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 2, maxLength: 5 }),
    demands: fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 16, maxLength: 16 }),
    declared: fc.array(fc.constantFrom(1, 1, 1, 2, 5), { minLength: 5, maxLength: 5 }),
  });
  const runs = { numRuns: 12 };

  test("under a load that stays, every mesh comes to rest", () => {
    fc.assert(
      fc.property(loads, ({ speeds, demands, declared }) => {
        const mesh = meshOf(speeds, (one) => (demands[one] ?? 0) / 50, { declared });
        mesh.run(60 * minute);
        const before = mesh.moves();
        mesh.run(30 * minute);
        expect(mesh.moves()).toBe(before);
      }),
      runs,
    );
  });

  test("whatever the load does, no weight takes two steps within a minute, and no more than one partition in ten moves a minute (SO2)", () => {
    fc.assert(
      fc.property(
        loads,
        fc.integer({ min: 1, max: 600 }),
        fc.infiniteStream(fc.boolean()),
        ({ speeds, demands, declared }, everySeconds, chance) => {
          const isOn = new Map<string, boolean>();
          const on = (partition: number, at: number): boolean => {
            const key = `${partition % 3}/${Math.floor(at / (everySeconds * second))}`;
            if (!isOn.has(key)) isOn.set(key, chance.next().value === true);
            return isOn.get(key) === true;
          };
          const demand = (one: number, at: number) => (on(one, at) ? (demands[one] ?? 0) / 10 : 0);
          const mesh = meshOf(speeds, demand, { declared });
          mesh.run(60 * minute);
          const steps = new Map<string, number[]>();
          for (const { host, at } of mesh.said as { host: string; at: number }[])
            steps.set(host, [...(steps.get(host) ?? []), at]);
          for (const at of steps.values())
            for (const [k, one] of at.slice(1).entries())
              expect(one - (at[k] ?? 0)).toBeGreaterThanOrEqual(limits.shedEveryMs);
          expect(mesh.moves()).toBeLessThanOrEqual(60 * 1.6);
        },
      ),
      runs,
    );
  });

  test("a load that comes and goes moves less and less, for what had to go again stays away longer (SO2)", () => {
    const isOn = (at: number) => Math.floor(at / (4 * minute)) % 2 === 0;
    const mesh = meshOf([1, 3], (_, at) => (isOn(at) ? 2 : 0.2) / 16);
    mesh.run(60 * minute);
    const first = mesh.moves();
    mesh.run(60 * minute);
    mesh.run(60 * minute);
    const before = mesh.moves();
    mesh.run(60 * minute);
    expect(first).toBeGreaterThan(0);
    expect(mesh.moves() - before).toBeLessThan(first / 2);
  });
});
