/**
 * Signing: which bytes a signature is of, and how it is written.
 *
 * SI1 Each kind of thing is signed under a name of its own, so that a signature of one never passes for another's.
 * SI2 A turn's signature stands in a header beside it: the chain is of the bytes, with or without. Its bytes hold the
 *     saga, the number and the hash of the turn before, so a signature of one turn is of all turns before it.
 * SI3 A vote's signature is a member of the vote and signs all others, with the task it is for. Long members are
 *     signed by their digest.
 *
 * A signature proves that the holder of the key's seed signed exactly this. It proves neither whose key that is, nor that
 * the server would have let the signer publish, nor when it was signed.
 */
import { digestOf } from "./digest.ts";
import type { Vote } from "./event.ts";
import type { IntentId, SagaId } from "./ids.ts";
import { canonicalJson } from "./json.ts";

/** The bytes to sign for a turn, whose message has these bytes in the ledger. */
export const turnToSign = (data: Uint8Array): Uint8Array => Buffer.concat([turnDomain, data]);
const turnDomain = Buffer.from("sagamesh turn v1\n");

/** The bytes to sign for a vote on a task. `digest` names the arguments, so a vote on an approval must have it before it is signed. */
export function voteToSign(
  task: { readonly saga: SagaId; readonly intent: IntentId },
  { vote, by, as, digest, reason, answer, input }: Omit<Vote, "signature">,
): Uint8Array {
  const signed = {
    saga: task.saga,
    intent: task.intent,
    vote,
    by,
    ...(as === undefined ? {} : { as }),
    ...(digest === undefined ? {} : { digest }),
    ...(reason === undefined ? {} : { reason }),
    ...(answer === undefined ? {} : { answer: digestOf(answer) }),
    ...(input === undefined ? {} : { input: digestOf(input) }),
  };
  return Buffer.from(`sagamesh vote v1\n${canonicalJson(signed)}`);
}

/** A signature as it is written: the public key, a dot, the signature in base64url. */
export interface Signature {
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** A signature as text, for a header or a member of a vote. */
export const writeSignature = ({ key, bytes }: Signature): string =>
  `${key}.${Buffer.from(bytes).toString("base64url")}`;

/** Reads a signature. Undefined for any other text: there is one way to write it. */
export function readSignature(text: string): Signature | undefined {
  const [, key, written] = /^([A-Z2-7]{56})\.([\w-]{86})$/.exec(text) ?? [];
  if (key === undefined || written === undefined) return undefined;
  const bytes = Buffer.from(written, "base64url");
  return bytes.toString("base64url") === written ? { key, bytes } : undefined;
}
