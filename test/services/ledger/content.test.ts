import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contentTypes, decodeOwn, encodeMsgpack } from "../../../protocol/codec.ts";
import type { Json } from "../../../protocol/json.ts";
import { headers } from "../../../protocol/subjects.ts";
import { contentOf, membersOf } from "../../../services/ledger/content.ts";

type Told = { readonly value: Json } | { readonly threw: string };

const told = (read: () => Json): Told => {
  try {
    return { value: read() };
  } catch (error) {
    return { threw: String(error) };
  }
};

const values = fc.oneof(fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue())) as fc.Arbitrary<Json>;
const deep = (levels: number): string => `{"v":${"[".repeat(levels)}${"]".repeat(levels)}}`;
const texts = fc.oneof(
  values.map((value) => JSON.stringify(value)),
  values.map((value) => `\ufeff${JSON.stringify(value)}`),
  fc.constantFrom(
    "",
    "{",
    "null",
    '{"__proto__":{"a":1}}',
    '{"a":1,"a":2}',
    '{"a":1e999}',
    deep(90),
    deep(400),
  ),
);
const bodies = fc.oneof(
  texts.map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 40 }),
  values.map((value) => encodeMsgpack(value)),
  // JSON but for a byte that is no UTF-8: what is only looked at reads it, and the codec refuses it.
  fc.constant(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])),
);
const kinds = fc.constantFrom(
  undefined,
  contentTypes.json,
  contentTypes.msgpack,
  "application/json; charset=utf-8",
);
const headersOf = (kind: string | undefined): Record<string, string> =>
  kind === undefined ? {} : { [headers.contentType]: kind };
const messages = fc.tuple(bodies, kinds).map(([data, kind]) => ({ data, headers: headersOf(kind) }));

describe("the content of a ledger's message", () => {
  test("is what the codec reads of its bytes, in whatever order messages are looked at and read", () => {
    fc.assert(
      fc.property(
        fc.array(messages, { minLength: 1, maxLength: 4 }),
        fc.array(fc.tuple(fc.nat(3), fc.boolean()), { maxLength: 12 }),
        (those, acts) => {
          for (const [k, isRead] of acts) {
            const message = those[k % those.length]!;
            if (isRead) {
              const anew = told(() =>
                decodeOwn(message.data, message.headers[headers.contentType] ?? contentTypes.json),
              );
              expect(told(() => contentOf(message))).toEqual(anew);
            } else membersOf(message);
          }
        },
      ),
    );
  });

  test("is each reader's own: what one does to it no other sees", () => {
    const message = { data: Buffer.from('{"turn":1}'), headers: {} };
    membersOf(message);
    const first = contentOf(message) as { turn: number };
    first.turn = 2;
    expect(contentOf(message)).toEqual({ turn: 1 });
    membersOf(message);
    expect(contentOf(message)).toEqual({ turn: 1 });
  });
});
