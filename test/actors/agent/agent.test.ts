/**
 * Goal: an agent asks its model when there is something to say, tells it each thing once and in order, and does
 * nothing that the model did not ask for. Method: given, when, then; the model's side is what the messages show.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { digestOfRequest } from "../../../actors/request/conversation.ts";
import { callsAtMost } from "../../../actors/policies/ready-made.ts";
import type { ModelMessage, ModelRequest } from "../../../protocol/model.ts";
import {
  cancelled,
  deferred,
  failed,
  fired,
  given,
  inDoubt,
  replied,
  resulted,
  signalled,
  started,
  type Story,
  succeeded,
} from "../../../services/testing/given.ts";
import { agentOf, call, calling, chargeAsk, finish, hold, look, send } from "../../support/workbench.ts";
import { agentOwn } from "../../support/own.ts";
import { notBeforeOf } from "../../../actors/contract/state.ts";

const agent = agentOf();
const begun = started({ of: "x" });
const done = { id: "i" };
const last = (story: Story): ModelMessage | undefined => story.messages.at(-1);
const parts = (story: Story): unknown[] => {
  const message = last(story);
  return message?.role === "user" ? [...message.parts] : [];
};
const kinds = (story: Story): string[] => story.intents.map(({ kind }) => kind);

/** The request that the open decision stands for, rebuilt from the ledger as a host does. */
const requestOf = (story: Story): ModelRequest => {
  const open = story.state.open[story.intent("model")];
  const { step, now } = open?.input as { step: number; now: number };
  const { frame } = agentOwn(story.definition);
  if (frame === undefined) throw new Error("an agent has a frame");
  return { saga: story.state.saga, step, now, ...frame, messages: story.messages };
};

describe("a decision", () => {
  test("is asked for at the start, with the input as the first message", () => {
    const story = given(agent).when(begun, { at: 1_000 });
    story.then({ kind: "model", name: "scripted" });
    expect(story.messages).toEqual([
      { role: "user", at: 1_000, parts: [{ type: "text", text: '{"of":"x"}' }] },
    ]);
  });

  test("is recorded under the digest of exactly what is sent, at every step", () => {
    let story = given(agent, begun);
    const steps = [
      replied({
        text: "thinking",
        calls: [call("look"), call("hold")],
        blocks: [{ type: "thinking", n: 1 }],
      }),
      succeeded("look", { a: [1, { b: null }] }),
      signalled("note", { text: "hurry" }),
      replied({ calls: [call("wait", { signals: ["hint"] })] }),
      succeeded("hold", done),
    ];
    for (const step of steps) {
      story = story.when(step);
      const open = story.state.open;
      for (const { intent } of Object.values(open))
        if (intent.kind === "model") expect(digestOfRequest(requestOf(story))).toBe(intent.request);
    }
    expect(requestOf(story).step).toBe(3);
  });

  test("that ends well with finish ends the saga with the output", () => {
    given(agent, begun)
      .when(replied(finish))
      .then({ kind: "end", status: "completed", output: { answer: "42" } });
  });

  test("that fails for good undoes what was done and ends the saga", () => {
    const story = given(agent, begun, replied({ calls: [call("hold")] }), succeeded("hold", done)).when(
      failed("model", { code: "MODEL_FAILED", retry: false }),
    );
    story.then({ kind: "tool", name: "release" });
    story
      .when(succeeded("release", {}))
      .then({ kind: "end", status: "failed", code: "MODEL_FAILED", standing: [] });
  });

  test("that fails is tried again with the same request", () => {
    const story = given(agent, begun);
    const again = story.when(failed("model"));
    again.then({ kind: "retry", attempt: 2 });
    expect(requestOf(again)).toEqual(requestOf(story));
  });

  test("whose model is stood in for is asked again at once, and the intent says by whom", () => {
    const overload = { code: "MODEL_OVERLOADED", retry: true, retryAfterMs: 60_000 };
    const story = given(agent, begun);
    const passedOn = story.when(failed("model", { ...overload, route: { asked: "a", next: "b" } }));
    const { at, intent } = { at: passedOn.turns.at(-1)?.at ?? 0, intent: passedOn.intent("model") };
    passedOn.then({ kind: "retry", attempt: 2, ask: "b", notBefore: at });
    expect(passedOn.state.open[intent]).toMatchObject({ attempt: 2, ask: "b" });
    expect(requestOf(passedOn)).toEqual(requestOf(story));
    // The last of them: the first is asked again, after the usual wait and not after the last one's wish.
    const back = passedOn.when(failed("model", { ...overload, route: { asked: "b" } }));
    back.then({ kind: "retry", attempt: 3, ask: undefined });
    const open = back.state.open[intent];
    const notBefore = (open && notBeforeOf(open)) ?? 0;
    expect(open).not.toHaveProperty("ask");
    const wait = notBefore - (back.turns.at(-1)?.at ?? 0);
    expect(wait).toBeGreaterThan(100);
    expect(wait).toBeLessThan(10_000);
  });

  test("of a model nobody stands in for waits as long as its provider asks", () => {
    const story = given(agent, begun).when(
      failed("model", { code: "MODEL_OVERLOADED", retry: true, retryAfterMs: 60_000 }),
    );
    const open = story.state.open[story.intent("model")];
    const notBefore = (open && notBeforeOf(open)) ?? 0;
    expect(notBefore - (story.turns.at(-1)?.at ?? 0)).toBe(60_000);
  });

  test("whose reply is malformed ends the saga, and its cost counts", () => {
    const story = given(agent, begun).when(
      succeeded("model", { calls: "none", usage: { inputTokens: 5, outputTokens: 1 } }),
    );
    expect(story.end).toMatchObject({ status: "failed", code: "BAD_RESULT" });
    expect(story.state.spent).toMatchObject({ inputTokens: 5, outputTokens: 1 });
  });
});

