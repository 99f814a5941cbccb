/**
 * Decode any: a body without a content type. JSON begins with what MessagePack does not use for a
 * whole message, so the order of trying is no guess: JSON, then MessagePack, then text.
 */
import { contentTypes, decode } from "../../../protocol/codec.ts";
import { MeshError } from "../../../protocol/errors.ts";
import type { Json } from "../../../protocol/json.ts";

/** The body as a value; undefined for nothing. Throws BAD_MESSAGE for what is none of the three. */
export function decodeAny(bytes: Uint8Array): Json | undefined {
  if (bytes.length === 0) return undefined;
  for (const contentType of [contentTypes.json, contentTypes.msgpack, contentTypes.text]) {
    try {
      const value = decode(bytes, contentType, Number.POSITIVE_INFINITY);
      // One byte of ASCII is a number in MessagePack; a message is a map or a list.
      if (contentType !== contentTypes.msgpack || typeof value === "object") return value;
    } catch {
      continue; // The next form.
    }
  }
  throw new MeshError("BAD_MESSAGE", `${bytes.length} bytes are neither JSON nor MessagePack nor text`);
}
