/**
 * Link: what a URL of the gateway permits its holder, once. A token is `<what>.<key id>.<signature>`.
 *
 * Owns: the first part, readable by everybody. Does not own: keys and signatures (services/gateway/keys.ts).
 *
 * L1 A link names no attempt: the outside, which may answer before it is known that it was asked, knows none.
 */
import { z } from "zod";
import { describeError, MeshError } from "./errors.ts";
import { IntentId, Name, SagaId } from "./ids.ts";
import { Payload } from "./json.ts";

/** Seconds since the epoch: half as long as milliseconds, and nobody waits for less. */
const expires = z.int().positive();

export const Link = z.discriminatedUnion("kind", [
  /** The result of a deferred call. */
  z.strictObject({ kind: z.literal("result"), saga: SagaId, intent: IntentId, expires }),
  /** One signal. With `data` it says this and nothing else. `id` tells one link from another. */
  z.strictObject({
    kind: z.literal("signal"),
    saga: SagaId,
    name: Name,
    data: Payload.optional(),
    id: z.string().min(8).max(64),
    expires,
  }),
  /** One vote, in the name of whom it was made for. */
  z.strictObject({
    kind: z.literal("task"),
    saga: SagaId,
    intent: IntentId,
    vote: z.enum(["approve", "deny"]),
    by: z.string().min(1).max(200),
    /** The role in which they speak. */
    as: z.string().min(1).max(200).optional(),
    id: z.string().min(8).max(64),
    expires,
  }),
]);
export type Link = z.infer<typeof Link>;
export type LinkOf<K extends Link["kind"]> = Extract<Link, { kind: K }>;

/** Throws BAD_ID for what is no link, so that none is made that could not be read. */
export const encodeLink = (link: Link): string =>
  Buffer.from(JSON.stringify(checked(link))).toString("base64url");

/** Reads the first part of a token, whoever wrote it. Throws BAD_ID. */
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