describe("a batch of calls", () => {
  const batch = given(agent, begun).when(
    replied({ calls: [call("look", { of: "a" }), call("hold"), call("send")] }),
  );

  test("becomes intents together, each naming its call instead of repeating its input", () => {
    batch.then(
      { kind: "tool", name: "look", call: "1.0", input: undefined },
      { kind: "tool", name: "hold", call: "1.1" },
      { kind: "tool", name: "send", call: "1.2" },
    );
  });

  test("is shown to the model once all are settled, in the order of the calls and not of the results", () => {
    const [send, look, hold] = [succeeded("send", done), succeeded("look", 1), succeeded("hold", done)];
    const early = batch.when(send).when(look);
    expect(kinds(early)).toEqual([]);
    const all = early.when(hold);
    all.then({ kind: "model" });
    expect(parts(all)).toMatchObject([{ call: "1.0", output: 1 }, { call: "1.1" }, { call: "1.2" }]);
    expect(parts(batch.when([send, look, hold]))).toEqual(parts(all));
  });

  test("with calls that are refused starts the others, and answers each", () => {
    const story = given(agent, begun).when(
      replied({ calls: [call("nothing"), call("look", { of: 1 }), call("look")] }),
    );
    story.then({ kind: "tool", name: "look", call: "1.2" });
    expect(parts(story.when(succeeded("look", 1)))).toMatchObject([
      { call: "1.0", outcome: "failed", code: "TOOL_UNKNOWN" },
      { call: "1.1", outcome: "failed", code: "CALL_INVALID" },
      { call: "1.2", outcome: "succeeded" },
    ]);
  });

  test("presents what failed, was denied, cancelled or is in doubt as that", () => {
    const story = given(
      agentOf({ policies: [callsAtMost(look, 0)] }),
      begun,
      replied({ calls: [call("look"), call("hold"), call("send"), call("charge_model")] }),
    );
    const settled = story.when([
      failed("hold", { retry: false }),
      inDoubt("send"),
      cancelled("charge_model"),
    ]);
    expect(parts(settled)).toMatchObject([
      { outcome: "denied", code: "POLICY_DENIED" },
      { outcome: "failed" },
      { outcome: "in_doubt" },
      { outcome: "cancelled" },
    ]);
  });
});

