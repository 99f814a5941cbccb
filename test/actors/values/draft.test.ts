/**
 * Goal: what a turn makes of records and lists is what a copy for each change would be, and what was there before stays.
 * Method: random changes beside a model that copies for each of them.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { inOneTurn, withKey, withoutKey } from "../../../actors/values/draft.ts";

const key = fc.constantFrom("a", "b", "__proto__", "constructor", "7");
const change = fc.record({ key, value: fc.option(fc.integer(), { nil: undefined }) });
type Change = { readonly key: string; readonly value: number | undefined };

const changed = (record: Readonly<Record<string, number>>, { key: of, value }: Change) =>
  value === undefined ? withoutKey(record, of) : withKey(record, of, value);

test("keys are set and taken away, `__proto__` like any other, and the record before a turn is as it was", () => {
  fc.assert(
    fc.property(fc.array(fc.array(change, { maxLength: 6 }), { maxLength: 5 }), (turns) => {
      let record: Readonly<Record<string, number>> = {};
      const model = new Map<string, number>();
      for (const changes of turns) {
        const before = Object.freeze(record);
        const was = Object.entries(before);
        record = inOneTurn(() => changes.reduce(changed, before));
        for (const { key: of, value } of changes)
          if (value === undefined) model.delete(of);
          else model.set(of, value);
        expect(new Map(Object.entries(record))).toEqual(model);
        expect(Object.getPrototypeOf(record)).toBe(Object.prototype);
        expect(Object.entries(before)).toEqual(was);
      }
    }),
  );
});
