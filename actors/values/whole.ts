/**
 * Whole: a value read by a schema that may not leave any of it out. zod drops members that an object does not declare
 * without a word, and what a model says of `hours` where `forMs` is meant would be lost.
 *
 * VW1 A value is refused if its schema refuses it, or if reading it would lose a member. An object that its author
 *     left open (`z.looseObject`, `.catchall`, `z.record`, any JSON) loses none: that is how a tool opts out.
 * VW2 What is behind a function (`z.preprocess`, a custom schema) is not looked into: what it takes only it knows.
 * VW3 Of a union that option counts by which zod reads the value, the first that fits, even if a later one would have
 *     kept more: what the tool is given is what zod reads.
 */
import { z } from "zod";
import { describeError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import { didYouMean } from "../../protocol/nearest.ts";

/** A member that a schema would leave out. */
export interface UnknownMember {
  readonly path: readonly PropertyKey[];
  /** What stands beside it in the schema. */
  readonly known: readonly string[];
}

/**
 * What a schema says of a value, all of it (VW1). The reason names each unknown member with its path, the members
 * there are, and the one that was likely meant. A refinement that throws refuses like any other. What the value that is
 * changed held `before` (code may give more than a schema asks for) is no mistake of who changes it.
 */
export function readWhole<S extends z.ZodType>(
  schema: S,
  value: unknown,
  before?: unknown,
): { success: true; data: z.infer<S> } | { success: false; reason: string } {
  try {
    const parsed = schema.safeParse(value);
    const known = before === undefined ? [] : unknownMembers(schema, before);
    const unknown = unknownMembers(schema, value).filter(
      ({ path }) => !known.some((one) => isSame(one.path, path)),
    );
    if (parsed.success && unknown.length === 0) return { success: true, data: parsed.data };
    const issues = unknown.map(issueOf);
    const others = (parsed.error?.issues ?? []).filter((issue) => !isRetold(issue, unknown));
    return {
      success: false,
      reason: z.prettifyError({ issues: [...issues, ...others] as z.core.$ZodIssue[] }),
    };
  } catch (error) {
    return { success: false, reason: `its schema threw: ${describeError(error)}` };
  }
}

/** zod's own word of the same members has neither their neighbours nor the likely one. */
const isRetold = ({ code, path }: z.core.$ZodIssue, unknown: readonly UnknownMember[]): boolean =>
  (code === "unrecognized_keys" && unknown.some((one) => isSame(one.path.slice(0, -1), path))) ||
  (code === "invalid_union" && unknown.some((one) => isSame(one.path.slice(0, path.length), path)));

const isSame = (one: Path, other: Path): boolean =>
  one.length === other.length && one.every((key, k) => key === other[k]);

/** So many of an object's members are told; more would hide the rest of the message. */
const knownToldMax = 12;

function issueOf({ path, known }: UnknownMember): { path: PropertyKey[]; message: string } {
  const name = String(path.at(-1));
  const told = known.slice(0, knownToldMax).join(", ") + (known.length > knownToldMax ? ", …" : "");
  const there = known.length === 0 ? "no member is known here" : `known here: ${told}`;
  return {
    path: path.slice(0, -1),
    message: `Unknown member "${name}"${didYouMean(name, known)} (${there})`,
  };
}

/** The members of a value that its schema would leave out or refuses for their names. Throws what a refinement throws. */
export function unknownMembers(schema: z.ZodType, value: unknown): UnknownMember[] {
  return isOpen(schema) ? [] : lost(schema, value, []);
}

type Path = readonly PropertyKey[];
type Def = z.core.$ZodTypes["_zod"]["def"];

const defOf = (schema: z.core.$ZodType): Def => (schema as z.core.$ZodTypes)._zod.def;

function lost(schema: z.core.$ZodType, value: unknown, path: Path): UnknownMember[] {
  if (typeof value !== "object" || value === null) return [];
  const def = defOf(schema);
  switch (def.type) {
    case "object":
      return lostOfObject(def, value, path);
    case "array":
      return Array.isArray(value) ? value.flatMap((one, k) => lost(def.element, one, [...path, k])) : [];
    case "tuple":
      return Array.isArray(value)
        ? value.flatMap((one, k) => {
            const item = def.items[k] ?? def.rest;
            return item === null ? [] : lost(item, one, [...path, k]);
          })
        : [];
    case "record":
      return lostOfRecord(def, value, path);
    case "union":
      return isOpen(schema) ? [] : lostOfUnion(def.options, value, path);
    case "intersection":
      return lostToBoth(lost(def.left, value, path), lost(def.right, value, path));
    default:
      return insideOf(def).flatMap((inner) => lost(inner, value, path));
  }
}

function lostOfObject({ shape, catchall }: z.core.$ZodObjectDef, value: object, path: Path): UnknownMember[] {
  if (Array.isArray(value)) return [];
  const isClosed = catchall === undefined || defOf(catchall).type === "never";
  return Object.entries(value).flatMap(([key, one]) => {
    const inner =
      Object.hasOwn(shape, key) && key !== "__proto__" ? shape[key] : isClosed ? undefined : catchall;
    return inner === undefined || key === "__proto__"
      ? [{ path: [...path, key], known: Object.keys(shape) }]
      : lost(inner, one, [...path, key]);
  });
}

/** Keys that are listed are members like those of an object; what other keys there may be zod says itself. */
function lostOfRecord(
  { keyType, valueType, mode }: z.core.$ZodRecordDef,
  value: object,
  path: Path,
): UnknownMember[] {
  const { values } = keyType._zod;
  const known = values && mode !== "loose" ? [...values].map(String) : undefined;
  return Object.entries(value).flatMap(([key, one]) =>
    known?.includes(key) === false ? [{ path: [...path, key], known }] : lost(valueType, one, [...path, key]),
  );
}

/** VW3. Where none fits, the option that would fit but for its unknown members, if there is one. */
function lostOfUnion(options: readonly z.core.$ZodType[], value: object, path: Path): UnknownMember[] {
  const taken = options.find((option) => z.safeParse(option, value).success);
  if (taken !== undefined) return lost(taken, value, path);
  for (const option of options) {
    const unknown = lost(option, value, []);
    if (unknown.length === 0) continue;
    if (
      z.safeParse(
        option,
        unknown.reduce<unknown>((left, one) => without(left, one.path), value),
      ).success
    )
      return unknown.map((one) => ({ ...one, path: [...path, ...one.path] }));
  }
  return [];
}

/** Without what is at the path; only what leads there is copied, for it may hold functions. */
function without(value: unknown, [key = "", ...rest]: Path): unknown {
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }) as Record<
    PropertyKey,
    unknown
  >;
  if (rest.length === 0) delete copy[key];
  else copy[key] = without(copy[key], rest);
  return copy;
}

