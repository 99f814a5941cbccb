/**
 * Once: of all answers to one question, from any number of people and gateways, one is taken.
 *
 * GO1 A question's first answer is decided by a claim, which names the answer by its digest. A gateway
 *     sends an answer to the saga only when it has won that claim; the same answer given again has won it, too.
 * GO2 The answer's bytes are stored before the claim that names them. So a gateway that dies between the claim and
 *     the inbox leaves nothing stuck: the gateway that refuses the next answer hands on the first one before it says
 *     so.
 * GO3 A reply says "stored" only of an answer that has won.
 */
import { sha256 } from "../../protocol/digest.ts";
import { canonicalJson, type Json } from "../../protocol/json.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, Ports } from "../wire/ports.ts";

/** What is asked: a name of its own, and the how many-eth time it is asked. */
export interface Question {
  readonly key: string;
  readonly round: number;
}

/**
 * Takes the answer if it is the question's first, by `store`, which may be called again with the same one. True if
 * it is this one that was taken. Throws UNAVAILABLE and the like; then the same call may be made again.
 */
export async function takeOnce<A extends Json>(
  { ports, clock }: { ports: Pick<Ports, "claims" | "blobs">; clock: Clock },
  { key, round }: Question,
  answer: A,
  store: (answer: A) => Promise<void>,
): Promise<boolean> {
  const text = canonicalJson(answer);
  const digest = sha256(text);
  await patiently(clock, () => ports.blobs.put(digest, Buffer.from(text))); // GO2
  const claim = await patiently(clock, () => ports.claims.create(key, round, digest));
  if (claim.won) {
    await store(answer);
    return true;
  }
  const held = await patiently(clock, () => ports.blobs.get(claim.holder));
  await store(JSON.parse(Buffer.from(held).toString()) as A); // GO1: written above, by a gateway that took an answer of this kind.
  return false;
}
