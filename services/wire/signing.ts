/**
 * Signing: what hosts and voters sign with, and how a signature is checked. Types and two small steps; the keys are
 * NATS's own (services/nats/nkeys.ts).
 */
import { MeshError } from "../../protocol/errors.ts";
import type { Vote } from "../../protocol/event.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import { readSignature, turnToSign, voteToSign, writeSignature } from "../../protocol/signing.ts";

/** A key that this process holds. */
export interface Signer {
  /** An NKey, as `nsc` and `nk` print it. */
  readonly publicKey: string;
  sign(bytes: Uint8Array): Uint8Array;
}

/** Whether a signature is of these bytes by that key. False also for what is no key. */
export type CheckSignature = (publicKey: string, bytes: Uint8Array, signature: Uint8Array) => boolean;

export const signTurn = (signer: Signer, data: Uint8Array): string =>
  writeSignature({ key: signer.publicKey, bytes: signer.sign(turnToSign(data)) });

export const signVote = (
  signer: Signer,
  task: { readonly saga: SagaId; readonly intent: IntentId },
  vote: Omit<Vote, "signature">,
): string => writeSignature({ key: signer.publicKey, bytes: signer.sign(voteToSign(task, vote)) });

/** The key that signed these bytes, as the written signature says and as was checked; undefined if that is not so. */
export function signerOf(check: CheckSignature, written: string, bytes: Uint8Array): string | undefined {
  const signature = readSignature(written);
  return signature !== undefined && check(signature.key, bytes, signature.bytes) ? signature.key : undefined;
}

/** Throws SIGNATURE_INVALID for a vote with a signature that is not of this vote, or that this host cannot check. */
export function assertVoteSigned(
  check: CheckSignature | undefined,
  task: { readonly saga: SagaId; readonly intent: IntentId },
  vote: Vote,
): void {
  if (vote.signature === undefined) return;
  if (check !== undefined && signerOf(check, vote.signature, voteToSign(task, vote)) !== undefined) return;
  const why = check === undefined ? "cannot be checked by this host" : "is not of this vote on this task";
  throw new MeshError("SIGNATURE_INVALID", `task ${task.intent} of ${task.saga}: the signature ${why}`);
}
