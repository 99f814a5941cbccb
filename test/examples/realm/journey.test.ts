/**
 * Goal: equations 4 and 5 hold with their defects mended: the stored examples come out, and no disturbance, however
 * placed and timed, breaks identity, order or splitting. Method: the stored numbers; fast-check over random legs,
 * stretches and periods, with a fixed seed.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import stored from "./data/answers.json" with { type: "json" };
import { affectedMin, arrival, journey, stretchedMin, type Disturbance } from "./journey.ts";
import { disrupted, weddingOf } from "./problem.ts";

const seed = 20261122;
const check = (property: fc.IProperty<any>) =>
  fc.assert(property as fc.IProperty<unknown>, { seed, numRuns: 400 });

const total = fc.integer({ min: 1, max: 180 });
const departs = fc.integer({ min: 600, max: 900 });
const disturbance = (factor: fc.Arbitrary<number>): fc.Arbitrary<Disturbance> =>
  fc.record({
    from: fc.integer({ min: 500, max: 1000 }),
    until: fc.option(fc.integer({ min: 500, max: 1100 }), { nil: undefined }),
    factor,
    stretch: fc.option(
      fc
        .tuple(fc.nat(180), fc.nat(180))
        .map(([one, other]) => ({ from: Math.min(one, other), to: Math.max(one, other) })),
      { nil: undefined },
    ),
  });
const slower = fc.integer({ min: 4, max: 24 }).map((quarters) => quarters / 4);

describe("equations 4 and 5", () => {
  test.each(stored.equations)("a leg of $total min with $elapsed driven, as stored, lasts $lasts", (row) => {
    const leaves = 770;
    const within = row.passed ? row.elapsed : undefined;
    const traffic = { type: "traffic", noticeAt: 780, factor: 3, touching: "B", within } as const;
    const problem = disrupted(weddingOf("P5"), traffic);
    const to = { 40: "W", 30: "T", 45: "G" }[row.total] ?? "";
    expect(arrival(problem, "B", to, leaves)).toBe(row.arrives);
    expect(row.arrives - leaves).toBe(row.lasts);
    if (row.passed) return;
    expect(affectedMin(row.total, row.elapsed)).toBe(row.affected);
    expect(stretchedMin(row.total, row.elapsed, 3)).toBe(row.lasts);
  });

  test("a finished journey does not grow, and one that has not begun is slowed as a whole", () => {
    expect(stretchedMin(40, 55, 3)).toBe(40);
    expect(stretchedMin(40, -5, 3)).toBe(120);
  });

  test("the followed journey is equation 5 where the disturbance has neither place nor end", () => {
    check(
      fc.property(
        total,
        departs,
        fc.integer({ min: 600, max: 1000 }),
        slower,
        (minutes, leaves, alert, factor) => {
          const { arrives } = journey(minutes, leaves, [{ from: alert, factor }]);
          expect(arrives - leaves).toBeCloseTo(stretchedMin(minutes, alert - leaves, factor), 6);
        },
      ),
    );
  });

  test("the factor 1 changes nothing", () => {
    check(
      fc.property(total, departs, fc.array(disturbance(fc.constant(1))), (minutes, leaves, all) => {
        expect(journey(minutes, leaves, all)).toEqual({ arrives: leaves + minutes, affected: 0 });
      }),
    );
  });

  test("a greater factor arrives no earlier, and a later departure overtakes nobody", () => {
    check(
      fc.property(
        total,
        departs,
        disturbance(slower),
        slower,
        fc.nat(60),
        (minutes, leaves, one, more, later) => {
          const { arrives } = journey(minutes, leaves, [one]);
          expect(
            journey(minutes, leaves, [{ ...one, factor: one.factor * more }]).arrives,
          ).toBeGreaterThanOrEqual(arrives - 1e-9);
          expect(journey(minutes, leaves + later, [one]).arrives).toBeGreaterThanOrEqual(arrives - 1e-9);
        },
      ),
    );
  });

  test("the more is driven before the alert the shorter the journey, up to its own length", () => {
    check(
      fc.property(total, slower, fc.nat(200), fc.nat(200), (minutes, factor, one, other) => {
        const [less, more] = [Math.min(one, other), Math.max(one, other)];
        expect(stretchedMin(minutes, more, factor)).toBeLessThanOrEqual(stretchedMin(minutes, less, factor));
        expect(stretchedMin(minutes, minutes + more, factor)).toBe(minutes);
      }),
    );
  });

  test("cutting a leg anywhere changes no arrival and no affected minute", () => {
    check(
      fc.property(total, fc.nat(180), departs, disturbance(slower), (minutes, cutAt, leaves, one) => {
        const cut = Math.min(cutAt, minutes);
        const whole = journey(minutes, leaves, [one]);
        const first = journey(cut, leaves, [one]);
        const stretch = one.stretch && { from: one.stretch.from - cut, to: one.stretch.to - cut };
        const second = journey(minutes - cut, first.arrives, [{ ...one, stretch }]);
        expect(second.arrives).toBeCloseTo(whole.arrives, 6);
        expect(first.affected + second.affected).toBeCloseTo(whole.affected, 6);
      }),
    );
  });

  test("on a closed road nobody arrives, and once it opens everybody goes on from where he stood", () => {
    expect(journey(40, 700, [{ from: 720, factor: Infinity }])).toEqual({ arrives: Infinity, affected: 0 });
    expect(journey(40, 700, [{ from: 720, until: 800, factor: Infinity }]).arrives).toBe(820);
  });
});
