/**
 * Goal: what is claimed once happens once, although the claims of an archived saga go, and in the end nothing of it is left.
 * Method: every order of everything, in small worlds (claims.ts); each rule broken alone must be found.
 */
import { expect, test } from "vitest";
import { claimRules, claimWorlds, walkClaims } from "./claims.ts";

test.each(claimWorlds)("$name: it happens once, and its claims go", (world) => {
  const { states, broken } = walkClaims(world);
  expect(broken?.join("\n")).toBeUndefined();
  expect(states).toBeGreaterThan(300);
});

test.each(Object.keys(claimRules) as (keyof typeof claimRules)[])(
  "without the rule %s it happens twice, or something is left",
  (rule) => {
    const all = claimWorlds.map((world) => walkClaims(world, { ...claimRules, [rule]: false }).broken);
    const found = all.find((broken) => broken !== undefined);
    expect(found?.at(-1)).toMatch(rule === "forgetsLast" ? /left for ever/ : /happens twice/);
  },
);
