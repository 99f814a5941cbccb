/** Schema: what a zod schema says of a value and is as data. */
import { z } from "zod";
import { describeError } from "../../protocol/errors.ts";

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

/** A schema as data, of what goes in, with what JSON Schema cannot say left open. */
export const jsonSchema = (schema: z.ZodType): unknown =>
  z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
