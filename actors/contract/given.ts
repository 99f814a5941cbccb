/**
 * Given: what an author gave to one of the `define` functions, against what it takes. TypeScript checks most of it, and
 * nothing does for plain JavaScript.
 *
 * GY1 Every member that is missing, unknown or of the wrong kind is a fault with the name of what it is of, all at once.
 * GY2 Reading never throws. What cannot be read is replaced by something that can, so that the other faults are found,
 *     too; a definition with faults is never served.
 */
import { z } from "zod";
import { didYouMean } from "../../protocol/nearest.ts";
import { unknownMembers } from "../values/whole.ts";

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const has = (value: unknown, kind: string, ...objects: readonly string[]): boolean =>
  isObject(value) && value["kind"] === kind && objects.every((member) => isObject(value[member]));

const isTool = (value: unknown): boolean => has(value, "tool", "input", "output", "retry");
const isSaga = (value: unknown): boolean => has(value, "saga", "definition");

/** A schema of zod 4; an older one has no `_zod`. */
export const aSchema = z.custom<object>(
  (value) => isObject(value) && isObject(value["_zod"]) && typeof value["safeParse"] === "function",
  "expected a schema of zod 4",
);
/** Any function; what it takes and gives is found out when it is called. */
export const aFunction = z.custom<object>((value) => typeof value === "function", "expected a function");
/** What `defineTool` made. */
export const aTool = z.custom<object>(isTool, "expected what defineTool made");
/** What `defineSaga`, `defineAgent` or `defineWorkflow` made. */
export const aSaga = z.custom<object>(isSaga, "expected what defineSaga, defineAgent or defineWorkflow made");
/** A tool or a saga. */
export const aCallable = z.custom<object>(
  (value) => isTool(value) || isSaga(value),
  "expected what defineTool, defineSaga, defineAgent or defineWorkflow made",
);
/** What `definePolicy` made. */
export const aPolicy = z.custom<object>(
  (value) => isObject(value) && typeof value["name"] === "string" && typeof value["judge"] === "function",
  "expected what definePolicy made",
);
/** An object whose members are read elsewhere. */
export const anObject = z.custom<object>(isObject, "expected an object");
/** Signals by their names. */
export const signalSchemas = z.record(z.string(), aSchema);

type Shape = z.ZodObject<Record<string, z.ZodType>>;

/** What of it can be read, in the author's own type, and what is wrong with the rest, each fault a sentence. */
export interface Given<C> {
  readonly config: C;
  readonly faults: string[];
}

/**
 * Reads a configuration. `instead` has what stands in for members that must be there. The values themselves are left as
 * they were given: functions and schemas keep their identity.
 */
export function readGiven<C extends object>(
  what: string,
  shape: Shape,
  given: C,
  instead: Partial<C>,
): Given<C> {
  const untyped: unknown = given; // Of plain JavaScript, it may be anything.
  const named = isObject(untyped) ? untyped : {};
  const where = typeof named["name"] === "string" ? `${what} ${named["name"]}` : what;
  if (!isObject(untyped))
    return { config: instead as C, faults: [`${where}: it takes one object, not ${shown(untyped)}`] };
  const faults = unknownMembers(shape, configIn(untyped)).map(({ path, known }) => {
    const near = didYouMean(String(path.at(-1)), known);
    return `${where}: there is no "${path.join(".")}"${near === "" ? `; there is ${known.join(", ")}` : near}`;
  });
  const config: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries(shape.shape)) {
    const value = untyped[key];
    const issues = issuesOf(schema, value);
    faults.push(...issues.map((issue) => faultOf(where, [key, ...issue.path], untyped, issue.message)));
    const sound = issues.length === 0 ? value : readable(schema, value);
    const taken = sound ?? (instead as Record<string, unknown>)[key];
    if (taken !== undefined) config[key] = taken;
  }
  return { config: config as C, faults }; // Proof: each member fits its schema, or stands in `instead`.
}

/**
 * What is there of a configuration. One may be made of what another made, `{ ...pay, name: "pay_twice" }`: the members
 * that were made of that one's configuration are none of this one's.
 */
function configIn(given: Record<string, unknown>): Record<string, unknown> {
  const isMade = isTool(given) || isSaga(given);
  return Object.fromEntries(
    Object.entries(given).filter(([key, member]) => member !== undefined && !(isMade && made.has(key))),
  );
}
const made: ReadonlySet<string> = new Set(["kind", "body", "faults", "definition"]);

function issuesOf(schema: z.ZodType, value: unknown): readonly { path: PropertyKey[]; message: string }[] {
  try {
    return schema.safeParse(value).error?.issues ?? [];
  } catch {
    return [{ path: [], message: "expected something that can be read" }]; // A getter of it threw.
  }
}

function faultOf(where: string, path: readonly PropertyKey[], given: object, message: string): string {
  const value = path.reduce<unknown>(
    (at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key],
    given,
  );
  const wanted = message.replace(/^Invalid (?:input|option): /, "").replace(/, received .*$/s, "");
  const name = path.join(".");
  return value === undefined
    ? `${where}: ${name} is missing: ${wanted}`
    : `${where}: ${name} is ${shown(value)}: ${wanted}`;
}

function shown(value: unknown): string {
  if (typeof value === "function") return "a function";
  try {
    const text = JSON.stringify(value) as string | undefined;
    return text === undefined ? String(value) : text.slice(0, shownMax);
  } catch {
    return typeof value; // It refers to itself, or holds what is no JSON.
  }
}
const shownMax = 80;

/** Of a list or a table the members that can be read; undefined of anything else. */
function readable(schema: z.ZodType, value: unknown): unknown {
  const { def } = (schema as unknown as z.core.$ZodTypes)._zod;
  if (def.type === "optional") return readable(def.innerType as z.ZodType, value);
  const isSound = (of: z.core.$ZodType) => (one: unknown) => issuesOf(of as z.ZodType, one).length === 0;
  if (def.type === "array") return Array.isArray(value) ? value.filter(isSound(def.element)) : undefined;
  if (def.type !== "record" || !isObject(value)) return undefined;
  return Object.fromEntries(Object.entries(value).filter(([, one]) => isSound(def.valueType)(one)));
}
