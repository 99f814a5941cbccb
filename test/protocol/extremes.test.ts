/** Goal: extremes are those of Math, of lists of any length. Method: properties, and lists longer than a call's arguments. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { maxOf, minOf } from "../../protocol/extremes.ts";

test("they are what Math says, with a bound and without, of none as of many", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ noNaN: true })), fc.double({ noNaN: true }), (numbers, bound) => {
      expect(maxOf(numbers) + 0).toBe(Math.max(...numbers) + 0);
      expect(minOf(numbers) + 0).toBe(Math.min(...numbers) + 0);
      expect(maxOf(numbers, bound) + 0).toBe(Math.max(bound, ...numbers) + 0);
      expect(minOf(numbers, bound) + 0).toBe(Math.min(bound, ...numbers) + 0);
    }),
  );
});

test("a million numbers are no million arguments", () => {
  const million = new Float64Array(1_000_000).map((_, index) => (index * 7_919) % 1_000_003);
  expect(() => Math.max(...million)).toThrow(RangeError);
  expect([minOf(million), maxOf(million)]).toEqual([0, million.toSorted().at(-1)]);
});
