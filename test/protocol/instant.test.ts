/**
 * Goal: a time that a person types is the one that they mean, wherever it is typed, and what is no time is taken for none.
 * Method: every day of four centuries, which is how long the calendar takes to repeat itself, and every day that a month could be
 * thought to have; every minute of a day; times by chance in every form that is read.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { instantOf, isoOf } from "../../protocol/instant.ts";

const two = (n: number): string => String(n).padStart(2, "0");

/** By the rule, not by a library's. */
function daysOf(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

test("a date is read if there is such a day, and the next one begins a day later", () => {
  let expected = Date.UTC(1900, 0, 1);
  const wrong: string[] = [];
  for (let year = 1900; year < 2300; year++)
    for (let month = 0; month <= 13; month++)
      for (let day = 0; day <= 32; day++) {
        const text = `${year}-${two(month)}-${two(day)}`;
        const isDay = month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month);
        const read = instantOf(text);
        if (read?.at !== (isDay ? expected : undefined)) wrong.push(text);
        if (isDay) expected += 86_400_000;
      }
  expect(wrong).toEqual([]);
  expect(expected).toBe(Date.UTC(2300, 0, 1));
});

test("a time of day is read if there is such a one", () => {
  const wrong: string[] = [];
  for (let hour = 0; hour <= 25; hour++)
    for (let minute = 0; minute <= 61; minute++) {
      const text = `2026-02-28T${two(hour)}:${two(minute)}`;
      const at = hour < 24 && minute < 60 ? Date.UTC(2026, 1, 28, hour, minute) : undefined;
      if (instantOf(text)?.at !== at) wrong.push(text);
    }
  expect(wrong).toEqual([]);
});

test("what is printed of any time is read as that time, in every form and zone", () => {
  const drawn = fc.record({
    at: fc.integer({ min: Date.UTC(1, 0, 2), max: Date.UTC(9999, 11, 30) }),
    zone: fc.integer({ min: -23 * 60 - 59, max: 23 * 60 + 59 }),
    colon: fc.boolean(),
    space: fc.boolean(),
  });
  fc.assert(
    fc.property(drawn, ({ at, zone, colon, space }) => {
      const away = Math.abs(zone);
      const named = `${zone < 0 ? "-" : "+"}${two(Math.floor(away / 60))}${colon ? ":" : ""}${two(away % 60)}`;
      const local = isoOf(at + zone * 60_000).replace("Z", named);
      expect(instantOf(space ? local.replace("T", " ") : local)).toEqual({ at, isDay: false });
      expect(instantOf(isoOf(at).replace("Z", ""))?.at).toBe(at);
    }),
  );
});

describe("a form", () => {
  test.each([
    ["2026-03-01", "2026-03-01T00:00:00.000Z", true],
    ["2026-03-01T06:00", "2026-03-01T06:00:00.000Z", false],
    ["2026-03-01 06:00:59", "2026-03-01T06:00:59.000Z", false],
    ["2026-03-01t06:00:59.5z", "2026-03-01T06:00:59.500Z", false],
    ["2026-03-01T06:00:59.123456789Z", "2026-03-01T06:00:59.123Z", false],
    ["2026-03-01T06:00+01:00", "2026-03-01T05:00:00.000Z", false],
    ["2026-03-01+0200", "2026-02-28T22:00:00.000Z", true],
  ])("%s is %s", (text, iso, isDay) => {
    expect(instantOf(text)).toEqual({ at: Date.parse(iso), isDay });
  });

  test.each([
    ...[
      "",
      "2026",
      "2026-3-1",
      "2026-02-31",
      "2026-02-29",
      "2026-03-01T24:00",
      "2026-03-01T6:00",
      "tomorrow",
    ],
    ...["2026-03-01T06:00+24:00", "2026-03-01T06:00:60", "2026-03-01T", "12026-03-01", "2026-03-01T06"],
  ])("%j is none", (text) => {
    expect(instantOf(text)).toBeUndefined();
  });
});
