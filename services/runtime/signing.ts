/**
 * Signing: the keys that a process is told of, read from where it is told.
 */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { describeError, MeshError } from "../../protocol/errors.ts";
import { checkNkeySignature, isPublicKey, nkeySigner } from "../nats/nkeys.ts";
import type { Ports } from "../wire/ports.ts";
import type { CheckSignature, Signer } from "../wire/signing.ts";
import type { Config } from "./config.ts";

/** How signatures are checked, in every process. */
export const checkSignature: CheckSignature = checkNkeySignature;

/** How an NKey's seed is written. */
const seed = /^S[A-Z2-7]{57}$/;

/** The key in a file, if one is named. `where` is the flag or variable that names it. Throws FILE_UNREADABLE, and USAGE for what is no seed. */
export function openSigner(file: string | undefined, where: string): Signer | undefined {
  if (file === undefined) return undefined;
  // Said by mistake it must not be told on, and "no such file" would tell it.
  if (seed.test(file))
    throw new MeshError("USAGE", `${where} is a seed itself`, {
      remedy: `Write the seed into a file that this user alone can read, and name the file with ${where}.`,
    });
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new MeshError("FILE_UNREADABLE", `${where}: ${describeError(error)}`, {
      remedy: `Name a file with the seed of an NKey with ${where}, readable by this user.`,
      cause: error,
    });
  }
  return nkeySigner(text, `${where} ${file}`);
}

/** A public NKey as a person gives it. Throws USAGE. */
export function readPublicKey(word: string | undefined): string {
  if (word !== undefined && isPublicKey(word)) return word;
  throw new MeshError("USAGE", `expected a public NKey, got ${word ?? "nothing"}`, {
    remedy: "A public NKey has 56 characters; `nk -inkey FILE -pubout` prints a seed's.",
  });
}

/**
 * What a command that appends to ledgers signs with: the key of SAGAMESH_HOST_NKEY, if one is named. Throws SIGNER_REFUSED
 * where turns must be signed and what this key signs would not count, unless nothing is to be appended.
 */
export function signerFor(
  { trust }: Pick<Ports, "trust">,
  { hostNkey }: Pick<Config, "hostNkey">,
  isDry: boolean,
): Signer | undefined {
  const signer = openSigner(hostNkey, "SAGAMESH_HOST_NKEY");
  const refusal = isDry ? undefined : trust?.refusal(signer?.publicKey);
  if (refusal !== undefined) throw refusal;
  return signer;
}

/**
 * The public keys that a person trusts: each a key, or a file with one to a line, where what follows a key, and lines
 * that begin with #, is for people. Throws FILE_UNREADABLE for what is neither, and USAGE for a line that is none.
 */
export async function readTrusted(words: readonly string[]): Promise<Set<string>> {
  const trusted = new Set<string>();
  for (const word of words)
    for (const key of isPublicKey(word) ? [word] : await keysIn(word)) trusted.add(key);
  return trusted;
}

async function keysIn(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new MeshError(
      "FILE_UNREADABLE",
      `--trust ${file}: it is no public NKey, and no file: ${describeError(error)}`,
      {
        cause: error,
        remedy: "A public NKey has 56 characters and begins with U, A, N, C or O.",
      },
    );
  });
  return text.split("\n").flatMap((line, index) => {
    const [key = ""] = line.trim().split(/\s+/);
    if (key === "" || key.startsWith("#")) return [];
    if (isPublicKey(key)) return [key];
    throw new MeshError("USAGE", `--trust ${file}: line ${index + 1} begins with no public NKey`);
  });
}
