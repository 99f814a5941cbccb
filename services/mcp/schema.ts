/**
 * Schema: a server's JSON Schema as a schema of ours.
 *
 * SH1 A model is shown the server's own schema, word for word, and the definition's hash covers it.
 * SH2 The check only ever widens what the schema allows: the server checks for itself, and what is refused here would
 *     never reach it. What is not checked is told.
 * SH3 The check runs where sagas are decided, on texts of a model. So no pattern of a server's is run there: one that
 *     backtracks would stop the host.
 */
import { z } from "zod";

export type JsonSchema = { readonly [key: string]: unknown };

export interface ReadSchema {
  readonly schema: z.ZodType;
  /** Paths and keywords that are not checked. */
  readonly unchecked: readonly string[];
}

/** Reads a schema of a server. Never throws: what cannot be read at all is an object of anything. */
export function readSchema(given: JsonSchema): ReadSchema {
  const unchecked: string[] = [];
  let schema: z.ZodType;
  try {
    const widened = widen(given, "", unchecked, 0) as JsonSchema;
    schema = z.fromJSONSchema({ ...widened, $schema: "https://json-schema.org/draft/2020-12/schema" });
    schema.safeParse({}); // A reference that leads nowhere, or for ever, is found out now.
  } catch {
    unchecked.push("all of it");
    schema = z.looseObject({});
  }
  return { schema: shownAs(schema, given), unchecked };
}

/** SH1. A schema of its own, so that what zod shares stays as it is. */
function shownAs(schema: z.ZodType, given: JsonSchema): z.ZodType {
  const shown = z.lazy(() => schema);
  const { $schema: _dialect, ...rest } = given;
  shown._zod.toJSONSchema = () => structuredClone(rest);
  return shown;
}

/** Keywords that zod cannot check, or that SH3 forbids. */
const dropped: ReadonlySet<string> = new Set([
  ...["not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties", "dependentSchemas"],
  ...["dependentRequired", "dependencies", "pattern", "patternProperties", "propertyNames", "format"],
  ...["contains", "minContains", "maxContains", "$dynamicRef", "contentSchema"],
]);
/** Says nothing about what is valid. `default` would change what the server is sent. */
const silent: ReadonlySet<string> = new Set([
  ...["default", "$schema", "$id", "id", "title", "description", "examples", "$comment", "deprecated"],
  ...["readOnly", "writeOnly"],
]);
const named: ReadonlySet<string> = new Set(["properties", "$defs"]);
const listed: ReadonlySet<string> = new Set(["anyOf", "allOf", "prefixItems"]);
const single: ReadonlySet<string> = new Set(["items", "additionalProperties"]);
const depthMax = 60;

function widen(value: unknown, path: string, unchecked: string[], depth: number): unknown {
  if (typeof value !== "object" || value === null) return value; // `true` and `false` are schemas, too.
  if (depth > depthMax) throw new RangeError("too deep");
  const { definitions, ...given } = value as Record<string, unknown>;
  const schema: Record<string, unknown> =
    definitions === undefined
      ? given
      : { ...given, $defs: { ...(definitions as object), ...(given["$defs"] as object) } };
  const wide: Record<string, unknown> = {};
  const inside = (key: string, member: unknown) => widen(member, `${path}/${key}`, unchecked, depth + 1);
  for (const [key, member] of Object.entries(schema)) {
    if (silent.has(key)) continue;
    if (dropped.has(key)) unchecked.push(`${path}/${key}`);
    else if (key === "$ref") wide["$ref"] = localRef(member, path, unchecked);
    else if (key === "oneOf")
      wide["anyOf"] = (member as unknown[]).map((one, i) => inside(`oneOf/${i}`, one));
    else if (listed.has(key)) wide[key] = (member as unknown[]).map((one, i) => inside(`${key}/${i}`, one));
    else if (single.has(key)) wide[key] = Array.isArray(member) ? {} : inside(key, member);
    else if (named.has(key))
      wide[key] = Object.fromEntries(
        Object.entries(member as object).map(([name, one]) => [name, inside(`${key}/${name}`, one)]),
      );
    else if ((key === "enum" || key === "const") && holdsObject(key, member))
      unchecked.push(`${path}/${key}`);
    else wide[key] = member;
  }
  if (wide["$ref"] === undefined) delete wide["$ref"];
  // Keys that only a pattern allows would be refused without it.
  if (schema["patternProperties"] !== undefined) delete wide["additionalProperties"];
  if (schema["nullable"] === true && typeof wide["type"] === "string") wide["type"] = [wide["type"], "null"];
  return wide;
}

function localRef(ref: unknown, path: string, unchecked: string[]): unknown {
  if (typeof ref === "string" && (ref === "#" || /^#\/(\$defs|definitions)\/[^/]+$/.test(ref)))
    return ref.replace("#/definitions/", "#/$defs/");
  unchecked.push(`${path}/$ref`);
  return undefined;
}

/** zod compares constants by identity. */
const holdsObject = (key: "enum" | "const", constant: unknown): boolean =>
  (key === "enum" && Array.isArray(constant) ? constant : [constant]).some(
    (one) => typeof one === "object" && one !== null,
  );
