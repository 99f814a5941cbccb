/**
 * Goal: a policy is asked before a call becomes an intent, what it answers holds, and whatever else it does denies.
 * Method: given, when, then over ledgers; each turn is folded twice, so what is remembered survives a rest.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { AgentConfig } from "../../../actors/agent/define.ts";
import { defineTool, type Tool } from "../../../actors/contract/tool.ts";
import { definePolicy, type Policy, type PolicyQuestion } from "../../../actors/contract/policy.ts";
import { callsAtMost } from "../../../actors/policies/ready-made.ts";
import { limits } from "../../../protocol/limits.ts";
import {
  failed,
  given,
  inDoubt,
  replied,
  resulted,
  started,
  type Story,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { agentOf, call, calling, chargeModel, hold, look } from "../../support/workbench.ts";

const begun = started({ of: "x" });
const byBoss = { by: "boss" };
const looks = (n: number) =>
  replied({ calls: Array.from({ length: n }, (_, k) => call("look", { of: `${k}` })) });
const judging = (judge: Policy["judge"], name = "judge"): Policy => ({ name, judge });
const kindsOf = (story: Story) => story.intents.map(({ kind }) => kind);
const helper = (policies: AgentConfig<any, any, any>["policies"] = [], tools?: Tool[]) =>
  given(agentOf({ policies, ...(tools === undefined ? {} : { tools }) }), begun);
/** One whose schema reads something else than it was given. */
const trimming = (tool: Tool) => defineTool({ ...tool, input: z.object({ of: z.string().trim() }) } as never);
/** What the model is told of its calls in its latest request. */
const told = (story: Story) => {
  const last = story.messages.at(-1);
  return last?.role === "user" ? last.parts : [];
};

describe("a denial", () => {
  test("is recorded with the policy's name and told to the model", () => {
    const story = helper([judging(() => ({ deny: "not today" }))]).when(looks(1));
    story.then(
      { kind: "denied", name: "look", code: "POLICY_DENIED", reason: "policy judge: not today" },
      {
        kind: "model",
      },
    );
    expect(told(story)).toEqual([
      {
        ...{ type: "result", call: "1.0", tool: "look", outcome: "denied" },
        ...{ code: "POLICY_DENIED", reason: "policy judge: not today" },
      },
    ]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("no idea");
      },
      "policy judge: threw: no idea",
    ],
    [
      "throws what is no Error",
      () => {
        throw { toString: null };
      },
      "policy judge: threw: what is no Error",
    ],
    ["answers true", () => true, "policy judge: answered what is no verdict"],
    ["answers null", () => null, "policy judge: answered what is no verdict"],
    ["answers a promise", () => Promise.resolve(undefined), "policy judge: answered what is no verdict"],
    ["denies without a reason", () => ({ deny: true }), "policy judge: answered what is no verdict"],
    [
      "says two things at once",
      () => ({ deny: "a", rewrite: {} }),
      "policy judge: answered what is no verdict",
    ],
    [
      "rewrites to a reference",
      () => ({ rewrite: { $blob: "0".repeat(64), bytes: 1 } }),
      "policy judge: answered what is no verdict",
    ],
    [
      "rewrites to what is no JSON",
      () => ({ rewrite: { n: 1n } }),
      "policy judge: answered what is no verdict",
    ],
  ])("is what follows if a policy %s", (_, judge, reason) => {
    helper([judging(judge as never)])
      .when(looks(1))
      .then({ kind: "denied", reason }, { kind: "model" });
  });

  test("of one policy holds, whatever the others say, before or after it", () => {
    const yes = judging(() => undefined, "yes");
    const rewrite = judging(() => ({ rewrite: { of: "y" } }), "rewrite");
    const ask = judging(() => ({ approve: { by: ["boss"], withinMs: 1_000, otherwise: "approve" } }), "ask");
    const no = judging(() => ({ deny: "no" }), "no");
    for (const policies of [
      [no, yes, rewrite, ask],
      [yes, rewrite, ask, no],
    ])
      expect(kindsOf(helper(policies).when(looks(1)))).toEqual(["denied", "model"]);
  });

  test("of a tool's own policy holds for whoever calls it: an agent, and a machine", () => {
    const guarded = defineTool({ ...look, policies: [judging(() => ({ deny: "closed" }))] } as never);
    const reason = "policy judge: closed";
    given(agentOf({ tools: [guarded, hold] }), begun)
      .when(replied({ calls: [call("look"), call("hold")] }))
      .then({ kind: "denied", name: "look", reason }, { kind: "tool", name: "hold" });
    expect(given(calling(guarded), begun).intents).toMatchObject([
      { kind: "denied", reason },
      { kind: "end" },
    ]);
  });
});

