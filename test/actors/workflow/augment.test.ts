/**
 * Goal: what a validator changes is what it says, within what the workflow allows, and all of it or nothing.
 * Method: the pure function, on P9's airport: 15 minutes more on James's way are feasible, 30 are not; and a property
 * over random changes.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { augmented, augmentFaults } from "../../../actors/workflow/augment.ts";
import type { VerdictChange } from "../../../protocol/verdict.ts";

const way = { exitMinutes: 0, rentalMinutes: 0, note: "James lands at 16:00" };
const later = (minutes: number, amount = minutes, at = "/exitMinutes"): VerdictChange => ({
  ...{ at, to: minutes, amount, unit: "min" },
  ...{ what: `${minutes} minutes to leave`, why: "common sense" },
});
const budget = { units: { min: 15 } };
const refusal = (result: ReturnType<typeof augmented>) => ("refused" in result ? result.refused : undefined);

test("fifteen minutes for the rental are added, thirty for the exit are refused, with how much is left", () => {
  expect(augmented(way, [later(15, 15, "/rentalMinutes")], budget)).toEqual({
    item: { ...way, rentalMinutes: 15 },
    used: { min: 15 },
  });
  expect(refusal(augmented(way, [later(30)], budget))).toContain("15 of 15 are left");
});

test("the budget is the workflow's: what was used by one change is missing for the next, in a verdict or later", () => {
  const two = [later(10), later(10, 10, "/rentalMinutes")];
  expect(refusal(augmented(way, two, budget))).toContain("5 of 15 are left");
  expect(refusal(augmented(way, [later(10)], budget, { min: 10 }))).toContain("5 of 15 are left");
});

test("a change that says less than it is, is refused", () => {
  expect(refusal(augmented(way, [later(30, 5)], budget))).toContain("says 5 and is 30");
});

test("nothing may be changed where no budget, no unit or no place allows it", () => {
  expect(refusal(augmented(way, [later(1)], undefined))).toContain("no budget");
  expect(refusal(augmented(way, [{ ...later(1), unit: "usd" }], budget))).toContain("0 of 0");
  expect(refusal(augmented(way, [later(1, 1, "/nowhere")], budget))).toContain("no place");
  expect(refusal(augmented(way, [later(1, 1, "nowhere")], budget))).toContain("no JSON pointer");
  const under = { ...budget, under: ["/rentalMinutes"] };
  expect(refusal(augmented(way, [later(1)], under))).toContain("only what is under");
  expect(refusal(augmented(way, [later(1, 1, "/rentalMinutesTwo")], under))).toContain("only what is under");
});

test("whatever is proposed, the item ends within the budget of its old self or as it was", () => {
  const change = fc.record({
    at: fc.constantFrom("/a", "/b", "/c"),
    to: fc.integer({ min: -50, max: 50 }),
    amount: fc.integer({ min: 0, max: 50 }),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 6 }), fc.integer({ min: 0, max: 60 }), (changes, most) => {
      const item = { a: 0, b: 0, c: 0 };
      const all = changes.map((one) => ({ ...one, unit: "u", what: "w", why: "y" }));
      const result = augmented(item, all, { units: { u: most } });
      if ("refused" in result) return;
      const after = result.item as typeof item;
      const moved = Object.values(after).reduce((sum, one) => sum + Math.abs(one), 0);
      expect(moved).toBeLessThanOrEqual(result.used["u"] ?? 0);
      expect(result.used["u"] ?? 0).toBeLessThanOrEqual(most);
    }),
  );
});

test("a budget that bounds nothing is a fault", () => {
  expect(augmentFaults("w", { units: { min: 15 } })).toEqual([]);
  expect(augmentFaults("w", { units: { min: Number.NaN }, under: ["x"], times: 0 })).toHaveLength(3);
});
