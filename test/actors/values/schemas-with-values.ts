/**
 * Schemas with values: random zod schemas, each with a value that it takes. For properties over all schemas.
 */
import fc from "fast-check";
import { z } from "zod";

type Closing = "strip" | "strict" | "loose" | "catchall";
/** A schema and a value of it. */
export type Pair = { readonly schema: z.ZodType; readonly value: unknown };

const name = fc.constantFrom("a", "b", "c", "d", "e");

const closedAs = (closing: Closing, shape: Record<string, z.ZodType>): z.ZodType =>
  ({
    strip: () => z.object(shape),
    strict: () => z.strictObject(shape),
    loose: () => z.looseObject(shape),
    catchall: () => z.object(shape).catchall(z.union([z.string(), z.object({ of: z.int().optional() })])),
  })[closing]();

const members = (pairs: Record<string, Pair>) => ({
  shape: Object.fromEntries(Object.entries(pairs).map(([key, { schema }]) => [key, schema])),
  value: Object.fromEntries(Object.entries(pairs).map(([key, { value }]) => [key, value])),
});

const leaf = (isOpen: boolean): fc.Arbitrary<Pair> =>
  fc.oneof(
    fc.string().map((value) => ({ schema: z.string(), value })),
    fc.integer().map((value) => ({ schema: z.int(), value })),
    ...(isOpen
      ? [fc.constantFrom(null, 1, "x", [1], { free: { x: 1 } }).map((value) => ({ schema: z.json(), value }))]
      : []),
  );

/** Schemas of all makes, of a union either option. What is open, and intersections, only where they are asked for. */
export const pairsWith = ({ open, intersections }: { open: boolean; intersections: boolean }) =>
  fc.letrec<{ pair: Pair; object: Pair }>((tie) => ({
    object: fc
      .tuple(
        fc.dictionary(name, tie("pair"), { maxKeys: 3 }),
        fc.constantFrom<Closing>(
          "strip",
          "strip",
          "strict",
          ...(open ? (["loose", "catchall"] as const) : []),
        ),
      )
      .map(([pairs, closing]) => {
        const { shape, value } = members(pairs);
        return { schema: closedAs(closing, shape), value };
      }),
    pair: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      leaf(open),
      tie("object"),
      fc.array(tie("pair"), { minLength: 1, maxLength: 3 }).map((all) => ({
        schema: z.tuple(all.map(({ schema }) => schema) as [z.ZodType]),
        value: all.map(({ value }) => value),
      })),
      tie("pair").map(({ schema, value }) => ({ schema: z.array(schema), value: [value] })),
      tie("pair").map(({ schema, value }) => ({ schema: z.lazy(() => schema.optional().nullable()), value })),
      tie("pair").map(({ schema, value }) => ({ schema: schema.readonly().refine(() => true), value })),
      fc.tuple(tie("pair"), tie("pair"), fc.boolean()).map(([one, other, isFirst]) => ({
        schema: z.union([one.schema, other.schema]),
        value: isFirst ? one.value : other.value,
      })),
      fc.tuple(tie("object"), tie("object"), fc.constantFrom("x", "y")).map(([x, y, kind]) => ({
        schema: z.discriminatedUnion("kind", [
          z.object({ kind: z.literal("x"), of: x.schema }),
          z.strictObject({ kind: z.literal("y"), of: y.schema }),
        ]),
        value: { kind, of: kind === "x" ? x.value : y.value },
      })),
      ...(open
        ? [
            tie("pair").map(({ schema, value }) => ({
              schema: z.record(z.string(), schema),
              value: { k1: value },
            })),
          ]
        : []),
      ...(intersections
        ? [
            fc.tuple(tie("object"), tie("object")).map(([one, other]) => ({
              schema: z.intersection(one.schema, other.schema),
              value: { ...(other.value as object), ...(one.value as object) },
            })),
          ]
        : []),
    ),
  })).pair;

/** Every object in a value, by its path. */
export const objectsIn = (value: unknown, path: readonly PropertyKey[] = []): (readonly PropertyKey[])[] => {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, one]) =>
    objectsIn(one, [...path, Array.isArray(value) ? Number(key) : key]),
  );
  return Array.isArray(value) ? inner : [path, ...inner];
};

/** The value with one member more in the object at the path. */
export const withMember = (value: unknown, path: readonly PropertyKey[], key: string): unknown => {
  const copy = structuredClone(value);
  const at = path.reduce((inner, step) => (inner as never)[step], copy);
  (at as Record<string, unknown>)[key] = { surplus: true };
  return copy;
};