describe("a signal", () => {
  test("supersedes the decision in flight: the model is asked again, and what the old one says is not taken", () => {
    const story = given(agent, begun).when(signalled("note", { text: "hurry" }, { from: "ann" }), {
      at: 9_000,
    });
    story.then({ kind: "model", id: "2-0" });
    expect(parts(story)).toEqual([
      { type: "signal", name: "note", data: { text: "hurry" }, at: 9_000, from: "ann" },
    ]);
    expect(requestOf(story).step).toBe(2);
    const paid = story.when(
      resulted(
        "1-0",
        { outcome: "cancelled", code: "CANCELLED", reason: "", usage: { inputTokens: 7, outputTokens: 2 } },
        1,
      ),
    );
    paid.thenNothing();
    expect(paid.state.spent).toMatchObject({ inputTokens: 7, outputTokens: 2 });
    paid.when(succeeded("1-0", { calls: [] }, 1)).thenNotTaken("known");
  });

  test("shows calls that are still open as pending, once, and their results follow", () => {
    const asked = given(
      agent,
      begun,
      replied({ calls: [call("hold"), call("look")] }),
      succeeded("look", 1),
    ).when(signalled("hint"));
    asked.then({ kind: "model" });
    expect(parts(asked)).toMatchObject([
      { call: "1.0", outcome: "pending" },
      { call: "1.1", outcome: "succeeded" },
      { type: "signal" },
    ]);
    const again = asked.when(signalled("hint"));
    expect(parts(again)).toMatchObject([{ type: "signal" }]);
    const waiting = again.when(replied({ calls: [call("wait", {})] })).when(succeeded("hold", done));
    waiting.then({ kind: "model" });
    expect(parts(waiting)).toMatchObject([
      { call: "1.0", outcome: "succeeded", output: done },
      { tool: "wait", output: { woke: "result" } },
    ]);
  });

  test("a hundred times at once costs one call of the model and one step of the budget", () => {
    const many = (from: number) =>
      Array.from({ length: 50 }, (_, k) => signalled("hint", null, { id: `h${from + k}` }));
    const story = given(agentOf({ budget: { steps: 3 } }), begun, many(0)).when(many(50));
    const open = Object.values(story.state.open).filter(({ intent }) => intent.kind === "model");
    expect(open).toHaveLength(1);
    expect(story.state.spent.steps).toBe(3);
    expect(
      story.messages
        .flatMap((message) => (message.role === "user" ? message.parts : []))
        .filter(({ type }) => type === "signal"),
    ).toHaveLength(100);
    expect(digestOfRequest(requestOf(story))).toBe((open[0]?.intent as { request: string }).request);
  });

  test("that comes while nothing is asked wakes the agent, with what is open shown as pending", () => {
    const story = given(agent, begun, replied({ calls: [call("hold")] })).when(
      signalled("note", { text: "n" }),
    );
    expect(parts(story)).toMatchObject([{ outcome: "pending" }, { type: "signal" }]);
  });

  test("never stops a tool that was decided: its result is taken after", () => {
    const story = given(agent, begun, replied({ calls: [call("hold")] }), signalled("hint"));
    expect(story.open).toContain("2-0");
    expect(
      parts(
        story
          .when(replied({ calls: [call("look")] }))
          .when(succeeded("hold", done))
          .when(succeeded("look", 1)),
      ),
    ).toMatchObject([
      { call: "1.0", outcome: "succeeded" },
      { call: "2.0", outcome: "succeeded" },
    ]);
  });
});

