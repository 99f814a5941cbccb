/**
 * Goal: what a model is sent under a context policy is a pure function of the ledger, begins with what was sent before
 * except at a cut, never splits a call from its result, keeps what is pinned, and refers to nothing that cannot be
 * fetched back. Method: fast-check with a fixed seed walks agents of each policy through replies, results, signals
 * and failed summaries; each request is built as a host builds it and held against the whole conversation.
 */
import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import {
  type ContextPolicy,
  fullContext,
  selectiveContext,
  windowedContext,
} from "../../../actors/contract/context-policy.ts";
import { type AgentConfig, defineAgent } from "../../../actors/agent/define.ts";
import type { SagaDefinition } from "../../../actors/contract/definition.ts";
import { recallFrom } from "../../../actors/request/recall.ts";
import { sentMessages } from "../../../actors/request/sent.ts";
import { buildRequest, digestAsSent } from "../../../actors/request/request.ts";
import { canonicalJson, type Json } from "../../../protocol/json.ts";
import { limits } from "../../../protocol/limits.ts";
import type { ModelMessage, MessagePart } from "../../../protocol/model.ts";
import { planRequest } from "../../../services/models/anthropic-request.ts";
import {
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
import { call, chargeModel, finish, hold, look, Of } from "../../support/workbench.ts";
import { agentOwn } from "../../support/own.ts";

const agentWith = (
  context?: ContextPolicy,
  more: Partial<AgentConfig<typeof Of, z.ZodType, any>> = {},
): SagaDefinition =>
  defineAgent({
    name: "walker",
    version: 1,
    description: "Walks.",
    model: "scripted",
    instructions: "Walk.",
    input: Of,
    output: z.object({ answer: z.string() }),
    signals: { note: z.object({ text: z.string() }), hint: z.null() },
    tools: [look, hold, chargeModel],
    memory: {
      schema: z.object({ last: z.string().optional() }),
      initial: {},
      on: { look: (_: unknown, { input }: { input: z.infer<typeof Of> }) => ({ last: input.of }) },
    },
    ...(context && { context }),
    ...more,
  } as never);

const policies: Record<string, ContextPolicy> = {
  full: fullContext(),
  window: windowedContext({ messages: 10 }),
  selective: selectiveContext({ keep: 6, pin: ["note"] }),
  "selective, summarised": selectiveContext({ keep: 6, summarize: { everyMessages: 6 } }),
  "selective, summarised by length": selectiveContext({
    keep: 4,
    summarize: { overCharacters: 2_000, model: "small" },
  }),
};

/** The open call of a model, as a host would send it. */
function sendable(story: Story) {
  const open = Object.values(story.state.open).find(({ intent }) => intent.kind === "model");
  const own = agentOwn(story.definition);
  const { frame } = own;
  if (open === undefined || frame === undefined) return undefined;
  const asked = open.input as unknown as Parameters<typeof buildRequest>[2];
  const built = buildRequest({ ...own, frame }, story.state.saga, asked, story.messages);
  return { built, asked, intent: open.intent as { request: string; name: string } };
}

type Move = { readonly kind: number; readonly calls: number; readonly length: number };
const moves = fc.array(
  fc.record({ kind: fc.nat(99), calls: fc.integer({ min: 1, max: 3 }), length: fc.constantFrom(1, 30, 900) }),
  { minLength: 20, maxLength: 60 },
);

const isOpen = (story: Story, kind: string) =>
  Object.values(story.state.open).filter(({ intent }) => intent.kind === kind);

/** One turn; none where the move makes no sense. */
function proceed(story: Story, { kind, calls, length }: Move, k: number): Story {
  const tools = isOpen(story, "tool");
  const open = sendable(story);
  if (kind < 8) return story.when(signalled("note", { text: `n${k}` }, { id: `${k}` }));
  if (kind < 12) return story.when(signalled("memory", { set: { last: `${k}` } }, { id: `${k}` }));
  if (open !== undefined && open.asked.summarize !== undefined) {
    if (kind < 40) return story.when(failed("model", { retry: false, code: "MODEL_FAILED" }));
    return story.when(replied({ text: kind < 50 ? " " : `all of ${k}` }));
  }
  if (open !== undefined && (kind < 70 || tools.length === 0)) {
    if (kind < 16) return story.when(replied({ text: "hm", stop: kind < 14 ? "pause" : "end" }));
    const tool = ["look", "hold", "charge_model"];
    const made = Array.from({ length: calls }, (_, c) =>
      call(tool[(kind + c) % 3] ?? "look", { of: `${k}.${c}` }),
    );
    return story.when(replied({ text: `t${k}`, calls: made }));
  }
  const one = tools[kind % Math.max(1, tools.length)];
  if (one === undefined)
    return isOpen(story, "timer").length > 0 ? story : story.when(signalled("hint", null, { id: `${k}` }));
  const { id } = one.intent;
  if (kind < 76) return story.when(failed(id, { retry: false }));
  if (kind < 82 && one.intent.kind === "tool" && one.intent.name === "charge_model")
    return story.when(inDoubt(id));
  const output =
    one.intent.kind === "tool" && one.intent.name === "look"
      ? "x".repeat(length)
      : { id: "y".repeat(length) };
  return story.when(succeeded(id, output));
}

/** A request that would be sent, with the story at that moment. */
type Sent = NonNullable<ReturnType<typeof sendable>> & { readonly story: Story };

function walk(agent: SagaDefinition, path: readonly Move[]): Sent[] {
  const sent: Sent[] = [];
  let story = given(agent, started({ of: "the goal" }));
  for (const [k, move] of path.entries()) {
    if (story.end !== undefined) break;
    const open = sendable(story);
    if (open !== undefined) sent.push({ ...open, story });
    story = proceed(story, move, k);
  }
  return sent;
}

const paths = fc.sample(moves, { numRuns: 12, seed: 20261121 });
/** One call of a tool at each step, each with a long result. */
const steady = Array.from({ length: 160 }, (_, k) => ({
  kind: k % 2 === 0 ? 60 : 90,
  calls: 1,
  length: 900,
}));

const isDecision = ({ asked }: Sent): boolean => asked.summarize === undefined;

const partsOf = (messages: readonly ModelMessage[]): MessagePart[] =>
  messages.flatMap((message) => (message.role === "user" ? message.parts : []));

describe.each(Object.entries(policies))("a request under the policy %s", (name, policy) => {
  const agent = agentWith(policy);
  let walks: Sent[][];
  let decisions: Sent[];
  beforeAll(() => {
    walks = [...paths, steady].map((path) => walk(agent, path));
    decisions = walks.flat().filter(isDecision);
    expect(decisions.length).toBeGreaterThan(20);
  });

  test("has the digest that was recorded before the call, and is the same whenever it is built", () => {
    for (const { story, built, intent } of walks.flat()) {
      expect(built.digest).toBe(intent.request);
      expect(canonicalJson(sendable(story)?.built)).toBe(canonicalJson(built));
      if (built.sent !== undefined) expect(digestAsSent(built.request)).toBe(built.sent);
    }
  });

  test("begins with the messages of the one before it, byte for byte, but for cuts that are messages apart", () => {
    let cuts = 0;
    for (const sent of walks) {
      let before: string[] = [];
      let cutAt = -Infinity;
      for (const { built, story } of sent.filter(isDecision)) {
        const now = built.request.messages.map((message) => JSON.stringify(message));
        if (!before.every((message, index) => now[index] === message)) {
          expect(story.messages.length - cutAt).toBeGreaterThanOrEqual(2);
          cuts += 1;
          cutAt = story.messages.length;
        }
        before = now;
      }
    }
    expect(cuts > 0).toBe(name !== "full");
    expect(cuts / decisions.length).toBeLessThan(0.25);
  });

  test("gives a provider a request that begins like the one before it, with one mark for its cache", () => {
    for (const sent of walks) {
      let before: { plain: string[]; planned: string[] } = { plain: [], planned: [] };
      for (const { built } of sent.filter(isDecision)) {
        const { params } = planRequest(built.request, { model: "m" });
        const now = {
          plain: built.request.messages.map((message) => JSON.stringify(message)),
          planned: params.messages.map((message) => JSON.stringify(message)),
        };
        expect(params.cache_control).toEqual({ type: "ephemeral" });
        if (before.plain.every((message, index) => now.plain[index] === message))
          expect(now.planned.slice(0, before.planned.length)).toEqual(before.planned);
        before = now;
      }
    }
  });

  test("shows the call of every result, and answers every call that it shows", () => {
    for (const { story, built } of decisions) {
      const { messages } = built.request;
      const shown = new Set([...callsOf(messages), ...pinnedCalls(messages)]);
      // A failure that turns out a success long after is told with its call's name alone.
      const corrected = corrections(story.messages);
      const results = partsOf(messages).flatMap((part) => (part.type === "result" ? [part.call] : []));
      expect(results.filter((id) => !shown.has(id) && !corrected.includes(id))).toEqual([]);
      for (const [index, message] of messages.entries()) {
        const answer = messages[index + 1];
        if (message.role !== "assistant" || answer?.role !== "user") continue;
        const answered = answer.parts.flatMap((part) => (part.type === "result" ? [part.call] : []));
        expect(answered).toEqual(expect.arrayContaining(message.calls.map(({ id }) => id)));
      }
    }
  });

  test("keeps the first message, open calls and those in doubt, the memory, and the signals that are pinned", () => {
    const seen = { open: 0, doubts: 0 };
    for (const { story, built } of decisions) {
      const { messages } = built.request;
      const parts = partsOf(messages);
      const shown = [...callsOf(messages), ...pinnedCalls(messages)];
      expect(parts[0]).toEqual({ type: "text", text: '{"of":"the goal"}' });
      expect(lastMemory(messages)).toEqual(lastMemory(story.messages));
      const open = isOpen(story, "tool").map(({ actor }) => actor);
      const doubts = Object.values(story.state.doubts).filter(({ outcome }) => outcome === "in_doubt");
      expect(shown).toEqual(expect.arrayContaining(open));
      expect(shown).toEqual(expect.arrayContaining(doubts.map(({ call: id }) => id)));
      seen.open += open.length;
      seen.doubts += doubts.length;
      if (policy.kind !== "selective" || policy.pin === undefined) continue;
      const notes = partsOf(story.messages).filter((part) => part.type === "signal" && part.name === "note");
      expect(parts).toEqual(expect.arrayContaining(notes));
    }
    expect(seen.open).toBeGreaterThan(0);
    expect(seen.doubts).toBeGreaterThan(0);
  });

  test("refers to what recall gives back whole, and only under a selective policy", () => {
    let references = 0;
    for (const { story, built } of decisions) {
      expect(built.request.tools.some((tool) => tool.name === "recall")).toBe(policy.kind === "selective");
      for (const part of partsOf(built.request.messages)) {
        const id =
          part.type === "result"
            ? (part.output as { recall?: string } | null | undefined)?.recall
            : undefined;
        if (id === undefined) continue;
        references += 1;
        const original = partsOf(story.messages).findLast((one) => one.type === "result" && one.call === id);
        expect(recallFrom(story.messages, { call: id })).toMatchObject({
          outcome: "succeeded",
          output: { output: (original as { output: Json }).output },
        });
      }
    }
    expect(references > 0).toBe(policy.kind === "selective");
  });

  test("is bounded by the policy, and so is the state, however long the conversation", () => {
    if (policy.kind === "full") return;
    const sent = walks.at(-1)?.filter(isDecision) ?? [];
    const bound = policy.kind === "window" ? policy.messages + 1 : 4 * policy.keep + 10;
    for (const { built } of sent) expect(built.request.messages.length).toBeLessThanOrEqual(bound);
    const last = sent.at(-1)?.story;
    expect(last?.messages.length).toBeGreaterThan(100);
    expect(canonicalJson(last?.state.snapshot.context).length).toBeLessThan(1_500);
  });
});

const callsOf = (messages: readonly ModelMessage[]): string[] =>
  messages.flatMap((message) => (message.role === "assistant" ? message.calls.map(({ id }) => id) : []));

const pinnedCalls = (messages: readonly ModelMessage[]): string[] =>
  partsOf(messages.slice(0, 1)).flatMap((part) =>
    part.type === "text" && part.text.startsWith('{"call":')
      ? [(JSON.parse(part.text) as { call: string }).call]
      : [],
  );

const lastMemory = (messages: readonly ModelMessage[]): MessagePart | undefined =>
  partsOf(messages).findLast((part) => part.type === "memory" && part.memory !== undefined);

/** Calls with more than one certain outcome. */
const corrections = (messages: readonly ModelMessage[]): string[] => {
  const ends = partsOf(messages).flatMap((part) =>
    part.type === "result" && part.outcome !== "pending" && part.outcome !== "in_doubt" ? [part.call] : [],
  );
  return ends.filter((id, index) => ends.indexOf(id) !== index);
};

describe("a summary", () => {
  const policy = selectiveContext({
    keep: 2,
    summarize: { everyMessages: 2, model: "small", instructions: "Be short." },
  });
  const agent = agentWith(policy);
  const step = (story: Story, of: string) =>
    story.when(replied({ calls: [call("look", { of })] })).when(succeeded("look", `seen ${of}`));
  const until = (story: Story): Story => {
    let next = story;
    for (let k = 0; k < 20 && sendable(next)?.asked.summarize === undefined; k++) next = step(next, `s${k}`);
    return next;
  };
  const due = until(given(agent, started({ of: "the goal" })));

  test("that is due while a limit from outside holds is asked for when that is over, and before the decision", () => {
    let story = given(agent, started({ of: "the goal" }));
    for (let k = 0; due.turns.length > story.turns.length + 2; k++) story = step(story, `s${k}`);
    const resting = step(story.when(signalled("rate_limited", 60_000)), "last");
    expect(resting.intents).toMatchObject([{ kind: "timer" }]);
    expect(sendable(resting.when(fired("timer")))?.asked.summarize).toBeDefined();
  });

  test("is asked of its own model, without tools, with what is about to be dropped and the goal", () => {
    const { built, intent } = sendable(due)!;
    expect(due.intents).toMatchObject([{ kind: "model", name: "small" }]);
    expect(built.request).toMatchObject({
      model: "small",
      instructions: "Be short.",
      tools: [],
      signals: [],
    });
    const [part] = partsOf(built.request.messages);
    const text = part?.type === "text" ? part.text : "";
    expect(text).toContain("the goal");
    expect(text).toContain("seen s0");
    expect(intent.name).toBe("small");
    expect(due.definition.models).toEqual(["scripted", "small"]);
  });

  test("counts as a call of a model, its cost is the saga's, and it takes no decision's number", () => {
    const usage = { inputTokens: 7, outputTokens: 5 };
    const after = due.when(replied({ text: "All went well.", usage }));
    after.then({ kind: "model", name: "scripted" });
    expect(after.state.spent.steps).toBe(due.state.spent.steps + 1);
    expect(after.state.spent.inputTokens - due.state.spent.inputTokens).toBe(7);
    const numbers = after.messages.flatMap((message) =>
      message.role === "assistant" ? message.calls.map(({ id }) => id) : [],
    );
    expect(sendable(after)?.asked.step).toBe(numbers.length + 1);
  });

  test("stands in place of what was dropped, and goes into the next one", () => {
    const after = due.when(replied({ text: "All went well." }));
    const texts = partsOf(sendable(after)!.built.request.messages).flatMap((part) =>
      part.type === "text" ? [part.text] : [],
    );
    expect(texts[1]).toMatch(/^Summary of the \d+ messages before: All went well\.$/);
    expect(JSON.stringify(sendable(after)!.built.request.messages)).not.toContain("seen s0");
    const again = until(after);
    expect(JSON.stringify(sendable(again)!.built.request)).toContain("All went well.");
    expect(JSON.stringify(sendable(again)!.built.request)).not.toContain("seen s0");
  });

  test.each([
    ["that fails", failed("model", { retry: false, code: "MODEL_FAILED" }), "MODEL_FAILED"],
    ["that is empty", replied({ text: "" }), "MODEL_REPLY_INVALID"],
    ["that is cut off", replied({ text: "All we", stop: "length" }), "MODEL_REPLY_INVALID"],
    ["that is refused", replied({ text: "no", stop: "refusal" }), "MODEL_REFUSED"],
    ["that is too long", replied({ text: "x".repeat(limits.memoryCharactersMax + 1) }), "TOO_LARGE"],
  ])("%s is done without: the messages go, and the model is told why", (_, end, code) => {
    const after = due.when(end);
    after.then({ kind: "model", name: "scripted" });
    const texts = partsOf(sendable(after)!.built.request.messages).flatMap((part) =>
      part.type === "text" ? [part.text] : [],
    );
    expect(texts[1]).toMatch(
      new RegExp(`^Earlier messages: \\d+, dropped, without a summary: \\[${code}\\]\\.$`),
    );
    const healed = until(after).when(replied({ text: "Better now." }));
    expect(JSON.stringify(sendable(healed)!.built.request.messages)).toContain("Better now.");
  });

  test("that the budget does not pay for is denied, and the last decision is made without", () => {
    const poor = agentWith(policy, { budget: { steps: due.state.spent.steps } });
    let story = given(poor, started({ of: "the goal" }));
    const isDenied = () => story.intents.some(({ kind }) => kind === "denied");
    for (let k = 0; k < 20 && story.end === undefined && !isDenied(); k++) story = step(story, `s${k}`);
    story.then({ kind: "denied", name: "summary", code: "BUDGET_EXCEEDED" }, { kind: "model" });
    story
      .when(replied({ text: "hm" }))
      .then({ kind: "denied", name: "decision", code: "BUDGET_EXCEEDED" }, { kind: "end", status: "failed" });
  });

  test("in the making takes signals in without being asked for again, and is called off by a cancel", () => {
    const { intent } = sendable(due)!;
    const noted = due.when(signalled("note", { text: "n" }));
    noted.thenNothing();
    expect(sendable(noted)?.intent).toBe(intent);
    const after = noted.when(replied({ text: "All went well." }));
    expect(partsOf(sendable(after)!.built.request.messages)).toContainEqual(
      expect.objectContaining({ type: "signal", name: "note" }),
    );
    expect(due.when(signalled("cancel")).end).toMatchObject({ status: "cancelled" });
  });
});

describe("recall", () => {
  const agent = agentWith(selectiveContext({ keep: 2 }), {
    policies: [{ name: "nothing", judge: () => ({ deny: "never" }) }],
  });
  const story = given(agent, started({ of: "x" })).when(
    replied({ calls: [call("recall", { call: "1.0" })] }),
  );

  test("is a recorded read that no policy is asked about", () => {
    story.then({ kind: "tool", name: "recall", call: "1.0" });
    expect(story.definition.tools.get("recall")?.effect).toBe("read");
  });

  test("of a call that was never made fails, and tells the model", () => {
    expect(recallFrom(story.messages, { call: "9.9" })).toMatchObject({
      outcome: "failed",
      code: "CALL_INVALID",
    });
    expect(recallFrom(story.messages, { call: "1.0" })).toMatchObject({
      output: { tool: "recall", outcome: "pending" },
    });
  });

  test("is no call of an agent that is sent everything, and its name is nobody else's", () => {
    const whole = given(agentWith(), started({ of: "x" })).when(
      replied({ calls: [call("recall", { call: "1.0" })] }),
    );
    expect(JSON.stringify(whole.messages.at(-1))).toContain("TOOL_UNKNOWN");
    const own = agentWith(undefined, { tools: [look, { ...look, name: "recall" }] });
    expect(own.definition.faults).toEqual([expect.stringMatching(/"recall" is reserved/)]);
  });
});

describe("a definition", () => {
  test.each([
    ["a window that is too small", windowedContext({ messages: 3 })],
    ["a part of a message", selectiveContext({ keep: 2.5 })],
    [
      "two times to summarise",
      selectiveContext({ keep: 2, summarize: { everyMessages: 2, overCharacters: 2_000 } }),
    ],
    ["no time to summarise", selectiveContext({ keep: 2, summarize: {} })],
    ["a pin that is no signal", selectiveContext({ keep: 2, pin: ["nobody"] })],
    ["another word", { kind: "some" } as never],
  ])("with %s is told as a fault", (_, policy) => {
    expect(agentWith(policy).definition.faults).toEqual([expect.stringMatching(/context policy/)]);
  });

  test("is another one with another policy, and with full() the same as with none", () => {
    const hashes = Object.values(policies).map((policy) => agentWith(policy).definition.hash);
    expect(new Set(hashes).size).toBe(hashes.length);
    expect(agentWith(fullContext()).definition.hash).toBe(agentWith().definition.hash);
  });

  test("may say how often a reply is repaired", () => {
    const text = replied({ text: "hm" });
    const strict = agentWith(undefined, { repairsMax: 1 });
    expect(given(strict, started({ of: "x" }), text).end).toBeUndefined();
    expect(given(strict, started({ of: "x" }), text, text).end).toMatchObject({
      code: "MODEL_REPLY_INVALID",
      reason: expect.stringMatching(/^2 replies in a row could not be taken\n1\. /) as string,
    });
    const wrong = replied({ calls: [call("finish", { output: { answer: 1 } })] });
    expect(given(agentWith(undefined, { repairsMax: 0 }), started({ of: "x" }), wrong).end).toMatchObject({
      code: "MODEL_REPLY_INVALID",
    });
    expect(given(strict, started({ of: "x" }), wrong, replied(finish)).end).toMatchObject({
      status: "completed",
    });
    expect(agentWith(undefined, { repairsMax: -1 }).definition.faults).toEqual([
      expect.stringMatching(/repairsMax/),
    ]);
    expect(strict.definition.hash).not.toBe(agentWith().definition.hash);
  });
});

test("instructions of people are kept, whatever is dropped", () => {
  const instructed = {
    type: "instructions",
    text: "Only in rome.",
    at: 2,
    from: "ann",
  } as unknown as MessagePart;
  const messages: ModelMessage[] = [
    { role: "user", at: 1, parts: [{ type: "text", text: "Go." }] },
    {
      role: "user",
      at: 2,
      parts: [instructed, { type: "signal", name: "note", data: "x", at: 2, from: "ann" }],
    },
    { role: "assistant", model: "m", text: "Yes.", calls: [] },
    { role: "user", at: 3, parts: [{ type: "text", text: "On." }] },
  ];
  const sent = sentMessages({ kind: "window", messages: 4 }, { from: 2, whole: 2 }, messages);
  expect(partsOf(sent)).toEqual([
    { type: "text", text: "Go." },
    instructed,
    { type: "text", text: "Earlier messages: 1, dropped." },
    { type: "text", text: "On." },
  ]);
});

test("a correction of a dropped call reaches the model", () => {
  let story = given(
    agentWith(windowedContext({ messages: 4 })),
    started({ of: "x" }),
    replied({ calls: [call("charge_model")] }),
  );
  const id = story.intent("charge_model");
  story = story.when(inDoubt("charge_model"));
  for (let k = 0; k < 6; k++)
    story = story.when(replied({ calls: [call("look", { of: `${k}` })] })).when(succeeded("look", 1));
  const { messages } = sendable(story)!.built.request;
  expect(JSON.stringify(messages)).toContain('{\\"call\\":\\"1.0\\"');
  story = story
    .when(resulted(id, { outcome: "succeeded", output: { id: "i" } }, 1))
    .when(replied({ calls: [call("look")] }));
  story = story.when(succeeded("look", 1));
  expect(partsOf(sendable(story)!.built.request.messages)).toContainEqual(
    expect.objectContaining({ type: "result", call: "1.0", outcome: "succeeded" }),
  );
});