/** Of an intersection a member is lost if neither side keeps it; what is inside a lost one is lost with it. */
function lostToBoth(left: readonly UnknownMember[], right: readonly UnknownMember[]): UnknownMember[] {
  const covered = (one: UnknownMember, others: readonly UnknownMember[]) =>
    others.find(({ path }) => path.every((key, k) => one.path[k] === key));
  const both = new Map<string, UnknownMember>();
  for (const [mine, others] of [
    [left, right],
    [right, left],
  ] as const)
    for (const one of mine) {
      const other = covered(one, others);
      if (other === undefined) continue;
      const known = other.path.length === one.path.length ? [...one.known, ...other.known] : one.known;
      both.set(JSON.stringify(one.path), { path: one.path, known: [...new Set(known)] });
    }
  return [...both.values()];
}

/** What a wrapper wraps, and of a pipe what comes in first. VW2. */
function insideOf(def: Def): readonly z.core.$ZodType[] {
  switch (def.type) {
    case "optional":
    case "nullable":
    case "nonoptional":
    case "default":
    case "prefault":
    case "catch":
    case "readonly":
    case "success":
    case "promise":
      return [def.innerType];
    case "pipe":
      return [def.in];
    case "lazy":
      return [def.getter()];
    default:
      return [];
  }
}

/** Whether no closed object is anywhere in a schema, so that no value can lose a member: any JSON, for example. */
function isOpen(root: z.core.$ZodType): boolean {
  const known = openness.get(root);
  if (known !== undefined) return known;
  const all = new Set<z.core.$ZodType>([root]);
  let isAny = true;
  for (const schema of all) {
    const def = defOf(schema);
    if (def.type === "object" && (def.catchall === undefined || defOf(def.catchall).type === "never")) {
      isAny = false;
      break;
    }
    for (const inner of [...insideOf(def), ...partsOf(def)]) all.add(inner);
  }
  openness.set(root, isAny);
  return isAny;
}

/** Schemas do not change, and the same ones are asked about at every step of every saga. */
const openness = new WeakMap<z.core.$ZodType, boolean>();

function partsOf(def: Def): readonly z.core.$ZodType[] {
  switch (def.type) {
    case "object":
      return [...Object.values(def.shape), ...(def.catchall === undefined ? [] : [def.catchall])];
    case "array":
      return [def.element];
    case "tuple":
      return [...def.items, ...(def.rest === null ? [] : [def.rest])];
    case "record":
      return [def.valueType];
    case "union":
      return def.options;
    case "intersection":
      return [def.left, def.right];
    default:
      return [];
  }
}

/** The value without the members that its schema would leave out; the value itself where that is none. */
export function withoutUnknown(schema: z.ZodType, value: Json): Json {
  const unknown = unknownMembers(schema, value);
  if (unknown.length === 0) return value;
  const gone = new Set(unknown.map(({ path }) => JSON.stringify(path)));
  const less = (part: Json, path: readonly PropertyKey[]): Json => {
    if (Array.isArray(part)) return part.map((one, k) => less(one, [...path, k]));
    if (typeof part !== "object" || part === null) return part;
    return Object.fromEntries(
      Object.entries(part).flatMap(([key, one]) => {
        const own = [...path, key];
        return gone.has(JSON.stringify(own)) ? [] : [[key, less(one, own)] as const];
      }),
    );
  };
  return less(value, []);
}
