/**
 * The one way in for bytes from outside: whatever they hold, they end as plain JSON or as a coded error.
 *
 * Property tests for what is written here and read back; bytes by hand for what another program may send.
 */
import fc from "fast-check";
import { Packr } from "msgpackr";
import { describe, expect, test } from "vitest";
import { contentTypes, decode, encodeJson, encodeMsgpack, isBlobRef, offload } from "../../protocol/codec.ts";
import { sha256 } from "../../protocol/digest.ts";
import { isMeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const packed = (value: unknown) => Uint8Array.from(new Packr({ useRecords: false }).pack(value));

function codeOf(act: () => unknown): string {
  try {
    return `no error: ${JSON.stringify(act())}`;
  } catch (error) {
    if (isMeshError(error)) return error.code;
    throw error;
  }
}

const nested = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth));

/** JSON as both formats hold it: without -0, which JSON writes as 0, and without a prototype for a member. */
const anyJson = fc
  .jsonValue({ maxDepth: 4 })
  .map((value) => JSON.parse(JSON.stringify(value)) as never)
  .filter((value) => !JSON.stringify(value).includes("__proto__"));

describe("a value", () => {
  test("comes back from JSON and from MessagePack as it was", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(decode(encodeJson(value), contentTypes.json)).toEqual(value);
        expect(decode(encodeMsgpack(value), contentTypes.msgpack)).toEqual(value);
      }),
    );
  });

  test("without a content type is JSON where it parses, else the text itself, and null for nothing", () => {
    expect(decode(bytes('{"a":1}'))).toEqual({ a: 1 });
    expect(decode(bytes("Only Tuesday"))).toBe("Only Tuesday");
    expect(decode(bytes(" "))).toBeNull();
  });

  test("said to be text is text, even if it looks like JSON", () => {
    expect(decode(bytes("[1]"), "text/plain; charset=utf-8")).toBe("[1]");
  });
});

describe("hostile bytes", () => {
  test.each<[string, Uint8Array, string | undefined, string]>([
    ["over the limit", new Uint8Array(limits.messageBytesMax + 1), undefined, "TOO_LARGE"],
    ["of JSON cut off", bytes('{"a":'), contentTypes.json, "BAD_MESSAGE"],
    ["of MessagePack cut off", packed({ a: "text" }).slice(0, -1), contentTypes.msgpack, "BAD_MESSAGE"],
    ["that are not UTF-8", Uint8Array.of(0xff, 0xfe), undefined, "BAD_MESSAGE"],
    ["nested too deeply, as JSON", encodeJson(nested(200)), contentTypes.json, "BAD_MESSAGE"],
    ["nested too deeply, as MessagePack", packed(nested(200)), contentTypes.msgpack, "BAD_MESSAGE"],
    ["with a date", packed(new Date(0)), contentTypes.msgpack, "BAD_MESSAGE"],
    ["with bytes", packed({ a: Uint8Array.of(1) }), contentTypes.msgpack, "BAD_MESSAGE"],
    ["with a number that is none", packed({ a: Number.NaN }), contentTypes.msgpack, "BAD_MESSAGE"],
    ["with a whole number beyond doubles", packed({ a: 2n ** 63n }), contentTypes.msgpack, "BAD_MESSAGE"],
    ["with a member __proto__", bytes('{"__proto__":{"x":1}}'), contentTypes.json, "BAD_MESSAGE"],
  ])("%s end in a coded error", (_, given, contentType, code) => {
    expect(codeOf(() => decode(given, contentType))).toBe(code);
  });

  test("whatever they are, are JSON or a coded error, and leave every object's prototype alone", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 64 }),
        fc.constantFrom(undefined, ...Object.values(contentTypes)),
        (given, type) => {
          codeOf(() => JSON.stringify(decode(given, type)));
          expect(Object.keys(Object.prototype)).toEqual([]);
        },
      ),
    );
  });
});

describe("a large part of a value", () => {
  test("is a reference to bytes of its own digest, and what is small stays", () => {
    const { value, blobs } = offload({ small: "here", large: "x".repeat(limits.inlineBytesMax) });
    expect(value).toMatchObject({ small: "here", large: { $blob: blobs[0]?.digest } });
    expect(blobs.map((blob) => sha256(blob.bytes))).toEqual(blobs.map((blob) => blob.digest));
    expect(isBlobRef((value as { large: never }).large)).toBe(true);
  });

  test("that looks like a reference already is refused, however deep it stands", () => {
    const disguised = { a: [{ $blob: "00", bytes: 1 }] };
    expect(codeOf(() => offload(disguised))).toBe("BAD_MESSAGE");
    expect(codeOf(() => offload({ ...disguised, large: "x".repeat(limits.inlineBytesMax) }))).toBe(
      "BAD_MESSAGE",
    );
  });
});
