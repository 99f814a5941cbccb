/**
 * Sample: a value that a schema accepts, for a result that was never recorded.
 *
 * SA1 The same schema gives the same value, on every machine: it is made from numbered seeds, the first that fits.
 * SA2 A sample was read by the schema itself, refinements and all. Where no value made from the schema's JSON form
 *     passes, that is an error: a value that does not fit would look like a fault of the tool.
 */
import { generateSync, type GenerateOptions } from "json-schema-faker";
import { z } from "zod";
import { readWith } from "../../actors/values/schema.ts";
import { describeError, MeshError } from "../../protocol/errors.ts";
import { type Json, toJson } from "../../protocol/json.ts";

/** JSON Schema as zod writes it. */
type JsonSchema = { readonly [key: string]: unknown };

/**
 * A value that the schema accepts, as it stands before the schema reads it: what is optional is left out where that
 * may be, numbers that nothing bounds are small. Throws SAMPLE_IMPOSSIBLE where none is found.
 */
export function sampleOf(schema: z.ZodType | JsonSchema): Json {
  const { reads, shown } = formsOf(schema);
  for (let seed = 1; seed <= seedsMax; seed++) {
    const options: GenerateOptions = {
      seed,
      maxDepth: 8,
      // The plainest first; a refinement may want what is optional.
      ...(seed <= seedsMax / 2
        ? { optionalsProbability: 0, maxDefaultItems: 1 }
        : { alwaysFakeOptionals: true }),
    };
    try {
      const value = toJson(generateSync(shown, options));
      if (readWith(reads, value).success) return value;
    } catch {
      continue; // The generator gave up on this seed's way through the schema.
    }
  }
  throw impossible(`no value of ${seedsMax} made of its JSON Schema was accepted`);
}

/** A schema that rejects most of what has its shape would take thousands, and is better served by its author. */
const seedsMax = 200;

const impossible = (why: string, cause?: unknown): MeshError =>
  new MeshError("SAMPLE_IMPOSSIBLE", `no sample of the schema can be made: ${why}`, { cause });

const isZod = (schema: object): schema is z.ZodType => "_zod" in schema; // Of whichever copy of zod.

/** The schema that reads, and the same as JSON Schema of what it reads. */
function formsOf(schema: z.ZodType | JsonSchema): { reads: z.ZodType; shown: JsonSchema } {
  try {
    if (isZod(schema)) {
      const shown = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
      return { reads: schema, shown: withSmallNumbers(shown) as JsonSchema };
    }
    return { reads: z.fromJSONSchema(schema), shown: withSmallNumbers(schema) as JsonSchema };
  } catch (error) {
    throw impossible(describeError(error), error);
  }
}

/** Members of a schema that hold values, not schemas. */
const valued = new Set(["const", "enum", "default", "examples"]);

/** The schema with bounds where a number has none, or only those that every safe integer has. */
function withSmallNumbers(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withSmallNumbers);
  if (typeof schema !== "object" || schema === null) return schema;
  const members = Object.entries(schema).map(([name, member]: [string, unknown]) => [
    name,
    valued.has(name) ? member : withSmallNumbers(member),
  ]);
  const inner = Object.fromEntries(members) as Record<string, unknown>;
  return inner["type"] === "integer" || inner["type"] === "number" ? bounded(inner) : inner;
}

function bounded(schema: Record<string, unknown>): Record<string, unknown> {
  const low = boundOf(schema["minimum"]) ?? boundOf(schema["exclusiveMinimum"]);
  const high = boundOf(schema["maximum"]) ?? boundOf(schema["exclusiveMaximum"]);
  const minimum = low ?? (high === undefined || high > 0 ? 0 : high - spread);
  const maximum = high ?? (low === undefined || low < 0 ? spread : low + spread);
  return { ...schema, minimum, maximum };
}

const spread = 100;

/** A bound that says something: zod writes those of the safe integers for every integer. */
const boundOf = (value: unknown): number | undefined =>
  typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined;
