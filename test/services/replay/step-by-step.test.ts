/**
 * Replay with another model: what it is given is exactly what was sent, however the ledger came about.
 */
import { describe, expect, test } from "vitest";
import { digestOfRequest } from "../../../actors/request/conversation.ts";
import { setup } from "xstate";
import { z } from "zod";
import { modelCall, toActors } from "../../../actors/machine/callable.ts";
import { windowedContext } from "../../../actors/contract/context-policy.ts";
import { denyTools } from "../../../actors/policies/ready-made.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import type { Variation } from "../../../services/replay/variation.ts";
import type { SagaDefinition } from "../../../actors/contract/definition.ts";
import type { ReplayDocument } from "../../../protocol/documents/replay.ts";
import type { ModelPort, ModelRequest } from "../../../protocol/model.ts";
import { defineApp } from "../../../services/app/app.ts";
import { recordedDecisions } from "../../../services/replay/decisions.ts";
import { scriptedModel, type ScriptedAnswer } from "../../../services/models/scripted.ts";
import {
  failed,
  given,
  replied,
  signalled,
  started,
  type Story,
  succeeded,
} from "../../../services/testing/given.ts";
import { stepwise } from "../../support/replaying.ts";
import { agentOf, call, finish, look } from "../../support/workbench.ts";
import { atOnce } from "../../../services/wire/loop.ts";

const agent = agentOf();
const story = given(
  agent,
  started({ of: "x" }),
  // Superseded at once, and again within one turn: those decisions were never answered.
  [signalled("note", { text: "a" }, { id: "a" }), signalled("note", { text: "b" }, { id: "b" })],
  replied({ calls: [call("hold"), call("look")] }),
  [succeeded("look", { n: 1 }), succeeded("hold", { id: "1" })],
  failed("model", { code: "MODEL_FAILED", reason: "busy", retry: true }),
  replied({ text: "It is done.", ...finish }),
);
/** The model that decided, as a script. */
const script = ({ messages }: ModelRequest): ScriptedAnswer =>
  messages.some((message) => message.role === "assistant")
    ? { text: "Done, then.", ...finish }
    : { calls: [call("hold"), call("look")] };

const replay = (of: { saga: SagaDefinition; story: Story }, port: ModelPort): Promise<ReplayDocument> => {
  const app = defineApp({ sagas: [of.saga], models: { [port.name]: port } });
  return stepwise(app, of.story.turns, port.name);
};

describe("recordedDecisions", () => {
  test("each request is rebuilt to the digest that was recorded before the call", () => {
    const decisions = atOnce(recordedDecisions(agent.definition, story.turns));
    expect(decisions).toHaveLength(4);
    for (const { request, intent } of decisions) expect(digestOfRequest(request)).toBe(intent.request);
    expect(decisions.map(({ step, request }) => [step, request.step])).toEqual(
      [1, 2, 3, 4].map((step) => [step, step]),
    );
  });

  test("a decision whose first attempts failed has the reply of the last", () => {
    expect(atOnce(recordedDecisions(agent.definition, story.turns)).at(-1)?.reply?.text).toBe("It is done.");
  });

  test("a machine's single model calls are told apart by what they were asked", () => {
    const machine = setup({
      actors: toActors({
        first: modelCall({ model: "m", instructions: "One." }),
        second: modelCall({ model: "m", instructions: "Two." }),
      }),
    }).createMachine({
      id: "asking",
      initial: "one",
      states: {
        one: { invoke: { id: "one", src: "first", input: { prompt: "1?" }, onDone: "two" } },
        two: { invoke: { id: "two", src: "second", input: { prompt: "2?" }, onDone: "done" } },
        done: { type: "final" },
      },
    });
    const saga = defineSaga({
      name: "asking",
      version: 1,
      input: z.json(),
      output: z.json(),
      signals: {},
      machine,
    });
    const asked = given(saga, started({}), replied({ text: "one" }));
    expect(
      atOnce(recordedDecisions(saga.definition, asked.turns)).map(({ request }) => request.instructions),
    ).toEqual(["One.", "Two."]);
  });
});