test("a policy cannot change what it is shown: it denies for trying, and the ledger holds what was said", () => {
  const anything = defineTool({ ...look, input: z.any() } as never);
  const sorting = judging(({ input }) => void (input as { list: number[] }).list.sort());
  const story = given(agentOf({ tools: [anything], policies: [sorting] }), begun).when(
    replied({ calls: [call("look", { list: [2, 1] })] }),
  );
  story.then({ kind: "denied", reason: /^policy judge: threw: .*read only/ }, { kind: "model" });
  expect(story.turns.at(-1)?.steps[0]?.event).toMatchObject({
    result: { output: { calls: [{ input: { list: [2, 1] } }] } },
  });
});

test("a policy is asked about the call as its schema reads it, with the turn's time and the callee", () => {
  const asked: PolicyQuestion[] = [];
  const noting = judging((question) => void asked.push(question));
  helper([noting], [trimming(hold)]).when(replied({ calls: [call("hold", { of: " a " })] }), {
    at: 1_750_000_000_000,
  });
  expect(asked[0]).toEqual({
    ...{ saga: "saga-1", agent: "helper", kind: "tool", tool: "hold", effect: "idempotent" },
    ...{ input: { of: "a" }, at: 1_750_000_000_000, flags: [], reaches: ["hold"] },
  });
});

describe("a rewriting", () => {
  const clamp = judging(({ input }) => {
    const { of } = input as { of: string };
    return of.length > 3 ? { rewrite: { of: of.slice(0, 3) } } : undefined;
  }, "clamp");

  test("stands in the intent with its policy's name, and the model is told what was done instead", () => {
    const story = helper([clamp]).when(replied({ calls: [call("hold", { of: "abcdef" }), call("look")] }));
    story.then(
      { kind: "tool", name: "hold", call: "1.0", input: { of: "abc" }, rewrittenBy: "clamp" },
      { kind: "tool", name: "look", call: "1.1", input: undefined, rewrittenBy: undefined },
    );
    expect(story.state.open[story.intent("hold")]?.input).toEqual({ of: "abc" });
    const next = story.when([succeeded("hold", { id: "h" }), succeeded("look", 1)]);
    expect(told(next)).toMatchObject([
      { call: "1.0", outcome: "succeeded", rewritten: { of: "abc" } },
      { call: "1.1", outcome: "succeeded" },
    ]);
    expect(told(next)[1]).not.toHaveProperty("rewritten");
  });

  test("makes an effect key of its own", () => {
    const keyOf = (policies: Policy[], of: string) =>
      helper(policies).when(replied({ calls: [call("hold", { of })] })).intents[0];
    expect(keyOf([clamp], "abcdef")).toHaveProperty("key", (keyOf([], "abc") as { key: string }).key);
  });

  test("is told with a failure, a denial and a call that still runs, too", () => {
    const running = helper([clamp]).when(
      replied({ calls: [call("hold", { of: "abcdef" }), call("look", { of: "abcdef" })] }),
    );
    const asked = running.when([failed("hold", { retry: false }), failed("look", { retry: false })]);
    expect(told(asked)).toMatchObject([{ rewritten: { of: "abc" } }, { rewritten: { of: "abc" } }]);
  });

  test("is judged by all policies, those that were asked before it, too", () => {
    const noAbc = judging(({ input }) =>
      (input as { of: string }).of === "abc" ? { deny: "abc" } : undefined,
    );
    for (const policies of [
      [noAbc, clamp],
      [clamp, noAbc],
    ])
      helper(policies)
        .when(replied({ calls: [call("hold", { of: "abcdef" })] }))
        .then({ kind: "denied", reason: "policy judge: abc" }, { kind: "model" });
  });

  test("that its tool's schema refuses is denied", () => {
    helper([judging(() => ({ rewrite: { of: 7 } }), "typo")])
      .when(looks(1))
      .then(
        { kind: "denied", code: "CALL_INVALID", reason: /^as the policy typo rewrote it: / },
        { kind: "model" },
      );
  });

  test("to what the model said already changes nothing", () => {
    helper([judging(({ input }) => ({ rewrite: input }))], [trimming(look)])
      .when(replied({ calls: [call("look", { of: " a " })] }))
      .then({ kind: "tool", call: "1.0", input: undefined, rewrittenBy: undefined });
  });

  test("is made once by a policy that would add to its own", () => {
    const footer = judging(({ input }) => ({ rewrite: { of: `${(input as { of: string }).of}!` } }));
    helper([footer])
      .when(looks(1))
      .then({ kind: "tool", input: { of: "0!" } });
  });

  test("of two policies that rewrite each other's is denied", () => {
    const to = (of: string) => judging(() => ({ rewrite: { of } }), of);
    helper([to("left"), to("right")])
      .when(looks(1))
      .then({ kind: "denied", reason: /rewrote look again and again$/ }, { kind: "model" });
  });

  test("to a call that is in doubt is refused like that call", () => {
    const always = judging(({ tool }) => (tool === "charge_model" ? { rewrite: { of: "a" } } : undefined));
    const story = given(
      agentOf({ policies: [always] }),
      begun,
      replied({ calls: [call("charge_model", { of: "a" })] }),
      inDoubt("charge_model"),
    ).when(replied({ calls: [call("charge_model", { of: "b" })] }));
    story.then({ kind: "denied", code: "CALL_IN_DOUBT" }, { kind: "model" });
    expect(told(story)).toMatchObject([{ code: "CALL_IN_DOUBT", rewritten: { of: "a" } }]);
  });

  test("is what its compensation undoes", () => {
    const story = helper([clamp])
      .when(replied({ calls: [call("hold", { of: "abcdef" })] }))
      .when(succeeded("hold", { id: "h" }))
      .when(replied({ calls: [call("undo", { calls: ["1.0"] })] }));
    story.then({ kind: "tool", name: "release", undoes: "2-0" });
  });
});