describe("wait", () => {
  const waiting = (input: unknown) => given(agent, begun).when(replied({ calls: [call("wait", input)] }));

  test("for a time is a timer, and its end says so", () => {
    const story = given(agent, begun).when(replied({ calls: [call("wait", { forMs: 500 })] }), { at: 1_000 });
    story.then({ kind: "timer", dueAt: 1_500 });
    expect(parts(story.when(fired("timer")))).toMatchObject([
      { tool: "wait", outcome: "succeeded", output: { woke: "time" } },
    ]);
  });

  test("for a signal ends with that one, and leaves no timer", () => {
    const story = waiting({ signals: ["hint"], forMs: 500 });
    const other = story.when(signalled("note", { text: "n" }));
    other.thenNothing();
    const woken = other.when(signalled("hint"));
    woken.then({ kind: "model" });
    expect(parts(woken)).toMatchObject([
      { output: { woke: "signal", signal: "hint" } },
      { name: "note" },
      { name: "hint" },
    ]);
    expect(woken.open).toEqual([woken.intent("model")]);
  });

  test("for a signal the agent does not have is refused to the model", () => {
    expect(parts(waiting({ signals: ["nonsense"] }))).toMatchObject([{ code: "SIGNAL_UNKNOWN" }]);
  });

  test("twice in one reply ends both with the first that is over, and the other's timer is gone", () => {
    const both = given(agent, begun).when(
      replied({ calls: [call("wait", { forMs: 10 }), call("wait", { forMs: 99 })] }),
    );
    const woken = both.when(fired("1.0"));
    expect(parts(woken)).toMatchObject([{ output: { woke: "time" } }, { output: { woke: "time" } }]);
    expect(woken.open).toEqual([woken.intent("model")]);
    const anew = woken.when(replied({ calls: [call("wait", { forMs: 10 })] }));
    anew.when(fired("2-1")).thenNotTaken("known");
  });

  test("beside a tool waits for both", () => {
    const story = given(agent, begun, replied({ calls: [call("look"), call("wait", { forMs: 10 })] }));
    const looked = story.when(succeeded("look", 1));
    looked.thenNothing();
    looked.when(fired("timer")).then({ kind: "model" });
  });

  test("is over at once if a late result is still unsaid", () => {
    const asked = given(
      agent,
      begun,
      replied({ calls: [call("hold")] }),
      signalled("hint"),
      succeeded("hold", done),
    );
    const story = asked.when(replied({ calls: [call("wait", { forMs: 1_000 })] }));
    story.then({ kind: "model" });
    expect(parts(story)).toMatchObject([
      { call: "1.0", outcome: "succeeded" },
      { tool: "wait", output: { woke: "result" } },
    ]);
  });

  test("is not over because a late result came beside a batch that is still open", () => {
    const asked = given(
      agent,
      begun,
      replied({ calls: [call("hold")] }),
      signalled("hint"),
      succeeded("hold", done),
    );
    const story = asked.when(replied({ calls: [call("look")] }));
    story.then({ kind: "tool", name: "look" });
    expect(parts(story.when(succeeded("look", 1)))).toMatchObject([{ call: "1.0" }, { call: "2.0" }]);
  });
});

describe("undo", () => {
  const held = given(
    agent,
    begun,
    replied({ calls: [call("hold", { of: "a" }), call("hold", { of: "b" }), call("look")] }),
    [succeeded("1.0", done), succeeded("1.1", done), succeeded("1.2", 1)],
  );

  test("of named calls compensates these and no other, and says what it did", () => {
    const story = held.when(replied({ calls: [call("undo", { calls: ["1.1"] })] }));
    story.then({ kind: "tool", name: "release", undoes: "2-1" });
    const undone = story.when(succeeded("release", {}));
    undone.then({ kind: "model" });
    expect(parts(undone)).toMatchObject([
      {
        tool: "undo",
        outcome: "succeeded",
        output: { undone: [expect.stringMatching(/^hold /)], standing: [] },
      },
    ]);
    expect(undone.state.effects.map(({ intent }) => intent)).toEqual(["2-0"]);
  });

  test("of a call that did nothing, or of none there is, is denied and undoes nothing", () => {
    for (const calls of [["1.2"], ["1.0", "9.9"]]) {
      const story = held.when(replied({ calls: [call("undo", { calls })] }));
      expect(parts(story)).toMatchObject([{ tool: "undo", outcome: "denied", code: "CALL_INVALID" }]);
      expect(story.intents.map(({ kind }) => kind)).toEqual(["denied", "model"]);
    }
  });

  test("of one call named twice is one undoing", () => {
    held
      .when(replied({ calls: [call("undo", { calls: ["1.0", "1.0"] })] }))
      .then({ kind: "tool", undoes: "2-0" });
  });

  test("of a call that is open waits for its result and undoes that", () => {
    const open = given(agent, begun, replied({ calls: [call("hold")] }), signalled("hint"));
    const story = open.when(replied({ calls: [call("undo", { calls: ["1.0"] })] }));
    story.thenNothing();
    story.when(succeeded("hold", done)).then({ kind: "tool", name: "release", undoes: "2-0" });
    expect(kinds(story.when(failed("hold")))).toEqual(["model"]);
  });

  test("of a deferred call undoes what was asked for by its key, at once", () => {
    const open = given(
      agent,
      begun,
      replied({ calls: [call("hold")] }),
      deferred("hold", 9_999),
      signalled("hint"),
    );
    const story = open.when(replied({ calls: [call("undo", { calls: ["1.0"], because: "not needed" })] }));
    story.then({ kind: "tool", name: "release", undoes: "2-0" });
    expect(parts(story.when(succeeded("release", {})))).toMatchObject([
      { call: "1.0", outcome: "cancelled", reason: "not needed" },
      { tool: "undo", outcome: "succeeded" },
    ]);
  });

  test("of an open read or question ends it at once", () => {
    const open = given(
      agent,
      begun,
      replied({ calls: [call("look"), call("ask", { question: "?" })] }),
      signalled("hint"),
    );
    const story = open.when(replied({ calls: [call("undo", { calls: ["1.0", "1.1"] })] }));
    expect(parts(story)).toMatchObject([
      { outcome: "cancelled" },
      { outcome: "cancelled" },
      { tool: "undo" },
    ]);
  });
});

