/**
 * Goal: an agent reaches exactly the sagas it declares, by what those declare, and one that has handed its work over
 * ends as its successor does. Method: given, when, then; what reaches the other saga is its own test's subject
 * (test/services/between-sagas.test.ts).
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { definePolicy } from "../../../actors/contract/policy.ts";
import {
  failed,
  given,
  type Given,
  replied,
  resulted,
  signalled,
  started,
  type Story,
  storyBegan,
  succeeded,
} from "../../../services/testing/given.ts";
import { agentOf, call, finish, hold, look } from "../../support/workbench.ts";
import { agentOwn } from "../../support/own.ts";

const peer = agentOf({
  name: "peer",
  signals: { note: z.object({ text: z.string() }), stop: z.null() },
});
const quiet = agentOf({ name: "quiet", signals: {} });
const writer = agentOf({ tools: [look, hold], agents: [peer], sends: [peer] });
const begun = started({ of: "x" });
const lastParts = (story: Story): unknown[] => {
  const message = story.messages.at(-1);
  return message?.role === "user" ? [...message.parts] : [];
};
const kinds = (story: Story): string[] => story.intents.map(({ kind }) => kind);
const toPeer = { to: "peer-1", agent: "peer", signal: "note", data: { text: "hello" } };
const sending = (input: object = toPeer) => replied({ calls: [call("send", input)] });

describe("send", () => {
  test("is a recorded signal to that saga, for a saga of that definition, and succeeds once it is stored", () => {
    const story = given(writer, begun).when(sending());
    story.then({ kind: "signal", saga: "peer-1", name: "note", to: "peer", call: "1.0", data: undefined });
    expect(story.state.open[story.intent("signal")]?.input).toEqual({ text: "hello" });
    const sent = story.when(succeeded("signal"));
    expect(lastParts(sent)).toMatchObject([{ call: "1.0", tool: "send", outcome: "succeeded" }]);
  });

  test("may leave out data where the signal has none", () => {
    const story = given(writer, begun).when(sending({ to: "peer-1", agent: "peer", signal: "stop" }));
    expect(story.state.open[story.intent("signal")]?.input).toBeNull();
  });

  test("reaches a sub-agent that runs by the id of its call, and no other", () => {
    const story = given(writer, begun, replied({ calls: [call("peer"), call("look")] }), signalled("hint"));
    const child = story.state.open[story.intent("peer")]?.intent;
    const sent = story.when(sending({ ...toPeer, to: "1.0" }));
    sent.then({ kind: "signal", saga: child?.kind === "saga" ? child.saga : "", name: "note" });
    story
      .when(sending({ ...toPeer, to: "1.1" }))
      .then({ kind: "denied", code: "CALL_INVALID" }, { kind: "model" });
    const over = sent.when(succeeded("signal")).when(succeeded("peer", { answer: "1" }));
    expect(kinds(over.when(succeeded("look", 1)).when(sending({ ...toPeer, to: "1.0" })))).toContain(
      "denied",
    );
  });

  test.each([
    ["to a definition that is not declared", { ...toPeer, agent: "quiet" }, "CALL_INVALID"],
    ["of a signal that is not declared", { ...toPeer, signal: "shout" }, "SIGNAL_UNKNOWN"],
    ["of a reserved signal", { ...toPeer, signal: "cancel", data: "die" }, "SIGNAL_UNKNOWN"],
    ["of a member every object has", { ...toPeer, signal: "toString" }, "SIGNAL_UNKNOWN"],
    ["of data that does not fit", { ...toPeer, data: { text: 1 } }, "CALL_INVALID"],
    ["to what is no id", { ...toPeer, to: "peer.>" }, "CALL_INVALID"],
    ["without a receiver", { agent: "peer", signal: "stop" }, "CALL_INVALID"],
  ])("%s is refused, and nothing is sent", (_, input, code) => {
    const story = given(writer, begun).when(sending(input));
    expect(story.intents.filter(({ kind }) => kind === "signal")).toEqual([]);
    expect(lastParts(story)).toMatchObject([{ call: "1.0", outcome: "failed", code }]);
  });

  test("is no call of an agent that declares nobody, where a tool may be named so", () => {
    expect(agentOwn(agentOf().definition).frame?.tools.filter(({ name }) => name === "send")).toHaveLength(1); // Its own tool.
    expect(agentOwn(writer.definition).frame?.tools.map(({ name }) => name)).toContain("send");
    const story = given(agentOf({ tools: [look] }), begun).when(sending());
    expect(lastParts(story)).toMatchObject([{ code: "TOOL_UNKNOWN" }]);
  });

  test("shows the model each signal with the schema of its data", () => {
    const shown = agentOwn(writer.definition).frame?.tools.find(({ name }) => name === "send");
    expect(shown?.description).toContain('peer takes note with data {"type":"object"');
    expect(shown?.schema).toMatchObject({
      properties: { agent: { enum: ["peer"] }, signal: { enum: ["note", "stop"] } },
    });
  });

  test("cannot edit another agent's memory, though a human may by a signal that it declares", () => {
    const memory = { schema: z.object({ n: z.number() }), initial: { n: 0 } };
    const knowing = agentOf({ name: "knowing", memory });
    expect(Object.keys(knowing.signals)).toContain("memory");
    const story = given(agentOf({ tools: [look], sends: [knowing] }), begun).when(
      sending({ to: "k-1", agent: "knowing", signal: "memory", data: { set: { n: 9 } } }),
    );
    expect(lastParts(story)).toMatchObject([{ call: "1.0", code: "SIGNAL_UNKNOWN" }]);
  });

  test("does not outlive a cancel unsent: what is recorded is sent, and the end waits for it", () => {
    const story = given(writer, begun, sending()).when(signalled("cancel"));
    expect(story.end).toBeUndefined();
    expect(story.when(succeeded("signal")).end).toMatchObject({ status: "cancelled" });
  });

  test("to whoever cannot be told from others, or takes no signal, is a fault of the application", () => {
    const faults = agentOf({ tools: [], sends: [peer, peer, quiet] }).definition.faults.join("\n");
    expect(faults).toContain('two of those it sends to are named "peer"');
    expect(faults).toContain('it sends to "quiet", which declares no signal');
    expect(agentOf({ sends: [peer] }).definition.faults.join()).toContain('the tool name "send" is reserved');
  });
});

describe("a signal from another saga", () => {
  const addressed = (to: string): Given => ({
    ...{ type: "signal" as const, name: "note", data: { text: "t" }, id: "s", from: "a-1" },
    ...{ sentAt: storyBegan, to },
  });

  test("is taken by a saga of the definition that it is for, with the sender's id", () => {
    const story = given(peer, begun).when(addressed("peer"));
    expect(lastParts(story)).toMatchObject([{ type: "signal", name: "note", from: "a-1" }]);
  });

  test("is refused by a saga of another definition, though that declares a signal of the same name", () => {
    given(agentOf(), begun).when(addressed("peer")).thenRefused("SIGNAL_UNKNOWN");
  });
});

describe("hand_off", () => {
  const first = agentOf({ tools: [hold, look], handsOffTo: [peer] });
  const handOff = replied({ calls: [call("hand_off", { to: "peer", input: { of: "the rest" } })] });
  const handed = given(first, begun, replied({ calls: [call("hold")] }), succeeded("hold", { id: "i" })).when(
    handOff,
  );

  test("starts the other agent as a child, and asks this one's model no more", () => {
    handed.then({ kind: "saga", name: "peer", call: "2.0" });
    expect(handed.state.open[handed.intent("peer")]?.input).toEqual({ of: "the rest" });
    expect(kinds(handed.when(signalled("hint")))).toEqual([]);
  });

  test("ends with the output of who took over", () => {
    const story = handed.when(succeeded("peer", { answer: "theirs" }));
    story.then({ kind: "end", status: "completed", output: { answer: "theirs" } });
  });

  test("fails with the failure of who took over, and undoes what this agent did itself", () => {
    const story = handed.when(
      resulted("peer", {
        outcome: "failed",
        code: "MODEL_REFUSED",
        reason: "no",
        retry: false,
        standing: ["pay peer.1"],
      }),
    );
    story.then({ kind: "tool", name: "release" });
    expect(story.when(succeeded("release", {})).end).toMatchObject({
      ...{ status: "failed", code: "MODEL_REFUSED", standing: ["pay peer.1"] },
    });
  });

  test("fails if the other's output is not one of its own", () => {
    const other = agentOf({ name: "other", output: z.object({ number: z.number() }) });
    const story = given(agentOf({ tools: [], handsOffTo: [other] }), begun)
      .when(replied({ calls: [call("hand_off", { to: "other", input: { of: "x" } })] }))
      .when(succeeded("other", { number: 1 }));
    expect(story.end).toMatchObject({ status: "failed", code: "BAD_RESULT" });
  });

  test("forwards a signal that the other takes, and only that", () => {
    handed.when(signalled("note", { text: "n" })).then({ kind: "signal", name: "note", data: { text: "n" } });
    handed.when(signalled("hint")).thenNothing();
    handed.when(signalled("instruct", "go")).then({ kind: "signal", name: "instruct", data: { text: "go" } });
    handed
      .when(signalled("rate_limited", 5_000))
      .then({ kind: "signal", name: "rate_limited", data: { forMs: 5_000 } });
    handed.when(signalled("flagged", "f")).then({ kind: "signal", name: "flagged" });
  });

  test("passes a cancel on, and undoes its own effects once the other has undone its", () => {
    const cancelled = handed.when(signalled("cancel", "enough"));
    cancelled.then({ kind: "signal", name: "cancel" });
    const theirs = cancelled.when([succeeded("signal"), failed("peer", { code: "CANCELLED", retry: false })]);
    theirs.then({ kind: "tool", name: "release" });
    expect(theirs.when(succeeded("release", {})).end).toMatchObject({
      status: "cancelled",
      reason: "enough",
      standing: [],
    });
  });

  test.each([
    [
      "beside another call",
      [call("hand_off", { to: "peer", input: { of: "x" } }), call("look")],
      "MODEL_REPLY_INVALID",
    ],
    ["to nobody", [call("hand_off", { to: "nobody", input: {} })], "CALL_INVALID"],
    ["with an input that does not fit", [call("hand_off", { to: "peer", input: {} })], "CALL_INVALID"],
  ])("%s is refused and costs a repair", (_, calls, code) => {
    const story = given(first, begun).when(replied({ calls }));
    expect(kinds(story)).toEqual(["model"]);
    expect(lastParts(story)).toContainEqual(
      expect.objectContaining({ tool: "hand_off", outcome: "failed", code }),
    );
    expect(story.when(replied(finish)).end).toMatchObject({ status: "completed" });
  });

  test("leaves calls that still run to their own end, and ends after them", () => {
    const open = given(
      first,
      begun,
      replied({ calls: [call("hold")] }),
      signalled("note", { text: "n" }),
      handOff,
    );
    const over = open.when(succeeded("peer", { answer: "theirs" }));
    expect(over.end).toBeUndefined();
    expect(over.when(succeeded("hold", { id: "i" })).end).toMatchObject({ status: "completed" });
  });

  test("goes to a pause as everything else: the other's end is held until the resume", () => {
    const held = handed.when(signalled("pause")).when(succeeded("peer", { answer: "theirs" }));
    expect(held.end).toBeUndefined();
    expect(held.when(signalled("resume")).end).toMatchObject({ output: { answer: "theirs" } });
  });
});

describe("a hand-off that is denied", () => {
  const agent = agentOf({
    tools: [look],
    handsOffTo: [peer],
    policies: [
      definePolicy({ name: "alone", judge: ({ kind }) => (kind === "tool" ? undefined : { deny: "alone" }) }),
    ],
  });

  test("leaves the work where it is: the model hears why and goes on", () => {
    const story = given(agent, begun).when(
      replied({ calls: [call("hand_off", { to: "peer", input: { of: "x" } })] }),
    );
    story.then({ kind: "denied", code: "POLICY_DENIED" }, { kind: "model" });
    expect(lastParts(story)).toMatchObject([{ call: "1.0", outcome: "denied", code: "POLICY_DENIED" }]);
    expect(kinds(story.when(signalled("note", { text: "n" })))).toEqual(["model"]);
    expect(story.when(replied(finish)).end).toMatchObject({ status: "completed" });
  });
});

test("a policy sees the flags that nobody has acknowledged", () => {
  const unflagged = definePolicy({
    name: "unflagged",
    judge: ({ flags }) => (flags.length > 0 ? { deny: "flagged" } : undefined),
  });
  const agent = agentOf({ policies: [unflagged] });
  const flag = signalled("flagged", "f");
  const holding = replied({ calls: [call("hold")] });
  expect(kinds(given(agent, begun, flag).when(holding))).toEqual(["denied", "model"]);
  expect(kinds(given(agent, begun, flag, signalled("resume")).when(holding))).toEqual(["tool"]);
});
