/**
 * Goal: an agent's policies hold for its whole tree, and what it may do n times its sub-agents cannot do n times each.
 * Method: definitions as their parents start them, and given, when, then over the parent's ledger and the child's.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Definition, SagaDefinition } from "../../../actors/contract/definition.ts";
import { underPolicies } from "../../../actors/contract/inherit.ts";
import {
  allowOnly,
  callsAtMost,
  denyTools,
  noTwoOfAKind,
  spendAtMost,
} from "../../../actors/policies/ready-made.ts";
import type { Policy } from "../../../actors/contract/policy.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import { given, replied, started, type Story, succeeded } from "../../../services/testing/given.ts";
import { agentOf, call, look, sequence } from "../../support/workbench.ts";

const begun = started({ of: "x" });
const pay = defineTool({
  name: "pay",
  description: "Pays.",
  effect: "idempotent",
  input: z.object({ cents: z.int() }),
  output: z.json(),
});
const tools = [pay, look];
const grandchild = agentOf({ name: "grandchild", tools });
const child = agentOf({ name: "child", tools, agents: [grandchild] });
const parentWith = (...policies: Policy[]) => agentOf({ name: "parent", tools, agents: [child], policies });

/** The definition that a chain of starts comes to. */
const below = ({ definition }: SagaDefinition, ...names: string[]): SagaDefinition => {
  const found = names.reduce<Definition | undefined>((one, name) => one?.sagas.get(name), definition);
  return { definition: found } as SagaDefinition; // Proof: `given` reads the definition only.
};
const kindsOf = (story: Story) => story.intents.map(({ kind }) => kind);
const pays = (...cents: number[]) => replied({ calls: cents.map((one) => call("pay", { cents: one })) });
const most = (max: number, delegate?: number) =>
  spendAtMost({
    tool: pay,
    amount: ({ cents }) => cents,
    max,
    ...(delegate === undefined ? {} : { delegate }),
  });

describe("a policy without a memory", () => {
  test("is inherited as it is, by children and grandchildren", () => {
    const parent = parentWith(denyTools([pay]));
    for (const path of [[], ["child"], ["child", "grandchild"]])
      given(below(parent, ...path), begun)
        .when(replied({ calls: [call("pay", { cents: 1 }), call("look")] }))
        .then({ kind: "denied", reason: "policy deny_tools pay: pay may not be called" }, { kind: "tool" });
  });

  test("holds beside the sub-agent's own", () => {
    const strict = agentOf({ name: "strict", tools, policies: [denyTools([look])] });
    const parent = agentOf({ name: "parent", tools, agents: [strict], policies: [denyTools([pay])] });
    const both = replied({ calls: [call("pay", { cents: 1 }), call("look")] });
    expect(kindsOf(given(below(parent, "strict"), begun).when(both))).toEqual(["denied", "denied", "model"]);
    expect(kindsOf(given(strict, begun).when(both))).toEqual(["tool", "denied"]);
  });

  test("that allows a list holds for what the sub-agent calls, too", () => {
    const parent = parentWith(allowOnly([child, look]));
    given(parent, begun)
      .when(replied({ calls: [call("child")] }))
      .then({ kind: "saga", name: "child" });
    expect(kindsOf(given(below(parent, "child"), begun).when(pays(1)))).toEqual(["denied", "model"]);
  });

  test("is inherited by a machine, and through a machine by an agent", () => {
    const machine = sequence(pay);
    const parent = agentOf({ name: "parent", tools, agents: [machine], policies: [denyTools([pay])] });
    expect(given(below(parent, "sequence"), started(null)).intents[0]).toMatchObject({ kind: "denied" });
  });
});

describe("a policy that counts", () => {
  test("denies a sub-agent what it counts, says where it may be done, and lets the rest be", () => {
    for (const policy of [callsAtMost(pay, 5), most(1_000), noTwoOfAKind(pay, ({ cents }) => `${cents}`)])
      for (const path of [["child"], ["child", "grandchild"]])
        given(below(parentWith(policy), ...path), begun)
          .when(replied({ calls: [call("pay", { cents: 1 }), call("look")] }))
          .then(
            { kind: "denied", reason: /pay counts in the parent and must be called there$/ },
            { kind: "tool" },
          );
  });

  test("counts in the parent as before", () => {
    expect(kindsOf(given(parentWith(callsAtMost(pay, 2)), begun).when(pays(1, 1, 1)))).toEqual([
      "tool",
      "tool",
      "denied",
    ]);
  });

  test("still judges in a sub-agent what it does not count", () => {
    const shy: Policy = {
      name: "shy",
      judge: ({ tool }) => (tool === "look" ? { deny: "no looking" } : undefined),
      memory: { initial: 0, next: (n) => n },
    };
    expect(
      kindsOf(given(below(parentWith(shy), "child"), begun).when(replied({ calls: [call("look")] }))),
    ).toEqual(["denied", "model"]);
  });
});