describe("finish", () => {
  test("in a batch is refused, and nothing of the batch is done", () => {
    const story = given(agent, begun).when(replied({ calls: [call("hold"), ...finish.calls] }));
    story.then({ kind: "model" });
    expect(parts(story)).toMatchObject([{ code: "MODEL_REPLY_INVALID" }, { code: "MODEL_REPLY_INVALID" }]);
  });

  test("with what does not fit costs a repair", () => {
    const story = given(agent, begun).when(replied({ calls: [call("finish", { output: { answer: 1 } })] }));
    expect(parts(story)).toMatchObject([{ tool: "finish", code: "CALL_INVALID" }]);
  });

  test("waits for effects that are open, and not for what only reads", () => {
    const story = given(
      agent,
      begun,
      replied({ calls: [call("hold"), call("look")] }),
      signalled("hint"),
    ).when(replied(finish));
    story.thenNothing();
    expect(story.open).toEqual(["2-0"]);
    story.when(succeeded("hold", done)).then({ kind: "end", status: "completed" });
  });
});

describe("plain text", () => {
  test("never ends a saga whose output is no text, however often the model says it", () => {
    const text = replied({ text: "I will wait for the recruiter." });
    let story = given(agent, begun);
    for (let said = 0; said < 3; said++) {
      story = story.when(text);
      story.then({ kind: "model" });
      expect(parts(story)).toMatchObject([{ type: "text" }]);
    }
    expect(story.when(text).end).toMatchObject({ status: "failed", code: "MODEL_REPLY_INVALID" });
  });

  test("never ends a saga whose output merely lets a text pass", () => {
    given(agentOf({ output: z.json() }), begun)
      .when(replied({ text: "done" }))
      .then({ kind: "model" });
    given(agentOf({ output: z.union([z.string(), z.number()]) }), begun)
      .when(replied({ text: "done" }))
      .then({ kind: "model" });
  });

  test("ends a saga whose output is a text, if it fits", () => {
    given(agentOf({ output: z.string() }), begun)
      .when(replied({ text: "done" }))
      .then({ kind: "end", output: "done" });
    given(agentOf({ output: z.string().min(10) }), begun)
      .when(replied({ text: "done" }))
      .then({ kind: "model" });
  });

  test("is repaired anew after a reply that could be taken", () => {
    const text = replied({ text: "hm" });
    const story = given(
      agent,
      begun,
      text,
      text,
      text,
      replied({ calls: [call("look")] }),
      succeeded("look", 1),
      text,
      text,
    ).when(text);
    story.then({ kind: "model" });
  });
});

describe("a stop", () => {
  test.each([
    ["refusal", "MODEL_REFUSED"],
    ["context_full", "MODEL_CONTEXT_FULL"],
  ] as const)("for %s fails the saga with %s", (stop, code) => {
    expect(given(agent, begun, replied({ stop, calls: [call("hold")] })).end).toMatchObject({
      status: "failed",
      code,
    });
  });

  test("at the length limit is not taken, and costs a repair", () => {
    const story = given(agent, begun).when(replied({ stop: "length", calls: [call("hold")] }));
    story.then({ kind: "model" });
    expect(parts(story)).toMatchObject([{ type: "text" }]);
  });

  test("for a pause is asked to go on, without another word", () => {
    const story = given(agent, begun).when(replied({ stop: "pause", text: "half" }));
    story.then({ kind: "model" });
    expect(last(story)).toMatchObject({ role: "assistant", text: "half" });
    expect(digestOfRequest(requestOf(story))).toBe((story.intents[0] as { request: string }).request);
  });
});

