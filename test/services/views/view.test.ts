/**
 * The view of a ledger, with its definition and without: what it shows is held against the fold.
 *
 * Ledgers are made by the kernel itself, a turn at a time, so each shows what the kernel records and no more.
 */
import { describe, expect, test } from "vitest";
import type { IntentId } from "../../../protocol/ids.ts";
import { describeIntent } from "../../../services/cli/telling/describe.ts";
import { type IntentView, type SagaView, viewOf } from "../../../services/views/view.ts";
import {
  cancelled,
  deferred,
  failed,
  fired,
  given,
  inDoubt,
  replied,
  signalled,
  started,
  type Story,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import {
  agentOf,
  call,
  calling,
  chargeAsk,
  finish,
  hold,
  look,
  release,
  sequence,
} from "../../support/workbench.ts";

const begun = started({ of: "x" });
const usage = { inputTokens: 10, outputTokens: 2, cacheReadTokens: 5, usd: 0.5 };
const alone = (story: Story): SagaView => viewOf(story.turns);
const folded = (story: Story): SagaView => viewOf(story.turns, { state: story.state });
const ids = (views: readonly IntentView[]): IntentId[] => views.map(({ intent }) => intent.id);
const shown = (view: SagaView, kind: string): IntentView => {
  const found = view.intents.find(
    ({ intent }) => ("name" in intent && intent.name === kind) || intent.kind === kind,
  );
  if (found === undefined) throw new Error(`nothing is ${kind} in ${JSON.stringify(view.intents)}`);
  return found;
};

test("a call that a policy rewrote is shown with what was done, not with what was asked for", () => {
  const shorter = { name: "shorter", judge: () => ({ rewrite: { of: "y" } }) };
  const story = given(agentOf({ policies: [shorter] }), begun).when(
    replied({ calls: [call("hold", { of: "yyy" })] }),
  );
  expect(shown(alone(story), "hold").input).toEqual({ of: "y" });
  expect(describeIntent(shown(alone(story), "hold").intent)).toBe(
    '2-0 tool hold {"of":"y"} as policy shorter rewrote it',
  );
});

describe("decisions", () => {
  test("a decision that a signal replaced is superseded, and its late reply only costs", () => {
    const asked = given(agentOf(), begun, signalled("note", { text: "wait" }));
    const view = alone(asked);
    expect(view.intents.map(({ outcome }) => outcome)).toEqual(["superseded", undefined]);
    expect(ids(view.open)).toEqual(ids(folded(asked).open));
    const late = asked.when((story) => ({
      type: "result",
      intent: story.turns[0]?.steps[0]?.intents[0]?.id as IntentId,
      attempt: 1,
      by: "somebody",
      result: { outcome: "cancelled", code: "CANCELLED", reason: "superseded", usage },
    }));
    expect(alone(late).intents[0]?.outcome).toBe("superseded");
    expect(alone(late).spent).toMatchObject({ steps: 2, inputTokens: 15, outputTokens: 2, usd: 0.5 });
    expect(alone(late).spent).toEqual(folded(late).spent);
  });

  test("a call's input is found although an earlier decision was superseded and kept its number", () => {
    const story = given(
      agentOf(),
      begun,
      signalled("note", { text: "wait" }),
      replied({ calls: [call("hold", { of: "y" })] }),
    );
    expect(shown(alone(story), "hold").input).toEqual({ of: "y" });
  });

  test("two decisions of one turn are two, and the first is superseded", () => {
    const story = given(agentOf(), begun, [
      signalled("note", { text: "a" }, { id: "a" }),
      signalled("note", { text: "b" }, { id: "b" }),
    ]);
    expect(alone(story).intents.map(({ outcome }) => outcome)).toEqual([
      "superseded",
      "superseded",
      undefined,
    ]);
    const called = story.when(replied({ calls: [call("hold", { of: "z" })] }));
    expect(shown(alone(called), "hold").input).toEqual({ of: "z" });
  });

  test("what was spent is counted over every attempt", () => {
    const story = given(
      agentOf(),
      begun,
      replied({ calls: [call("hold")], usage }),
      succeeded("hold", { id: "1" }),
      replied({ ...finish, usage }),
    );
    expect(alone(story).spent).toMatchObject({
      steps: 2,
      inputTokens: 30,
      outputTokens: 4,
      usd: 1,
      toolCalls: 1,
    });
    expect(alone(story).spent).toEqual(folded(story).spent);
  });
});

describe("attempts", () => {
  test("a failure that is tried again is open again, as the next attempt", () => {
    const story = given(calling(hold), begun, failed("hold", { retry: true }));
    expect(shown(alone(story), "hold")).toMatchObject({ outcome: undefined, attempt: 2, reason: undefined });
    expect(shown(alone(story.when(failed("hold", { retry: false }))), "hold")).toMatchObject({
      outcome: "failed",
      reason: "it failed",
    });
  });

  test("a deferred call is open until its answer or its deadline", () => {
    const story = given(calling(hold), begun, deferred("hold", 60_000));
    expect(shown(alone(story), "hold")).toMatchObject({ outcome: undefined, deferred: true });
    expect(shown(alone(story.when(fired("hold"))), "hold")).toMatchObject({
      outcome: "failed",
      reason: expect.stringContaining("in time"),
    });
  });
});

describe("doubts", () => {
  test("a doubt stands, and a late success corrects it and spares the human", () => {
    const doubted = given(calling(chargeAsk), begun, inDoubt("charge_ask"));
    expect(shown(alone(doubted), "charge_ask").outcome).toBe("in_doubt");
    expect(alone(doubted).effects).toMatchObject([{ tool: "charge_ask", outcome: "in_doubt" }]);
    expect(ids(alone(doubted).open)).toEqual(ids(folded(doubted).open));
    const corrected = doubted.when((story) => ({
      type: "result",
      intent: story.turns[0]?.steps[0]?.intents[0]?.id as IntentId,
      attempt: 1,
      by: "bank",
      result: { outcome: "succeeded", output: { id: "c" } },
    }));
    expect(shown(alone(corrected), "charge_ask")).toMatchObject({
      outcome: "succeeded",
      output: { id: "c" },
      by: "bank",
      reason: undefined,
    });
    expect(shown(alone(corrected), "task").outcome).toBe("cancelled");
    expect(alone(corrected).effects).toEqual(folded(corrected).effects);
  });

  test.each([
    ["happened", { outcome: "happened", output: { id: "c" } }, "succeeded"],
    ["did not happen", { outcome: "did_not_happen" }, "failed"],
  ])("a human who found that it %s settles both the task and the doubt", (_, answer, outcome) => {
    const story = given(
      calling(chargeAsk),
      begun,
      inDoubt("charge_ask"),
      voted("doubt", "answer", { answer, by: "ana" }),
    );
    expect(shown(alone(story), "charge_ask")).toMatchObject({ outcome, by: "ana" });
    expect(shown(alone(story), "task")).toMatchObject({ outcome: "succeeded", by: "ana" });
    expect(alone(story).effects).toEqual(folded(story).effects);
  });

  test("a deferred call that is undone before its answer counts as in doubt", () => {
    const story = given(
      agentOf(),
      begun,
      replied({ calls: [call("hold")] }),
      deferred("hold", 60_000),
      signalled("cancel", { reason: "enough" }),
    );
    expect(shown(alone(story), "hold").outcome).toBe("in_doubt");
    expect(alone(story).phase).toBe("undoing");
  });
});

describe("tasks", () => {
  const approving = (quorum: number) =>
    given(
      agentOf({
        tools: [
          {
            ...hold,
            approval: () => ({ by: ["ana", "bo"], withinMs: 60_000, otherwise: "deny" as const, quorum }),
          },
        ],
      }),
      begun,
      replied({ calls: [call("hold", { of: "seat" })] }),
    );

  test("an approval shows the exact arguments of the call it is about", () => {
    expect(shown(alone(approving(1)), "task")).toMatchObject({ input: { of: "seat" }, outcome: undefined });
  });

  test("an approval by one of two leaves the task open, the same one again too, and the second settles it", () => {
    const one = approving(2).when(voted("approval", "approve", { by: "ana", id: "1" }));
    expect(shown(alone(one), "task").outcome).toBeUndefined();
    const again = one.when(voted("approval", "approve", { by: "ana", id: "2" }));
    expect(shown(alone(again), "task").outcome).toBeUndefined();
    const both = again.when(voted("approval", "approve", { by: "bo", id: "3" }));
    expect(shown(alone(both), "task").outcome).toBe("succeeded");
    expect(ids(alone(both).open)).toEqual(ids(folded(both).open));
  });

  test("a denial and a deadline are denials", () => {
    const denied = approving(1).when(voted("approval", "deny", { by: "ana", reason: "no" }));
    expect(shown(alone(denied), "task")).toMatchObject({ outcome: "denied", reason: "no" });
    expect(shown(alone(approving(1).when(fired("approval"))), "task").outcome).toBe("denied");
  });
});

describe("what ends in silence", () => {
  test("a cancellation ends decisions and tasks, and waits for the effect in flight", () => {
    const story = given(
      agentOf(),
      begun,
      replied({ calls: [call("hold"), call("ask", { question: "?" })] }),
      signalled("cancel", { reason: "enough" }),
    );
    expect(shown(alone(story), "task").outcome).toBe("cancelled");
    expect(shown(alone(story), "hold").outcome).toBeUndefined();
    expect(ids(alone(story).open)).toEqual(ids(folded(story).open));
  });

  test("a read that the machine waits for no more is over, with the definition and without", () => {
    const story = given(calling(look), begun, signalled("again"));
    for (const view of [alone(story), folded(story)]) {
      expect(ids(view.open)).toEqual(["2-0"]);
      expect(view.intents[0]).toMatchObject({
        outcome: "cancelled",
        reason: expect.stringContaining("nobody"),
      });
    }
  });

  test("a timer that a wait no longer needs is disarmed", () => {
    const waiting = given(agentOf(), begun, replied({ calls: [call("wait", { forMs: 5_000 })] }));
    expect(ids(alone(waiting).open)).toEqual(ids(folded(waiting).open));
    const woken = waiting
      .when(signalled("note", { text: "x" }))
      .when(replied({ calls: [call("hold")] }), { at: Date.UTC(2026, 0, 2) });
    expect(shown(alone(woken), "timer").outcome).toBe("cancelled");
  });

  test("after the end nothing is open, whatever the ledger left unsaid", () => {
    const story = given(
      agentOf(),
      begun,
      replied({ calls: [call("look"), call("wait", { forMs: 60_000 })] }),
      signalled("note", { text: "x" }),
      replied(finish),
    );
    expect(alone(story)).toMatchObject({ status: "completed", phase: "ended", open: [] });
  });
});

describe("effects", () => {
  test("what was undone stands no more, and what only reads never stood", () => {
    const held = given(
      sequence(look, hold),
      started({}),
      succeeded("look", {}),
      succeeded("hold", { id: "1" }),
    );
    expect(alone(held).effects.map(({ tool }) => tool)).toEqual(["hold"]);
    expect(alone(held).effects).toEqual(folded(held).effects);
    const undone = held.when(signalled("cancel", { reason: "enough" })).when(succeeded(release.name, {}));
    expect(alone(undone)).toMatchObject({ status: "cancelled", effects: [] });
  });

  test("an effect whose undoing got stuck stands until a human says that it was undone", () => {
    const stuck = given(
      sequence(hold),
      started({}),
      succeeded("hold", { id: "1" }),
      signalled("cancel", { reason: "enough" }),
      failed(release.name, { retry: false }),
    );
    expect(alone(stuck)).toMatchObject({ phase: "undoing", status: "running" });
    expect(alone(stuck).effects).toEqual(folded(stuck).effects);
    const undone = stuck.when(voted("stuck", "approve"));
    expect(alone(undone).effects).toEqual([]);
    expect(alone(undone).effects).toEqual(folded(undone).effects);
  });

  test("an intent whose claim was won by a cancellation is no effect", () => {
    const story = given(calling(chargeAsk), begun, cancelled("charge_ask"));
    expect(alone(story).effects).toEqual([]);
  });
});

describe("a success that does not fit its tool's contract", () => {
  const wrong = { answer: 5 };
  const deferredOne = given(
    calling(hold),
    begun,
    deferred("hold", 60_000),
    succeeded("hold", wrong),
    succeeded("release", {}),
  );
  const onceOne = given(calling(chargeAsk), begun, succeeded("charge_ask", wrong));

  test("is shown as what the fold made of it, though nobody knows the contract", () => {
    for (const view of [alone(deferredOne), folded(deferredOne)])
      expect(shown(view, "hold")).toMatchObject({ outcome: "failed", output: undefined });
    expect(shown(alone(deferredOne), "hold").reason).toContain("id");
    for (const view of [alone(onceOne), folded(onceOne)])
      expect(shown(view, "charge_ask")).toMatchObject({ outcome: "in_doubt" });
    expect(alone(onceOne).effects).toEqual(folded(onceOne).effects);
  });

  test("stands in doubt until it is undone", () => {
    const held = given(calling(hold), begun, succeeded("hold", wrong));
    expect(folded(held).effects).toMatchObject([{ tool: "hold", outcome: "in_doubt" }]);
    expect(alone(held).effects).toEqual(folded(held).effects);
    expect(alone(deferredOne).effects).toEqual([]);
  });
});

test("what failed and may have happened stands in doubt, as in the fold", () => {
  const thrown = failed("hold", { code: "TOOL_TIMEOUT", retry: true });
  const tried = given(calling(hold), begun, thrown, thrown, thrown, thrown, thrown);
  const late = given(calling(hold), begun, deferred("hold", 60_000), fired("hold"));
  for (const story of [tried, late]) {
    expect(folded(story).effects).toMatchObject([{ tool: "hold", outcome: "in_doubt" }]);
    expect(alone(story).effects).toEqual(folded(story).effects);
  }
});

test("a doubt about what can be run again is a failed attempt, and leaves nothing in doubt", () => {
  const doubted = inDoubt("hold");
  const story = given(calling(hold), begun, doubted, doubted, doubted, doubted, doubted);
  expect(shown(alone(story), "hold").outcome).toBe("failed");
  expect(folded(story).effects).toEqual([]);
  expect(alone(story).effects).toEqual([]);
});

test("the view of a ledger's first turns is the view as of then", () => {
  const story = given(
    agentOf(),
    begun,
    replied({ calls: [call("hold")] }),
    succeeded("hold", { id: "1" }),
    replied(finish),
  );
  expect(viewOf(story.turns.slice(0, 2))).toMatchObject({ status: "running", turns: 2 });
  expect(viewOf(story.turns)).toMatchObject({ status: "completed", turns: 4, hosts: ["given"] });
});

test("a ledger that does not begin with a start is broken", () => {
  expect(() => viewOf([])).toThrow(/LEDGER_BROKEN/);
});
