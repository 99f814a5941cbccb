/**
 * Goal (JF1, OW1): what is said of two schemas is true of their values: where all of the one fit, each does; where not, the value that
 * is shown is one of them and is refused; where none fits at a place, no value that has it is taken.
 * Method: random pairs, often near to each other, and random values of the one, read as the runtime reads them.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { fitOf } from "../../../actors/plan/fit.ts";
import { atPointer } from "../../../actors/values/reference.ts";
import type { Json } from "../../../protocol/json.ts";

type Schema = { readonly [key: string]: Json };

const keys = ["a", "b", "c"];
const bounds = (low: string, high: string, top: number) =>
  fc
    .record({ [low]: fc.nat(top), [high]: fc.nat(top) }, { requiredKeys: [] })
    .map((made): Schema => ((made[low] ?? 0) > (made[high] ?? top) ? {} : (made as Schema)));
const scalar = fc.constantFrom<Json>("x", "yy", 1, 2, true, null);
const leaf: fc.Arbitrary<Schema> = fc.oneof(
  fc.constantFrom<Schema>({ type: "null" }, { type: "boolean" }, {}),
  fc.constantFrom("email", "uuid", "date", "ipv4").map((format): Schema => ({ type: "string", format })),
  bounds("minLength", "maxLength", 6).map((more): Schema => ({ type: "string", ...more })),
  bounds("minimum", "maximum", 9).map((more): Schema => ({ type: "integer", ...more })),
  bounds("minimum", "maximum", 9).map((more): Schema => ({ type: "number", ...more })),
  fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }).map((all): Schema => ({ enum: all })),
  scalar.map((only): Schema => ({ const: only })),
);
const { schema } = fc.letrec<{ schema: Schema }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    { weight: 3, arbitrary: leaf },
    {
      weight: 3,
      arbitrary: fc
        .tuple(
          fc.dictionary(fc.constantFrom(...keys), tie("schema"), { maxKeys: 3 }),
          fc.subarray(keys),
          fc.boolean(),
        )
        .map(([properties, required, closed]): Schema => ({
          type: "object",
          properties: { ...properties },
          required: required.filter((key) => Object.hasOwn(properties, key)),
          ...(closed ? { additionalProperties: false } : {}),
        })),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(tie("schema"), bounds("minItems", "maxItems", 3))
        .map(([items, more]): Schema => ({ type: "array", items, ...more })),
    },
    {
      weight: 1,
      arbitrary: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((anyOf): Schema => ({ anyOf })),
    },
  ),
}));

/** The same with one thing changed, so that pairs are near to each other. */
const near = (one: Schema): fc.Arbitrary<Schema> => {
  const withMore = (more: object): Schema => ({ ...one, ...more });
  const members = Object.entries((one["properties"] ?? {}) as Record<string, Schema>);
  const inside = members.map(([key, member]) =>
    near(member).map((other) => withMore({ properties: { ...(one["properties"] as object), [key]: other } })),
  );
  const items = one["items"] as Schema | undefined;
  return fc.oneof(
    fc.constant(one),
    leaf,
    fc.constant<Schema>({ anyOf: [one, { type: "null" }] }),
    fc.constantFrom(...Object.keys(one), "none").map((key): Schema => {
      const { [key]: _left, ...rest } = one;
      return key === "type" ? one : rest;
    }),
    ...(members.length > 0 ? [fc.constant(withMore({ required: members.map(([key]) => key) }))] : []),
    ...(items === undefined ? [] : [near(items).map((other) => withMore({ items: other }))]),
    ...inside,
  );
};
const pairs = schema.chain((one) => fc.tuple(fc.constant(one), fc.oneof(near(one), near(one), schema)));

const examples: Record<string, fc.Arbitrary<Json>> = {
  email: fc.constantFrom("ada@example.com", "b.c@d.org"),
  uuid: fc.uuid({ version: 4 }),
  date: fc.constantFrom("2026-01-31", "1999-12-01"),
  ipv4: fc.ipV4(),
};

/** Values that a schema takes; `more`: of an object that is not closed, with members that it does not name. */
function valuesOf(one: Schema, more: boolean): fc.Arbitrary<Json> {
  if ("const" in one) return fc.constant(one["const"]!);
  if ("enum" in one) return fc.constantFrom(...(one["enum"] as Json[]));
  if ("anyOf" in one) return fc.oneof(...(one["anyOf"] as Schema[]).map((option) => valuesOf(option, more)));
  const min = (key: string, otherwise: number) => Number(one[key] ?? otherwise);
  switch (one["type"]) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "string":
      if (one["format"] !== undefined) return examples[one["format"] as string]!;
      return fc.string({ minLength: min("minLength", 0), maxLength: min("maxLength", 12) });
    case "integer":
      return fc.integer({ min: min("minimum", -20), max: min("maximum", 20) });
    case "number":
      return fc.double({ min: min("minimum", -20), max: min("maximum", 20), noNaN: true });
    case "array":
      return fc.array(valuesOf(one["items"] as Schema, more), {
        minLength: min("minItems", 0),
        maxLength: min("maxItems", 4),
      });
    case "object": {
      const members = Object.entries((one["properties"] ?? {}) as Record<string, Schema>);
      const requiredKeys = (one["required"] ?? []) as string[];
      const named = fc.record(
        Object.fromEntries(members.map(([key, member]) => [key, valuesOf(member, more)])),
        { requiredKeys },
      );
      if (!more || one["additionalProperties"] === false) return named;
      const others = fc.dictionary(fc.constantFrom(...keys, "z"), scalar, { maxKeys: 2 });
      return fc.tuple(others, named).map(([other, own]) => {
        const unnamed = Object.entries(other).filter(([key]) => !members.some(([member]) => member === key));
        return { ...Object.fromEntries(unnamed), ...own };
      });
    }
    default:
      return scalar;
  }
}
const takes = (one: Schema, value: Json): boolean => z.fromJSONSchema(one).safeParse(value).success;
const pointer = (path: readonly (string | number)[]) => path.map((key) => `/${key}`).join("");

