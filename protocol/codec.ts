/**
 * Codec: values to bytes and back, by content type.
 *
 * CD1 What a person reads is JSON; what only machines read is MessagePack. `Content-Type` decides on reading,
 *     both are accepted everywhere, and without the header JSON is tried first, then plain text.
 * CD2 Hostile bytes end in a coded error: over-long, truncated, too deep, or holding what JSON cannot say.
 * CD3 A large value travels as `{ "$blob": sha256, bytes }`. The host
 *     that writes a turn offloads, the reader of the ledger inflates; nothing between them sees a reference.
 * CD4 Reading one's own is lenient: what was ever written can be read, whatever is refused at the doors today.
 */
import { Packr } from "msgpackr";
import { Unpackr } from "msgpackr/unpack-no-eval";
import { sha256 } from "./digest.ts";
import { describeError, MeshError } from "./errors.ts";
import type { Json } from "./json.ts";
import { limits } from "./limits.ts";

/** What `Content-Type` may say (CD1). */
export const contentTypes = {
  json: "application/json",
  msgpack: "application/msgpack",
  text: "text/plain",
} as const;

/** Options under which other languages read the bytes: no private record extension, nil for undefined. */
const options = { useRecords: false, variableMapSize: true, encodeUndefinedAsNil: true } as const;
const packr = new Packr(options);
const unpackr = new Unpackr(options);
const text = new TextDecoder("utf-8", { fatal: true });

/** A value as JSON in UTF-8. Throws a TypeError for a cycle or a BigInt. */
export const encodeJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** MessagePack that msgpack libraries of other languages read. The bytes are the caller's to keep. */
export const encodeMsgpack = (value: unknown): Uint8Array => Uint8Array.from(packr.pack(value));

/**
 * Bytes to a JSON value: the one way in for what comes from outside. Without a content type JSON is tried, then plain
 * text, and nothing at all is null. Throws TOO_LARGE over `messageBytesMax` (unless `bytesMax` says otherwise),
 * BAD_MESSAGE for bytes that do not decode, nest too deeply or hold what is not JSON.
 */
export function decode(
  bytes: Uint8Array,
  contentType?: string,
  bytesMax: number = limits.messageBytesMax,
): Json {
  if (bytes.length > bytesMax)
    throw new MeshError("TOO_LARGE", `a message of ${bytes.length} bytes is over the limit of ${bytesMax}`);
  const value = decodeBytes(bytes, typeIn(contentType));
  return plain(value, limits.nestingMax, true);
}

/** The same of a value that was put together of several such bytes. Throws BAD_MESSAGE. */
export const asForeign = (value: Json): Json => plain(value, limits.nestingMax, true);

/**
 * The same of what this mesh has written itself: a ledger's message, a blob, a snapshot. As long as it is, as deep as it
 * could ever be written, and with members of any name (CD4). Throws BAD_MESSAGE.
 */
export const decodeOwn = (bytes: Uint8Array, contentType: string): Json =>
  asOwn(decodeBytes(bytes, typeIn(contentType)));

/** The same of a value that was parsed of such bytes. Throws BAD_MESSAGE. */
export const asOwn = (value: unknown): Json => plain(value, limits.ownNestingMax, false);

const typeIn = (contentType: string | undefined): string | undefined =>
  contentType?.split(";")[0]?.trim().toLowerCase();

function decodeBytes(bytes: Uint8Array, contentType: string | undefined): unknown {
  try {
    if (contentType === contentTypes.msgpack) return unpackr.unpack(bytes);
    const string = text.decode(bytes);
    if (contentType === contentTypes.text) return string;
    if (contentType === contentTypes.json) return JSON.parse(string);
    return parseOrText(string);
  } catch (error) {
    throw new MeshError(
      "BAD_MESSAGE",
      `${bytes.length} bytes do not decode as ${contentType ?? "text"}: ${describeError(error)}`,
      {
        cause: error,
      },
    );
  }
}

/** `nats pub` sends no content type: JSON if it parses, else the text itself, and null for nothing. */
function parseOrText(string: string): unknown {
  if (string.trim() === "") return null;
  try {
    return JSON.parse(string);
  } catch {
    return string; // Plain text is a legal body; the schema of the door decides whether it fits.
  }
}

/**
 * The value, if it is plain JSON of bounded depth; else throws BAD_MESSAGE. MessagePack can hold much else. What is `foreign` is
 * read as every encoder would write it on (VX3 of value.ts), and has no member that does not survive that.
 */
