/**
 * Goal: `--at` means the last turn at or before what was typed, and nothing that was mistyped is taken for another.
 * Method: a ledger of known times; every form, and forms that are none.
 */
import { describe, expect, test } from "vitest";
import type { Turn } from "../../../../protocol/turn.ts";
import { turnsUpTo } from "../../../../services/cli/frame/moment.ts";

const times = [
  "2026-11-20T10:00:00.000Z",
  "2026-11-20T23:59:59.500Z",
  "2026-11-22T00:00:00.000Z",
  "2026-11-22T09:30:00.000Z",
];
const turns = times.map((time, k) => ({ turn: k + 1, at: Date.parse(time) }) as Turn);
const now = Date.parse("2026-11-22T10:00:00.000Z");
const upTo = (moment: string | undefined): number => turnsUpTo(turns, moment, now).length;

test("without a moment all turns are meant", () => {
  expect(upTo(undefined)).toBe(4);
});

test.each([
  ["1", 1],
  ["4", 4],
  ["2026-11-20", 2],
  ["2026-11-21", 2],
  ["2026-11-22", 4],
  ["2026-11-20T10:00:00.000Z", 1],
  ["2026-11-20T10:00", 1],
  ["2026-11-20 23:59:59", 1],
  ["2026-11-20T23:59:59.5Z", 2],
  ["2026-11-22T01:00:00+01:00", 3],
  ["2026-11-22T01:00:00+0200", 2],
  ["29m", 4],
  ["30m", 4],
  ["31m", 3],
  ["-31m", 3],
  ["1d 1h", 2],
])("%s is the last turn at or before it", (moment, expected) => {
  expect(upTo(moment)).toBe(expected);
});

test("a turn whose host's clock was behind does not cut off what came before it", () => {
  const skewed = [...turns, { turn: 5, at: turns[1]?.at } as Turn];
  expect(turnsUpTo(skewed, "2026-11-20", now)).toHaveLength(5);
});

describe("refused with what to type", () => {
  test.each([
    "0",
    "5",
    "007x",
    "-1",
    "1.5",
    "",
    "yesterday",
    "2026-02-31",
    "2026-13-01",
    "2026-11-22T25:00",
    "2026",
    "-",
    "5 parsecs",
  ])("%j", (moment) => {
    expect(() => upTo(moment)).toThrow("[USAGE] --at: ");
  });

  test("a time before the saga began", () => {
    expect(() => upTo("2026-11-19")).toThrow(
      "[USAGE] --at: the saga's first turn is of 2026-11-20T10:00:00.000Z, which is after 2026-11-19T23:59:59.999Z",
    );
  });
});
