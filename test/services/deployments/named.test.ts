/** A definition as people name it. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { briefDefinition } from "../../../protocol/definition-text.ts";
import { findNamed, parseNamed } from "../../../services/deployments/named.ts";

const hashes = fc.stringMatching(/^[0-9a-f]{64}$/);
const refs = fc.record({
  name: fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9_-]{0,20}$/),
  version: fc.integer({ min: 0, max: 9_999 }),
  hash: hashes,
});

test("what is shown of a definition names it when it is typed", () => {
  fc.assert(
    fc.property(refs, fc.array(refs), (ref, others) => {
      const known = [...others.filter(({ hash }) => hash.slice(0, 8) !== ref.hash.slice(0, 8)), ref];
      expect(findNamed(parseNamed(briefDefinition(ref)), known)).toEqual(ref);
    }),
  );
});

test.each(["", "hire", "hire@", "@2", "hire@two", "hire@2#", "hire@2#xyz", "hire@-1", "hi re@2", "hire@2@3"])(
  "%j names no definition",
  (text) => {
    expect(() => parseNamed(text)).toThrow(expect.objectContaining({ code: "USAGE" }) as Error);
  },
);

test("of two hashes of one version the one that is served is meant, and both need the hash where both are", () => {
  const old = { name: "hire", version: 2, hash: "aa".repeat(32) };
  const now = { name: "hire", version: 2, hash: "bb".repeat(32) };
  const named = parseNamed("hire@2");
  expect(findNamed(named, [old, now], [now])).toEqual(now);
  for (const served of [[], [old, now]])
    expect(() => findNamed(named, [old, now], served)).toThrow(
      expect.objectContaining({ code: "USAGE" }) as Error,
    );
  expect(findNamed(parseNamed("hire@2#aa"), [old, now], [now])).toEqual(old);
});
