/**
 * Goal: what a browser kept is taken for views only where it is some, and one question is the same however its address is written.
 * Method: whatever JSON there is; addresses with their choices in any order.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { filterOf } from "../../../../services/tables/filter-sql.ts";
import { given, isSame, nameMax, searchOf, viewsIn } from "../../../../services/console/page/views.ts";

test("whatever stands where views were kept, views come of it or nothing", () => {
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc
      .array(fc.record({ name: fc.anything(), search: fc.anything() }))
      .map((value) => JSON.stringify(value) as string | undefined),
  );
  fc.assert(
    fc.property(text, (kept) => {
      for (const { name, search } of viewsIn(kept)) {
        expect(name.length).toBeGreaterThan(0);
        expect(name.length).toBeLessThanOrEqual(nameMax);
        expect(search.startsWith("?")).toBe(true);
      }
    }),
  );
  expect(viewsIn(undefined)).toEqual([]);
  const view = { name: "mine", search: "?text=cost%3E1" };
  expect(viewsIn(JSON.stringify([view, { name: "", search: "?" }, { name: "x", search: "//evil" }]))).toEqual(
    [view],
  );
});

test("a question is the same in any order of its choices, and a row that is chosen is no part of it", () => {
  const choices = fc.record(
    {
      text: fc.string({ minLength: 1 }),
      status: fc.constantFrom("running", "failed"),
      name: fc.string({ minLength: 1 }),
      asks: fc.constant("1"),
      sort: fc.constant("cost"),
      at: fc.string(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(choices, (chosen) => {
      const one = new URLSearchParams(chosen);
      const other = new URLSearchParams(Object.entries(chosen).reverse());
      expect(isSame(`?${one.toString()}`, `?${other.toString()}`)).toBe(true);
      // Its address asks the same again.
      const { at: _at, ...asked } = chosen;
      expect(Object.fromEntries(new URLSearchParams(searchOf(one)))).toEqual({ ...asked });
    }),
  );
});

test("every view that is given asks what can be asked", () => {
  for (const { search } of given) {
    const text = new URLSearchParams(search).get("text");
    if (text !== null) expect(filterOf(text, Date.now()).length).toBeGreaterThan(0);
    expect(searchOf(new URLSearchParams(search))).toBe(search);
  }
});
