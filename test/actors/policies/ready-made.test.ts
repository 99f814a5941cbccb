/**
 * Goal: each policy that comes with sagamesh allows what it says and nothing else, and is told from one with other
 * parameters by its name. Method: given, when, then, with an agent that has one policy and a few tools.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { SagaDefinition } from "../../../actors/contract/definition.ts";
import type { Policy } from "../../../actors/contract/policy.ts";
import {
  allowOnly,
  argumentsMatch,
  callsAtMost,
  denyTools,
  needsApproval,
  noTwoOfAKind,
  spendAtMost,
} from "../../../actors/policies/ready-made.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import {
  failed,
  given,
  replied,
  started,
  type Story,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { agentOf, call, hold, look } from "../../support/workbench.ts";

const begun = started({ of: "x" });
const byBoss = { by: "boss" };
const pay = defineTool({
  name: "pay",
  description: "Pays.",
  effect: "idempotent",
  input: z.object({ cents: z.number(), to: z.string() }),
  output: z.json(),
  compensation: { tool: look, input: () => ({ of: "" }) },
});
const helper = (policies: readonly Policy[], agents: readonly SagaDefinition[] = []) =>
  given(agentOf({ policies, agents, tools: [pay, look, hold], callsPerReplyMax: 1_000 }), begun);
const kindsOf = (story: Story) => story.intents.map(({ kind }) => kind);
const reasonOf = (story: Story) =>
  (story.intents.find(({ kind }) => kind === "denied") as { reason?: string }).reason;
const pays = (...cents: unknown[]) =>
  replied({ calls: cents.map((one) => call("pay", { cents: one, to: "a" })) });
const looks = (n: number) =>
  replied({ calls: Array.from({ length: n }, (_, k) => call("look", { of: `${k}` })) });

describe("at most n", () => {
  test("calls of a tool are made in one saga, in one batch or in several", () => {
    expect(kindsOf(helper([callsAtMost(look, 2)]).when(looks(3)))).toEqual(["tool", "tool", "denied"]);
    const later = helper([callsAtMost(look, 2)])
      .when(looks(1))
      .when(succeeded("look", 1))
      .when(looks(1))
      .when(succeeded("look", 1))
      .when(looks(1));
    later.then(
      { kind: "denied", reason: "policy at_most 2 look: look may be called 2 times at most" },
      { kind: "model" },
    );
  });

  test("is the stricter of two bounds", () => {
    expect(kindsOf(helper([callsAtMost(look, 3), callsAtMost(look, 1)]).when(looks(2)))).toEqual([
      "tool",
      "denied",
    ]);
  });

  test("counts no attempt: a retry is not counted", () => {
    helper([callsAtMost(look, 1)])
      .when(looks(1))
      .when(failed("look"))
      .then({ kind: "retry", attempt: 2 });
  });

  test("counts starts of a sub-agent, and other tools not", () => {
    const child = agentOf({ name: "child" });
    const story = helper([callsAtMost(child, 1)], [child]).when(
      replied({ calls: [call("child"), call("child"), call("look"), call("look", { of: "y" })] }),
    );
    expect(kindsOf(story)).toEqual(["saga", "denied", "tool", "tool"]);
  });
});

describe("spending", () => {
  const most = (max: number) => spendAtMost({ tool: pay, amount: ({ cents }) => cents, max });

  test("is summed over calls, and what would be more is denied while less is not", () => {
    const story = helper([most(100)]).when(pays(60, 50, 40, 1));
    expect(kindsOf(story)).toEqual(["tool", "denied", "tool", "denied"]);
    expect(reasonOf(story)).toBe("policy spend_at_most 100 pay: 40 of 100 is left");
  });

  test("stays counted when the call failed", () => {
    const story = helper([most(100)])
      .when(pays(60))
      .when(failed("pay", { retry: false }));
    expect(kindsOf(story.when(pays(60)))).toEqual(["denied", "model"]);
  });

  test.each([-50, Number.NaN, Number.POSITIVE_INFINITY, null, "100", [100], {}, true])(
    "of %j is denied",
    (amount) => {
      const loose = defineTool({ ...pay, input: z.looseObject({ cents: z.any() }) } as never);
      const policy = spendAtMost({ tool: loose, amount: (input: any) => input.cents, max: 1_000 });
      const story = given(agentOf({ tools: [loose], policies: [policy] }), begun).when(pays(amount, 1_000));
      expect(kindsOf(story)).toEqual(["denied", "tool"]);
    },
  );

  test("is never over its bound, whatever amounts are asked for", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: -10, max: 60 }), { maxLength: 12 }), (amounts) => {
        const story = helper([most(100)]).when(pays(...amounts.map((one) => (Number.isNaN(one) ? 0 : one))));
        const made = Object.values(story.state.open).filter(({ intent }) => intent.kind === "tool");
        const sum = made.reduce((total, { input }) => total + (input as { cents: number }).cents, 0);
        expect(sum).toBeLessThanOrEqual(100);
        expect(made.every(({ input }) => (input as { cents: number }).cents >= 0)).toBe(true);
      }),
      { numRuns: 60, seed: 20261121 },
    );
  });

  test("of several tools is one sum, and of all calls if none is named", () => {
    const both = spendAtMost({ tool: [look, hold], amount: ({ of }) => Number(of), max: 10 });
    const calls = [call("look", { of: "6" }), call("hold", { of: "6" }), call("hold", { of: "4" })];
    expect(kindsOf(helper([both]).when(replied({ calls })))).toEqual(["tool", "denied", "tool"]);
    const all = spendAtMost({ amount: () => 5, max: 10 });
    expect(kindsOf(helper([all]).when(replied({ calls })))).toEqual(["tool", "tool", "denied"]);
  });

  test("with a bound that is none is told when the application is loaded", () => {
    const faults = agentOf({ policies: [most(Number.NaN), { ...most(-1), name: "n" }] }).definition.faults;
    expect(faults).toEqual([
      'helper: policy "spend_at_most NaN pay": max is NaN, not a number from 0',
      'helper: policy "n": max is -1, not a number from 0',
    ]);
  });
});

describe("lists", () => {
  test("that allow deny everything else, sub-agents too", () => {
    const child = agentOf({ name: "child" });
    const story = helper([allowOnly([look])], [child]).when(
      replied({ calls: [call("look"), call("hold"), call("child")] }),
    );
    expect(kindsOf(story)).toEqual(["tool", "denied", "denied"]);
    expect(reasonOf(story)).toBe("policy allow_only look: only look may be called");
    expect(kindsOf(helper([allowOnly([])]).when(looks(1)))).toEqual(["denied", "model"]);
  });

  test("that deny leave everything else", () => {
    const story = helper([denyTools([hold, pay])]).when(replied({ calls: [call("look"), call("hold")] }));
    expect(kindsOf(story)).toEqual(["tool", "denied"]);
  });
});

describe("arguments", () => {
  const to = (pattern: RegExp) => argumentsMatch(pay, { to: pattern });
  const paysTo = (...names: unknown[]) =>
    replied({ calls: names.map((name) => call("pay", { cents: 1, to: name })) });

  test.each([
    ["a whole text", /a+/, "aaa"],
    ["one of several", /ann|anna/, "anna"],
    ["with the author's own anchors", /^a+$/, "aa"],
    ["with flags that would give it a memory", /a/gy, "a"],
  ])("match: %s", (_, pattern, name) => {
    expect(kindsOf(helper([to(pattern)]).when(paysTo(name, name)))).toEqual(["tool", "tool"]);
  });

  test.each([
    ["a part of a text", /a/, "ba"],
    ["a line of a text, where the pattern is by lines", /^a$/m, "a\nb"],
    ["the text before a newline", /a/, "a\n"],
    ["another case", /shop/, "SHOP"],
    ["a letter that looks alike", /[a-z]+/, "р"],
    ["the empty text", /a*b/, ""],
  ])("do not match by %s", (_, pattern, name) => {
    expect(kindsOf(helper([to(pattern)]).when(paysTo(name)))).toEqual(["denied", "model"]);
  });

  test("of which one is absent, or no text, do not match", () => {
    const loose = defineTool({ ...pay, input: z.looseObject({}) } as never);
    const agent = agentOf({ tools: [loose], policies: [argumentsMatch(loose, { to: /.*/ })] });
    const calls = [{}, { to: 1 }, { to: ["a"] }, { TO: "a" }].map((input) => call("pay", input));
    const kinds = kindsOf(given(agent, begun).when(replied({ calls })));
    expect(kinds).toEqual(["denied", "denied", "denied", "denied", "model"]);
  });

  test("may be held to a schema, of one member or of all", () => {
    const small = argumentsMatch(pay, { cents: z.number().max(10) });
    expect(kindsOf(helper([small]).when(pays(10, 11)))).toEqual(["tool", "denied"]);
    const whole = argumentsMatch(pay, z.object({ cents: z.number().max(10), to: z.literal("a") }));
    expect(kindsOf(helper([whole]).when(pays(10, 11)))).toEqual(["tool", "denied"]);
    expect(kindsOf(helper([whole]).when(looks(1)))).toEqual(["tool"]);
  });
});

