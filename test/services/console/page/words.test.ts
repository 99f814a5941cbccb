/** Numbers and times, as people read them. */
import { expect, test } from "vitest";
import { ago, lasted, left, many, money } from "../../../../services/console/page/words.ts";

test("how long something took has at most two units, and no more digits than say something", () => {
  const all = [0, 7, 999, 1_500, 42_000, 90_000, 120_000, 5_400_000, 100 * 3_600_000];
  expect(all.map(lasted)).toEqual([
    "0 ms",
    "7 ms",
    "999 ms",
    "1.5 s",
    "42 s",
    "1 m 30 s",
    "2 m",
    "1 h 30 m",
    "4 d 4 h",
  ]);
});

test("a moment ahead of this clock is now, and a deadline that has passed is over", () => {
  expect([ago(2_000, 1_000), ago(0, 61_000), left(1_000, 1_000), left(61_000, 1_000)]).toEqual([
    "now",
    "1 m ago",
    "over",
    "in 1 m",
  ]);
});

test("small amounts keep their digits, large ones have cents", () => {
  expect([0, 0.000012, 0.0336, 1.5, 1234.567].map(money)).toEqual([
    "$0",
    "$0.000012",
    "$0.034",
    "$1.50",
    "$1234.57",
  ]);
  expect([many(1, "turn"), many(1_200, "turn")]).toEqual(["1 turn", "1,200 turns"]);
});
