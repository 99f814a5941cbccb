/**
 * Canonical text: digests and keys that ledgers hold are made of it, so it stays what it was.
 *
 * Method: random values, undefined members, texts of all kinds and integer-like keys among them, against the rule written down
 * as briefly as it can be.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson } from "../../protocol/json.ts";

const byTheRule = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map((item) => byTheRule(item ?? null)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  return `{${Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${byTheRule(member)}`)
    .join(",")}}`;
};

const anything = fc.anything({
  key: fc.oneof(fc.string({ unit: "binary" }), fc.nat().map(String), fc.constantFrom("", "a", "B", "é", "𝒂")),
  values: [
    fc.string({ unit: "binary" }),
    fc.double(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.constant(undefined),
  ],
  maxDepth: 5,
});

test("the canonical text of any value is the one that digests were always made of", () => {
  fc.assert(
    fc.property(anything, (value) => {
      expect(canonicalJson(value)).toBe(byTheRule(value));
    }),
    { numRuns: 500 },
  );
});
