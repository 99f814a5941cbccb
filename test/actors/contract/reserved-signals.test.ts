/**
 * Goal: what every saga takes undeclared is taken as its row says, does what it says, and is refused with a code
 * where it means nothing. Method: given, when, then; the model's side is what the messages show.
 */
import { describe, expect, test } from "vitest";
import { createMachine } from "xstate";
import { z } from "zod";
import { defineSaga } from "../../../actors/saga/define.ts";
import { reservedSignals } from "../../../actors/contract/reserved-signals.ts";
import { limits } from "../../../protocol/limits.ts";
import {
  failed,
  fired,
  given,
  replied,
  signalled,
  started,
  type Story,
  storyBegan,
  succeeded,
} from "../../../services/testing/given.ts";
import { agentOf, call, finish, hold, sequence } from "../../support/workbench.ts";

const agent = agentOf();
const begun = started({ of: "x" });
const kinds = (story: Story): string[] => story.intents.map(({ kind }) => kind);
const lastParts = (story: Story): unknown[] => {
  const message = story.messages.at(-1);
  return message?.role === "user" ? [...message.parts] : [];
};
const waiting = given(agent, begun, replied({ calls: [call("wait", { signals: ["hint"] })] }));

describe("a reserved signal", () => {
  test.each(Object.keys(reservedSignals))("%s cannot be declared by a definition", (name) => {
    const machine = defineSaga({
      ...{ name: "own", version: 1, input: z.json(), output: z.json(), signals: { [name]: z.null() } },
      machine: createMachine({}),
    });
    const faults = [machine, agentOf({ signals: { [name]: z.null() } })].map(
      ({ definition }) => definition.faults,
    );
    for (const told of faults) expect(told.join()).toContain(`the signal "${name}" is reserved`);
  });

  test.each([
    ["instruct", "", "INPUT_INVALID"],
    ["instruct", null, "INPUT_INVALID"],
    ["instruct", { text: 7 }, "INPUT_INVALID"],
    ["rate_limited", null, "INPUT_INVALID"],
    ["rate_limited", -1, "INPUT_INVALID"],
    ["rate_limited", { forMs: limits.rateLimitMaxMs + 1 }, "INPUT_INVALID"],
    ["flagged", {}, "INPUT_INVALID"],
    ["flagged", { reason: "r", severity: "dreadful" }, "INPUT_INVALID"],
    ["pause", { reason: "x".repeat(limits.reasonLengthMax + 1) }, "INPUT_INVALID"],
    ["pause", [], "INPUT_INVALID"],
  ])("%s with %j is refused at the door", (name, data, code) => {
    given(agent, begun).when(signalled(name, data)).thenRefused(code);
  });

  test("is taken with a plain body in place of its first member", () => {
    const story = given(agent, begun, signalled("flagged", "it repeats itself", { from: "watcher" }));
    expect(story.state.flags).toMatchObject([{ reason: "it repeats itself", by: "watcher" }]);
    expect(given(agent, begun, signalled("rate_limited", 60_000)).state.modelNotBefore).toBe(
      storyBegan + 1_000 + 60_000,
    );
  });

  test.each(["instruct", "rate_limited"])("%s is refused by a machine, which has no model", (name) => {
    const data = name === "instruct" ? "do" : 5;
    given(sequence(hold), begun).when(signalled(name, data)).thenRefused("SIGNAL_UNKNOWN");
  });
});

describe("instruct", () => {
  test("ends a wait for something else, and the model is told that a human instructs it", () => {
    const story = waiting.when(signalled("instruct", "hurry", { from: "ana" }));
    story.then({ kind: "model" });
    expect(lastParts(story)).toMatchObject([
      { type: "result", call: "1.0", output: { woke: "signal", signal: "instruct" } },
      { type: "instructions", text: "hurry", from: "ana" },
    ]);
  });

  test("supersedes a decision in flight, whose reply is paid for and not taken", () => {
    const story = given(agent, begun).when(signalled("instruct", { text: "stop" }));
    story.then({ kind: "model", id: "2-0" });
    const late = story.when(
      succeeded("1-0", { model: "m", calls: [call("hold")], usage: { inputTokens: 9, outputTokens: 1 } }),
    );
    expect(kinds(late)).toEqual([]);
    expect(late.state.spent.inputTokens).toBe(9);
  });
});

