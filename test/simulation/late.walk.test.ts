/**
 * Goal: a call that is delivered again weeks after its saga was archived is not performed again, although its claim is gone.
 * Method: seeded runs on a memory mesh, with real files (late.ts); what breaks a rule is found (plants.ts).
 */
import { expect, test } from "vitest";
import { share } from "../support/share.ts";
import { type LateOutcome, simulateLate } from "./late.ts";

test("whatever comes late is done once in each life of its saga", { timeout: 240_000 }, async () => {
  const outcomes: LateOutcome[] = [];
  for (let seed = 1; seed <= share(20, 200); seed++) outcomes.push(await simulateLate(seed));
  expect(outcomes.filter(({ violations }) => violations.length > 0)).toEqual([]);
  const sum = (of: (outcome: (typeof outcomes)[number]) => number) =>
    outcomes.reduce((all, one) => all + of(one), 0);
  expect(sum(({ late }) => late)).toBeGreaterThan(outcomes.length);
  expect(sum(({ acts }) => acts)).toBeGreaterThan(3 * outcomes.length);
});
