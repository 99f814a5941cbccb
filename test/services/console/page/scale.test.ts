/**
 * Goal: a line of time that keeps the order of what happened and the proportions of what was shown, and folds long waits.
 * Method: properties over random spans, and examples that say what a person sees.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { scaleOf, type Span } from "../../../../services/console/page/scale.ts";

const hour = 3_600_000;
const spans = fc.array(
  fc
    .record({ at: fc.integer({ min: 0, max: 10 * hour }), ms: fc.integer({ min: 0, max: hour }) })
    .map(({ at, ms }): Span => ({ at, until: at + ms })),
  { maxLength: 30 },
);

test("a later moment never lies before an earlier one, and all lie on the line", () => {
  fc.assert(
    fc.property(spans, fc.array(fc.integer({ min: -hour, max: 12 * hour })), (busy, moments) => {
      const { x } = scaleOf(busy, 0, 10 * hour);
      const places = moments.sort((a, b) => a - b).map(x);
      for (const [k, place] of places.entries()) {
        expect(place).toBeGreaterThanOrEqual(0);
        expect(place).toBeLessThanOrEqual(1 + 1e-9);
        expect(place).toBeGreaterThanOrEqual((places[k - 1] ?? 0) - 1e-9);
      }
    }),
  );
});

test("the moment at a place lies at that place", () => {
  fc.assert(
    fc.property(spans, fc.double({ min: 0, max: 1, noNaN: true }), (busy, place) => {
      const scale = scaleOf(busy, 0, 10 * hour);
      expect(scale.x(scale.at(place))).toBeCloseTo(place, 6);
    }),
  );
});

test("what is busy is in no fold, and takes at least half of the line beside folds", () => {
  fc.assert(
    fc.property(spans, (busy) => {
      const { folds } = scaleOf(busy, 0, 10 * hour);
      for (const fold of folds)
        for (const { at, until } of busy)
          expect(at >= fold.until || Math.min(until, 10 * hour) <= fold.at).toBe(true);
      const folded = folds.reduce((sum, { width }) => sum + width, 0);
      if (busy.some(({ at, until }) => until > at && at < 10 * hour))
        expect(folded).toBeLessThanOrEqual(0.67);
    }),
  );
});

test("a night between two calls is as wide as a breath, and the calls keep their proportions", () => {
  const night = 8 * hour;
  const busy = [
    { at: 0, until: 2_000 },
    { at: night, until: night + 4_000 },
  ];
  const { x, folds } = scaleOf(busy, 0, night + 4_000);
  expect(folds).toHaveLength(1);
  expect(folds[0]?.width).toBeLessThan(0.06);
  expect((x(night + 4_000) - x(night)) / x(2_000)).toBeCloseTo(2, 3);
});

test("where nothing went on, time is shown as it is", () => {
  const { x, folds } = scaleOf([], 0, hour);
  expect(folds).toEqual([]);
  expect(x(hour / 2)).toBeCloseTo(0.5, 6);
});