describe("rate_limited", () => {
  const limited = given(agent, begun).when(signalled("rate_limited", { forMs: 60_000, reason: "quota" }), {
    at: storyBegan,
  });

  test("leaves a decision in flight alone, and puts the next one off until its time", () => {
    limited.thenNothing();
    const resting = limited.when(replied({ calls: [call("hold")] })).when(succeeded("hold", { id: "i" }));
    resting.then({ kind: "timer", dueAt: storyBegan + 60_000 });
    const asked = resting.when(fired("timer"), { at: storyBegan + 60_000 });
    asked.then({ kind: "model" });
    expect(asked.messages.at(-1)).toMatchObject({ at: storyBegan + 60_000, parts: [{ call: "1.0" }] });
    expect(asked.state.spent.steps).toBe(2);
  });

  test("is over by itself: what is asked later is asked at once", () => {
    const story = limited.when(replied({ calls: [call("hold")] })).when(succeeded("hold", { id: "i" }), {
      at: storyBegan + 60_001,
    });
    story.then({ kind: "model" });
  });

  test("holds for what a signal would have decided anew: no call is superseded by one that may not begin", () => {
    const story = limited.when(signalled("note", { text: "n" }), { at: storyBegan + 1_000 });
    story.then({ kind: "timer", dueAt: storyBegan + 60_000 });
    story.when(fired("timer"), { at: storyBegan + 60_000 }).then({ kind: "model" });
  });

  test("holds for the next attempt of a call that failed", () => {
    limited.when(failed("model")).then({ kind: "retry", attempt: 2, notBefore: storyBegan + 60_000 });
  });

  test("is replaced by the next one, and lifted by one of no time", () => {
    const resting = limited.when(replied({ calls: [call("hold")] })).when(succeeded("hold", { id: "i" }));
    const longer = resting.when(signalled("rate_limited", 600_000), { at: storyBegan + 10_000 });
    longer.then({ kind: "timer", dueAt: storyBegan + 610_000 });
    expect(longer.open).toHaveLength(1);
    longer
      .when(signalled("rate_limited", 0), { at: storyBegan + 11_000 })
      .when(fired("timer"))
      .then({ kind: "model" });
  });

  test("does not hold a cancel up", () => {
    const resting = limited.when(replied({ calls: [call("look")] })).when(succeeded("look", 1));
    expect(resting.when(signalled("cancel", "enough")).end).toMatchObject({ status: "cancelled" });
  });
});

describe("flagged", () => {
  const flag = signalled("flagged", { reason: "it repeats itself", severity: "high", by: "watcher" });

  test("is shown to the model at once, and stands until somebody resumes", () => {
    const story = waiting.when(flag);
    story.then({ kind: "model" });
    expect(lastParts(story)).toMatchObject([{ call: "1.0" }, { type: "signal", name: "flagged" }]);
    expect(story.state.flags).toMatchObject([
      { reason: "it repeats itself", severity: "high", by: "watcher" },
    ]);
    expect(story.when(replied(finish)).state.flags).toHaveLength(1);
    expect(story.when(signalled("resume")).state.flags).toBeUndefined();
  });

  test("of a machine is recorded, and the machine is not told", () => {
    const story = given(sequence(hold), begun).when(flag);
    story.thenNothing();
    expect(story.state.flags).toHaveLength(1);
    expect(story.state.kept).toEqual([]);
  });

  test("pauses an agent that is defined so, which is an intent of its own, until a human resumes it", () => {
    const careful = agentOf({ whenFlagged: "pause" });
    expect(careful.definition.hash).not.toBe(agent.definition.hash);
    const story = given(careful, begun).when(flag);
    story.then({ kind: "pause", by: "watcher", reason: "flagged by watcher: it repeats itself" });
    story.when(replied({ calls: [call("hold")] })).thenNothing();
    const resumed = story.when(replied({ calls: [call("hold")] })).when(signalled("resume", "looked at"));
    resumed.then({ kind: "model" });
    expect(lastParts(resumed)).toMatchObject([{ type: "signal", name: "flagged" }]);
  });

  test("keeps as many as the limit says, the newest", () => {
    const flags = Array.from({ length: limits.flagsMax + 5 }, (_, k) => signalled("flagged", `no. ${k}`));
    const story = given(sequence(hold), begun, ...flags);
    expect(story.state.flags).toHaveLength(limits.flagsMax);
    expect(story.state.flags?.at(-1)?.reason).toBe(`no. ${limits.flagsMax + 4}`);
  });
});
