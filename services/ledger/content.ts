/**
 * Content: the value in a ledger's message, of which its place is read first and then, mostly at once, its turn: parsed once for both.
 *
 * CT1 What is kept is the last value alone, by the very bytes it was parsed of, and taken once: a value that a reader has is no
 *     other reader's. It is kept only where the codec would read the same of these bytes.
 */
import { asOwn, contentTypes, decode, decodeOwn } from "../../protocol/codec.ts";
import type { Json } from "../../protocol/json.ts";
import { headers } from "../../protocol/subjects.ts";
import type { StoredMessage } from "../wire/ports.ts";

type Content = Pick<StoredMessage, "data" | "headers">;

let last: { readonly data: Uint8Array; readonly value: unknown } | undefined;

/** The members of what is no more than looked at; undefined for what has none. Of any version, and however deep. */
export function membersOf({ data, headers: fields }: Content): Record<string, Json> | undefined {
  const contentType = fields[headers.contentType] ?? contentTypes.json;
  try {
    // Not by the codec where the codec is strict: a turn that it cannot read is a turn still (QC1 of chain.ts).
    const value = contentType === contentTypes.json ? parsed(data) : decode(data, contentType);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, Json>) : undefined;
  } catch {
    return undefined;
  }
}

function parsed(data: Uint8Array): unknown {
  const string = wellFormed(data);
  if (string === undefined)
    return JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString());
  const value: unknown = JSON.parse(string);
  last = { data, value }; // CT1
  return value;
}

/** A mark of the byte order stays: it is no JSON. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Undefined where a byte is no UTF-8, which the codec refuses. */
function wellFormed(data: Uint8Array): string | undefined {
  try {
    return utf8.decode(data);
  } catch {
    return undefined;
  }
}

/** The whole value, which is the caller's. Throws BAD_MESSAGE. */
export function contentOf({ data, headers: fields }: Content): Json {
  const known = last;
  if (known?.data !== data) return decodeOwn(data, fields[headers.contentType] ?? contentTypes.json);
  last = undefined; // CT1
  return asOwn(known.value);
}
