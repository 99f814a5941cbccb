/**
 * The protocol, walked exhaustively: in small worlds every order of everything that can happen keeps the promises, and
 * each rule that is broken is found.
 *
 * Method: breadth-first search (search.ts) over the model in this folder. The numbers of states are exact, so that a
 * model which has lost some of its steps is seen.
 */
import { describe, expect, test } from "vitest";
import { harmless, plants } from "./plants.ts";
import { walk } from "./search.ts";
import { protocol } from "./world.ts";
import { small, world } from "./worlds.ts";

/** As the README has them. */
const statesOf: Readonly<Record<string, number>> = {
  once: 391,
  "two deaths": 6_820,
  signal: 8_146,
  "lost answers": 1_932,
  probe: 1_713,
  imitation: 1_361,
  signed: 6_986,
  "keys differ": 4_469,
  archive: 2_936,
  "two owners": 17_120,
};

describe("the protocol model", () => {
  test.for(small)("$name: no promise is broken, and from each state an end can be reached", (one) => {
    const { states, ends, broken, trace, isCut } = walk(one);
    expect(broken, trace.join("\n")).toBeUndefined();
    expect({ states, isCut }).toEqual({ states: statesOf[one.name], isCut: false });
    expect(ends).toBeGreaterThan(0);
  });

  test.for(plants)("without $rule a promise is broken", ({ world: broken, says }) => {
    const found = walk(broken);
    expect(found.broken).toMatch(says);
    // The step that broke it is the last; what cannot come to an end may be so from the beginning.
    expect(found.trace.length + Number(says.test("no end can be reached"))).toBeGreaterThan(0);
  });

  test.for(harmless)("without $rule nothing is broken: $because", ({ world: slower }) => {
    expect(walk(slower, { statesMax: 50_000 })).toMatchObject({ isCut: false, trace: [] });
  });

  test("each rule is broken by a plant, and in no world that is to hold", () => {
    const broken = [...plants, ...harmless].map(({ rule }) => rule).sort();
    expect(broken).toEqual(Object.keys(protocol).sort());
    expect(small.every(({ rules }) => Object.values(rules).every(Boolean))).toBe(true);
  });

  test("that hosts which are alike are exchanged hides nothing but what is the same", () => {
    const budget = { deaths: 1, foreign: 1 };
    const alike = walk(world("alike", { budget }));
    // Keys that nobody asks for make two hosts differ.
    const apart = walk(world("apart", { budget, hosts: [{ serves: [0], keys: true }, { serves: [0] }] }));
    expect(apart.broken).toBeUndefined();
    expect(apart.depth).toBe(alike.depth);
    expect(apart.states).toBeGreaterThan(alike.states);
    expect(apart.states).toBeLessThanOrEqual(2 * alike.states);
  });

  test("a trace is a shortest one: each of its steps is needed", () => {
    const claims = plants.find(({ rule }) => rule === "claims");
    const { trace } = walk(claims?.world ?? world("none", {}));
    expect(trace.at(-1)).toMatch(/performs once 0\.1 of P/);
    expect(trace.filter((line) => line.includes("performs"))).toHaveLength(2);
    expect(trace.filter((line) => line.includes("dies"))).toHaveLength(1);
  });
});