describe("a needed approval", () => {
  const terms = { by: ["boss"], withinMs: 1_000, otherwise: "deny" } as const;

  test("is asked for, for every call of that tool", () => {
    const story = helper([needsApproval(pay, terms)]).when(pays(1, 1));
    expect(kindsOf(story)).toEqual(["task", "task"]);
    story.when(voted("1.0", "approve", byBoss)).then({ kind: "tool", name: "pay" });
  });

  test("may depend on the input", () => {
    const dear = needsApproval(pay, ({ cents }) => cents > 10 && terms);
    expect(kindsOf(helper([dear]).when(pays(10, 11)))).toEqual(["tool", "task"]);
  });

  test("holds for the start of a sub-agent, too", () => {
    const child = agentOf({ name: "child" });
    const story = helper([needsApproval(child, terms)], [child]).when(replied({ calls: [call("child")] }));
    story.then({ kind: "task", about: "approval", question: "May child be called?" });
    story.when(voted("approval", "approve", byBoss)).then({ kind: "saga", name: "child", call: "1.0" });
  });
});

describe("no two of a kind", () => {
  const once = noTwoOfAKind(pay, ({ to }) => to.trim().toLowerCase());
  const paysTo = (...names: string[]) => replied({ calls: names.map((to) => call("pay", { cents: 1, to })) });

  test("are made, in one batch or in several", () => {
    const story = helper([once]).when(paysTo("a", "b", "A ", "ａ"));
    expect(kindsOf(story)).toEqual(["tool", "tool", "denied", "denied"]);
    expect(reasonOf(story)).toBe("policy no_two_of_a_kind pay: there was one of this kind before");
    const later = story.when([succeeded("1.0", 1), succeeded("1.1", 1)]);
    expect(kindsOf(later.when(paysTo("a")))).toEqual(["denied", "model"]);
  });

  test("differ however many there are, and each is remembered by eight characters", () => {
    const names = Array.from({ length: 300 }, (_, k) => `n${k}`);
    const story = helper([once]).when(paysTo(...names, ...names));
    expect(kindsOf(story).filter((kind) => kind === "tool")).toHaveLength(300);
    expect((Object.values(story.state.guards ?? {})[0] as string).length).toBe(300 * 8);
  });

  test("whose kind is no text are denied", () => {
    const story = helper([noTwoOfAKind(pay, (() => 7) as never)]).when(pays(1));
    expect(reasonOf(story)).toBe("policy no_two_of_a_kind pay: its kind is no text");
  });
});

