/**
 * Plan witness: a few values that a schema takes, chosen so that each thing that a reader may not take is in one of them:
 * each branch of a union, each optional member absent, each value of an enum, each bound.
 *
 * OW1 What a schema does not say is left open: no failure at an open place says anything of the schema.
 */
import { z } from "zod";
import type { Json } from "../../protocol/json.ts";
import { asSchema } from "./catalogue.ts";

export type Path = readonly (string | number)[];

/** A value, and what of it is no word of the schema's. */
export interface Witness {
  readonly value: Json;
  /** OW1. Places where it could be anything. */
  readonly open: readonly Path[];
  /** Places where it is one of very many: that this one is not taken says nothing of the others. */
  readonly sampled: readonly Path[];
  /** Places that stand for how many there are alone: others tell what is taken there. */
  readonly filled?: readonly Path[];
}

/** By JSON Schema's name of it, a text of each format that is told from the others by its form alone. */
export const formatExamples: Readonly<Record<string, string>> = {
  email: "ada@example.com",
  uuid: "123e4567-e89b-42d3-a456-426614174000",
  "date-time": "2026-01-31T10:00:00Z",
  date: "2026-01-31",
  time: "10:00:00",
  uri: "https://example.com/a",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
};

/** Most of one schema; one that has more could be anything, for what is left out could be what is taken. */
const most = 500;
const deep = 8;
const long = 65;

/** None where the schema takes nothing, or nothing of it is known. The first is an ordinary one. */
export const witnessesOf = (schema: Json | undefined): Witness[] => of(schema, [], 0);

const anything = (at: Path): Witness[] => [{ value: null, open: [at], sampled: [] }];
const bounded = (all: Witness[], at: Path): Witness[] => (all.length > most ? anything(at) : all);
const sampled = (at: Path, values: readonly Json[]): Witness[] =>
  values.map((value) => ({ value, open: [], sampled: [at] }));
const exactly = (values: readonly Json[]): Witness[] =>
  values.map((value) => ({ value, open: [], sampled: [] }));

function of(schema: Json | undefined, at: Path, depth: number): Witness[] {
  const known = asSchema(schema);
  if (known === undefined || depth > deep) return anything(at);
  const { const: only, enum: values, anyOf, oneOf, allOf, type } = known;
  if (only !== undefined) return exactly([only]);
  if (Array.isArray(values)) return bounded(exactly(values), at);
  const options = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined;
  if (options !== undefined && type === undefined)
    return bounded(
      options.flatMap((one) => of(one, at, depth + 1)),
      at,
    );
  if (options !== undefined || allOf !== undefined) return anything(at);
  if (Array.isArray(type))
    return bounded(
      type.flatMap((one) => of({ ...known, type: one }, at, depth)),
      at,
    );
  switch (type) {
    case "null":
      return exactly([null]);
    case "boolean":
      return exactly([true, false]);
    case "string":
      return texts(known, at);
    case "number":
    case "integer":
      return numbers(known, at);
    case "array":
      return lists(known, at, depth);
    case "object":
      return bounded(objects(known, at, depth), at);
    default:
      return anything(at);
  }
}

type Schema = Readonly<Record<string, Json>>;
const numberIn = (schema: Schema, key: string): number | undefined => {
  const value = schema[key];
  return typeof value === "number" ? value : undefined;
};

/** What the schema takes of what is proposed; where it is none, it could be anything. */
function taken(schema: Schema, at: Path, values: readonly Json[]): Witness[] {
  const fit = [...new Set(values)].filter((value) => takes(schema, value));
  return fit.length === 0 ? anything(at) : sampled(at, fit);
}

function texts(schema: Schema, at: Path): Witness[] {
  const { format } = schema;
  const example =
    typeof format === "string" && Object.hasOwn(formatExamples, format) ? formatExamples[format] : undefined;
  if (example !== undefined) return taken(schema, at, [example]);
  const least = Math.min(numberIn(schema, "minLength") ?? 0, 1000);
  const greatest = Math.min(numberIn(schema, "maxLength") ?? 1000, 1000);
  return taken(schema, at, [
    "text".slice(0, greatest).padEnd(least, "x"),
    "x".repeat(least),
    "x".repeat(greatest),
  ]);
}

