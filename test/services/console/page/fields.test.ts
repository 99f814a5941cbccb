/**
 * Goal: a form made of a schema gives what was put into it, and what a person types is the value that they mean.
 * Method: a property over schemas of plain members and values that fit them, names that every object has among them; examples.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fieldsOf, typedOf, valueIn } from "../../../../services/console/page/fields.ts";

/** A member's schema and a value that fits it. */
const member = fc.oneof(
  fc.string().map((value) => ({ schema: { type: "string" }, value })),
  fc.boolean().map((value) => ({ schema: { type: "boolean" }, value })),
  fc.maxSafeInteger().map((value) => ({ schema: { type: "integer" }, value: value + 0 })),
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .map((value) => ({ schema: { type: "number" }, value: value + 0 })),
  fc.constantFrom("a", "b").map((value) => ({ schema: { type: "string", enum: ["a", "b"] }, value })),
  fc.jsonValue().map((value) => ({ schema: {}, value: JSON.parse(JSON.stringify(value)) as unknown })),
  fc
    .array(fc.integer(), { maxLength: 3 })
    .map((value) => ({ schema: { type: "array", items: { type: "integer" } }, value })),
);
const name = fc.oneof(
  fc.string({ minLength: 1, maxLength: 8 }),
  fc.constantFrom("constructor", "toString", "__proto__"),
);
const shape = fc.uniqueArray(fc.tuple(name, member, fc.boolean(), fc.boolean()), {
  selector: ([key]) => key,
  maxLength: 6,
});

/** An object whose members are its own, whatever they are called. */
const objectOf = (entries: readonly (readonly [string, unknown])[]): unknown =>
  JSON.parse(
    `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(",")}}`,
  );

test("what is put into fields and left as it is comes out as it was, or is left to be typed as JSON", () => {
  fc.assert(
    fc.property(shape, (members) => {
      const schema = {
        type: "object",
        properties: objectOf(members.map(([key, { schema: own }]) => [key, own])),
        required: members.filter(([, , isRequired]) => isRequired).map(([key]) => key),
      };
      const there = members.filter(([, , isRequired, isThere]) => isRequired || isThere);
      const value = objectOf(there.map(([key, one]) => [key, one.value]));
      const fields = fieldsOf(schema);
      const typed = typedOf(fields, value);
      if (typed === undefined) {
        // Only an empty text that could be left out has no field.
        expect(there.some(([, one, isRequired]) => one.value === "" && !isRequired)).toBe(true);
        return;
      }
      expect(valueIn(fields, typed)).toEqual({ value });
    }),
  );
});

describe("a form", () => {
  const schema = {
    type: "object",
    properties: {
      supplier: { type: "string", description: "Who is paid." },
      cents: { type: "integer" },
      urgent: { type: "boolean" },
      way: { type: "string", enum: ["card", "cash"] },
      lines: { type: "array" },
    },
    required: ["supplier", "cents"],
  };
  const fields = fieldsOf(schema);
  const typed = (members: Readonly<Record<string, string>>) => new Map(Object.entries(members));

  test("has a field for each member, with what its author says of it", () => {
    expect(fields.map(({ name: own, kind, isRequired }) => [own, kind, isRequired])).toEqual([
      ["supplier", "text", true],
      ["cents", "whole", true],
      ["urgent", "yesno", false],
      ["way", "choice", false],
      ["lines", "json", false],
    ]);
    expect(fields[0]?.help).toBe("Who is paid.");
  });

  test("leaves out what was left empty, and keeps an empty text that is asked for", () => {
    expect(valueIn(fields, typed({ cents: "5" }))).toEqual({ value: { supplier: "", cents: 5 } });
  });

  test("says which field is not what it asks for", () => {
    expect(valueIn(fields, typed({ supplier: "a", cents: "5.5" }))).toEqual({
      fault: "cents is no whole number",
    });
    expect(valueIn(fields, typed({ supplier: "a", cents: "1", lines: "[" }))).toEqual({
      fault: "lines is no JSON",
    });
  });

  test("of what is no object of named members has one field, of JSON or a plain text", () => {
    for (const other of [
      undefined,
      true,
      {},
      { anyOf: [schema] },
      { type: "object", additionalProperties: {} },
    ]) {
      const [only, ...more] = fieldsOf(other);
      expect({ name: only?.name, kind: only?.kind, more }).toEqual({ name: "", kind: "json", more: [] });
    }
    const whole = fieldsOf(undefined);
    expect(valueIn(whole, typed({ "": '{"a":1}' }))).toEqual({ value: { a: 1 } });
    expect(valueIn(whole, typed({ "": "only Tuesday" }))).toEqual({ value: "only Tuesday" });
    expect(valueIn(whole, typed({}))).toEqual({ value: null });
  });
});
