/**
 * Verify signatures: who signed a ledger's turns and the votes in them.
 *
 * VG1 A signature that is there must be right, with any key. One that is not there is a finding only of a turn, and
 *     only where it was said whose there must be.
 * VG2 What a signature proves is that who held the key signed these bytes, and with them all turns before, which their
 *     chain names. Not whose key it is: that is the reader's knowledge, who names the keys they trust.
 */
import type { SignedDocument, VerifyDocument } from "../../protocol/documents/verify.ts";
import type { Vote } from "../../protocol/event.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import { turnToSign, voteToSign } from "../../protocol/signing.ts";
import { headers } from "../../protocol/subjects.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { StoredMessage } from "../wire/ports.ts";
import { type CheckSignature, signerOf } from "../wire/signing.ts";

type Finding = VerifyDocument["findings"][number];

export interface SignatureOptions {
  readonly check: CheckSignature;
  /** Public keys of which one must have signed each turn; undefined: none need be signed. */
  readonly trusted?: ReadonlySet<string> | undefined;
}

/** A turn's place and message, and the turn where it could be read. */
interface Signable {
  readonly place: number;
  readonly message: StoredMessage;
  readonly turn: Turn | undefined;
}

/** Checks a ledger's signatures, turn by turn. */
export interface SignatureCheck {
  /** What is found of the next one. */
  take(turn: Signable): Finding[];
  /** How much is signed by whom; undefined where nothing is, nor need be. */
  signed(): SignedDocument | undefined;
}

/** Nothing was checked yet. */
export function signatureCheck(saga: SagaId, options: SignatureOptions): SignatureCheck {
  const count: SignedDocument = { turns: {}, turnsUnsigned: 0, votes: {}, votesUnsigned: 0 };
  let lineage: SagaId[] | undefined;
  return {
    take: ({ place, message, turn }) => {
      lineage ??= lineageOf(saga, turn);
      const found = checkTurn(message, count, options);
      const findings = found === undefined ? [] : [{ turn: place, ...found }];
      for (const { intent, vote } of votesIn(turn))
        if (!countVote(lineage, { intent, vote }, count, options.check))
          findings.push({
            turn: place,
            code: "SIGNATURE_INVALID",
            what: `the vote of ${vote.by} on ${intent} has a signature that is not of it`,
          });
      return findings;
    },
    signed: () => {
      const isSaid =
        options.trusted !== undefined || [count.turns, count.votes].some((by) => Object.keys(by).length > 0);
      return isSaid ? count : undefined;
    },
  };
}

function checkTurn(
  { data, headers: fields }: StoredMessage,
  count: SignedDocument,
  { check, trusted }: SignatureOptions,
): Omit<Finding, "turn"> | undefined {
  const written = fields[headers.signature];
  if (written === undefined) {
    count.turnsUnsigned += 1;
    return trusted && { code: "SIGNER_UNTRUSTED", what: "it is not signed" };
  }
  const key = signerOf(check, written, turnToSign(data));
  if (key === undefined) return { code: "SIGNATURE_INVALID", what: "its signature is not of its bytes" };
  count.turns[key] = (count.turns[key] ?? 0) + 1;
  return trusted === undefined || trusted.has(key)
    ? undefined
    : { code: "SIGNER_UNTRUSTED", what: `it is signed by ${key}, which was not named` };
}

const votesIn = (turn: Turn | undefined) =>
  (turn?.steps ?? []).flatMap(({ event }) => (event.type === "task" ? [event] : []));

/** Counts a vote under its key; false if its signature is wrong. Of a fork's first turns it was given to the origin. */
function countVote(
  lineage: readonly SagaId[],
  { intent, vote }: { intent: IntentId; vote: Vote },
  count: SignedDocument,
  check: CheckSignature,
): boolean {
  const { signature } = vote;
  if (signature === undefined) count.votesUnsigned += 1;
  if (signature === undefined) return true;
  const [key] = lineage.flatMap(
    (saga) => signerOf(check, signature, voteToSign({ saga, intent }, vote)) ?? [],
  );
  if (key !== undefined) count.votes[key] = (count.votes[key] ?? 0) + 1;
  return key !== undefined;
}

/** The saga, and of a fork those whose turns it shares. */
function lineageOf(saga: SagaId, first: Turn | undefined): SagaId[] {
  const start = first?.steps[0]?.event as
    { fork?: { saga: SagaId; before?: { saga: SagaId }[] } } | undefined;
  const { fork } = start ?? {};
  return [saga, ...(fork === undefined ? [] : [fork.saga, ...(fork.before ?? []).map((one) => one.saga)])];
}
