/**
 * Goal: two runs stand beside each other as a diff lays them: nothing is lost or moved, what is the same stands together, and one
 * thing more in one of them is one row and no more.
 * Method: drawn sequences of few letters, so that much repeats; a slow search for what is common, held beside the quick one.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { aligned } from "../../../../services/console/page/aligned.ts";

/** A thing by its name and what it was given. */
const thing = fc
  .tuple(fc.constantFrom("a", "b", "c"), fc.constantFrom(1, 2, undefined))
  .map(([name, given]) => ({ name, given }));
type Thing = typeof thing extends fc.Arbitrary<infer T> ? T : never;
const things = fc.array(thing, { maxLength: 9 });
/** Some have nothing by which they are known for certain. */
const strict = ({ name, given }: Thing) => (given === undefined ? undefined : `${name}${given}`);
const loose = ({ name }: Thing) => name;
const rowsOf = (ours: readonly Thing[], theirs: readonly Thing[]) =>
  aligned(ours, theirs, { exact: strict, alike: loose });

test("every thing stands in one row, and each side keeps its order", () => {
  fc.assert(
    fc.property(things, things, (ours, theirs) => {
      const rows = rowsOf(ours, theirs);
      expect(rows.flatMap(([own]) => own ?? [])).toEqual(ours);
      expect(rows.flatMap(([, other]) => other ?? [])).toEqual(theirs);
      expect(rows.every(([own, other]) => own !== undefined || other !== undefined)).toBe(true);
    }),
  );
});

/** By trying all. */
function mostCommon(ours: readonly string[], theirs: readonly string[]): number {
  const [first, ...rest] = ours;
  if (first === undefined) return 0;
  const at = theirs.indexOf(first);
  const without = mostCommon(rest, theirs);
  return at === -1 ? without : Math.max(without, 1 + mostCommon(rest, theirs.slice(at + 1)));
}

test("as many rows are the same as can be", () => {
  fc.assert(
    fc.property(things, things, (ours, theirs) => {
      const same = rowsOf(ours, theirs).filter(
        ([own, other]) =>
          own !== undefined &&
          strict(own) !== undefined &&
          other !== undefined &&
          strict(own) === strict(other),
      );
      const keysOf = (run: readonly Thing[]) => run.flatMap((one) => strict(one) ?? []);
      expect(same).toHaveLength(mostCommon(keysOf(ours), keysOf(theirs)));
    }),
  );
});

test("up to the first difference the rows are those of the same place", () => {
  fc.assert(
    fc.property(things, things, things, (shared, ours, theirs) => {
      const rows = rowsOf([...shared, ...ours], [...shared, ...theirs]);
      expect(rows.slice(0, shared.length)).toEqual(shared.map((one) => [one, one]));
    }),
  );
});

test("one thing more in one of them is one row, and all others are the same", () => {
  fc.assert(
    fc.property(things, fc.nat({ max: 9 }), thing, (run, place, more) => {
      const longer = run.toSpliced(Math.min(place, run.length), 0, more);
      const alone = rowsOf(run, longer).filter(([own, other]) => own === undefined || other === undefined);
      expect(alone).toHaveLength(1);
      expect(rowsOf(longer, run).filter(([own, other]) => own?.name !== other?.name)).toHaveLength(1);
    }),
  );
});

test("the same thing with other arguments stands beside itself, though others came between", () => {
  const rows = rowsOf(
    [
      { name: "a", given: 1 },
      { name: "b", given: 1 },
    ],
    [
      { name: "c", given: 2 },
      { name: "c", given: 1 },
      { name: "b", given: 2 },
    ],
  );
  expect(rows.at(-1)).toEqual([
    { name: "b", given: 1 },
    { name: "b", given: 2 },
  ]);
});

test("runs of thousands are laid out whole", () => {
  const run = Array.from({ length: 5_000 }, (_, k) => ({ name: "a", given: k }));
  const rows = aligned(run, run.slice(1), {
    exact: ({ name, given }) => `${name}${given}`,
    alike: ({ name }) => name,
  });
  expect(rows.flatMap(([own]) => own ?? [])).toEqual(run);
  expect(rows.flatMap(([, other]) => other ?? [])).toEqual(run.slice(1));
});
