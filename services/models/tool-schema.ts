/**
 * Tool schemas as the providers take them.
 *
 * TS1 Narrowing only ever widens what a schema allows. The tool's own schema parses the input afterwards, so
 *     what is lost here costs a repair turn at worst, and never lets a bad input through.
 * TS2 Equal schemas give equal text: the tools stand in front of every prompt that a provider caches.
 */

type Schema = { readonly [key: string]: unknown };

/**
 * The schema without what an API refuses: the dialect's name, bounds that only say "a safe integer" or
 * "any number", and a union at the root, which becomes one object that has the members of all its branches.
 */
export function narrowSchema(schema: Schema): Schema & { readonly type: "object" } {
  const root = mergeBranches(schema, schema);
  return { ...(clean(root) as Schema), type: "object" };
}

function clean(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(clean);
  if (!isSchema(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, member]) => key !== "$schema" && !isEmptyBound(key, member))
      // Properties are named by the tool's author, who may call one "$schema" or "maximum".
      .map(([key, member]) => [
        key,
        namesProperties.has(key) ? mapMembers(member, clean) : isData.has(key) ? member : clean(member),
      ]),
  );
}

const namesProperties: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
]);
const isData: ReadonlySet<string> = new Set(["const", "enum", "default", "examples"]);
const bounds: ReadonlySet<string> = new Set(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]);

const isEmptyBound = (key: string, member: unknown): boolean =>
  bounds.has(key) && typeof member === "number" && Math.abs(member) >= Number.MAX_SAFE_INTEGER;

/** Nesting of unions and references in a root; more is a schema that refers to itself. */
const depthMax = 16;

/**
 * A schema whose root is `anyOf`, `oneOf`, `allOf` or a reference, as one object. A property is required if
 * every branch requires it (for `allOf`: if any does); its schema is what any branch allows.
 */
function mergeBranches(schema: Schema, root: Schema, depth = 0): Schema {
  if (depth > depthMax) return {};
  const { anyOf, oneOf, allOf, $ref, ...own } = schema;
  const parts = [own, ...schemas(allOf), ...(typeof $ref === "string" ? [resolve($ref, root)] : [])];
  for (const union of [schemas(anyOf), schemas(oneOf)])
    if (union.length > 0) parts.push(either(union.map((branch) => mergeBranches(branch, root, depth + 1))));
  return parts.length === 1
    ? own
    : both(
        own,
        parts.map((part) => (part === own ? own : mergeBranches(part, root, depth + 1))),
      );
}

/** What holds for an object of which all the parts hold, as far as one object can say it. One that is closed closes it. */
function both(own: Schema, parts: readonly Schema[]): Schema {
  const properties = mergeProperties(parts);
  const required = [...new Set(parts.flatMap(requiredOf))];
  return {
    ...own,
    properties,
    ...(required.length > 0 ? { required } : {}),
    ...(parts.some(isClosed) ? { additionalProperties: false } : {}),
  };
}

/** What holds for an object of which one of the branches holds. */
function either(branches: readonly Schema[]): Schema {
  const [first = {}, ...others] = branches;
  const required = requiredOf(first).filter((name) =>
    others.every((branch) => requiredOf(branch).includes(name)),
  );
  const closed = branches.every(isClosed) ? { additionalProperties: false } : {};
  return { properties: mergeProperties(branches), required, ...closed };
}

const isClosed = (schema: Schema): boolean => schema["additionalProperties"] === false;

function mergeProperties(parts: readonly Schema[]): Schema {
  const merged = new Map<string, unknown[]>();
  for (const part of parts)
    for (const [name, property] of Object.entries(isSchema(part["properties"]) ? part["properties"] : {})) {
      const known = merged.get(name) ?? [];
      const text = JSON.stringify(property);
      if (!known.some((other) => JSON.stringify(other) === text)) merged.set(name, [...known, property]);
    }
  return Object.fromEntries(
    [...merged].map(([name, variants]) => [name, variants.length === 1 ? variants[0] : { anyOf: variants }]),
  );
}

/** The schema that a reference within the same document names, or one that allows everything. */
function resolve(reference: string, root: Schema): Schema {
  const found = reference
    .replace(/^#\/?/, "")
    .split("/")
    .filter((step) => step !== "")
    .reduce<unknown>((value, step) => (isSchema(value) ? value[unescapeStep(step)] : undefined), root);
  return isSchema(found) ? found : {};
}

const unescapeStep = (step: string): string => step.replaceAll("~1", "/").replaceAll("~0", "~");

const requiredOf = (schema: Schema): readonly string[] =>
  Array.isArray(schema["required"]) ? schema["required"].filter((name) => typeof name === "string") : [];

const schemas = (value: unknown): readonly Schema[] => (Array.isArray(value) ? value.filter(isSchema) : []);

const mapMembers = (value: unknown, change: (member: unknown) => unknown): unknown =>
  isSchema(value)
    ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, change(member)]))
    : value;

const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);
