/**
 * Standing: whether a message on a ledger may be a turn by who signed it. Pure but for the check of a signature.
 *
 * YS1 A verdict once given, that it counts or does not, is never turned about by a later document (protocol/trust.ts). One that
 *     was not given yet is given by a later one.
 */
import { readSignature, turnToSign } from "../../protocol/signing.ts";
import { headers, shardOfLedger } from "../../protocol/subjects.ts";
import { type FromPlace, placeIn, type TrustDocument } from "../../protocol/trust.ts";
import type { Standing, StoredMessage } from "./ports.ts";
import type { CheckSignature } from "./signing.ts";

const counts: Standing = { kind: "counts" };

/** Judges one message by the document. */
export function standingOf(
  { required, keys }: TrustDocument,
  { subject, seq, data, headers: fields }: Pick<StoredMessage, "subject" | "seq" | "data" | "headers">,
  check: CheckSignature,
): Standing {
  if (required === undefined) return counts;
  const heldAt = (from: FromPlace) => heldIn(placeIn(from, shardOfLedger(subject)), seq);
  if (heldAt(required) === "no") return counts;
  const isSettled = heldAt(required) === "yes";
  const otherwise = (kind: "foreign" | "unknown", why: string): Standing =>
    isSettled ? { kind, why } : { kind: "unsettled", why: "from where on turns must be signed" };
  const written = fields[headers.signature];
  if (written === undefined) return otherwise("foreign", "it is not signed");
  const signature = readSignature(written);
  if (signature === undefined) return otherwise("foreign", "its signature cannot be read");
  const { key, bytes } = signature;
  if (!check(key, turnToSign(data), bytes))
    return otherwise("foreign", `its signature by ${key} is not of its bytes`);
  const known = Object.hasOwn(keys, key) ? keys[key] : undefined;
  if (known === undefined) return otherwise("unknown", key);
  switch (known.withdrawn === undefined ? "no" : heldAt(known.withdrawn)) {
    case "no":
      return counts;
    case "yes":
      return otherwise("foreign", `it is signed by ${key}, which was withdrawn before`);
    case "undecided":
      return { kind: "unsettled", why: `from where on ${key} is withdrawn` };
  }
}

function heldIn({ announced, after }: ReturnType<typeof placeIn>, seq: number): "yes" | "no" | "undecided" {
  if (seq <= announced) return "no";
  return after === undefined ? "undecided" : seq > after ? "yes" : "no";
}
