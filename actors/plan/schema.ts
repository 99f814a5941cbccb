/**
 * Plan schema: the schemas that a plan holds, made to read with. They hold no pattern, so reading takes no longer than
 * what is read is long.
 */
import { z } from "zod";
import { describeError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import type { PlainSchema } from "../../protocol/documents/plan.ts";

export function schemaOfPlan(schema: PlainSchema): { read: z.ZodType<Json> } | { fault: string } {
  try {
    const read = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
    read.safeParse({});
    return { read: read as z.ZodType<Json> }; // What it reads is JSON, and it changes nothing.
  } catch (error) {
    return { fault: `it cannot be read: ${describeError(error)}` };
  }
}

/** What of a value the schema names. */
export function named(value: Json, schema: PlainSchema): Json {
  const { properties, items } = schema;
  if (Array.isArray(value)) return items === undefined ? value : value.map((one) => named(one, items));
  if (typeof value !== "object" || value === null || properties === undefined) return value;
  return Object.fromEntries(
    Object.entries(properties).flatMap(([key, of]) => {
      const member = Object.hasOwn(value, key) ? value[key] : undefined;
      return member === undefined ? [] : [[key, named(member, of)]];
    }),
  );
}