describe("a policy that delegates", () => {
  const starts = (n: number) => replied({ calls: Array.from({ length: n }, () => call("child")) });

  test("takes each sub-agent's share out of its own sum when it starts it: fifty cannot have it fifty times", () => {
    const story = given(parentWith(most(100, 30)), begun).when(starts(50));
    expect(kindsOf(story).filter((kind) => kind === "saga")).toHaveLength(3);
    story.then(
      ...Array.from({ length: 3 }, () => ({ kind: "saga" as const })),
      ...Array.from({ length: 47 }, () => ({
        kind: "denied" as const,
        reason: /10 is left to be delegated$/,
      })),
    );
    const rest = story.when([succeeded("1.0", null), succeeded("1.1", null), succeeded("1.2", null)]);
    expect(kindsOf(rest.when(pays(11, 10)))).toEqual(["denied", "tool"]);
  });

  test("leaves a sub-agent its share and no more, and a grandchild nothing", () => {
    const parent = parentWith(most(100, 30));
    expect(kindsOf(given(below(parent, "child"), begun).when(pays(20, 20, 10)))).toEqual([
      "tool",
      "denied",
      "tool",
    ]);
    expect(kindsOf(given(below(parent, "child", "grandchild"), begun).when(pays(1)))).toEqual([
      "denied",
      "model",
    ]);
  });

  test("does not take a share for a sub-agent that cannot reach the tool", () => {
    const reader = agentOf({ name: "reader", tools: [look] });
    const parent = agentOf({ name: "parent", tools, agents: [reader], policies: [most(100, 60)] });
    const story = given(parent, begun).when(replied({ calls: [call("reader"), call("reader")] }));
    expect(kindsOf(story)).toEqual(["saga", "saga"]);
    expect(story.state).not.toHaveProperty("guards");
  });

  test("of calls leaves each sub-agent so many", () => {
    const parent = parentWith(callsAtMost(pay, 5, { delegate: 2 }));
    const story = given(parent, begun).when(
      replied({ calls: [call("child"), call("child"), call("child"), call("pay", { cents: 1 })] }),
    );
    expect(kindsOf(story)).toEqual(["saga", "saga", "denied", "tool"]);
    expect(kindsOf(given(below(parent, "child"), begun).when(pays(1, 1, 1)))).toEqual([
      "tool",
      "tool",
      "denied",
    ]);
  });

  test("of two ancestors alike leaves the sub-agent two sums, and each holds", () => {
    const middle = agentOf({ name: "child", tools, policies: [most(100, 30)], agents: [grandchild] });
    const parent = agentOf({ name: "parent", tools, agents: [middle], policies: [most(100, 30)] });
    const story = given(below(parent, "child"), begun).when(pays(20, 20));
    expect(kindsOf(story)).toEqual(["tool", "denied"]);
    expect(story.state.guards).toEqual({
      "spend_at_most 100 pay delegating 30 (delegated)": 20,
      "spend_at_most 100 pay delegating 30": 20,
    });
  });
});

describe("a definition under policies", () => {
  test("is another by its hash, and the same one each time", () => {
    const policies = [denyTools([pay])];
    const bound = underPolicies(child.definition, policies);
    expect(bound.hash).not.toBe(child.definition.hash);
    expect(underPolicies(child.definition, [...policies])).toBe(bound);
    expect(underPolicies(child.definition, [denyTools([look])]).hash).not.toBe(bound.hash);
    expect(below(parentWith(...policies), "child").definition).toBe(bound);
    expect(below(parentWith(denyTools([pay])), "child").definition.hash).toBe(bound.hash);
  });

  test("that has none from above is what its author defined", () => {
    expect(underPolicies(child.definition, [])).toBe(child.definition);
    expect(below(parentWith(), "child").definition).toBe(child.definition);
  });
});

test("a policy without a name is told when the application is loaded", () => {
  const nameless = { judge: () => undefined } as never;
  expect(parentWith(nameless, { name: "", judge: () => undefined }).definition.faults).toEqual([
    "agent parent: policies.0 is {}: expected what definePolicy made",
    'parent: "" is no policy\'s name',
  ]);
});
