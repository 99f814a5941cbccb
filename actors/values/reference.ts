/**
 * Reference: an argument that stands for a part of an earlier result.
 *
 * The form is an object with the one member `$ref`, a text of two or three words: what is meant, its name, and a JSON
 * pointer (RFC 6901; none: the whole). `{ "$ref": "call 3.0 /bookingId" }` is for an agent's earlier call,
 * `{ "$ref": "node flight /price" }` for a workflow's node, `{ "$ref": "input /dates/0" }` for the workflow's input.
 *
 * RF1 A reference is the whole value it stands for, never a part of a text: what comes in its place has its own type.
 * RF2 One that cannot be resolved says so; it is never null.
 */
import type { Json } from "../../protocol/json.ts";

export interface Reference {
  readonly of: string;
  readonly name: string;
  readonly pointer: string;
}

const form = /^(?:(input)|(call|node) ([A-Za-z0-9_.-]{1,80})|(output|key|outcome))(?: (\/.*))?$/s;

/** A value as a reference, if it has the form of one. `"bad"`: it says it is one and cannot be read. */
export function referenceOf(value: Json): Reference | "bad" | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  if (!Object.hasOwn(value, "$ref")) return undefined;
  const text = value["$ref"];
  if (typeof text !== "string" || Object.keys(value).length !== 1) return "bad";
  const [, input, kind, name = "", own, pointer = ""] = form.exec(text) ?? [];
  const of = input ?? kind ?? own;
  return of === undefined || !isPointer(pointer) ? "bad" : { of, name, pointer };
}

/** All references in a value. */
export function referencesIn(value: Json): (Reference | "bad")[] {
  const own = referenceOf(value);
  if (own !== undefined) return [own];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(referencesIn);
}

/**
 * The value with what `find` says in the place of each reference, or why that cannot be said. What `isOne` does not take
 * for a reference is left as it is.
 */
export function resolved(
  value: Json,
  find: (reference: Reference) => Json | undefined,
  isOne: (value: Json) => boolean = (one) => referenceOf(one) !== undefined,
): { value: Json } | { unresolved: string } {
  try {
    return { value: replaced(value, find, isOne) };
  } catch (error) {
    if (error instanceof Unresolved) return { unresolved: error.message };
    throw error;
  }
}

class Unresolved extends Error {}

function replaced(
  value: Json,
  find: (reference: Reference) => Json | undefined,
  isOne: (value: Json) => boolean,
): Json {
  const reference = isOne(value) ? referenceOf(value) : undefined;
  if (reference === "bad")
    throw new Unresolved(`${JSON.stringify(value).slice(0, 200)} is no reference that can be read`);
  if (reference !== undefined) {
    const found = find(reference);
    const part = found === undefined ? undefined : atPointer(found, reference.pointer);
    if (part !== undefined) return part;
    throw new Unresolved(`there is nothing at "${textOf(reference)}"`);
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => replaced(one, find, isOne));
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, replaced(one, find, isOne)]));
}

export const textOf = ({ of, name, pointer }: Reference): string =>
  [of, name, pointer].filter((word) => word !== "").join(" ");

export const isPointer = (text: string): boolean => /^(\/([^~/]|~[01])*)*$/s.test(text);

/** What stands at a JSON pointer; undefined where nothing does. */
export function atPointer(value: Json, pointer: string): Json | undefined {
  let here: Json | undefined = value;
  for (const token of pointer.split("/").slice(1)) {
    if (typeof here !== "object" || here === null) return undefined;
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
    const isThere: boolean = Array.isArray(here) ? /^(0|[1-9]\d*)$/.test(key) : true;
    here = isThere && Object.hasOwn(here, key) ? (here as Record<string, Json>)[key] : undefined;
  }
  return here;
}
