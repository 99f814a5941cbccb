/**
 * Goal: whatever the rule, the window and the order in which things happen, each due time is dealt with once and none is forgotten.
 * Method: a schedule's agenda is driven through random worlds, with times that are late, runs that last, holds and a calendar of a
 * few times a minute; beside it stands an account of every due time, which in the end has each in exactly one place.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as agenda from "../../../actors/schedule/agenda.ts";
import { Carried, type ScheduleContext, ScheduleInput } from "../../../actors/schedule/context.ts";
import {
  jitterOf,
  lineMax,
  Overlap,
  readScheduleSagaId,
  runIdOf,
  scheduleSagaId,
} from "../../../protocol/schedule.ts";

const startedAt = Date.UTC(2026, 0, 1);
const everyMs = 20_000;

const inputOf = (settings: object) =>
  ScheduleInput.parse({
    settings: { name: "s", cron: "*/20 * * * * *", saga: "report", input: {}, ...settings },
    number: 1,
  });

/** The calendar: what is due after a time, at most so many. */
const dueAfter = (after: number, most: number): number[] =>
  Array.from({ length: most }, (_, k) => (Math.floor(after / everyMs) + 1 + k) * everyMs);

const asked = (context: ScheduleContext, now: number): ScheduleContext => {
  const at = { ...context, askedAt: now };
  return agenda.told(at, { due: dueAfter(agenda.asksAfter(at, now), 7), over: false }, now);
};

/** As the machine does while it is idle: it asks and admits until what is ahead is not due yet. */
function idle(context: ScheduleContext, now: number, gap: (dues: number) => void): ScheduleContext {
  let next = agenda.admitted(context, now);
  for (let k = 0; agenda.asks(next, now); k++) {
    if (k > 5_000) throw new Error("it asks for ever");
    const told = asked(next, now);
    if (told.gap !== undefined && told.gap !== next.gap)
      gap(Math.floor(told.gap.to / everyMs) - Math.floor(told.gap.from / everyMs));
    next = agenda.admitted(told, now);
  }
  return next;
}

const acts = fc.array(
  fc.record({
    passesMs: fc.oneof(fc.integer({ min: 1, max: 60_000 }), fc.integer({ min: 60_000, max: 3_600_000 })),
    /** Whether the run before still runs when it is looked. */
    runs: fc.boolean(),
    /** How many of the line are taken. */
    takes: fc.integer({ min: 0, max: 40 }),
  }),
  { maxLength: 25 },
);