test("a policy's name, and so the definition's hash, holds its parameters", () => {
  const terms = { by: ["boss"], withinMs: 1_000, otherwise: "deny" } as const;
  const amount = ({ cents }: { cents: number }) => cents;
  const all = [
    ...[allowOnly([look]), allowOnly([pay]), denyTools([look]), denyTools([look, pay])],
    ...[
      argumentsMatch(pay, { to: /a/ }),
      argumentsMatch(pay, { to: /b/ }),
      argumentsMatch(pay, { to: /b/i }),
    ],
    ...[argumentsMatch(pay, z.object({})), argumentsMatch(pay, z.object({ a: z.null() }))],
    ...[
      needsApproval(pay, terms),
      needsApproval(pay, { ...terms, quorum: 2 }),
      needsApproval(pay, () => false),
    ],
    ...[
      callsAtMost(look, 1),
      callsAtMost(look, 2),
      callsAtMost(pay, 2),
      callsAtMost(pay, 2, { delegate: 1 }),
    ],
    ...[spendAtMost({ tool: pay, amount, max: 1 }), spendAtMost({ tool: pay, amount, max: 2 })],
    ...[spendAtMost({ tool: pay, amount, max: 2, delegate: 1 }), spendAtMost({ amount: () => 1, max: 2 })],
    ...[noTwoOfAKind(pay, ({ to }) => to), noTwoOfAKind(look, ({ of }) => of)],
  ];
  const hashes = all.map((policy) => agentOf({ policies: [policy] }).definition.hash);
  expect(new Set([...hashes, agentOf().definition.hash]).size).toBe(all.length + 1);
});

const none = undefined as never;
test.each([
  ["allowOnly", () => allowOnly([none])],
  ["denyTools", () => denyTools([none])],
  ["argumentsMatch", () => argumentsMatch(none, z.any())],
  ["needsApproval", () => needsApproval(none, { by: "boss" } as never)],
  ["callsAtMost", () => callsAtMost(none, 2)],
  ["spendAtMost", () => spendAtMost({ tool: [none], amount: () => 1, max: 1 })],
  ["noTwoOfAKind", () => noTwoOfAKind(none, () => "")],
])("%s without a tool is refused by a code", (_, made) => {
  expect(made).toThrow(expect.objectContaining({ code: "APP_INVALID" }));
});
