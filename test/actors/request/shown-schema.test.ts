/**
 * Goal: a model is never shown less than is taken, and is shown every closed object as closed. Method: random schemas
 * with random values, the shown schema read back by zod; corners by example.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { shownSchema } from "../../../actors/request/shown-schema.ts";
import { readWhole } from "../../../actors/values/whole.ts";
import { objectsIn, pairsWith, withMember } from "../values/schemas-with-values.ts";

const takes = (shown: Record<string, unknown>, value: unknown): boolean =>
  z.fromJSONSchema({ ...shown, $schema: "https://json-schema.org/draft/2020-12/schema" }).safeParse(value)
    .success;

describe("shownSchema", () => {
  test.each([
    { open: true, intersections: false },
    { open: false, intersections: true },
  ])("whatever is taken, the shown schema takes: %j", (kinds) => {
    let taken = 0;
    fc.assert(
      fc.property(pairsWith(kinds), fc.nat(), ({ schema, value }, at) => {
        const shown = shownSchema(schema);
        const paths = objectsIn(value);
        const path = paths[at % paths.length];
        for (const one of path === undefined ? [value] : [value, withMember(value, path, "more")]) {
          if (!readWhole(schema, one).success) continue;
          taken += 1;
          expect(takes(shown, one), JSON.stringify(shown)).toBe(true);
        }
      }),
      { numRuns: 120 },
    );
    expect(taken).toBeGreaterThan(60);
  });

  test("every object of a schema without open ones is shown closed, in unions and lists and behind wrappers", () => {
    const Inner = z.object({ x: z.string() });
    const shown = shownSchema(
      z.object({
        list: z.array(Inner),
        either: z.union([Inner, z.object({ y: z.int() }).optional().readonly()]),
        pair: z.tuple([Inner]),
        by: z.record(z.string(), Inner),
        joined: Inner.and(z.object({ z: Inner })),
        read: Inner.transform(({ x }) => x),
      }),
    );
    const open: string[] = [];
    const walk = (value: unknown, path: string): void => {
      if (typeof value !== "object" || value === null) return;
      if (
        "properties" in value &&
        (value as { additionalProperties?: unknown }).additionalProperties !== false
      )
        open.push(path);
      for (const [key, member] of Object.entries(value)) walk(member, `${path}/${key}`);
    };
    walk(shown, "");
    expect(open).toEqual([]);
  });

  test("the two sides of an intersection are shown as one closed object", () => {
    const shared = z
      .object({ at: z.object({ day: z.string() }) })
      .and(z.object({ at: z.object({ hour: z.int() }) }));
    expect(shownSchema(z.object({ a: z.string() }).and(shared))).toEqual({
      type: "object",
      properties: {
        a: { type: "string" },
        at: {
          type: "object",
          properties: {
            day: { type: "string" },
            hour: expect.objectContaining({ type: "integer" }) as unknown,
          },
          required: ["day", "hour"],
          additionalProperties: false,
        },
      },
      required: ["a", "at"],
      additionalProperties: false,
    });
  });

  test("what an author left open is shown open", () => {
    expect(shownSchema(z.looseObject({}))).toEqual(expect.objectContaining({ additionalProperties: {} }));
    expect(shownSchema(z.object({}).catchall(z.string()))).toEqual(
      expect.objectContaining({ additionalProperties: { type: "string" } }),
    );
  });

  test("a schema that refers to itself is shown, in an intersection with itself too", () => {
    interface Tree {
      a: string;
      in?: Tree | undefined;
    }
    const Tree: z.ZodType<Tree> = z.object({
      a: z.string(),
      get in(): z.ZodType<Tree | undefined> {
        return z.intersection(Tree, z.object({ a: z.string() })).optional();
      },
    });
    const shown = shownSchema(Tree);
    expect(takes(shown, { a: "x", in: { a: "y", in: { a: "z" } } })).toBe(true);
  });
});
