/**
 * The one check of what comes in: whatever a program gives is refused with a code and a place, or is a value that every
 * encoding keeps.
 *
 * Properties over anything JavaScript has, values by hand for each bound, and a value too deep for any recursive walk.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contentTypes, decode, decodeOwn, encodeJson, encodeMsgpack } from "../../protocol/codec.ts";
import { isMeshError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { assertValue, faultOfValue, toValue } from "../../protocol/value.ts";

function nested(levels: number, inner: Json = 0): Json {
  let value = inner;
  for (let k = 0; k < levels; k++) value = k % 2 === 0 ? [value] : { a: value };
  return value;
}

const refusal = (given: unknown): string => {
  try {
    return `no refusal: ${JSON.stringify(toValue(given)).slice(0, 80)}`;
  } catch (error) {
    if (isMeshError(error, "VALUE_REFUSED")) return error.message;
    throw error;
  }
};

const holdingItself: unknown[] = [];
holdingItself.push({ again: holdingItself });

describe("what is given", () => {
  test.each<[string, unknown, RegExp]>([
    ["one level too deep", nested(limits.valueDepthMax + 1), /nests deeper than 64 levels/],
    ["100,000 levels deep", nested(100_000), /nests deeper than 64 levels/],
    ["what holds itself", holdingItself, /holds itself/],
    ["one item too many", Array.from({ length: limits.valueMembersMax + 1 }), /more than 100000 items/],
    ["an array of no items and great length", new Array(4_000_000_000), /more than 100000 items/],
    ["a long name", { ["k".repeat(limits.keyBytesMax + 1)]: 1 }, /longer than 4096 bytes/],
    ["a name of few characters and many bytes", { ["€".repeat(1_400)]: 1 }, /longer than 4096 bytes/],
    ["a name with half a character", { "a\ud800": 1 }, /half a character/],
    ["a prototype for a member", JSON.parse('{"a":[{"__proto__":1}]}'), /\/a\/0 has a member "__proto__"/],
    ["a reference to a blob", { a: { $blob: "00", bytes: 1 } }, /\/a holds the reserved key "\$blob"/],
    ["NaN", { cents: [1, Number.NaN] }, /\/cents\/1 is NaN, a number that JSON has not/],
    ["Infinity", -Infinity, /the value is -Infinity/],
    ["a BigInt", { n: 1n }, /\/n is a BigInt/],
  ])("%s is refused, with its place and the bound", (_, given, said) => {
    expect(refusal(given)).toMatch(said);
  });

  test.each<[string, unknown, Json]>([
    ["at the bounds", nested(limits.valueDepthMax), nested(limits.valueDepthMax)],
    [
      "of as many items as may be",
      Array.from({ length: 100_000 }, () => 1),
      Array.from({ length: 100_000 }, () => 1),
    ],
    ["that speaks for itself", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
    ["in a box", [new Number(1), new String("a"), new Boolean(false)], [1, "a", false]],
    ["that is left out", { a: undefined, f: () => 1, list: [undefined, () => 1] }, { list: [null, null] }],
    ["that is nothing", undefined, null],
    ["with a zero below zero", { z: [-0] }, { z: [0] }],
    ["with half a character", { text: "cut \ud83d" }, { text: "cut \ufffd" }],
  ])("a value %s is taken", (_, given, taken) => {
    expect(toValue(given)).toEqual(taken);
    expect(Object.is((toValue({ z: -0 }) as { z: number }).z, 0)).toBe(true);
  });

  test("is refused or reads the same from every encoding, as JSON.stringify has it", () => {
    fc.assert(
      fc.property(
        fc.anything({ withDate: true, withSparseArray: true, withBigInt: true, withNullPrototype: true }),
        (given) => {
          let value: Json;
          try {
            value = toValue(given);
          } catch (error) {
            expect(isMeshError(error, "VALUE_REFUSED")).toBe(true);
            return;
          }
          expect(decode(encodeJson(value), contentTypes.json)).toEqual(value);
          expect(decode(encodeMsgpack(value), contentTypes.msgpack)).toEqual(value);
          const plain = JSON.stringify(given) as string | undefined;
          expect(JSON.stringify(value)).toBe((plain ?? "null").toWellFormed());
          expect(faultOfValue(value)).toBeUndefined();
        },
      ),
      { numRuns: 500 },
    );
  });

  test("is told to a person by its place, which never hides the reason", () => {
    const deep = { rows: nested(200) };
    expect(() => assertValue(deep as Json, "the body")).toThrow(
      /^\[VALUE_REFUSED\] the body: \/rows\/.*… nests deeper/,
    );
  });
});

describe("what is read", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);

  test("from outside says what every encoder would say of it", () => {
    expect(Object.is(decode(bytes("-0"), contentTypes.json), 0)).toBe(true);
    expect(decode(bytes('{"a":["\\ud800"]}'), contentTypes.json)).toEqual({ a: ["\ufffd"] });
    expect(decode(bytes('"\\udc00"'), contentTypes.json)).toBe("\ufffd");
  });

  test("of one's own is taken as it was written, as deep as JSON was ever written", () => {
    const deep = `{"a":${"[".repeat(4_100)}${"]".repeat(4_100)},"__proto__":1,"\\ud800":"\\ud800"}`;
    const read = decodeOwn(bytes(deep), contentTypes.json) as Record<string, unknown>;
    expect(Object.keys(read)).toEqual(["a", "__proto__", "\ud800"]);
    expect(read["\ud800"]).toBe("\ud800");
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
  });

  test("of 100,000 levels ends in a coded error, whoever wrote it", () => {
    const deep = bytes("[".repeat(100_000) + "]".repeat(100_000));
    expect(() => decode(deep, contentTypes.json)).toThrow(/BAD_MESSAGE.*deeper than 100/);
    expect(() => decodeOwn(deep, contentTypes.json)).toThrow(/BAD_MESSAGE.*deeper than 10000/);
  });
});