describe("a schedule's agenda", () => {
  it("deals with each due time once, by every rule, however late it is woken", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Overlap.options),
        fc.constantFrom(0, 300_000, 1_800_000),
        fc.constantFrom(0, 15_000),
        acts,
        (overlap, catchupMs, jitterMs, world) => {
          let now = startedAt;
          let context = agenda.begin(inputOf({ overlap, catchupMs, jitterMs }), now);
          const begun: number[] = [];
          let gaps = 0;
          for (const { passesMs, runs, takes } of world) {
            now += passesMs;
            context = idle(context, now, (dues) => (gaps += dues));
            for (let k = 0; k < takes && context.line.length > 0; k++) {
              const [head] = context.line;
              context = agenda.taken(context);
              const rule = head === undefined ? "allow" : agenda.ruleOf(context.plan, head);
              if (runs && rule === "skip") context = agenda.skipped(context);
              else if (runs && rule !== "allow") {
                context = agenda.putBack({ ...context, blockedAt: now });
                break;
              } else {
                begun.push(head?.due ?? 0);
                context = agenda.begun(context, now);
              }
              context = idle(context, now, (dues) => (gaps += dues));
            }
          }
          const { counts, line, seen } = context;
          // In their order, and none twice.
          expect(begun).toEqual([...new Set(begun)].sort((a, b) => a - b));
          expect(counts.begun).toBe(begun.length);
          expect(line.length).toBeLessThanOrEqual(lineMax);
          const all = Math.floor(seen / everyMs) - Math.floor(startedAt / everyMs);
          expect(counts.begun + counts.missed + counts.skipped + counts.dropped + line.length + gaps).toBe(
            all,
          );
          if (overlap !== "queue") expect(counts.dropped).toBe(0);
          if (overlap === "allow" || overlap === "queue") expect(counts.skipped).toBe(0);
          // What goes on in another saga knows the same.
          const carried = Carried.parse(JSON.parse(JSON.stringify(agenda.carry(context))));
          const next = agenda.begin(
            { ...inputOf({ overlap, catchupMs, jitterMs }), number: 2, carried },
            now,
          );
          expect(agenda.carry(next)).toEqual(agenda.carry(context));
        },
      ),
      { numRuns: 150 },
    );
  });

  it("puts what is due before what was filled in, and gives back what waits to its place", () => {
    const filled = agenda.filled(
      { ...agenda.begin(inputOf({}), startedAt), ranges: [{ from: 0, to: 5 * everyMs }] },
      { due: [0, everyMs], over: true },
    );
    expect(filled.ranges).toEqual([]);
    const later = startedAt + 2 * everyMs;
    const both = agenda.admitted({ ...filled, ahead: [startedAt + everyMs] }, later);
    expect(both.line.map(({ by }) => by)).toEqual(["due", "backfill", "backfill"]);
    const { current, ...rest } = agenda.taken(both);
    expect(agenda.putBack({ ...rest, ...(current && { current }) }).line).toEqual(both.line);
    const second = agenda.taken({ ...both, line: both.line.slice(1) });
    const behind = agenda.admitted({ ...second, ahead: [startedAt + everyMs] }, later);
    expect(agenda.putBack(behind).line.map(({ due }) => due)).toEqual([startedAt + everyMs, 0, everyMs]);
  });

  it("tries a run that could not be begun again as long as it may begin, and not where another attempt is told the same", () => {
    const item = { run: runIdOf("s", startedAt), due: startedAt, by: "due" } as const;
    const context = { ...agenda.begin(inputOf({ catchupMs: 600_000 }), startedAt), current: item };
    expect(agenda.mayTryAgain(context, "STORAGE_RESERVED", startedAt + 599_000)).toBe(true);
    expect(agenda.mayTryAgain(context, "STORAGE_RESERVED", startedAt + 601_000)).toBe(false);
    expect(agenda.mayTryAgain(context, "SAGA_ID_TAKEN", startedAt)).toBe(false);
    const said = { code: "SAGA_ID_TAKEN", reason: "it is another's" };
    expect(agenda.refused(context, said, startedAt)).toMatchObject({ refused: said, counts: { refused: 1 } });
  });
});

describe("ids", () => {
  it("of runs tell schedule and time, and no two of one schedule are equal", () => {
    expect(runIdOf("nightly", Date.UTC(2026, 2, 1, 6))).toBe("nightly-20260301t060000z");
    expect(runIdOf("nightly", Date.UTC(2026, 2, 1, 6), "k1")).toBe("nightly-20260301t060000z-k1");
    fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,35}$/),
        fc.integer({ min: 0, max: 4_000_000_000 }),
        fc.integer({ min: 0, max: 4_000_000_000 }),
        fc.integer({ min: 1, max: 999_999 }),
        (name, one, other, number) => {
          expect(runIdOf(name, one * 1_000, "12345678").length).toBeLessThanOrEqual(64);
          expect(runIdOf(name, one * 1_000) === runIdOf(name, other * 1_000)).toBe(one === other);
          expect(readScheduleSagaId(scheduleSagaId(name, number))).toEqual({ name, number });
          expect(readScheduleSagaId(runIdOf(name, one * 1_000))).toBeUndefined();
          const run = runIdOf(name, one * 1_000);
          expect(jitterOf(run, 5_000)).toBe(jitterOf(run, 5_000));
          expect(jitterOf(run, 5_000)).toBeLessThanOrEqual(5_000);
        },
      ),
    );
  });
});