describe("two schemas", () => {
  test("of which it is said that all fit have no value that does not", () => {
    let fits = 0;
    fc.assert(
      fc.property(
        pairs.chain(([one, other]) =>
          fc.tuple(fc.constant([one, other]), fc.array(valuesOf(one, true), { minLength: 5, maxLength: 5 })),
        ),
        ([[one, other], values]) => {
          if (fitOf(one, other).is !== "yes") return;
          fits += 1;
          for (const value of values) expect(takes(other, value)).toBe(true);
        },
      ),
      { numRuns: 250 },
    );
    expect(fits).toBeGreaterThan(8);
  });

  test("of which it is said that some do not fit are shown one that does not", () => {
    let misfits = 0;
    fc.assert(
      fc.property(pairs, ([one, other]) => {
        const fit = fitOf(one, other);
        if (fit.is !== "no") return;
        misfits += 1;
        for (const { example } of fit.misfits) {
          expect(takes(one, example)).toBe(true);
          expect(takes(other, example)).toBe(false);
        }
      }),
      { numRuns: 250 },
    );
    expect(misfits).toBeGreaterThan(40);
  });

  test("of which it is said that none fits at a place have no value that has it and is taken", () => {
    let never = 0;
    fc.assert(
      fc.property(
        pairs.chain(([one, other]) =>
          fc.tuple(fc.constant([one, other]), fc.array(valuesOf(one, false), { minLength: 5, maxLength: 5 })),
        ),
        ([[one, other], values]) => {
          const fit = fitOf(one, other);
          for (const { at, grade } of fit.is === "no" ? fit.misfits : []) {
            if (grade !== "never") continue;
            never += 1;
            const place = typeof at.at(-1) === "number" ? at : at.slice(0, -1);
            for (const value of values)
              if (atPointer(value, pointer(place)) !== undefined) expect(takes(other, value)).toBe(false);
          }
        },
      ),
      { numRuns: 250 },
    );
    expect(never).toBeGreaterThan(20);
  });

  test.each<[string, Schema, Schema, string[]]>([
    [
      "lists whose items differ",
      { type: "array", items: { type: "string" } },
      { type: "array", items: { type: "integer" } },
      ["/0 never it is a string, and a number is wanted"],
    ],
    [
      "enums that share no value",
      { enum: ["a", "b"] },
      { enum: ["c"] },
      [' never it is "a", and "c" is wanted'],
    ],
    [
      "enums that share some",
      { enum: ["a", "b"] },
      { enum: ["b", "c"] },
      [' bounds it may be that it is "a", and "b" or "c" is wanted'],
    ],
    [
      "a union of which a branch is not taken",
      { type: ["string", "null"] },
      { type: "string" },
      [" sometimes it may be that it is null, and a string is wanted"],
    ],
    [
      "two formats",
      { type: "string", format: "date" },
      { type: "string", format: "date-time" },
      [' sometimes it may be that it is "2026-01-31", and that is not taken: Invalid ISO datetime'],
    ],
    [
      "a text of any form for one of a format",
      { type: "string" },
      { type: "string", format: "email" },
      [' bounds it may be that it is "text", and that is not taken: Invalid email address'],
    ],
    [
      "a member that may be lacking",
      { type: "object", properties: { id: { type: "string" } } },
      { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
      ["/id sometimes it may be that it is not there, and is required"],
    ],
    [
      "a member that is never there, and one of another type",
      { type: "object", properties: { n: { type: "string" } }, required: ["n"] },
      { type: "object", properties: { id: {}, n: { type: "number" } }, required: ["id", "n"] },
      ["/id never it is not there, and is required", "/n never it is a string, and a number is wanted"],
    ],
    [
      "a member with a default, which is there",
      { type: "object", properties: { id: { type: "string", default: "x" } } },
      { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
      [],
    ],
    ["what could be anything", {}, { type: "string" }, []],
    [
      "what could be anything deeper down",
      { type: "object", properties: { id: {} }, required: ["id"] },
      {
        type: "object",
        properties: { id: { anyOf: [{ type: "object", properties: { a: { type: "string" } } }] } },
      },
      [],
    ],
    [
      "halves for whole numbers",
      { type: "number" },
      { type: "integer" },
      [" bounds it may be that it is a number, and an integer is wanted"],
    ],
  ])("that are %s are told of", (_, one, other, expected) => {
    const fit = fitOf(one, other);
    const told = fit.is === "no" ? fit.misfits : [];
    expect(told.map(({ at, grade, says }) => `${pointer(at)} ${grade} ${says}`)).toEqual(expected);
  });
});
