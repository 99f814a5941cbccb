/** Goal: a human's edit means what RFC 7386 says. Method: the RFC's own table, and targets that must stay as they were. */
import { expect, test } from "vitest";
import { mergePatch } from "../../../actors/values/merge-patch.ts";
import type { Json } from "../../../protocol/json.ts";

const table: [target: Json, patch: Json, result: Json][] = [
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, null, null],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

test.each(table)("%j patched with %j is %j, and neither is changed", (target, patch, result) => {
  const before = JSON.stringify([target, patch]);
  expect(mergePatch(target, patch)).toEqual(result);
  expect(JSON.stringify([target, patch])).toBe(before);
});
