/**
 * Hashing: the one place that names a hash function.
 *
 * The import law lets this file alone use node:crypto. A pure synchronous SHA-256 is what the effect keys,
 * the chain of turns and the digests of requests need; one in JavaScript costs ten times as much per turn.
 */
import { hash } from "node:crypto";
import { canonicalJson } from "./json.ts";

/** SHA-256 of bytes or text, in hex (64 characters), as `sha256sum` prints it. */
export const sha256 = (data: string | Uint8Array): string => hash("sha256", data, "hex");

/**
 * A turn's hash in the chain: SHA-256 of its bytes as stored, in base64url (43 characters; hex would add a
 * tenth to a small turn). `openssl dgst -sha256 -binary | basenc --base64url` prints the same, with a "=".
 */
export const chainHash = (data: Uint8Array): string => hash("sha256", data, "base64url");

/** The span of a turn in its saga's trace: the first 8 bytes of its hash, in hex. */
export const spanOf = (turnHash: string): string => Buffer.from(turnHash, "base64url").toString("hex", 0, 8);

/**
 * The first characters of a text's SHA-256 in base64url, six bits each. For many small names that may collide once in
 * a while; never where a collision would do harm.
 */
export const shortHash = (text: string, characters: number): string =>
  hash("sha256", text, "base64url").slice(0, characters);

/** SHA-256 of a value's canonical JSON, in hex. */
export const digestOf = (value: unknown): string => sha256(canonicalJson(value));

/** SHA-256 of a value's canonical JSON, in base64url: a third shorter, for what stands in every decision. */
export const shortDigestOf = (value: unknown): string => hash("sha256", canonicalJson(value), "base64url");
