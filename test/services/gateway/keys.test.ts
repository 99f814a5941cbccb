/**
 * Links and their signatures: what was signed here is known, and nothing else.
 *
 * Method: tokens are changed in every way one could, character by character, and keys are put in front of others and
 * taken away, as in a rotation.
 */
import { describe, expect, test } from "vitest";
import { isMeshError } from "../../../protocol/errors.ts";
import type { IntentId, SagaId } from "../../../protocol/ids.ts";
import { encodeLink, type Link } from "../../../protocol/link.ts";
import { createKeys } from "../../../services/gateway/keys.ts";
import { createLinks } from "../../../services/gateway/links.ts";
import { parseSettlementToken } from "../../../services/wire/settlement-token.ts";

const now = Date.UTC(2026, 0, 1);
const old = "an old secret of more than 32 characters";
const fresh = "a new secret of more than 32 characters, too";
const saga = "hire-41" as SagaId;
const intent = "7-0" as IntentId;
const link: Link = { kind: "result", saga, intent, expires: now / 1_000 + 60 };

const codeOf = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    if (isMeshError(error)) return error.code;
    throw error;
  }
  return "none";
};

describe("a token", () => {
  const keys = createKeys([old]);
  const token = keys.sign(link);

  test("is read as what was signed", () => {
    expect(keys.verify(token, now)).toEqual(link);
  });

  test("that was changed anywhere is refused", () => {
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (let at = 0; at < token.length; at++)
      for (const letter of [letters[at % 64] ?? "A", letters[(at + 31) % 64] ?? "A", "."]) {
        const changed = token.slice(0, at) + letter + token.slice(at + 1);
        if (changed !== token) expect(codeOf(() => keys.verify(changed, now))).toBe("CALLBACK_REFUSED");
      }
    for (const one of [
      "",
      ".",
      "..",
      token.slice(1),
      token.slice(0, -1),
      `${token}A`,
      `${token}.`,
      `${token}=`,
    ])
      expect(codeOf(() => keys.verify(one, now))).toBe("CALLBACK_REFUSED");
  });

  test("whose what is another's, under the same signature, is refused", () => {
    const [, id, signature] = token.split(".");
    const other = encodeLink({ ...link, saga: "hire-42" as SagaId });
    expect(codeOf(() => keys.verify(`${other}.${id ?? ""}.${signature ?? ""}`, now))).toBe(
      "CALLBACK_REFUSED",
    );
  });

  test("is good until it expires, and not at that moment", () => {
    expect(keys.verify(token, now + 59_999)).toEqual(link);
    expect(codeOf(() => keys.verify(token, now + 60_000))).toBe("CALLBACK_EXPIRED");
  });

  test("is no bare settlement token's equal, but names the same call", () => {
    expect(codeOf(() => keys.verify("hire-41.7-0", now))).toBe("CALLBACK_REFUSED");
    expect(parseSettlementToken(token)).toEqual({ saga, intent });
    expect(parseSettlementToken(`https://example.org/a/callback/${token}?slot=tue`)).toEqual({
      saga,
      intent,
    });
    const signal = keys.sign({ kind: "signal", saga, name: "note", id: "12345678", expires: link.expires });
    expect(codeOf(() => parseSettlementToken(signal))).toBe("BAD_ID");
  });
});

describe("a rotation", () => {
  test("signs with the first secret and knows links of all of them, until one is taken away", () => {
    const before = createKeys([old]);
    const during = createKeys([fresh, old]);
    const after = createKeys([fresh]);
    expect(during.verify(before.sign(link), now)).toEqual(link);
    expect(after.verify(during.sign(link), now)).toEqual(link);
    expect(codeOf(() => before.verify(during.sign(link), now))).toBe("CALLBACK_REFUSED");
    expect(codeOf(() => after.verify(before.sign(link), now))).toBe("CALLBACK_REFUSED");
  });

  test("shows nothing of a secret in what it signs", () => {
    expect(createKeys([old]).sign(link)).not.toContain(Buffer.from(old).toString("base64url").slice(0, 8));
  });
});

describe("links", () => {
  const links = (publicUrl: string) =>
    createLinks(
      { clock: { now: () => now }, chance: { nonce: () => "noncenonce" } },
      { publicUrl, keys: createKeys([old]) },
    );

  test("stand under the public URL, whether or not it ends in a slash", () => {
    for (const url of ["https://example.org/mesh", "https://example.org/mesh/"])
      expect(links(url).result(saga, intent)).toMatch(
        /^https:\/\/example\.org\/mesh\/callback\/[\w-]+\.[\w-]+\.[\w-]+$/,
      );
  });

  test("are the same for every attempt of a call, as long as it is the same second", () => {
    expect(links("https://a").result(saga, intent)).toBe(links("https://a").result(saga, intent));
  });

  test("that could not be read are not made", () => {
    expect(codeOf(() => links("https://a").signal({ saga, name: "no name" }, 1_000))).toBe("BAD_ID");
    expect(
      codeOf(() => links("https://a").signal({ saga, name: "note", data: "x".repeat(9_000) }, 1_000)),
    ).toBe("TOO_LARGE");
  });
});
