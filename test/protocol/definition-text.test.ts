/** The text of a definition: every reference comes back from it, and nothing else does. */
import { expect, test } from "vitest";
import { definitionOfText, textOfDefinition } from "../../protocol/definition-text.ts";

test("a definition comes back from its text", () => {
  for (const ref of [
    { name: "clerk", version: 1, hash: "0123456789abcdef" },
    { name: "plan-0123", version: 12, hash: "a" },
    { name: "at@home", version: 3, hash: "b_-" },
  ])
    expect(definitionOfText(textOfDefinition(ref))).toEqual(ref);
});

test("what is none is undefined", () => {
  for (const text of [
    undefined,
    "",
    "clerk",
    "clerk@1",
    "clerk#a",
    "@1#a",
    "clerk@x#a",
    "clerk@1#",
    "clerk@1.5#a",
  ])
    expect(definitionOfText(text)).toBeUndefined();
});