describe("replayDecisions", () => {
  test("the model that decided, asked anew, diverges nowhere", async () => {
    const document = await replay({ saga: agent, story }, scriptedModel("same", script));
    expect(document).toMatchObject({ same: 2, different: 0, failed: 0, skipped: 2 });
    expect(document.firstDivergence).toBeUndefined();
  });

  test("the ledger's own replies diverge nowhere", async () => {
    const app = defineApp({ sagas: [agent] });
    expect(await stepwise(app, story.turns, "recorded")).toMatchObject({
      same: 2,
      different: 0,
      failed: 0,
    });
  });

  test("a model that changes its first answer is told apart there, and compared along the record after it", async () => {
    const other = scriptedModel("other", (request) =>
      request.step === 3 ? { calls: [call("hold", { of: "y" }), call("look")] } : script(request),
    );
    const document = await replay({ saga: agent, story }, other);
    expect(document.decisions.map(({ verdict }) => verdict)).toEqual([
      "skipped",
      "skipped",
      "different",
      "same",
    ]);
    expect(document.decisions[2]?.what).toEqual(["another input for hold (call 0)"]);
    expect(document.firstDivergence).toBe(document.decisions[2]?.intent);
  });

  test("other calls are named, a failing model is a verdict of its own", async () => {
    const broken = scriptedModel("broken", (request) => {
      if (request.step === 4) throw new Error("no idea");
      return { calls: [call("send")] };
    });
    const { decisions } = await replay({ saga: agent, story }, broken);
    expect(decisions[2]).toMatchObject({ verdict: "different", what: ["calls send instead of hold, look"] });
    expect(decisions[3]).toMatchObject({ verdict: "failed", what: [expect.stringContaining("no idea")] });
  });

  test("what the other model is given is what was sent, time and all", async () => {
    const given: ModelRequest[] = [];
    await replay(
      { saga: agent, story },
      { name: "spy", decide: async (request) => (given.push(request), { model: "spy", calls: [] }) },
    );
    expect(given.map(({ now }) => now)).toEqual([story.turns[1]?.at, story.turns[3]?.at]);
  });

  test("a ledger whose recorded digest fits no request is not asked about", async () => {
    const forged = story.turns.map((turn, index) =>
      index === 0
        ? (JSON.parse(
            JSON.stringify(turn).replace(/"request":"\w{8}/, '"request":"00000000'),
          ) as (typeof story.turns)[number])
        : turn,
    );
    await expect(
      replay({ saga: agent, story: { ...story, turns: forged } }, scriptedModel("same", script)),
    ).rejects.toThrow(/FOLD_DIVERGED/);
  });
});

describe("a variation, step by step", () => {
  const long = given(
    agent,
    started({ of: "x" }),
    ...[1, 2, 3, 4, 5].flatMap((n) => [
      replied({ calls: [call("look", { of: `${n}` })] }),
      succeeded("look", { n }),
    ]),
    replied(finish),
  );
  const sentTo = async (variation: Variation) => {
    const given: ModelRequest[] = [];
    const spy: ModelPort = {
      name: "spy",
      decide: async (request) => (given.push(request), { model: "spy", calls: [] }),
    };
    const app = defineApp({ sagas: [agent], models: { spy } });
    return { given, document: await stepwise(app, long.turns, "spy", { variation }) };
  };
  const file = "other.ts";

  test("puts the recorded conversation into the request that the other definition would make", async () => {
    const other = agentOf({
      instructions: "Hurry.",
      tools: [look],
      context: windowedContext({ messages: 4 }),
      prompt: () => "Go.",
    });
    const { given, document } = await sentTo({ with: { file, app: defineApp({ sagas: [other] }) } });
    const plain = await sentTo({});
    expect(given).toHaveLength(6);
    expect(given.at(-1)?.messages.length).toBeLessThan(plain.given.at(-1)?.messages.length ?? 0);
    for (const { instructions, tools, messages } of given) {
      expect(instructions).toMatch(/^Hurry\./);
      expect(tools.map(({ name }) => name)).not.toContain("hold");
      expect(JSON.stringify(messages[0])).toContain("Go.");
    }
    // The recorded request was proven first, and what was sent is another.
    for (const { request, sent } of document.decisions) expect(sent).not.toBe(request);
    expect(plain.document.decisions.map(({ sent }) => sent)).toEqual(given.map(() => undefined));
  });

  test("of policies tells what would have become of the recorded calls at once", async () => {
    const stricter = agentOf({ policies: [denyTools([look])] });
    const app = defineApp({ sagas: [agent] });
    const variation = { with: { file, app: defineApp({ sagas: [stricter] }) } };
    const document = await stepwise(app, long.turns, "recorded", { variation });
    expect(document).toMatchObject({ different: 0, same: 6 });
    expect(document.fired.got.map(({ type, name }) => [type, name])).toEqual(
      Array(5).fill(["denied", "look"]),
    );
    expect(document.fired.recorded).toEqual([]);
  });
});
