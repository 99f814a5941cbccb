/**
 * The plan is the seed's, strikes everybody, and never two servers at once.
 */
import { describe, expect, test } from "vitest";
import { lengthOf, planBlows } from "./plan.ts";

const options = { durationMs: 600_000, hosts: 3, workers: 2, everyMs: 4_000, serverEveryMs: 25_000 };
const seeds = Array.from({ length: 50 }, (_, n) => n);

describe("plan", () => {
  test("a seed is a plan, and another seed another", () => {
    expect(planBlows({ ...options, seed: 7 })).toEqual(planBlows({ ...options, seed: 7 }));
    expect(planBlows({ ...options, seed: 8 })).not.toEqual(planBlows({ ...options, seed: 7 }));
  });

  test("every blow falls within the time, in order", () => {
    for (const seed of seeds) {
      const times = planBlows({ ...options, seed }).map(({ atMs }) => atMs);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      expect(times.every((atMs) => atMs > 0 && atMs < options.durationMs)).toBe(true);
    }
  });

  test("a server has 8 seconds to itself after the one before it is back", () => {
    for (const seed of seeds) {
      const onServers = planBlows({ ...options, seed }).filter(({ victim }) => victim.kind === "server");
      expect(onServers.length).toBeGreaterThan(5);
      for (const [n, { atMs, deed }] of onServers.entries())
        expect((onServers[n + 1]?.atMs ?? Infinity) - atMs - lengthOf(deed)).toBeGreaterThanOrEqual(8_000);
    }
  });

  test("who speaks from outside is cut off and never killed or stopped", () => {
    const outside = seeds
      .flatMap((seed) => planBlows({ ...options, seed }))
      .filter(({ victim }) => victim.kind === "client" || victim.kind === "outside");
    expect(new Set(outside.map(({ deed }) => deed.do))).toEqual(new Set(["drop", "cut", "slow"]));
  });

  test("in ten minutes every host and worker is killed, stopped and cut off", () => {
    const blows = planBlows({ ...options, seed: 3 });
    for (const [kind, count] of [
      ["host", options.hosts],
      ["worker", options.workers],
    ] as const)
      for (let index = 0; index < count; index++) {
        const own = blows.filter(
          ({ victim }) => "index" in victim && victim.kind === kind && victim.index === index,
        );
        expect([...new Set(own.map(({ deed }) => deed.do))]).toEqual(
          expect.arrayContaining(["kill", "freeze", "cut"]),
        );
      }
  });
});
