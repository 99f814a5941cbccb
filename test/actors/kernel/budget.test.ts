/**
 * Goal: what a saga uses never exceeds its limit, its model hears of the last step and may end well in it, and
 * whoever raises the limit lets it go on. Method: given, when, then; the sums are taken from the ledger's results.
 */
import { describe, expect, test } from "vitest";
import { availableOf, reservedOf } from "../../../actors/kernel/budget.ts";
import { defineAgent } from "../../../actors/agent/define.ts";
import type { SagaDefinition } from "../../../actors/contract/definition.ts";
import { digestOfRequest } from "../../../actors/request/conversation.ts";
import { usedOf } from "../../../actors/kernel/spending.ts";
import { dollars, type ModelPrice } from "../../../protocol/budget.ts";
import type { Event } from "../../../protocol/event.ts";
import { jsonBytes } from "../../../protocol/json.ts";
import { limits } from "../../../protocol/limits.ts";
import type { ModelRequest } from "../../../protocol/model.ts";
import {
  failed,
  fired,
  given,
  type Happening,
  replied,
  resulted,
  signalled,
  started,
  type Story,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { z } from "zod";
import { agentOf, call, calling, finish, hold, look, Of } from "../../support/workbench.ts";
import type { AgentBudget } from "../../../actors/contract/budget-config.ts";
import { agentOwn } from "../../support/own.ts";

const begun = started({ of: "x" });
const price: ModelPrice = { inputPerMillion: 2, outputPerMillion: 10 };
/** The start of a saga whose models have a price. */
const pricedStart: Happening = (story) => ({
  ...(begun as (of: Story) => Event & { type: "start" })(story),
  prices: { scripted: price },
});
const bounded = (budget: AgentBudget, parts: Parameters<typeof agentOf>[0] = {}): SagaDefinition =>
  agentOf({ budget, ...parts });
const lookAgain = (usage = { inputTokens: 60, outputTokens: 40 }): Happening =>
  replied({ calls: [call("look")], usage });
const parts = (story: Story): unknown[] => {
  const message = story.messages.at(-1);
  return message?.role === "user" ? [...message.parts] : [];
};
const lastMessages = (story: Story): string => JSON.stringify(story.messages.slice(-2));
const decision = (story: Story) => {
  const open = story.state.open[story.intent("model")];
  if (open?.intent.kind !== "model") throw new Error("a decision is open");
  return { intent: open.intent, ...(open.input as { step: number; now: number }) };
};
/** The request that the open decision stands for, rebuilt from the ledger as a host does. */
const requestOf = (story: Story): ModelRequest => {
  const { intent, step, now } = decision(story);
  const { frame } = agentOwn(story.definition);
  if (frame === undefined) throw new Error("an agent has a frame");
  const bound = intent.outputTokensMax === undefined ? {} : { outputTokensMax: intent.outputTokensMax };
  return { saga: story.state.saga, step, now, ...frame, messages: story.messages, ...bound };
};
const denied = { kind: "denied", name: "decision", code: "BUDGET_EXCEEDED" } as const;
const ended = { kind: "end", status: "failed", code: "BUDGET_EXCEEDED" } as const;
/** What a model reads at most: a token for each byte of what it is sent. */
const bytesOf = ({ instructions, tools, messages }: ModelRequest): number =>
  jsonBytes([instructions, tools, messages]);

describe("the last step", () => {
  test.each([
    [
      "steps",
      { steps: 2 },
      "steps",
      /^another decision reserves 1 of steps, and 0 of 2 are left in the pool/,
    ],
    [
      "tokens",
      { tokens: 12_000 },
      "tokens",
      /reserves at least \d+ tokens.* \d+ of 12000 are left in the pool/,
    ],
    [
      "usd",
      { usd: 0.06 },
      "dollars",
      /reserves at least [\d.]+ dollars.* [\d.]+ of 0.06 are left in the pool/,
    ],
    [
      "wallClockMs",
      { wallClockMs: 1_500 },
      "time",
      /^another decision needs time, and wallClockMs of this saga and those below it was over \d+ ms ago$/,
    ],
  ] as const)("that %s allow is told to the model, and no other follows", (_, budget, word, reason) => {
    let story = given(bounded(budget), pricedStart);
    for (let step = 1; step < 20 && !lastMessages(story).includes("last step"); step++) {
      const { outputTokensMax = 40 } = decision(story).intent;
      const usage = { inputTokens: bytesOf(requestOf(story)), outputTokens: outputTokensMax };
      story = story.when(lookAgain(usage)).when(succeeded("look", 1));
    }
    expect(lastMessages(story)).toContain(`budget of ${word}`);
    story.then({ kind: "model" });
    expect(digestOfRequest(requestOf(story))).toBe(decision(story).intent.request);
    story.when(replied({ text: "hm" })).then({ ...denied, reason }, { ...ended, reason });
  });

  test("takes a finish", () => {
    given(bounded({ steps: 1 }), begun)
      .when(replied(finish))
      .then({ kind: "end", status: "completed", output: { answer: "42" } });
  });

  test("takes an undo and refuses every other call, the wait too", () => {
    const story = given(
      bounded({ steps: 2 }),
      begun,
      replied({ calls: [call("hold")] }),
      succeeded("hold", { id: "i" }),
    ).when(replied({ calls: [call("look"), call("undo", { calls: ["1.0"] }), call("wait", { forMs: 5 })] }));
    story.then({ kind: "tool", name: "release" });
    const after = story.when(succeeded("release", {}));
    after.then(denied, ended);
    expect(parts(after)).toMatchObject([
      { call: "3.0", outcome: "denied", code: "BUDGET_EXCEEDED" },
      { call: "3.1", outcome: "succeeded" },
      { call: "3.2", outcome: "denied", code: "BUDGET_EXCEEDED" },
    ]);
  });

  test("hands nothing off", () => {
    const other = agentOf({ name: "other" });
    const story = given(bounded({ steps: 1, atLimit: "ask" }, { handsOffTo: [other] }), begun).when(
      replied({ calls: [call("hand_off", { to: "other", input: { of: "x" } })] }),
    );
    story.then(denied, { kind: "task", about: "budget" });
    expect(parts(story.when(signalled("budget", { steps: 3 })))).not.toContainEqual(
      expect.objectContaining({ outcome: "pending" }),
    );
  });

  test("is not lost to a signal, which the model hears with the reply's results", () => {
    const story = given(bounded({ steps: 1 }), begun).when(signalled("hint"));
    story.thenNothing();
    story.when(replied(finish)).then({ kind: "end", status: "completed" });
  });

  test("is taken back once children return what they did not use", () => {
    const hints = ["a", "b", "c", "d"].map((id) => signalled("hint", null, { id }));
    const story = given(
      bounded({ steps: 7 }, { agents: [calling(look)] }),
      begun,
      replied({ calls: [call("calling")] }),
      ...hints,
    );
    expect(lastMessages(story)).toContain("last step");
    const back = story.when(childEnded("calling", {})).when(replied({ text: "?" }));
    expect(lastMessages(back)).toContain("room again");
    back.then({ kind: "model" });
  });
});

const none = {
  steps: 0,
  inputTokens: 0,
  outputTokens: 0,
  usd: 0,
  toolCalls: 0,
  children: 0,
  unreportedTokens: 0,
};
const childEnded =
  (child: string, spent: object): Happening =>
  (story) => ({
    ...(succeeded(child, null) as (of: Story) => Event & { type: "result" })(story),
    spent: { ...none, ...spent },
  });

describe("a budget that is used up", () => {
  test.each([
    ["tokens", { tokens: 100 }],
    ["usd", { usd: 0.001 }],
  ])("of %s for not even one call denies the first", (_, budget) => {
    given(bounded(budget)).when(pricedStart).then(denied, ended);
  });

  test("does not bound the undoing", () => {
    const story = given(
      bounded({ steps: 2 }),
      begun,
      replied({ calls: [call("hold")] }),
      succeeded("hold", { id: "i" }),
    );
    story.when(replied({ text: "hm" })).then(denied, { kind: "tool", name: "release" });
  });

  test("of calls of tools refuses the next call and lets the model go on", () => {
    const story = given(bounded({ toolCalls: 2 }), begun).when(
      replied({ calls: [call("look"), call("look", { of: "y" }), call("hold")] }),
    );
    story.then(
      { kind: "tool", name: "look" },
      { kind: "tool", name: "look" },
      {
        kind: "denied",
        name: "hold",
        code: "BUDGET_EXCEEDED",
        reason:
          "another call of a tool reserves 1 of toolCalls, and 0 of 2 are left in the pool of this saga and those below it",
      },
    );
    story.when([succeeded("2-0", 1), succeeded("2-1", 1)]).then({ kind: "model" });
  });

  test("is no limit where none is declared", () => {
    const story = given(agentOf(), begun);
    expect(decision(story).intent).not.toHaveProperty("budget");
    expect(decision(story).intent).not.toHaveProperty("outputTokensMax");
    expect(story.state).not.toHaveProperty("budget");
  });
});

describe("a reservation", () => {
  test("covers what is sent, a token for each byte, and all that may be written", () => {
    let story = given(bounded({ tokens: 1_000_000 }), begun);
    for (let step = 0; step < 5; step++) {
      const { intent } = decision(story);
      const read = bytesOf(requestOf(story));
      expect(intent.outputTokensMax).toBe(limits.outputTokensMax);
      expect(intent.budget?.tokens).toBeGreaterThanOrEqual(read + limits.outputTokensMax);
      // Bytes of a message of the model's own are at most what it is paid for here.
      story = story
        .when(lookAgain({ inputTokens: read, outputTokens: 5_000 }))
        .when(succeeded("look", { text: "é\u2028".repeat(200) }));
    }
  });

  test("shrinks as the pool runs low, and never exceeds it together with what was used", () => {
    let story = given(bounded({ tokens: 400_000 }), begun);
    const bounds: number[] = [];
    for (let step = 0; step < 30 && story.end === undefined; step++) {
      const left = availableOf(story.state)?.tokens ?? -1;
      expect(left).toBeGreaterThanOrEqual(0);
      if (story.open.length === 0) break;
      const { outputTokensMax = 0 } = decision(story).intent;
      bounds.push(outputTokensMax);
      const usage = { inputTokens: bytesOf(requestOf(story)), outputTokens: outputTokensMax };
      const next = story.when(lookAgain(usage));
      story = next.open.length === 0 ? next : next.when(succeeded("look", 1));
    }
    expect(story.end?.code).toBe("BUDGET_EXCEEDED");
    expect(usedOf(story.state).tokens).toBeLessThanOrEqual(400_000);
    expect(bounds.length).toBeGreaterThan(2);
    expect(Math.min(...bounds)).toBeLessThan(Math.max(...bounds));
  });

  test("in dollars is settled by the recorded price where the port knows none", () => {
    const story = given(bounded({ usd: 5 }), pricedStart);
    expect(decision(story).intent.budget?.usd).toBeGreaterThan(0.32);
    const paid = story.when(
      lookAgain({
        inputTokens: 1_000,
        outputTokens: 100,
        cacheReadTokens: 1_000,
        cacheWriteTokens: 1_000,
      } as never),
    );
    expect(paid.state.spent.usd).toBe(0.002 + 0.001 + 0.0002 + 0.0025);
    expect(reservedOf(paid.state).usd).toBe(0);
  });

  test("of a superseded call stands until its cost comes in, and that is charged", () => {
    const story = given(bounded({ tokens: 500_000 }), begun, signalled("hint"));
    const [first, second] = [
      story.state.budget?.late[0]?.tokens ?? 0,
      decision(story).intent.budget?.tokens ?? 0,
    ];
    expect(first).toBeGreaterThan(limits.outputTokensMax);
    expect(availableOf(story.state)?.tokens).toBe(500_000 - first - second);
    const usage = { inputTokens: 300, outputTokens: 7 };
    const paid = story.when(
      resulted("1-0", { outcome: "cancelled", code: "CANCELLED", reason: "", usage }, 1),
    );
    expect(availableOf(paid.state)?.tokens).toBe(500_000 - 307 - second);
    paid
      .when(resulted("1-0", { outcome: "cancelled", code: "C", reason: "", usage }, 1))
      .thenNotTaken("known");
  });

  test("of a call that was cut off and told no cost is what the call has cost", () => {
    const story = given(bounded({ tokens: 500_000 }), begun, signalled("hint"));
    const before = availableOf(story.state);
    const told = story.when(resulted("1-0", { outcome: "cancelled", code: "C", reason: "" }, 1));
    expect(told.state.budget?.late).toEqual([]);
    expect(availableOf(told.state)).toEqual(before);
  });

  test("is made once more for the attempt of a host that takes over, and that of the lost one stands", () => {
    const story = given(bounded({ tokens: 500_000 }), begun);
    const one = decision(story).intent.budget?.tokens ?? 0;
    const adopted = story.when({ type: "adopted", anew: true });
    adopted.then({ kind: "retry", attempt: 2 });
    expect(availableOf(adopted.state)?.tokens).toBe(500_000 - 2 * one);
    const done = adopted.when(lookAgain());
    expect(availableOf(done.state)?.tokens).toBe(500_000 - one - 100);
    // The lost attempt's host was only slow: its answer comes too late, and its cost counts.
    const late = done.when(
      resulted(
        "1-0",
        { outcome: "succeeded", output: { usage: { inputTokens: 9, outputTokens: 1 }, model: "m" } },
        1,
      ),
    );
    expect(availableOf(late.state)?.tokens).toBe(500_000 - 110);
  });

  test("of the present attempt stands when the lost one answers after all", () => {
    const story = given(bounded({ tokens: 500_000 }), begun, { type: "adopted", anew: true });
    const one = decision(story).intent.budget?.tokens ?? 0;
    const usage = { inputTokens: 60, outputTokens: 40 };
    const output = { calls: [call("look")], usage, model: "scripted" };
    const answered = story.when(resulted("1-0", { outcome: "succeeded", output } as never, 1));
    answered.then({ kind: "tool", name: "look" });
    expect(availableOf(answered.state)?.tokens).toBe(500_000 - 100 - one);
  });

  test("that fits no second time ends the saga instead of asking again", () => {
    const story = given(bounded({ tokens: 10_000 }), begun);
    const usage = { inputTokens: 6_000, outputTokens: 500 };
    story.when(resulted("1-0", { outcome: "failed", code: "MODEL_FAILED", reason: "", usage }, 1)).then({
      ...ended,
      reason: /^asking the model again reserves \d+ tokens, and \d+ of 10000 are left in the pool/,
    });
    story.when({ type: "adopted", anew: true }).then({ ...ended, reason: /asking the model again reserves/ });
  });

  test("that fits no more when a paused saga is resumed ends it instead of asking again", () => {
    const usage = { inputTokens: 6_000, outputTokens: 500 };
    const paused = given(bounded({ tokens: 10_000 }), begun, signalled("pause", {})).when(
      resulted("1-0", { outcome: "failed", code: "MODEL_FAILED", reason: "", usage }, 1),
    );
    paused.thenNothing();
    expect(reservedOf(paused.state).tokens).toBe(0);
    expect(paused.when(signalled("resume", {})).end).toMatchObject({ code: "BUDGET_EXCEEDED" });
  });

  test("an attempt that a host left behind is none of the retries", () => {
    let story = given(bounded({ tokens: 9_000_000 }), begun);
    for (let life = 0; life < 10; life++) story = story.when({ type: "adopted", anew: true });
    story.when(failed("model")).then({ kind: "retry", attempt: 12 });
  });

  test("that a port exceeds is charged in full, and closes the pool", () => {
    const story = given(
      bounded({ tokens: 50_000 }),
      begun,
      lookAgain({ inputTokens: 70_000, outputTokens: 5 }),
    );
    expect(availableOf(story.state)?.tokens).toBe(50_000 - 70_005);
    expect(story.state.budget?.exceeded?.tokens).toBeGreaterThan(0);
    story.when(succeeded("look", 1)).then(denied, ended);
  });

  test("in dollars that a port exceeds is charged in full, told apart, and closes the pool", () => {
    const story = given(bounded({ usd: 1 }), pricedStart);
    const reserved = decision(story).intent.budget?.usd ?? 0;
    const paid = story.when(lookAgain({ inputTokens: 1_000, outputTokens: 5, usd: 1.5 } as never));
    expect(paid.state.spent.usd).toBe(1.5);
    expect(paid.state.budget?.exceeded).toEqual({ usd: dollars(1.5 - reserved) });
    expect(availableOf(paid.state)?.usd).toBe(-0.5);
    const within = story.when(lookAgain({ inputTokens: 1_000, outputTokens: 5, usd: reserved } as never));
    expect(within.state.budget).not.toHaveProperty("exceeded");
  });

  test("of a superseded call that a port exceeds is told apart when its cost comes in", () => {
    const usage = { inputTokens: 300_000, outputTokens: 7 };
    const story = given(bounded({ tokens: 500_000 }), begun, signalled("hint"));
    const late = story.state.budget?.late[0]?.tokens ?? 0;
    const paid = story.when(
      resulted("1-0", { outcome: "cancelled", code: "CANCELLED", reason: "", usage }, 1),
    );
    expect(paid.state.budget?.exceeded).toEqual({ tokens: 300_007 - late });
  });
});

describe("an agent that asks for more", () => {
  const asking = bounded({ steps: 1, atLimit: "ask" });
  const suspended = given(asking, begun, replied({ text: "hm" }));

  test("is suspended, and a human is told what is used", () => {
    suspended.then(denied, { kind: "task", about: "budget", question: /1 of 1 steps/ });
    expect(suspended.end).toBeUndefined();
  });

  test("goes on with what the signal adds, and the model hears of it", () => {
    const raised = suspended.when(signalled("budget", { steps: 2 }));
    raised.then({ kind: "model" });
    expect(lastMessages(raised)).toContain("was raised");
    expect(raised.open).toHaveLength(1);
    raised.when(lookAgain()).then({ kind: "tool", name: "look" });
  });

  test("goes on with what a human answers", () => {
    const raised = suspended.when(voted("budget", "answer", { answer: { steps: 1 } }));
    raised.then({ kind: "model" });
    expect(lastMessages(raised)).toContain("last step");
    raised.when(replied({ text: "hm" })).then(denied, { kind: "task", about: "budget" });
  });

  test.each([
    ["a human denies it", voted("budget", "deny", { by: "ann" })],
    ["nobody answers in time", fired("budget")],
  ])("ends when %s", (_, how) => {
    suspended.when(how).then(ended);
  });

  test("hears signals and results that came meanwhile", () => {
    const story = given(
      bounded({ steps: 2, atLimit: "ask" }),
      begun,
      replied({ calls: [call("hold")] }),
      signalled("hint"),
      replied({ text: "hm" }),
      signalled("note", { text: "n" }),
      succeeded("hold", { id: "i" }),
    ).when(signalled("budget", { steps: 5 }));
    expect(parts(story)).toMatchObject([
      { call: "1.0", outcome: "succeeded" },
      { name: "note" },
      { type: "text" },
    ]);
  });

  test("is cancelled like any other", () => {
    suspended.when(signalled("cancel", "enough")).then({ kind: "end", status: "cancelled" });
  });

  test("whose time is over gets it from now on", () => {
    const late = given(bounded({ wallClockMs: 1_000, atLimit: "ask" }), begun)
      .when(lookAgain(), { at: Date.UTC(2026, 0, 2) })
      .when(succeeded("look", 1), { at: Date.UTC(2026, 0, 3) });
    expect(lastMessages(late)).toContain("last step");
    const over = late.when(replied({ text: "hm" }), { at: Date.UTC(2026, 0, 4) });
    over.then(denied, { kind: "task", about: "budget" });
    const at = Date.UTC(2026, 0, 5);
    const raised = over.when(signalled("budget", { wallClockMs: 60_000 }), { at });
    raised.then({ kind: "model" });
    expect(raised.state.budget?.deadline).toBe(at + 60_000);
  });
});

describe("the signal budget", () => {
  test.each([
    ["nothing", {}],
    ["what is no number", { steps: "many" }],
    ["less", { steps: -1 }],
    ["what no budget has", { rubles: 3 }],
    ["to what is not limited", { tokens: 5 }],
  ])("that adds %s is refused at the door", (_, data) => {
    given(bounded({ steps: 3 }), begun)
      .when(signalled("budget", data))
      .thenRefused("INPUT_INVALID");
  });

  test("is taken at any time, and asks no model", () => {
    const story = given(bounded({ steps: 3 }), begun).when(signalled("budget", { steps: 4 }));
    story.thenNothing();
    expect(story.state.budget).toMatchObject({ limits: { steps: 7 }, raised: { steps: 4 } });
  });

  test("during the last step lets the model decide anew", () => {
    const story = given(bounded({ steps: 1 }), begun).when(signalled("budget", { steps: 4 }));
    story.then({ kind: "model" });
    expect(lastMessages(story)).toContain("was raised");
    story.when(lookAgain()).then({ kind: "tool", name: "look" });
  });

  test("cannot be declared", () => {
    const { faults } = agentOf({ signals: { budget: z.null() } }).definition;
    expect(faults).toEqual(['helper: the signal "budget" is reserved; every saga has it']);
  });
});

describe("outputTokensMax", () => {
  test("of an agent without a budget bounds every request", () => {
    const story = given(agentOf({ outputTokensMax: 700 }), begun);
    expect(decision(story).intent.outputTokensMax).toBe(700);
    expect(digestOfRequest(requestOf(story))).toBe(decision(story).intent.request);
  });

  test("is part of the request's digest only where it is set", () => {
    const [plain, withBound] = [given(agentOf(), begun), given(agentOf({ outputTokensMax: 700 }), begun)];
    const { outputTokensMax: _bound, ...rest } = requestOf(withBound);
    expect(digestOfRequest(rest)).toBe(decision(plain).intent.request);
  });
});

test.each([
  [{ steps: 0 }, /budget.steps is 0/],
  [{ tokens: 1.5 }, /budget.tokens is 1.5/],
  [{ usd: Number.NaN }, /budget.usd/],
  [{ depthMax: 9 }, /budget.depthMax is 9/],
  [{ childrenOpenMax: 65 }, /budget.childrenOpenMax is 65/],
  [{ atLimit: "beg" }, /budget.atLimit/],
  [{ rubles: 1 }, /a budget has no "rubles"/],
])("a budget of %o is refused", (budget, fault) => {
  const { faults } = defineAgent({
    ...{ name: "a", version: 1, description: "", model: "m", instructions: "", signals: {}, tools: [hold] },
    input: Of,
    output: z.string(),
    budget: budget as AgentBudget,
  }).definition;
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatch(fault);
});
