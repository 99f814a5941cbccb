/**
 * Goal: a value is refused exactly if its schema refuses it or would leave a part of it out, and the message says what
 * to do. Method: random schemas with random values, against what zod makes of them; messages by example.
 */
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { objectsIn, pairsWith, withMember } from "./schemas-with-values.ts";
import { readWhole, unknownMembers } from "../../../actors/values/whole.ts";

/** What zod makes of it: undefined where it refuses, or two sides of an intersection cannot be joined. */
const read = (schema: z.ZodType, value: unknown): { readonly data: unknown } | undefined => {
  try {
    const parsed = schema.safeParse(value);
    return parsed.success ? { data: parsed.data } : undefined;
  } catch {
    return undefined;
  }
};

const isTakenWhole = (schema: z.ZodType, value: unknown): boolean => {
  const taken = read(schema, value);
  return taken !== undefined && isDeepStrictEqual(taken.data, value);
};

describe("readWhole", () => {
  test("a value is taken exactly if its schema takes it without loss", () => {
    let lossy = 0;
    fc.assert(
      fc.property(
        pairsWith({ open: true, intersections: true }),
        fc.nat(),
        fc.constantFrom("surplus", "a", "e"),
        ({ schema, value }, at, key) => {
          expect(readWhole(schema, value).success).toBe(isTakenWhole(schema, value));
          const paths = objectsIn(value);
          if (paths.length === 0) return;
          const more = withMember(value, paths[at % paths.length] ?? [], key);
          expect(readWhole(schema, more).success).toBe(isTakenWhole(schema, more));
          if (read(schema, more) !== undefined && !isTakenWhole(schema, more)) lossy += 1;
        },
      ),
      { numRuns: 600 },
    );
    expect(lossy).toBeGreaterThan(20);
  });

  test("one more member of a closed object, however deep, is refused with its path", () => {
    const step = fc.constantFrom("object", "array", "optional", "record", "union", "intersection", "pipe");
    fc.assert(
      fc.property(fc.array(step, { maxLength: 6 }), (steps) => {
        let schema: z.ZodType = z.object({ known: z.string() });
        let value: unknown = { known: "yes" };
        let more: unknown = { known: "yes", knwon: "no" };
        let path: PropertyKey[] = ["knwon"];
        for (const kind of steps) {
          const inner = schema;
          const put = (key: PropertyKey, wrap: (value: unknown) => unknown) => {
            [value, more, path] = [wrap(value), wrap(more), [key, ...path]];
          };
          if (kind === "object") put("in", (one) => ({ in: one }));
          if (kind === "array") put(0, (one) => [one]);
          if (kind === "record") put("k", (one) => ({ k: one }));
          if (kind === "intersection") put("in", (one) => ({ in: one, other: 1 }));
          schema = {
            object: () => z.object({ in: inner }),
            array: () => z.array(inner),
            optional: () => inner.optional().default({}),
            record: () => z.record(z.string(), inner),
            union: () => z.union([z.string(), inner, z.number()]),
            intersection: () => z.intersection(z.object({ in: inner }), z.strictObject({ other: z.int() })),
            pipe: () => inner.transform((read) => ({ read })),
          }[kind]();
        }
        expect(readWhole(schema, value).success).toBe(true);
        expect(readWhole(schema, more).success).toBe(false);
        expect(unknownMembers(schema, more)).toEqual([{ path, known: ["known"] }]);
      }),
    );
  });

  const Wait = z.object({ signals: z.array(z.string()).optional(), forMs: z.int().optional() });

  test("the message names the member, its path, its neighbours and the one that was meant", () => {
    const said = readWhole(z.object({ wait: z.array(Wait) }), { wait: [{ signals: ["a"], formMs: 5 }] });
    expect(said).toEqual({
      success: false,
      reason: '✖ Unknown member "formMs"; did you mean "forMs"? (known here: signals, forMs)\n  → at wait[0]',
    });
  });

  test("what else is wrong is told beside it, and an unknown member only once", () => {
    const said = readWhole(z.strictObject({ guest: z.string(), cents: z.int() }), {
      gest: "ana",
      cents: "1",
    });
    expect(said.success).toBe(false);
    if (said.success) return;
    expect(said.reason).toContain('"gest"; did you mean "guest"?');
    expect(said.reason).toContain("→ at guest");
    expect(said.reason).toContain("→ at cents");
    expect(said.reason).not.toContain("Unrecognized");
  });

  test("of a union that no option takes, the member is named that keeps one from fitting", () => {
    const schema = z.union([z.strictObject({ a: z.int() }), z.strictObject({ city: z.string() })]);
    const said = readWhole(z.object({ in: schema }), { in: { city: "bern", zipp: 1 } });
    expect(said).toEqual({
      success: false,
      reason: '✖ Unknown member "zipp" (known here: city)\n  → at in',
    });
  });

  test("a value of any JSON costs one look at the schema, however deep it is", () => {
    let deep: unknown = 1;
    for (let k = 0; k < 50; k++) deep = { in: [deep] };
    expect(readWhole(z.object({ any: z.json() }), { any: deep }).success).toBe(true);
    expect(unknownMembers(z.json(), deep)).toEqual([]);
  });

  test("a key that no object may have is unknown even where the object is open", () => {
    const value = JSON.parse('{"__proto__": {"admin": true}, "x": {}}') as unknown;
    expect(unknownMembers(z.object({ x: z.json() }), value)).toEqual([{ path: ["__proto__"], known: ["x"] }]);
    expect(readWhole(z.union([z.string(), z.looseObject({ x: z.object({}) })]), value).success).toBe(false);
  });
});