describe("an approval that a policy asks for", () => {
  const terms = (by: string, otherwise: "deny" | "approve" = "deny", withinMs = 60_000) =>
    ({ by: [by], withinMs, otherwise }) as const;
  const asking = (...of: Parameters<typeof terms>): Policy =>
    judging(() => ({ approve: terms(...of) }), of[0]);

  test("is put before people with the arguments as they will be used, and then holds", () => {
    const upper = judging(
      ({ input }) => ({ rewrite: { of: (input as { of: string }).of.toUpperCase() } }),
      "upper",
    );
    const story = helper([asking("boss"), upper]).when(replied({ calls: [call("hold", { of: "a" })] }));
    story.then({
      kind: "task",
      about: "approval",
      to: ["boss"],
      call: "1.0",
      input: { of: "A" },
      rewrittenBy: "upper",
    });
    story.when(voted("approval", "approve", byBoss)).then({ kind: "tool", name: "hold", input: { of: "A" } });
    const no = story.when(voted("approval", "deny", { ...byBoss, reason: "no" }));
    expect(told(no)).toMatchObject([{ code: "APPROVAL_DENIED", rewritten: { of: "A" } }]);
  });

  test("of several is asked for one after the other, of equal ones once", () => {
    const story = helper([asking("boss"), asking("legal"), { ...asking("boss"), name: "again" }]).when(
      looks(1),
    );
    story.then({ kind: "task", to: ["boss"] });
    const second = story.when(voted("approval", "approve", byBoss));
    second.then({ kind: "task", to: ["legal"] });
    second.when(voted("approval", "approve", { by: "legal" })).then({ kind: "tool", name: "look" });
    expect(kindsOf(second.when(voted("approval", "deny", { by: "legal" })))).toEqual(["model"]);
  });

  test("and the tool's own are both needed", () => {
    const pay = defineTool({ ...hold, approval: () => terms("cashier") } as never);
    const story = given(agentOf({ tools: [pay], policies: [asking("boss")] }), begun).when(
      replied({ calls: [call("hold")] }),
    );
    story.then({ kind: "task", to: ["boss"] });
    const second = story.when(voted("approval", "approve", byBoss));
    second.then({ kind: "task", to: ["cashier"] });
    second.when(voted("approval", "approve", { by: "cashier" })).then({ kind: "tool", name: "hold" });
  });

  test("by silence does for those whom silence is enough, and for nobody else", () => {
    const story = helper([asking("boss", "approve"), asking("boss", "deny")]).when(looks(1));
    const second = story.when((now) => ({ type: "timer", intent: now.intent("approval") }));
    second.then({ kind: "task", to: ["boss"], otherwise: "deny" });
  });

  test("whose deadline follows from the time is given once", () => {
    const late = judging(({ at }) => ({ approve: terms("boss", "deny", 1_000 + (at % 1_000_000)) }));
    helper([late])
      .when(looks(1))
      .when(voted("approval", "approve", byBoss))
      .then({ kind: "tool", name: "look" });
  });

  test("does not let through what was forbidden meanwhile", () => {
    const once = callsAtMost(look, 1);
    const story = helper([asking("boss"), once]).when(looks(2));
    expect(kindsOf(story)).toEqual(["task", "task"]);
    const first = story.when(voted("1.0", "approve", byBoss));
    first.then({ kind: "tool", name: "look" });
    first
      .when(voted("1.1", "approve", byBoss))
      .then({ kind: "denied", reason: "policy at_most 1 look: look may be called 1 times at most" });
  });

  test("is asked for anew where a policy rewrites the call otherwise meanwhile", () => {
    const dear = definePolicy({
      name: "dear",
      memory: { initial: 0, next: (n) => n + 1 },
      judge: (_, n) => (n === 0 ? undefined : { rewrite: { of: "less" } }),
    });
    const story = helper([asking("boss"), dear]).when(looks(2));
    const first = story.when(voted("1.0", "approve", byBoss));
    first.then({ kind: "tool", call: "1.0", rewrittenBy: undefined });
    const second = first.when(voted("1.1", "approve", byBoss));
    second.then({ kind: "task", about: "approval", input: { of: "less" } });
    second.when(voted("1.1", "approve", byBoss)).then({ kind: "tool", call: "1.1", input: { of: "less" } });
  });

  test("on terms that are none denies", () => {
    helper([judging(() => ({ approve: { by: "boss" } }) as never)])
      .when(looks(1))
      .then({ kind: "denied", reason: /^the policy judge answers what is no approval/ }, { kind: "model" });
  });
});

