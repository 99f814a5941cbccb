/** Goal: what happened and what helps read as two sentences, wherever both stand in one line of text. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { describeWithRemedy, MeshError } from "../../protocol/errors.ts";

test("what happened ends before what helps begins, with one mark", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^\w[\w ]{0,20}\w$/), fc.constantFrom("", ".", "!", "?"), (what, mark) => {
      const error = new MeshError("SIGNAL_UNKNOWN", `${what}${mark}`, { remedy: "Do this." });
      expect(describeWithRemedy(error)).toBe(`[SIGNAL_UNKNOWN] ${what}${mark === "" ? "." : mark} Do this.`);
    }),
  );
});

test("what is no error of ours has no remedy", () => {
  expect(describeWithRemedy(new Error("odd"))).toBe("odd");
});