function numbers(schema: Schema, at: Path): Witness[] {
  const least =
    numberIn(schema, "minimum") ?? numberIn(schema, "exclusiveMinimum") ?? Number.MIN_SAFE_INTEGER;
  const greatest =
    numberIn(schema, "maximum") ?? numberIn(schema, "exclusiveMaximum") ?? Number.MAX_SAFE_INTEGER;
  const some = Math.min(Math.max(1, Math.ceil(least)), Math.floor(greatest));
  const halves = schema["type"] === "integer" ? [] : [some + 0.5, some - 0.5];
  const bounds = [least, greatest, Math.ceil(least) + 1, Math.floor(greatest) - 1];
  return taken(schema, at, [some, ...halves, ...bounds, 0, numberIn(schema, "multipleOf") ?? 0]);
}

function lists(schema: Schema, at: Path, depth: number): Witness[] {
  const { prefixItems, items } = schema;
  if (Array.isArray(prefixItems))
    return varied(
      prefixItems.map((one, k) => [k, one, false] as const),
      at,
      depth,
      true,
    );
  const least = numberIn(schema, "minItems") ?? 0;
  const greatest = numberIn(schema, "maxItems") ?? long;
  const count = Math.min(Math.max(1, least), greatest);
  const times = (item: Witness, n: number): Witness => ({
    value: Array.from({ length: n }, () => item.value),
    open: Array.from({ length: n }, (_, k) => moved(item.open, at, k)).flat(),
    sampled: [at, ...Array.from({ length: n }, (_, k) => moved(item.sampled, at, k)).flat()],
    filled: Array.from({ length: n }, (_, k) => moved(item.filled ?? [], at, k)).flat(),
  });
  const each = of(items, [...at, 0], depth + 1);
  const [first] = each;
  if (first === undefined) return least === 0 ? exactly([[]]) : [];
  const ordinary = count === 0 ? [times(first, 0)] : each.map((item) => times(item, count));
  const lengths = [least, Math.min(greatest, long)].filter((n) => n !== count && n <= long);
  // Of the items the ordinary ones tell; these are about how many there are.
  const many = lengths.map((n): Witness => ({
    value: Array.from({ length: n }, () => first.value),
    open: [],
    sampled: [at],
    filled: Array.from({ length: n }, (_, k) => [...at, k]),
  }));
  return bounded([...ordinary, ...many], at);
}

/** Of places below the first item, the same below the k-th. */
const moved = (paths: readonly Path[], at: Path, k: number): Path[] =>
  paths.map((path) => [...at, k, ...path.slice(at.length + 1)]);

function objects(schema: Schema, at: Path, depth: number): Witness[] {
  const { properties, additionalProperties, required } = schema;
  const members = Object.entries(asSchema(properties) ?? {});
  const needed = new Set(Array.isArray(required) ? required : []);
  if (members.length > 0 || properties !== undefined)
    return varied(
      members.map(
        ([key, one]) => [key, one, !needed.has(key) && asSchema(one)?.["default"] === undefined] as const,
      ),
      at,
      depth,
      false,
    );
  if (asSchema(additionalProperties) === undefined || schema["propertyNames"] === undefined)
    return anything(at);
  return [...varied([["key", additionalProperties, false]], at, depth, false), ...exactly([{}])];
}

/** One with the first of each member, then each member's others and its absence, one at a time. */
function varied(
  members: readonly (readonly [key: string | number, schema: Json | undefined, mayLack: boolean])[],
  at: Path,
  depth: number,
  isList: boolean,
): Witness[] {
  const each = members.map(([key, schema, mayLack]) => ({
    key,
    mayLack,
    all: of(schema, [...at, key], depth + 1),
  }));
  if (each.some(({ all, mayLack }) => all.length === 0 && !mayLack)) return [];
  const made = (chosen: readonly (Witness | undefined)[]): Witness => {
    const there = each.flatMap(({ key }, k) => (chosen[k] === undefined ? [] : [[key, chosen[k]] as const]));
    return {
      value: isList
        ? there.map(([, one]) => one.value)
        : Object.fromEntries(there.map(([key, one]) => [key, one.value])),
      open: there.flatMap(([, one]) => one.open),
      sampled: there.flatMap(([, one]) => one.sampled),
      filled: there.flatMap(([, one]) => one.filled ?? []),
    };
  };
  const base = each.map(({ all }) => all[0]);
  const others = each.flatMap(({ all, mayLack }, k) =>
    [...all.slice(1), ...(mayLack && all.length > 0 ? [undefined] : [])].map((one) => base.with(k, one)),
  );
  return [base, ...others].map(made);
}

/** Whether a schema takes a value, as the runtime reads it; one that cannot be read takes none. */
function takes(schema: Schema, value: Json): boolean {
  try {
    return z.fromJSONSchema(schema).safeParse(value).success;
  } catch {
    return false;
  }
}
