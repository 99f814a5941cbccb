/**
 * Keys: signing links and telling whether one was signed here. Pure but for a hash function.
 *
 * GK1 The first secret signs, all of them verify: put a new one in front, and take the old one away when no link of
 *     its time is needed any more.
 * GK2 A token names its key by a digest of it, so keys need no names. Signatures are compared in constant time.
 * GK3 Nothing of a token is read before its signature was found good.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { MeshError } from "../../protocol/errors.ts";
import { decodeLink, encodeLink, type Link } from "../../protocol/link.ts";

export interface Keys {
  /** Throws BAD_ID, and TOO_LARGE for a link that no browser would carry. */
  sign(link: Link): string;
  /** Throws CALLBACK_REFUSED, and CALLBACK_EXPIRED. `now` in milliseconds since the epoch. */
  verify(token: string, now: number): Link;
}

interface Key {
  readonly id: string;
  readonly macOf: (text: string) => Buffer;
}

/** A URL that every browser, proxy and server carries. What is longer is neither made nor hashed. */
const tokenCharsMax = 8_192;

const mac = (secret: string, purpose: string, text: string): Buffer =>
  createHmac("sha256", secret).update(`sagamesh ${purpose} ${text}`).digest();

const keyOf = (secret: string): Key => ({
  id: mac(secret, "key", "").toString("base64url").slice(0, 8),
  macOf: (text) => mac(secret, "link", text),
});

/** The keys of these secrets, of which there is at least one. */
export function createKeys(secrets: readonly string[]): Keys {
  const keys = secrets.map(keyOf);
  const [newest] = keys;
  if (newest === undefined) throw new MeshError("INTERNAL", "a gateway has at least one secret");
  return {
    sign: (link) => {
      const signed = `${encodeLink(link)}.${newest.id}`;
      const token = `${signed}.${newest.macOf(signed).toString("base64url")}`;
      if (token.length <= tokenCharsMax) return token;
      throw new MeshError(
        "TOO_LARGE",
        `a link of ${token.length} characters is over the limit of ${tokenCharsMax}`,
        {
          remedy: "Leave the data out of the link, so that its holder says it, or put less into it.",
        },
      );
    },
    verify: (token, now) => {
      const [what = "", id = "", signature = "", ...more] =
        token.length > tokenCharsMax ? [] : token.split(".");
      const key = keys.find((one) => one.id === id);
      if (key === undefined || more.length > 0 || !isEqual(key.macOf(`${what}.${id}`), signature))
        throw new MeshError("CALLBACK_REFUSED", "the link's signature is not one of this gateway's");
      const link = decodeLink(what); // GK3
      if (now >= link.expires * 1_000)
        throw new MeshError(
          "CALLBACK_EXPIRED",
          `the link was good until ${new Date(link.expires * 1_000).toISOString()}`,
        );
      return link;
    },
  };
}

function isEqual(expected: Buffer, signature: string): boolean {
  const given = Buffer.from(signature, "base64url");
  // The text too: base64url has several texts for the same bytes, and a link has one.
  return (
    given.length === expected.length &&
    timingSafeEqual(given, expected) &&
    signature === expected.toString("base64url")
  );
}
