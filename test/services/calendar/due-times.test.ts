/**
 * Goal: what is due is what the clocks of a zone say, at both changes of summer time, in leap years, in zones whose rules differ;
 * and nothing twice, and nothing left out, wherever one begins to ask.
 * Method: the known cases by hand; and a slow model beside it, which walks through a year minute by minute, asks Node what the
 * clocks show, and knows nothing of cron but its fields.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isMeshError } from "../../../protocol/errors.ts";
import { assertCalendar, dueTimes } from "../../../services/calendar/due-times.ts";
import { slowDueTimes } from "../../support/slow-calendar.ts";

const at = (text: string) => Date.parse(text);
const iso = (times: readonly number[]) => times.map((time) => new Date(time).toISOString().slice(0, 16));
const due = (cron: string, tz: string, after: string, before: string) =>
  iso(dueTimes({ cron, tz }, { after: at(after) - 1, before: at(before), most: 10_000 }).due);

describe("summer time", () => {
  it("begins: a time that does not exist is due when the clocks have jumped, once a day", () => {
    expect(due("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00Z", "2026-03-31T00:00Z")).toEqual([
      "2026-03-28T01:30",
      "2026-03-29T01:00", // 03:00, for the clocks jump from 02:00 to there.
      "2026-03-30T00:30",
    ]);
    expect(due("30 2 * * *", "America/New_York", "2026-03-07T12:00Z", "2026-03-09T12:00Z")).toEqual([
      "2026-03-08T07:00",
      "2026-03-09T06:30",
    ]);
  });

  it("ends: a time that exists twice is due at the first", () => {
    expect(due("30 2 * * *", "Europe/Berlin", "2026-10-24T00:00Z", "2026-10-27T00:00Z")).toEqual([
      "2026-10-24T00:30",
      "2026-10-25T00:30",
      "2026-10-26T01:30",
    ]);
    expect(due("30 1 * * *", "America/New_York", "2026-11-01T00:00Z", "2026-11-02T12:00Z")).toEqual([
      "2026-11-01T05:30",
      "2026-11-02T06:30",
    ]);
  });

  it("in another half of the world, by half an hour, and where there is none", () => {
    expect(due("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00Z", "2026-10-05T00:00Z")).toEqual([
      "2026-10-03T15:30", // 02:30 at +11:00, for the clocks jump there from 02:00.
      "2026-10-04T15:15",
    ]);
    expect(due("30 2 * * *", "Asia/Kolkata", "2026-03-28T00:00Z", "2026-03-30T00:00Z")).toHaveLength(2);
  });

  it("is no matter for what goes by the clocks: each quarter of an hour has its run, twice in the hour that comes twice", () => {
    expect(due("*/15 * * * *", "Europe/Berlin", "2026-03-29T00:00Z", "2026-03-29T03:00Z")).toHaveLength(12);
    expect(due("*/15 * * * *", "Europe/Berlin", "2026-10-25T00:00Z", "2026-10-25T03:00Z")).toHaveLength(12);
    expect(due("*/30 2 * * *", "Europe/Berlin", "2026-03-29T00:00Z", "2026-03-30T00:00Z")).toEqual([]);
    expect(due("*/30 2 * * *", "Europe/Berlin", "2026-10-25T00:00Z", "2026-10-26T00:00Z")).toHaveLength(4);
  });
});