function plain(value: unknown, depthMax: number, foreign: boolean): Json {
  const open: { readonly container: object; readonly depth: number }[] = [];
  /** What is to stand in its place; a container is looked into later, not deeper on the stack. */
  const read = (part: unknown, depth: number): unknown => {
    if (depth > depthMax) throw new MeshError("BAD_MESSAGE", `a value nests deeper than ${depthMax}`);
    if (typeof part === "string") return foreign ? part.toWellFormed() : part;
    if (part === null || typeof part === "boolean") return part;
    if (typeof part === "number" && Number.isFinite(part)) return part === 0 && foreign ? 0 : part;
    if (typeof part !== "object" || !isPlain(part))
      throw new MeshError("BAD_MESSAGE", "a message holds a value that JSON cannot say");
    if (foreign) assertOwnKeys(part);
    open.push({ container: part, depth: depth + 1 });
    return part;
  };
  const root = read(value, 0);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const container = next.container as Record<string, unknown>; // An array's items are members named by number.
    for (const key of Object.keys(container)) {
      const part = container[key];
      const as = read(part, next.depth);
      if (!Object.is(as, part)) container[key] = as;
    }
  }
  return root as Json; // Proof: every part of it was looked at.
}

const isPlain = (part: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(part);
  return Array.isArray(part) || prototype === Object.prototype || prototype === null;
};

/** A member of this name, or with half a character in it, does not survive MessagePack. */
function assertOwnKeys(value: object): void {
  if (Object.hasOwn(value, "__proto__"))
    throw new MeshError("BAD_MESSAGE", 'a value has a member "__proto__"');
  if (!Array.isArray(value) && !Object.keys(value).every((key) => key.isWellFormed()))
    throw new MeshError("BAD_MESSAGE", "a member's name holds half a character (a lone surrogate)");
}

/** Whether a part of a value is a reference to a blob (CD3). */
export const isBlobRef = (value: Json): value is { $blob: string; bytes: number } =>
  typeof value === "object" && value !== null && !Array.isArray(value) && typeof value["$blob"] === "string";

/** A blob as it is stored: named by the SHA-256 of its bytes. */
export interface Blob {
  readonly digest: string;
  readonly bytes: Uint8Array;
}

/**
 * Replaces the largest parts of a value by references until its JSON fits in `inlineBytesMax`. Returns the
 * value itself where nothing is large. Pure: the caller stores the blobs before it writes the reference
 * anywhere. Throws BAD_MESSAGE for a value that already looks like a reference: it could otherwise
 * name bytes that are not its own.
 */
export function offload(
  value: Json,
  inlineBytesMax: number = limits.inlineBytesMax,
): { value: Json; blobs: Blob[] } {
  const blobs: Blob[] = [];
  const visit = (part: Json): Json => {
    if (isBlobRef(part)) throw new MeshError("BAD_MESSAGE", 'a value holds the reserved key "$blob"');
    if (part === null || typeof part === "boolean" || typeof part === "number") return part;
    if (typeof part === "string") return part.length * 4 <= inlineBytesMax ? part : store(part);
    const size = JSON.stringify(part).length;
    if (size * 3 <= inlineBytesMax) return visitReserved(part);
    const smaller = Array.isArray(part)
      ? part.map(visit)
      : Object.fromEntries(Object.entries(part).map(([key, member]) => [key, visit(member)]));
    return store(smaller);
  };
  const visitReserved = (part: Json): Json => {
    if (JSON.stringify(part).includes('"$blob"')) assertNoReference(part);
    return part;
  };
  const store = (part: Json): Json => {
    const encoded = encodeJson(part);
    if (encoded.length <= inlineBytesMax) return part;
    const bytes = encodeMsgpack(part);
    const digest = sha256(bytes);
    blobs.push({ digest, bytes });
    return { $blob: digest, bytes: bytes.length };
  };
  return { value: visit(value), blobs };
}

/** Throws BAD_MESSAGE if any part of the value looks like a reference, or has a key that does not survive. */
export function assertNoReference(part: Json): void {
  if (isBlobRef(part)) throw new MeshError("BAD_MESSAGE", 'a value holds the reserved key "$blob"');
  if (typeof part !== "object" || part === null) return;
  assertOwnKeys(part);
  for (const member of Object.values(part)) assertNoReference(member);
}

/** Whether bytes hold a reference at all: inflating costs a walk that nearly no message needs. */
export const mayHoldBlob = (bytes: Uint8Array): boolean =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes('"$blob"');
