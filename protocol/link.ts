/**
 * Link: what a URL of the gateway permits its holder, once. A token is `<what>.<key id>.<signature>`.
 *
 * Owns: the first part, which every holder can read. Does not own: keys and signatures (services/gateway/keys.ts).
 *
 * LK1 A link names no attempt: the outside knows none, for it may answer before the ledger records that it was asked.
 */
import { z } from "zod";
import { describeError, MeshError } from "./errors.ts";
import { IntentId, Name, SagaId } from "./ids.ts";
import { Payload } from "./json.ts";

/** Seconds since the epoch: a shorter text than milliseconds, and no link needs to end within a second. */
const expires = z.int().positive();

/** What a link permits. The gateway writes it into a token and believes it once the token's signature is good. */
export const Link = z.discriminatedUnion("kind", [
  /** The result of a deferred call. */
  z.strictObject({ kind: z.literal("result"), saga: SagaId, intent: IntentId, expires }),
  /** One signal. With `data` the holder can say this and nothing else. `id` tells one link from another. */
  z.strictObject({
    kind: z.literal("signal"),
    saga: SagaId,
    name: Name,
    data: Payload.optional(),
    id: z.string().min(8).max(64),
    expires,
  }),
  /** One vote, in the name of the person that the link was made for. */
  z.strictObject({
    kind: z.literal("task"),
    saga: SagaId,
    intent: IntentId,
    vote: z.enum(["approve", "deny"]),
    by: z.string().min(1).max(200),
    /** The role in which that person speaks. */
    as: z.string().min(1).max(200).optional(),
    id: z.string().min(8).max(64),
    expires,
  }),
]);
export type Link = z.infer<typeof Link>;
/** The link of one kind. */
export type LinkOf<K extends Link["kind"]> = Extract<Link, { kind: K }>;

/** The first part of a token: the link as JSON in base64url. Throws BAD_ID for a link that `decodeLink` would refuse. */
export const encodeLink = (link: Link): string =>
  Buffer.from(JSON.stringify(checked(link))).toString("base64url");

/** Reads the first part of a token. It proves nothing: the caller has verified the signature. Throws BAD_ID. */
export function decodeLink(text: string): Link {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(text, "base64url").toString());
  } catch (error) {
    throw new MeshError("BAD_ID", `this is no link: ${describeError(error)}`, { cause: error });
  }
  return checked(value);
}

function checked(value: unknown): Link {
  const parsed = Link.safeParse(value);
  if (!parsed.success) throw new MeshError("BAD_ID", `this is no link: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
