/** Schema: what a zod schema says of a value and is as data. */
import { z } from "zod";
import { describeError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";

/** What a schema says of a value. A refinement that throws refuses like any other. */
export function readWith<S extends z.ZodType>(
  schema: S,
  value: unknown,
): { success: true; data: z.infer<S> } | { success: false; reason: string } {
  try {
    const parsed = schema.safeParse(value);
    return parsed.success
      ? { success: true, data: parsed.data }
      : { success: false, reason: z.prettifyError(parsed.error) };
  } catch (error) {
    return { success: false, reason: `its schema threw: ${describeError(error)}` };
  }
}

type Read<S extends z.ZodType> = ReturnType<typeof readWith<S>>;

/** The same for an output: JSON says null where a body returned nothing, which `z.void()` and `z.undefined()` do not take. */
export function readOutputWith<S extends z.ZodType>(schema: S, value: unknown): Read<S> {
  const read = readWith(schema, value);
  const nothing = read.success || value !== null ? read : readWith(schema, undefined);
  return nothing.success ? nothing : read;
}

/** What is meant by no data: an object of no members, where the schema takes that and not null. */
export const givenFor = (schema: z.ZodType, value: Json): Json =>
  value === null && !readWith(schema, value).success && readWith(schema, {}).success ? {} : value;

/** A schema as data, of what goes in, with what JSON Schema cannot say left open. */
export const jsonSchema = (schema: z.ZodType): unknown =>
  z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
