/**
 * Goal: a server's JSON Schema is shown as it is, checked as far as it can be, and never refuses what it allows.
 * Method: schemas with what zod cannot say, each with values that the schema allows and some that it refuses.
 */
import { describe, expect, test } from "vitest";
import { jsonSchema } from "../../../actors/values/schema.ts";
import { type JsonSchema, readSchema } from "../../../services/mcp/schema.ts";

const object = (properties: JsonSchema, more: JsonSchema = {}): JsonSchema => ({
  type: "object",
  properties,
  ...more,
});

interface Row {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly allowed: readonly unknown[];
  readonly refused?: readonly unknown[];
  readonly unchecked?: readonly string[];
}

const rows: Row[] = [
  {
    name: "types, bounds and what is required are checked",
    schema: object(
      { a: { type: "integer", minimum: 1 }, b: { type: ["string", "null"] } },
      { required: ["a"] },
    ),
    allowed: [{ a: 1 }, { a: 2, b: null, more: true }],
    refused: [{}, { a: 0 }, { a: 1.5 }, { a: 1, b: 2 }],
  },
  {
    name: "a pattern is the server's to check: one that backtracks would stop a host",
    schema: object({ a: { type: "string", pattern: "^(a+)+$" } }),
    allowed: [{ a: `${"a".repeat(60)}b` }],
    refused: [{ a: 1 }],
    unchecked: ["/properties/a/pattern"],
  },
  {
    name: "a format says nothing of what is valid",
    schema: object({ a: { type: "string", format: "uri" } }),
    allowed: [{ a: "../relative" }],
    unchecked: ["/properties/a/format"],
  },
  {
    name: "keys that only a pattern allows are allowed",
    schema: object({}, { patternProperties: { "^x-": { type: "string" } }, additionalProperties: false }),
    allowed: [{ "x-a": "b" }],
    unchecked: ["/patternProperties"],
  },
  {
    name: "one of several that overlap",
    schema: object({
      a: {
        oneOf: [{ type: "string", pattern: "^a" }, { type: "string", pattern: "^b" }, { type: "number" }],
      },
    }),
    allowed: [{ a: "a" }, { a: 1 }],
    refused: [{ a: true }],
  },
  {
    name: "conditions and negations",
    schema: object({ a: { not: { const: 1 } } }, { if: { required: ["b"] }, then: { required: ["c"] } }),
    allowed: [{ a: 2 }, { b: 1, c: 2 }],
    unchecked: ["/properties/a/not", "/if", "/then"],
  },
  {
    name: "constants that are objects",
    schema: object({ a: { enum: [{ b: 1 }, 2] }, c: { const: [1] }, d: { enum: ["x", 3] } }),
    allowed: [{ a: { b: 1 }, c: [1], d: 3 }],
    refused: [{ d: "y" }],
    unchecked: ["/properties/a/enum", "/properties/c/const"],
  },
  {
    name: "references, of either dialect, that go round",
    schema: {
      $schema: "http://json-schema.org/draft-07/schema#",
      ...object({ tree: { $ref: "#/definitions/tree" } }),
      definitions: { tree: object({ kids: { type: "array", items: { $ref: "#/definitions/tree" } } }) },
    },
    allowed: [{ tree: { kids: [{ kids: [] }] } }],
    refused: [{ tree: { kids: [{ kids: 1 }] } }],
  },
  {
    name: "references that lead nowhere",
    schema: object({ a: { $ref: "https://example.org/a.json" }, b: { $ref: "#/$defs/none" } }),
    allowed: [{ a: 1, b: 2 }],
    unchecked: ["all of it"],
  },
  { name: "nothing at all", schema: {}, allowed: [{ a: 1 }] },
  { name: "what is no schema", schema: { type: "nonsense" }, allowed: [{ a: 1 }], unchecked: ["all of it"] },
  { name: "nesting without end", schema: nested(500), allowed: [{ a: 1 }], unchecked: ["all of it"] },
];

function nested(depth: number): JsonSchema {
  return depth === 0 ? {} : object({ a: nested(depth - 1) });
}

describe.each(rows)("$name", ({ schema, allowed, refused = [], unchecked }) => {
  const read = readSchema(schema);
  test("is read", () => {
    for (const value of allowed) expect(read.schema.safeParse(value)).toMatchObject({ success: true });
    for (const value of refused) expect(read.schema.safeParse(value)).toMatchObject({ success: false });
    if (unchecked !== undefined)
      for (const place of unchecked) expect(read.unchecked.join(" ")).toContain(place);
    const { $schema: _given, ...rest } = schema;
    const { $schema: _shown, ...shown } = jsonSchema(read.schema) as JsonSchema;
    expect(shown).toEqual(rest);
  });
});

test("a default of the server's is not put into what it is sent", () => {
  const { schema } = readSchema(object({ a: { type: "string", default: "x" } }));
  expect(schema.parse({})).toEqual({});
});

test("what a reader does with the schema it is shown changes nothing of the next reader's", () => {
  const { schema } = readSchema(object({ a: { type: "string" } }));
  (jsonSchema(schema) as { properties: object }).properties = {};
  expect(jsonSchema(schema)).toMatchObject({ properties: { a: {} } });
});
