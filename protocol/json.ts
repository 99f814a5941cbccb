/**
 * JSON as a value: its type, its schema, its canonical text.
 *
 * JS1 `canonicalJson` is equal for equal values whatever their key order; hashes are taken of it, never of
 *     MessagePack bytes.
 */
import { z } from "zod";

/** Any JSON value. What crosses a boundary is one, or it is refused. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A value whose shape the protocol does not know: the schema of the tool or of the definition parses it. */
export const Payload = z.custom<Json>((value) => value !== undefined, "a value is missing");

/** Canonical JSON: keys sorted by code unit, no white space, undefined members left out. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  let text = "";
  if (Array.isArray(value)) {
    for (const item of value as unknown[]) text += `${text === "" ? "" : ","}${canonicalJson(item ?? null)}`;
    return `[${text}]`;
  }
  const members = value as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(members).sort()) {
    const member = members[key];
    if (member !== undefined)
      text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(member)}`;
  }
  return `{${text}}`;
}

/** How many bytes of UTF-8 a value's JSON has. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");

/**
 * The value as it will read after a trip through the ledger: Dates as text, undefined members gone. What is
 * folded live must equal what is folded from the ledger, so every value from outside passes here first.
 * Throws a TypeError for a cycle or a BigInt.
 */
export function toJson(value: unknown): Json {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (value === undefined) return null;
  return JSON.parse(JSON.stringify(value) ?? "null") as Json;
}
