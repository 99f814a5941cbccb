/**
 * JSON Merge Patch (RFC 7386): what a change leaves out stays, what it sets to null goes.
 */
import type { Json } from "../../protocol/json.ts";

type Members = { [key: string]: Json };

const isObject = (value: Json | undefined): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The target with the patch applied. Neither is changed. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const merged = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [key, value] of Object.entries(patch))
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  return Object.fromEntries(merged);
}
