/**
 * Goal: what the search finds the rules accept, what it says cannot be nobody stumbles upon, and what is spoilt is found by
 * the name of the rule that it breaks; a second judge that shares no code says the same of all of it. Method: random days
 * with people, places and disruptions of their own; the days of other seeds on which one of the three was wrong once.
 * `npm run test:schedules` walks ten thousand.
 */
import { expect, test } from "vitest";
import { agreement } from "./agreement.ts";

const once = [
  [1, [15, 34, 61]],
  [2, [57, 98]],
  [3, [71, 72, 366, 375, 422]],
  [4, [404]],
  [20_261_123, [4_452, 5_247]],
  [17_231_107, [6_682]],
] as const;

test("search, rules and the minute-by-minute judge agree on random days and on all that is spoilt in them", () => {
  const { counts, disagreements } = agreement(
    20_261_123,
    Array.from({ length: 16 }, (_, day) => day),
  );
  expect(disagreements).toEqual([]);
  for (const what of ["weddings", "thanksgivings", "feasible", "infeasible", "mutations"])
    expect(counts[what] ?? 0, what).toBeGreaterThan(2);
  for (const what of ["random plans accepted", "shaken and right", "shaken and wrong"])
    expect(counts[what] ?? 0, what).toBeGreaterThan(10);
});

test.each(once)(
  "of seed %i the days %j, on which one of them was wrong once, are agreed on",
  (seed, days) => {
    expect(agreement(seed, days).disagreements).toEqual([]);
  },
);
