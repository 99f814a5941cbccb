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

/** SHA-256 of a value's canonical JSON, in hex. */
export const digestOf = (value: unknown): string => sha256(canonicalJson(value));
