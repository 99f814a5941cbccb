/**
 * Goal: when a node may begin is said in words that name all that it waits for, and tell `and` from `or` however deep they lie.
 * Method: each form once, and drawn conditions beside the product's own list of what they name.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { namedIn } from "../../../../actors/values/condition.ts";
import type { Condition } from "../../../../protocol/workflow.ts";
import { conditionWords } from "../../../../services/console/page/condition.ts";

test.each<[Condition, string]>([
  [{ all: [] }, "the workflow begins"],
  [{ node: "bus" }, "bus has committed"],
  [{ node: "meal", is: "atMost", at: "/cents", value: 5_000 }, "meal has committed with /cents atMost 5000"],
  [{ node: "meal", is: "present" }, "meal has committed with its output present"],
  [{ not: { node: "rain" } }, "it is certain that not: rain has committed"],
  [
    { all: [{ node: "bus" }, { any: [{ node: "a" }, { node: "b" }] }] },
    "bus has committed and (a has committed or b has committed)",
  ],
])("%j", (condition, words) => {
  expect(conditionWords(condition)).toBe(words);
});

const node = fc.constantFrom("bus", "meal", "walk").map((name) => ({ node: name }));
const { condition } = fc.letrec<{ condition: Condition }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 4 },
    node,
    fc.record({ all: fc.array(tie("condition"), { maxLength: 3 }) }),
    fc.record({ any: fc.array(tie("condition"), { maxLength: 3 }) }),
    fc.record({ not: tie("condition") }),
  ),
}));

test("whatever it is, every node that it names is in the words", () => {
  fc.assert(
    fc.property(condition, (one) => {
      const words = conditionWords(one);
      expect(words).not.toBe("");
      for (const name of namedIn(one)) expect(words).toContain(`${name} has committed`);
    }),
  );
});