describe("what a policy remembers", () => {
  const seen = definePolicy<string[]>({
    name: "seen",
    memory: { initial: [], next: (all, { input }) => [...all, (input as { of: string }).of] },
    judge: ({ input }, all) => (all.includes((input as { of: string }).of) ? { deny: "again" } : undefined),
  });

  test("is the calls that became intents, one after the other within a batch, too", () => {
    const twice = replied({
      calls: [call("look", { of: "a" }), call("look", { of: "a" }), call("look", { of: "b" })],
    });
    const story = helper([seen]).when(twice);
    expect(kindsOf(story)).toEqual(["tool", "denied", "tool"]);
    expect(story.state.guards).toEqual({ seen: ["a", "b"] });
  });

  test("is no call that was denied or waits for an approval", () => {
    const ask = judging(({ tool }) =>
      tool === "hold" ? { approve: { by: [], withinMs: 1, otherwise: "deny" } } : undefined,
    );
    const story = helper([seen, ask]).when(replied({ calls: [call("hold"), call("look", { of: "x" })] }));
    expect(kindsOf(story)).toEqual(["task", "tool"]);
    story.when(voted("approval", "approve", byBoss)).then({ kind: "denied", reason: "policy seen: again" });
  });

  test("stays, whatever becomes of the call: failed, in doubt, undone, asked for again", () => {
    const story = given(
      agentOf({ policies: [seen] }),
      begun,
      replied({ calls: [call("hold", { of: "h" })] }),
    );
    const failing = story.when(failed("hold", { retry: false }));
    failing.when(replied({ calls: [call("hold", { of: "h" })] })).then({ kind: "denied" }, { kind: "model" });
    const undone = story
      .when(succeeded("hold", { id: "1" }))
      .when(replied({ calls: [call("undo", { calls: ["1.0"] })] }))
      .when(succeeded("release", {}));
    undone.when(replied({ calls: [call("hold", { of: "h" })] })).then({ kind: "denied" }, { kind: "model" });
  });

  test("is in no state that has no such policy, and in none before the first call", () => {
    expect(helper([]).when(looks(2)).state).not.toHaveProperty("guards");
    expect(helper([seen]).state).not.toHaveProperty("guards");
  });

  test("is apart for two policies of one name", () => {
    const counting = () => ({ ...callsAtMost(look, 1), name: "same" });
    const story = helper([counting(), counting()]).when(looks(1));
    expect(story.state.guards).toEqual({ same: 1, "same#2": 1 });
  });

  test("of a tool's policy is of that tool's calls, and of one bound twice is counted once", () => {
    const counting = {
      ...callsAtMost(look, 9),
      name: "n",
      memory: { initial: 0, next: (n: number) => n + 1 },
    };
    const tools = [look, hold].map((tool) => defineTool({ ...tool, policies: [counting] } as never));
    const both = replied({ calls: [call("look"), call("hold"), call("hold", { of: "y" })] });
    expect(given(agentOf({ tools }), begun).when(both).state.guards).toEqual({ "look/n": 1, "hold/n": 2 });
    expect(given(agentOf({ tools, policies: [counting] }), begun).when(both).state.guards).toEqual({ n: 3 });
  });

  test("is bounded: what would be more is denied", () => {
    const hoarding = definePolicy({
      name: "hoarding",
      memory: { initial: "", next: (all) => `${all}${"x".repeat(limits.guardBytesMax / 2)}` },
      judge: () => undefined,
    });
    expect(kindsOf(helper([hoarding]).when(looks(3)))).toEqual(["tool", "denied", "denied"]);
  });

  test("is not changed in place", () => {
    const pushing = definePolicy<string[]>({
      name: "pushing",
      memory: {
        initial: [],
        next: (all) => {
          all.push("x");
          return all;
        },
      },
      judge: () => undefined,
    });
    helper([pushing])
      .when(looks(1))
      .then({ kind: "denied", reason: /^policy pushing: threw: / }, { kind: "model" });
  });

  test("that cannot be made denies", () => {
    const broken = definePolicy({
      name: "broken",
      memory: {
        initial: 0,
        next: () => {
          throw new Error("full");
        },
      },
      judge: () => undefined,
    });
    helper([broken])
      .when(looks(1))
      .then({ kind: "denied", reason: "policy broken: threw: full" }, { kind: "model" });
  });
});