describe("the calendar", () => {
  it("has a leap day each four years, and not in 2100", () => {
    const { due: days } = dueTimes({ cron: "0 0 29 2 *", tz: "UTC" }, { after: at("2090-01-01"), most: 4 });
    expect(iso(days).map((day) => day.slice(0, 10))).toEqual(["2092-02-29"]); // One, for the next is years ahead.
    const next = dueTimes({ cron: "0 0 29 2 *", tz: "UTC" }, { after: at("2096-03-01"), most: 1 });
    expect(iso(next.due)).toEqual(["2104-02-29T00:00"]);
  });

  it("takes either the day of the month or of the week, as every cron", () => {
    expect(due("0 0 13 * 5", "UTC", "2026-02-10T00:00Z", "2026-02-21T00:00Z")).toEqual([
      "2026-02-13T00:00",
      "2026-02-20T00:00",
    ]);
  });

  it("gives about a day's, and says when no other comes", () => {
    const { due: some, over } = dueTimes(
      { cron: "0 * * * *", tz: "UTC" },
      { after: at("2026-01-01"), most: 100 },
    );
    expect({ some: some.length, over }).toEqual({ some: 24, over: false });
    expect(
      dueTimes(
        { cron: "0 * * * *", tz: "UTC" },
        { after: at("2026-01-01"), before: at("2026-01-01T03:00Z"), most: 100 },
      ),
    ).toMatchObject({ due: { length: 2 }, over: true });
  });

  it("refuses what is no expression, no zone, and never due", () => {
    for (const [cron, tz] of [
      ["nonsense", "UTC"],
      ["* * *", "UTC"],
      ["0 6 * * *", "Europe/Atlantis"],
      ["0 0 30 2 *", "UTC"],
    ] as const)
      expect(() => assertCalendar({ cron, tz }, at("2026-01-01")), `${cron} ${tz}`).toThrow(
        expect.toSatisfy((error) => isMeshError(error, "USAGE")),
      );
  });
});

const zones = [
  ...["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo"],
  ...["Africa/Casablanca", "Asia/Kathmandu", "Pacific/Chatham", "America/St_Johns", "Europe/Dublin"],
];
const field = (from: number, to: number) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: from, max: to }).map(String) },
    { weight: 1, arbitrary: fc.constant("*") },
    { weight: 1, arbitrary: fc.integer({ min: 2, max: 23 }).map((step) => `*/${step}`) },
    {
      weight: 1,
      arbitrary: fc
        .uniqueArray(fc.integer({ min: from, max: to }), { minLength: 2, maxLength: 3 })
        .map((list) => list.sort((a, b) => a - b).join(",")),
    },
  );
const day = fc.oneof(
  { weight: 3, arbitrary: fc.constant("*") },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 28 }).map(String) },
);
const weekday = fc.oneof(
  { weight: 3, arbitrary: fc.constant("*") },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 6 }).map(String) },
);

/** Hours about the changes of summer time are what is interesting. */
const hour = fc.oneof({ weight: 3, arbitrary: field(0, 3) }, { weight: 1, arbitrary: field(0, 23) });

describe("over a year, in any zone", () => {
  it("every due time is one of the slow model's, and every one of the slow model's is due", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.tuple(field(0, 59), hour, day, fc.constantFrom("*", "3", "10,11"), weekday),
        (tz, fields) => {
          const cron = fields.join(" ");
          const span = { from: at("2026-01-01"), to: at("2027-01-01") };
          const slow = slowDueTimes(cron, tz, span);
          const fast = dueTimes({ cron, tz }, { after: span.from - 1, before: span.to, most: 600_000 }).due;
          expect(iso(fast)).toEqual(iso(slow));
        },
      ),
      { numRuns: 5 },
    );
  });

  it("asked for in pieces of any size, they are the same", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.tuple(field(0, 59), hour),
        fc.integer({ min: 1, max: 40 }),
        (tz, [minutes, hours], most) => {
          const calendar = { cron: `${minutes} ${hours} * * *`, tz };
          const [from, to] = [at("2026-03-20"), at("2026-04-10")];
          const pieces: number[] = [];
          for (let after = from - 1; ;) {
            const { due: some, over } = dueTimes(calendar, { after, before: to, most });
            pieces.push(...some);
            if (over) break;
            after = some.at(-1) ?? to;
          }
          expect(pieces).toEqual(dueTimes(calendar, { after: from - 1, before: to, most: 100_000 }).due);
        },
      ),
      { numRuns: 6 },
    );
  });
});
