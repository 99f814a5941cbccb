/**
 * Goal: a saga begins in one stream of ledgers, where every reader looks, however many of those each process knows of.
 * Method: every order of everything, in small worlds (shards.ts); each rule broken alone must be found.
 */
import { expect, test } from "vitest";
import { shardRules, shardWorlds, walkShards } from "./shards.ts";

test.each(shardWorlds)("$name: it begins in one, and is found", (world) => {
  const { states, broken } = walkShards(world);
  expect(broken?.join("\n")).toBeUndefined();
  expect(states).toBeGreaterThan(40);
});

test.each(["asks", "posts", "compares", "reads", "heeds"] as const)(
  "without the rule %s it begins in two, or is not found",
  (rule) => {
    const all = shardWorlds.map((world) => walkShards(world, { ...shardRules, [rule]: false }).broken);
    expect(all.find((broken) => broken !== undefined)?.at(-1)).toMatch(/^it has turns/);
  },
);