test("a late report of a call that a policy rewrote corrects what was done, not what was asked for", () => {
  const to = judging(({ tool }) => (tool === "charge_model" ? { rewrite: { of: "less" } } : undefined));
  const story = given(
    agentOf({ policies: [to], tools: [chargeModel, look] }),
    begun,
    replied({ calls: [call("charge_model", { of: "more" })] }),
    inDoubt("charge_model"),
  ).when(resulted("2-0", { outcome: "succeeded", output: { id: "c" } }, 1));
  expect(story.state.effects).toMatchObject([{ tool: "charge_model", outcome: "succeeded", call: "1.0" }]);
});

test("a saga's machine has policies, too, and hears of a denial as of any failure", () => {
  const story = given(calling(look, { policies: [judging(() => ({ deny: "no" }))] }), begun);
  expect(story.intents).toMatchObject([
    { kind: "denied", reason: "policy judge: no" },
    { kind: "end", status: "failed" },
  ]);
});

test("schemas that make another value of an input show the policies that value", () => {
  const asked: unknown[] = [];
  const dated = defineTool({
    ...{ name: "dated", description: "Takes a day.", effect: "read", output: z.json() },
    input: z.object({ n: z.coerce.number(), times: z.number().default(3) }),
    policies: [judging(({ input }) => void asked.push(input))],
  });
  given(agentOf({ tools: [dated] }), begun).when(replied({ calls: [call("dated", { n: "100" })] }));
  expect(asked[0]).toEqual({ n: 100, times: 3 });
});
