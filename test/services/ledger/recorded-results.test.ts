/**
 * Recorded results: what a ledger tells of each call, and which call it answers again.
 *
 * Method: ledgers made turn by turn (given.ts), read without their definition.
 */
import { describe, expect, test } from "vitest";
import { recordedCalls, recordings } from "../../../services/ledger/recorded-results.ts";
import {
  failed,
  given,
  inDoubt,
  replied,
  started,
  type Story,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { agentOf, call, chargeAsk, hold, look } from "../../support/workbench.ts";

const agent = agentOf();
const tools = new Map([look, hold, chargeAsk].map((tool) => [tool.name, tool]));
const callsOf = (story: Story) => recordedCalls(story.turns);
const brief = (story: Story) =>
  callsOf(story).map(({ intent, name, input, result, durationMs }) => [
    intent.id,
    name,
    input,
    result.outcome,
    durationMs,
  ]);

describe("recordedCalls", () => {
  test("holds the input that only the model's reply has, and the time between the turns", () => {
    const story = given(
      agent,
      started({ of: "x" }),
      replied({ calls: [call("hold", { of: "a" }), call("look", { of: "b" })] }),
      succeeded("look", { n: 1 }),
      succeeded("hold", { id: "1" }),
    );
    expect(brief(story)).toEqual([
      ["2-0", "hold", { of: "a" }, "succeeded", 2_000],
      ["2-1", "look", { of: "b" }, "succeeded", 1_000],
    ]);
    expect(callsOf(story)[0]?.key).toMatch(/\.2-0\./);
  });

  test("an attempt that was followed by another is no result, and the call lasts until the last", () => {
    const story = given(
      agent,
      started({ of: "x" }),
      replied({ calls: [call("hold")] }),
      failed("hold", { retry: true }),
      succeeded("hold", { id: "1" }),
    );
    expect(brief(story)).toEqual([["2-0", "hold", { of: "x" }, "succeeded", 2_000]]);
  });

  test("a call that is still open, or was abandoned, is not among them", () => {
    const open = given(agent, started({ of: "x" }), replied({ calls: [call("hold"), call("look")] }));
    expect(callsOf(open)).toEqual([]);
  });

  test("a doubt keeps what was reported first, and what it turned out to be", () => {
    const story = given(
      agentOf({ tools: [chargeAsk] }),
      started({ of: "x" }),
      replied({ calls: [call(chargeAsk.name)] }),
      inDoubt(chargeAsk.name),
      succeeded("2-0", { id: "1" }, 1),
    );
    const [charged] = callsOf(story);
    expect(charged).toMatchObject({
      result: { outcome: "in_doubt" },
      corrected: { result: { outcome: "succeeded" }, afterMs: 2_000 },
    });
  });

  test("a human's answer is a result, with each vote and its time", () => {
    const story = given(
      agent,
      started({ of: "x" }),
      replied({ calls: [{ tool: "ask", input: { question: "really?" } }] }),
      voted("question", "answer", { answer: "yes", by: "ann" }),
    );
    expect(callsOf(story)).toMatchObject([
      {
        kind: "task",
        name: "question",
        input: { question: "really?" },
        result: { outcome: "succeeded", output: "yes" },
        votes: [{ vote: { by: "ann" }, afterMs: 1_000 }],
      },
    ]);
  });
});

describe("recordings", () => {
  const story = given(
    agent,
    started({ of: "x" }),
    replied({ calls: [call("hold", { of: "a" }), call("hold", { of: "a" }), call("look", { of: "a" })] }),
    [succeeded("2-0", { id: "1" }), succeeded("2-1", { id: "2" }), succeeded("look", { n: 1 })],
  );
  const recorded = recordings(callsOf(story), (name) => tools.get(name));
  const held = { kind: "tool", name: "hold", input: { of: "a" } } as const;
  const first = callsOf(story)[0];

  test("the k-th equal call is answered by the k-th recorded, and the one after the last by none", () => {
    const taken = new Set<string>();
    const answers = [1, 2, 3].map(() => {
      const answer = recorded.find(held, taken as never);
      if (answer !== undefined) taken.add(answer.intent.id);
      return answer?.result;
    });
    expect(answers).toEqual([
      { outcome: "succeeded", output: { id: "1" } },
      { outcome: "succeeded", output: { id: "2" } },
      undefined,
    ]);
  });

  test("a call is answered by its own key before an equal one", () => {
    const second = callsOf(story)[1];
    expect(recorded.find({ ...held, key: second?.key ?? "" }, new Set())).toEqual(second);
  });

  test("a call of another tool under the same key is another call", () => {
    const second = callsOf(story)[1];
    const asked = { ...held, name: "look", key: second?.key ?? "" };
    expect(recorded.find(asked, new Set())?.name).toBe("look");
  });

  test("members that the schema ignores make no other call", () => {
    const odd = recorded.find({ ...held, input: { of: "a", extra: true } }, new Set());
    expect(odd?.intent.id).toBe(first?.intent.id);
    expect(recorded.find({ ...held, input: { of: "b" } }, new Set())).toBeUndefined();
  });

  test("a read may be repeated as often as one likes", () => {
    const read = { kind: "tool", name: "look", input: { of: "a" } } as const;
    const answer = recorded.find(read, new Set());
    expect(answer?.result).toMatchObject({ output: { n: 1 } });
    expect(recorded.find(read, new Set([answer?.intent.id ?? ("" as never)]))).toBe(answer);
  });
});
