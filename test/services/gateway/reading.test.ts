/**
 * What a request says: each way of saying the same answer is read as that answer.
 */
import { describe, expect, test } from "vitest";
import { isMeshError } from "../../../protocol/errors.ts";
import { readData, readingsFor, readSaid } from "../../../services/gateway/reading.ts";

const given = (body: string, contentType?: string, query = "") => ({
  query: new URLSearchParams(query),
  contentType,
  body: Buffer.from(body),
});
const form = "application/x-www-form-urlencoded";
const said = (...args: Parameters<typeof given>) => readSaid(given(...args));
const codeOf = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    if (isMeshError(error)) return error.code;
    throw error;
  }
  return "none";
};

describe("an output", () => {
  test("is the JSON body itself, whatever type of JSON it is said to be", () => {
    const slot = { outcome: "succeeded", readings: [{ slot: "tue" }] };
    expect(said('{"slot":"tue"}', "application/json")).toEqual(slot);
    expect(said('{"slot":"tue"}', "application/vnd.api+json; charset=utf-8")).toEqual(slot);
    expect(said('{"slot":"tue"}')).toEqual(slot);
    expect(said('{"slot":"tue"}', form)).toEqual(slot); // As curl -d sends it.
    expect(said('{"succeeded":{"slot":"tue"}}', "application/json")).toEqual(slot);
  });

  test("is a form's fields, as texts or as what they look like, from body and query together", () => {
    expect(said("n=3&ok=true&to=a&to=b", form, "n=1&who=ann&outcome=succeeded")).toEqual({
      outcome: "succeeded",
      readings: [
        { who: "ann", n: "3", ok: "true", to: ["a", "b"] },
        { who: "ann", n: 3, ok: true, to: ["a", "b"] },
      ],
    });
    expect(said("", undefined, "slot=tue")).toMatchObject({ readings: [{ slot: "tue" }, { slot: "tue" }] });
  });

  test("is a plain text, or the one member of an object it may be", () => {
    const readings = ["Tuesday"];
    expect(said("Tuesday", "text/plain")).toEqual({ outcome: "succeeded", readings });
    const schema = { type: "object", properties: { text: { type: "string" } } };
    expect(readingsFor(readings, schema)).toEqual(["Tuesday", { text: "Tuesday" }]);
    expect(readingsFor(readings, { type: "object", properties: { a: {}, b: {} } })).toEqual(["Tuesday"]);
  });

  test("is null or nothing in particular where the body is empty", () => {
    expect(said("")).toEqual({ outcome: "succeeded", readings: [null, {}] });
  });

  test("may look like a failure if the query says that it is none", () => {
    expect(said('{"failed":"no"}', "application/json", "outcome=succeeded")).toEqual({
      outcome: "succeeded",
      readings: [{ failed: "no" }],
    });
  });
});

describe("a failure", () => {
  test.each([
    ['{"failed":"nobody there"}', "application/json", ""],
    ["", undefined, "outcome=failed&reason=nobody+there"],
    ["nobody there", "text/plain", "outcome=failed"],
    ["reason=nobody+there", form, "outcome=failed"],
    ['{"failed":"nobody there"}', "application/json", "outcome=failed"],
    ['{"reason":"nobody there"}', "application/json", "outcome=failed"],
  ])("%s as %s with %s", (body, type, query) => {
    expect(said(body, type, query)).toMatchObject({ outcome: "failed" });
    if (!body.startsWith("reason="))
      expect(said(body, type, query)).toMatchObject({ reason: "nobody there" });
  });
});

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

describe("what cannot be read is refused", () => {
  test.each([
    ["half of a JSON text", '{"slot":', "application/json", "", "BAD_MESSAGE"],
    ["JSON nested too deeply", "[".repeat(200) + "]".repeat(200), "application/json", "", "BAD_MESSAGE"],
    [
      "a reference to a stored value",
      '{"a":{"$blob":"00","bytes":1}}',
      "application/json",
      "",
      "VALUE_REFUSED",
    ],
    ["a field that is no field", "__proto__=1", form, "", "VALUE_REFUSED"],
    ["a value nested more than values may", nested(65), "application/json", "", "VALUE_REFUSED"],
    [
      "both outcomes in the body",
      '{"failed":"no","succeeded":{"slot":1}}',
      "application/json",
      "",
      "BAD_MESSAGE",
    ],
    [
      "both outcomes in the query",
      "{}",
      "application/json",
      "outcome=failed&outcome=succeeded",
      "BAD_MESSAGE",
    ],
    [
      "an output beside a failure",
      '{"succeeded":{"slot":1}}',
      "application/json",
      "outcome=failed",
      "BAD_MESSAGE",
    ],
    [
      "a body that is no reason beside a failure",
      '{"slot":1}',
      "application/json",
      "outcome=failed",
      "BAD_MESSAGE",
    ],
    ["the same, with a reason", '{"slot":1}', "application/json", "outcome=failed&reason=no", "BAD_MESSAGE"],
    ["form fields beside a failure", "slot=1", form, "outcome=failed", "BAD_MESSAGE"],
    ["bytes that are no text", "\u0000", "image/png", "", "BAD_MESSAGE"],
    ["an outcome that is none", "{}", "application/json", "outcome=maybe", "BAD_MESSAGE"],
  ])("%s", (_, body, type, query, code) => {
    expect(codeOf(() => readSaid(given(body, type, query)))).toBe(code);
  });

  test("a text that is not UTF-8", () => {
    const body = Uint8Array.of(0xff, 0xfe);
    expect(codeOf(() => readData({ ...given(""), contentType: "text/plain", body }))).toBe("BAD_MESSAGE");
  });
});
