/**
 * Goal: claims that were kept are believed only beside a copy that is younger than any that have gone. Method: the rule by itself; the
 * command on real servers is in test/end-to-end/restored.test.ts.
 */
import { expect, test } from "vitest";
import { limits } from "../../../protocol/limits.ts";
import { markOfKept } from "../../../services/runtime/restored.ts";

const day = 86_400_000;
const at = 1_000 * day;

test("beside a copy of five days ago, or none, nothing is asked about", () => {
  expect(markOfKept(at, at - 5 * day)).toBeUndefined();
  expect(markOfKept(at, Number.POSITIVE_INFINITY)).toBeUndefined();
});

test("beside an older one sagas are asked about that can have been archived since, and their claims gone (RW4)", () => {
  const mark = markOfKept(at, at - 6 * day)!;
  expect(mark.at).toBe(at);
  // Whose claims went had its last turn a horizon before: it began before that.
  expect(mark.until).toBeGreaterThan(at - limits.signalHorizonMs);
});