describe("policies", () => {
  test("of two tools bound each its own", () => {
    const story = given(agentOf({ policies: [callsAtMost(look, 1), callsAtMost(hold, 1)] }), begun).when(
      replied({ calls: [call("look"), call("hold"), call("look", { of: "y" }), call("hold", { of: "y" })] }),
    );
    expect(story.intents).toMatchObject([
      { kind: "tool", name: "look" },
      { kind: "tool", name: "hold" },
      { kind: "denied", name: "look", code: "POLICY_DENIED" },
      { kind: "denied", name: "hold", code: "POLICY_DENIED" },
    ]);
  });
});

describe("cancel", () => {
  test("stops the decision, waits for effects, undoes them and ends as cancelled", () => {
    const story = given(
      agent,
      begun,
      replied({ calls: [call("hold"), call("look"), call("wait", { forMs: 10 })] }),
    ).when(signalled("cancel", { reason: "enough" }));
    story.thenNothing();
    expect(story.open).toEqual(["2-0"]);
    story
      .when(succeeded("hold", done))
      .then({ kind: "tool", name: "release" })
      .when(succeeded("release", {}))
      .then({ kind: "end", status: "cancelled", reason: "enough", standing: [] });
  });

  test("of an agent that undoes a failure already changes nothing", () => {
    const failing = given(
      agent,
      begun,
      replied({ calls: [call("hold")] }),
      succeeded("hold", done),
      failed("model", { retry: false }),
    );
    failing
      .when(signalled("cancel"))
      .thenNothing()
      .when(succeeded("release", {}))
      .then({ kind: "end", status: "failed" });
  });

  test("releases a deferred call instead of waiting for the outside", () => {
    given(agent, begun, replied({ calls: [call("hold")] }), deferred("hold", 86_400_000))
      .when(signalled("cancel"))
      .then({ kind: "tool", name: "release", undoes: "2-0" });
  });
});

describe("a sub-agent", () => {
  const parent = agentOf({ agents: [calling(look)] });

  test("is a call like any other, and its failure a result", () => {
    const story = given(parent, begun).when(replied({ calls: [call("calling")] }));
    story.then({ kind: "saga", name: "calling", call: "1.0" });
    expect(parts(story.when(failed("calling", { code: "BUDGET_EXCEEDED", retry: false })))).toMatchObject([
      { outcome: "failed", code: "BUDGET_EXCEEDED" },
    ]);
  });

  test("is told to cancel when its parent is", () => {
    const story = given(parent, begun, replied({ calls: [call("calling")] })).when(signalled("cancel"));
    story.then({ kind: "signal", name: "cancel" });
  });
});

test("an agent whose prompt throws ends as failed", () => {
  const broken = agentOf({
    prompt: () => {
      throw new Error("no prompt");
    },
  });
  expect(given(broken, begun).end).toMatchObject({ status: "failed", code: "MACHINE_THREW" });
});

test("a doubt that a human is asked about is a pending call until it is answered", () => {
  const story = given(
    agentOf({ tools: [chargeAsk, send] }),
    begun,
    replied({ calls: [call("charge_ask")] }),
  ).when(inDoubt("charge_ask"));
  story.then({ kind: "task", about: "doubt" });
});

test("an agent that fails because its replies cannot be taken says why of each one", () => {
  const story = given(agent, begun)
    .when(replied({ calls: [call("lok")] }))
    .when(replied({ calls: [call("look", { of: "x", more: 1 })] }))
    .when(replied({ text: "I am done." }))
    .when(replied({ calls: [call("finish", { output: { anwser: "42" } })] }));
  const end = story.intents.find(({ kind }) => kind === "end") as
    { code?: string; reason?: string } | undefined;
  expect(end?.code).toBe("MODEL_REPLY_INVALID");
  expect(end?.reason?.split("\n")).toEqual([
    "4 replies in a row could not be taken",
    '1. lok: [TOOL_UNKNOWN] there is no tool "lok"; did you mean "look"?',
    '2. look: [CALL_INVALID] ✖ Unknown member "more" (known here: of)',
    expect.stringMatching(/^3\. A text alone does nothing here\./),
    expect.stringMatching(/^4\. finish: \[CALL_INVALID\] ✖ Unknown member "anwser"; did you mean "answer"\?/),
  ]);
});

test("a reply that is taken makes those before it forgotten", () => {
  const story = given(agent, begun)
    .when(replied({ text: "no" }))
    .when(replied({ calls: [call("look")] }))
    .when(succeeded("look", 1));
  expect(JSON.stringify(story.state.snapshot.context)).not.toContain("A text alone");
});
