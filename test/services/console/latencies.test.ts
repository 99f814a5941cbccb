/**
 * Goal: how long calls took is told by rank and never by a mean, in the five minutes in which they ended.
 * Method: calls at random beside a count of how many are within what is told; the question itself on real tables.
 */
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import { latelyEnded, latenciesOf } from "../../../services/console/latencies.ts";
import { type Cell, timeText } from "../../../services/tables/rows.ts";
import { publicSql } from "../../../services/tables/schema.ts";

const now = Date.parse("2026-03-01T12:00:00Z");
const minute = 60_000;

interface Call {
  readonly kind: "tool" | "model";
  readonly name: string;
  readonly tookMs: number;
  readonly endedAgoMs: number;
  readonly outcome: "succeeded" | "failed";
}
const calls = fc.array(
  fc.record<Call>({
    kind: fc.constantFrom("tool", "model"),
    name: fc.constantFrom("a", "b"),
    tookMs: fc.nat(100_000),
    endedAgoMs: fc.nat(59 * minute),
    outcome: fc.constantFrom("succeeded", "failed"),
  }),
);
const rowOf = ({ kind, name, tookMs, endedAgoMs, outcome }: Call): Cell[] => {
  const ended = now - endedAgoMs;
  return [kind, name, timeText(ended - tookMs), timeText(ended), outcome];
};

test("at least the share that is told is within each time, and one step less is not", () => {
  fc.assert(
    fc.property(calls, (all) => {
      const told = latenciesOf({ rows: all.map(rowOf), isCut: false }, now);
      for (const [kind, of] of [
        ["tool", told.tools],
        ["model", told.models],
      ] as const) {
        const own = all.filter((one) => one.kind === kind);
        expect(of.names.reduce((sum, one) => sum + one.calls, 0)).toBe(own.length);
        for (const { name, calls: count, failed, p50, p95, longest } of of.names) {
          const times = own.filter((one) => one.name === name).map((one) => one.tookMs);
          expect([count, longest]).toEqual([
            times.length,
            times.reduce((most, one) => Math.max(most, one), 0),
          ]);
          expect(failed).toBe(own.filter((one) => one.name === name && one.outcome === "failed").length);
          for (const [share, ms] of [
            [0.5, p50],
            [0.95, p95],
          ] as const) {
            expect(times.filter((one) => one <= ms).length).toBeGreaterThanOrEqual(share * times.length);
            expect(times.filter((one) => one < ms).length).toBeLessThan(share * times.length);
          }
        }
        expect(of.over).toHaveLength(12);
        of.over.forEach((part, k) => {
          const inPart = own.filter((one) => 11 - Math.floor(one.endedAgoMs / (5 * minute)) === k);
          expect(part.p50 === undefined).toBe(inPart.length === 0);
        });
      }
    }),
  );
});

test("the tables are asked for calls that ended in the last hour, without those that waited for somebody", () => {
  const db = new DatabaseSync(":memory:");
  db.exec(publicSql);
  const at = (agoMs: number) => timeText(now - agoMs);
  db.exec(`insert into sagas (saga, updated) values ('new', '${at(minute)}'), ('old', '${at(90 * minute)}')`);
  const put = db.prepare(
    "insert into intents (saga, intent, kind, name, at, ended, outcome, deferred) values (?, ?, ?, ?, ?, ?, ?, ?)",
  );
  put.run("new", "1-0", "tool", "counted", at(3 * minute), at(2 * minute), "succeeded", null);
  put.run("new", "2-0", "model", "m", at(3 * minute), at(minute), "failed", 0);
  put.run("new", "3-0", "tool", "deferred", at(3 * minute), at(minute), "succeeded", 1);
  put.run("new", "4-0", "tool", "asked", at(3 * minute), at(minute), "succeeded", 0);
  put.run("new", "5-0", "timer", "t", at(3 * minute), at(minute), "succeeded", 0);
  put.run("new", "6-0", "tool", "before", at(90 * minute), at(80 * minute), "succeeded", 0);
  put.run("new", "7-0", "tool", "open", at(minute), null, "open", 0);
  put.run("old", "1-0", "tool", "elsewhere", at(95 * minute), at(91 * minute), "succeeded", 0);
  db.exec("insert into tasks (saga, intent, call) values ('new', '4-1', '4-0')");
  const { sql, values } = latelyEnded(now);
  const rows = db.prepare(sql).all(...(values as string[])) as { name: string }[];
  expect(rows.map(({ name }) => name)).toEqual(["m", "counted"]);
  const told = latenciesOf({ rows: rows.map((row) => Object.values(row)), isCut: false }, now);
  expect(told.tools.names).toEqual([
    { name: "counted", calls: 1, failed: 0, p50: minute, p95: minute, longest: minute },
  ]);
  expect(told.models.names).toMatchObject([{ name: "m", failed: 1, p50: 2 * minute }]);
});
