/**
 * Goal: whose signatures count may be changed at any moment, while hosts append and a stranger forges, and no turn that a
 * host acted on is one no more.
 * Method: every order of everything, in small worlds (trust.ts); each rule broken alone must be found.
 */
import { describe, expect, test } from "vitest";
import { trustRules, trustWorlds, walkTrust } from "./trust.ts";

/** As the README has them. */
const statesOf: Readonly<Record<string, number>> = {
  "from now on turns must be signed": 5_105,
  "one host does not sign, and may die": 9_450,
  "a wrong signature": 5_105,
  "a stolen key is withdrawn": 1_676,
  "a key that nobody named": 1_827,
};

describe("a change of whose signatures count", () => {
  test.for(trustWorlds)("$name: what a host acted on stays a turn", (world) => {
    const { states, settled, broken, trace } = walkTrust(world);
    expect(broken, trace.join("\n")).toBeUndefined();
    expect(settled).toBeGreaterThan(0);
    expect(states).toBe(statesOf[world.name]);
  });

  test.for(["waitsForAll", "waitsForReady", "fromTheEnd", "waits", "announces"] as const)(
    "without the rule %s a turn is lost",
    (rule) => {
      let broken: string | undefined;
      for (const world of trustWorlds) broken ??= walkTrust(world, { ...trustRules, [rule]: false }).broken;
      expect(broken).toMatch(/a host acted on message \d/);
    },
  );
});
