/**
 * Samples: values that a schema accepts.
 *
 * Method: every kind of schema that a tool's output is made of, read by the schema itself, twice.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { sampleOf } from "../../../services/app/sample.ts";

const Tree = z.object({
  name: z.string(),
  get children() {
    return z.array(Tree);
  },
});

const schemas: Record<string, z.ZodType> = {
  object: z.object({ id: z.string(), n: z.number(), left: z.int().min(5), more: z.string().optional() }),
  pattern: z.string().regex(/^[A-Z]{3}-\d{4}$/),
  email: z.email(),
  url: z.url(),
  uuid: z.uuid(),
  datetime: z.iso.datetime(),
  date: z.coerce.date(),
  enumeration: z.enum(["x", "y"]),
  union: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("a"), v: z.int() }),
    z.object({ kind: z.literal("b") }),
  ]),
  record: z.record(z.string(), z.number()),
  tuple: z.tuple([z.string(), z.int()]),
  intersection: z.intersection(z.object({ a: z.string() }), z.object({ b: z.number() })),
  recursive: Tree,
  nothing: z.null(),
  anything: z.json(),
  bounded: z.number().gt(0).lt(0.1),
  negative: z.int().negative(),
  long: z.string().min(50).max(51),
  several: z.array(z.string()).min(3),
  strict: z.strictObject({ x: z.int().nonnegative() }),
  transformed: z.string().transform((text) => text.length),
  refined: z.int().refine((n) => n % 7 === 3),
  refinedPresence: z.object({ a: z.string().optional() }).refine(({ a }) => a !== undefined),
};

describe("sampleOf", () => {
  test.each(Object.entries(schemas))(
    "%s: the schema reads its sample, and it is the same each time",
    (_, schema) => {
      const sample = sampleOf(schema);
      expect(schema.safeParse(sample).error).toBeUndefined();
      expect(sampleOf(schema)).toEqual(sample);
    },
  );

  test("of a JSON Schema as of the schema it was made of", () => {
    const schema = z.object({ id: z.string().min(3), kind: z.enum(["a", "b"]) });
    expect(schema.safeParse(sampleOf(z.toJSONSchema(schema))).error).toBeUndefined();
  });

  test("leaves out what is optional, and makes no number large that nothing bounds", () => {
    const sample = sampleOf(z.object({ n: z.number(), i: z.int(), more: z.string().optional() }));
    expect(sample).toEqual({ n: expect.any(Number), i: expect.any(Number) });
    for (const value of Object.values(sample as Record<string, number>)) {
      expect(value).toBeGreaterThanOrEqual(0);
      expect(value).toBeLessThanOrEqual(100);
    }
  });

  test.each([
    ["nothing", z.never()],
    ["a secret", z.string().refine((text) => text === "open sesame")],
    [
      "a refinement that throws",
      z.string().refine(() => {
        throw new Error("no");
      }),
    ],
  ])("a schema that accepts %s has none, and says so with a code", (_, schema) => {
    expect(() => sampleOf(schema)).toThrow(expect.objectContaining({ code: "SAMPLE_IMPOSSIBLE" }));
  });
});
