/**
 * NKeys: signing and checking with NATS's own kind of key, Ed25519 in base32.
 *
 * Owns: reading seeds and public keys. The library says whether one is whole and what its public half is; the
 * arithmetic is Node's own, because the library's, in JavaScript, takes some milliseconds for each signature and
 * derives the key anew each time.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { nkeys } from "@nats-io/nats-core";
import { describeError, MeshError } from "../../protocol/errors.ts";
import type { CheckSignature, Signer } from "../wire/signing.ts";

/** RFC 8410: what stands before the 32 bytes of a private and of a public key. */
const pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex");
const spki = Buffer.from("302a300506032b6570032100", "hex");

/** The signer of a seed, alone or in a file of credentials. Throws USAGE; no message holds any of the seed. */
export function nkeySigner(text: string, where: string): Signer {
  const [seed] = /\bS[A-Z2-7]{57}\b/.exec(text) ?? [];
  if (seed === undefined) throw unreadable(where, "it holds no seed");
  let publicKey: string;
  try {
    publicKey = nkeys.fromSeed(Buffer.from(seed)).getPublicKey();
  } catch (error) {
    throw unreadable(where, describeError(error));
  }
  const key = createPrivateKey({
    key: Buffer.concat([pkcs8, bytesOf(seed).subarray(2, 34)]),
    format: "der",
    type: "pkcs8",
  });
  return { publicKey, sign: (bytes) => sign(null, bytes, key) };
}

const unreadable = (where: string, what: string): MeshError =>
  new MeshError("USAGE", `${where}: ${what}`, {
    remedy: "Name a file with the seed of an NKey, as `nk -gen user` or `nsc generate nkey --user` makes it.",
  });

const keys = new Map<string, KeyObject | undefined>();
const keysMax = 1_000;

/** Checks a signature by an NKey's public half. */
export const checkNkeySignature: CheckSignature = (publicKey, bytes, signature) => {
  let key = keys.get(publicKey);
  if (key === undefined) {
    key = readPublicKey(publicKey);
    if (key === undefined) return false;
    if (keys.size >= keysMax) keys.clear(); // A signature names its own key, so a caller may name any number of them.
    keys.set(publicKey, key);
  }
  return signature.length === 64 && verify(null, bytes, key, signature);
};

/** Whether a text is the public half of an NKey that can sign. */
export const isPublicKey = (text: string): boolean => readPublicKey(text) !== undefined;

function readPublicKey(text: string): KeyObject | undefined {
  if (!/^[A-WYZ][A-Z2-7]{55}$/.test(text)) return undefined; // X: of encryption alone.
  try {
    nkeys.fromPublic(text); // Prefix and checksum.
  } catch {
    return undefined;
  }
  return createPublicKey({
    key: Buffer.concat([spki, bytesOf(text).subarray(1, 33)]),
    format: "der",
    type: "spki",
  });
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Base32 without padding, of a text that was found to be that. */
function bytesOf(text: string): Buffer {
  const bytes: number[] = [];
  let held = 0;
  let bits = 0;
  for (const letter of text) {
    held = (held << 5) | alphabet.indexOf(letter);
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((held >> bits) & 0xff);
    held &= (1 << bits) - 1;
  }
  return Buffer.from(bytes);
}
