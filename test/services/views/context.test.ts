/**
 * Goal: working memory and context policies hold on a running mesh: over hundreds of steps, through deaths of the host
 * at any moment, from snapshots and from the first turn; and `promptOf` shows, with proof, exactly what the model
 * port was given. Method: the mesh in memory with a model port that keeps every request it is given; the ledger's
 * word is held against that account.
 */
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { fullContext, selectiveContext, windowedContext } from "../../../actors/contract/context-policy.ts";
import { defineAgent } from "../../../actors/agent/define.ts";
import { foldLedger, foldTurn } from "../../../actors/kernel/replay.ts";
import type { SagaState } from "../../../actors/contract/state.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import type { ModelMessage, ModelPort, ModelRequest, MessagePart } from "../../../protocol/model.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { defineApp } from "../../../services/app/app.ts";
import { assertProved, promptOf } from "../../../services/views/prompt.ts";
import { requestsOf } from "../../../services/views/requests.ts";
import { crashMatrix } from "../../../services/testing/crash-matrix.ts";
import { testMesh, type TestMesh } from "../../../services/testing/test-mesh.ts";
import { stepwise } from "../../support/replaying.ts";
import { atOnce } from "../../../services/wire/loop.ts";

const steps = 200;

const read = defineTool({
  name: "read",
  description: "Reads a page.",
  effect: "read",
  input: z.object({ page: z.int() }),
  output: z.object({ page: z.int(), text: z.string() }),
  perform: async ({ page }) => ({ page, text: `page ${page} `.repeat(80) }),
});

const agentOf = (context: Parameters<typeof defineAgent>[0]["context"], more: object = {}) =>
  defineAgent({
    name: "reader",
    version: 1,
    description: "Reads.",
    model: "eyes",
    instructions: "Read every page.",
    input: z.object({ pages: z.int() }),
    output: z.object({ first: z.string() }),
    signals: { note: z.object({ text: z.string() }) },
    tools: [read],
    memory: {
      schema: z.object({ pages: z.int(), last: z.int() }),
      initial: { pages: 0, last: 0 },
      on: { read: (memory, { output }) => ({ pages: memory.pages + 1, last: output.page }) },
    },
    ...(context && { context }),
    ...more,
  });

const partsOf = (messages: readonly ModelMessage[]): MessagePart[] =>
  messages.flatMap((message) => (message.role === "user" ? message.parts : []));

const memoryIn = ({ messages }: ModelRequest) => {
  const part = partsOf(messages).findLast((one) => one.type === "memory" && one.memory !== undefined);
  return (part?.type === "memory" ? part.memory : undefined) as { pages: number; last: number };
};

/** Reads page after page by what its memory says, recalls the first of all, and ends. */
function reader(pages: number, given: string[]): ModelPort {
  const answer = (request: ModelRequest) => {
    if (request.tools.length === 0)
      return { text: `I have read up to a point (${request.step}).`, calls: [] };
    const memory = memoryIn(request);
    if (memory.pages < pages) return { calls: [{ tool: "read", input: { page: memory.pages + 1 } }] };
    if (!request.tools.some(({ name }) => name === "recall"))
      return { calls: [{ tool: "finish", input: { output: { first: "" } } }] };
    const recalled = partsOf(request.messages).findLast(
      (part) => part.type === "result" && part.tool === "recall",
    );
    if (recalled?.type !== "result") return { calls: [{ tool: "recall", input: { call: "1.0" } }] };
    const { output } = recalled.output as { output: { text: string } };
    return { calls: [{ tool: "finish", input: { output: { first: output.text.slice(0, 6) } } }] };
  };
  return {
    name: "eyes",
    decide: async (request) => {
      given.push(JSON.stringify(request));
      return { model: "eyes", usage: { inputTokens: 10, outputTokens: 1 }, ...answer(request) };
    },
  };
}

const open: TestMesh[] = [];
const meshOf = (...args: Parameters<typeof testMesh>): TestMesh => {
  const t = testMesh(...args);
  open.push(t);
  return t;
};
afterEach(async () => {
  for (const t of open.splice(0)) await t[Symbol.asyncDispose]();
});

const modelIntents = (turns: readonly Turn[]) =>
  turns.flatMap(({ turn, steps: all }) =>
    all.flatMap(({ intents }) =>
      intents.flatMap((intent) => (intent.kind === "model" ? [{ turn, intent }] : [])),
    ),
  );

describe(`a run of ${steps} steps`, () => {
  const policy = selectiveContext({ keep: 8, summarize: { everyMessages: 12 } });

  test("under a selective policy ends well, recalls what was dropped, and at every step was sent what the ledger says", async () => {
    const given: string[] = [];
    const agent = agentOf(policy);
    const app = defineApp({ sagas: [agent], models: { eyes: reader(steps, given) } });
    const t = meshOf(app);
    const saga = await t.start(agent, { pages: steps }, { id: "long" });
    const end = await saga.result();
    expect(end).toMatchObject({ status: "completed", output: { first: "page 1" } });

    const turns = await saga.ledger();
    const asked = modelIntents(turns);
    expect(asked.length).toBe(given.length);
    const summaries = asked.filter(({ intent }) => intent.input !== undefined);
    expect(summaries.length).toBeGreaterThan(steps / 12 - 3);
    expect(Math.max(...given.map((one) => (JSON.parse(one) as ModelRequest).messages.length))).toBeLessThan(
      40,
    );
    let state: SagaState | undefined;
    const rebuilt = atOnce(
      requestsOf(agent.definition, turns, (turn) => {
        const folded = foldTurn(agent.definition, state, turn);
        state = folded.state;
        return folded;
      }),
    );
    expect(rebuilt.map(({ request }) => JSON.stringify(request))).toEqual(given);
    for (const { digest, intent } of rebuilt) expect(digest).toBe(intent.request);
    for (const { turn } of asked.slice(-3)) expect(atOnce(promptOf(app, turns, turn)).proved).toBe(true);
    // P7: each page stands in the ledger once, and the one that was recalled once more, as that call's result.
    const ledger = JSON.stringify(turns);
    expect(ledger.split("page 100 page 100").length - 1).toBe(40);
    expect(state?.memory).toEqual({ pages: steps, last: steps });
    expect(state?.spent.steps).toBe(given.length);
    expect(JSON.stringify(state?.snapshot.context).length).toBeLessThan(2_000);
  }, 120_000);
});

describe("a host that dies", () => {
  const policy = selectiveContext({ keep: 2, summarize: { everyMessages: 2 } });

  test("anywhere, leaves each summary recorded and used once, and the memory as it is without a death", async () => {
    const agent = agentOf(policy);
    const app = defineApp({ sagas: [agent], models: { eyes: reader(5, []) } });
    const report = await crashMatrix(app, async (t) => {
      const saga = await t.start(agent, { pages: 5 }, { id: "dying" });
      const { status } = await saga.result();
      const turns = await saga.ledger();
      const { state } = foldLedger(agent.definition, turns);
      const summaries = turns.flatMap(({ steps: all }) =>
        all.flatMap(({ event }) =>
          event.type === "result" && JSON.stringify(event.result).includes("I have read")
            ? [event.intent]
            : [],
        ),
      );
      const proved = modelIntents(turns).every(({ turn }) => atOnce(promptOf(app, turns, turn)).proved);
      return {
        status,
        memory: state.memory,
        summaries: new Set(summaries).size === summaries.length && summaries.length,
        proved,
      };
    });
    expect(report.faults, report.text).toEqual([]);
    expect(report.rows.length).toBeGreaterThan(30);
  }, 240_000);

  test("while its agent waits is followed by one that has the memory from the snapshot, edits included", async () => {
    const given: string[] = [];
    const eyes: ModelPort = {
      name: "eyes",
      decide: async (request) => {
        given.push(JSON.stringify(request));
        const told = partsOf(request.messages).some((part) => part.type === "signal");
        if (told) return { model: "eyes", calls: [{ tool: "finish", input: { output: { first: "" } } }] };
        const { pages } = memoryIn(request);
        return {
          model: "eyes",
          calls:
            pages < 20
              ? [{ tool: "read", input: { page: pages + 1 } }]
              : [{ tool: "wait", input: { signals: ["note"] } }],
        };
      },
    };
    const agent = agentOf(windowedContext({ messages: 8 }));
    const app = defineApp({ sagas: [agent], models: { eyes } });
    const t = meshOf(app);
    const saga = await t.start(agent, { pages: 20 }, { id: "waiting" });
    await t.advance("1h");
    await t.crash();
    await saga.signal("memory", { set: { last: 99 } });
    await t.advance("1h");
    await t.crash();
    await saga.signal("memory", { set: { last: "none" } });
    await saga.signal("note", { text: "go on" });
    expect(await saga.result()).toMatchObject({ status: "completed" });
    expect(memoryIn(JSON.parse(given.at(-1) ?? "") as ModelRequest)).toEqual({ pages: 20, last: 99 });
    const { state } = foldLedger(agent.definition, await saga.ledger());
    expect(state.memory).toEqual({ pages: 20, last: 99 });
  }, 60_000);
});

describe("what was sent", () => {
  const policy = selectiveContext({ keep: 2, summarize: { everyMessages: 2 } });
  const run = async (context = policy as Parameters<typeof agentOf>[0]) => {
    const given: string[] = [];
    const agent = agentOf(context);
    const app = defineApp({ sagas: [agent], models: { eyes: reader(6, given) } });
    const t = meshOf(app);
    const saga = await t.start(agent, { pages: 6 }, { id: "shown" });
    await saga.result();
    return { app, agent, given, turns: await saga.ledger() };
  };

  test.each([
    ["selective", policy],
    ["window", windowedContext({ messages: 4 })],
    ["the full", fullContext()],
  ] as const)(
    "under %s policy is what promptOf shows at every turn, byte for byte, with the digest recorded",
    async (_, context) => {
      const { app, given, turns } = await run(context);
      const asked = modelIntents(turns);
      for (const { turn } of turns) {
        const last = asked.findLastIndex((one) => one.turn <= turn);
        const prompt = atOnce(promptOf(app, turns, turn));
        expect(JSON.stringify(prompt.request)).toBe(given[last]);
        expect(prompt.digest.recorded).toBe(prompt.digest.recomputed);
        expect(prompt.proved).toBe(true);
        assertProved(prompt);
      }
      const shown = asked.map(({ turn }) => atOnce(promptOf(app, turns, turn)));
      expect(shown.some(({ sent }) => sent !== undefined)).toBe(context.kind !== "full");
      for (const { sent } of shown) expect(sent?.recorded).toBe(sent?.recomputed);
    },
  );

  test("that today's code would send otherwise is shown as not proved", async () => {
    const { app, turns } = await run();
    const cut = modelIntents(turns).findLast(({ intent }) => intent.input === undefined)?.turn ?? 0;
    const forge = (from: RegExp, to: string) =>
      turns.map((turn) => JSON.parse(JSON.stringify(turn).replace(from, to)) as Turn);
    const forged = forge(/"sent":"[\w-]{8}/, '"sent":"00000000');
    for (const { turn } of modelIntents(turns)) {
      const prompt = atOnce(promptOf(app, forged, turn));
      expect(prompt.digest.recorded).toBe(prompt.digest.recomputed);
      expect(prompt.proved).toBe(prompt.sent === undefined);
    }
    expect(() => assertProved(atOnce(promptOf(app, forged, cut)))).toThrow(/FOLD_DIVERGED.*00000000/);
    const other = agentOf(policy, { prompt: () => "something else" });
    const changed = atOnce(
      promptOf(defineApp({ sagas: [other], models: app.config.models ?? {} }), turns, cut),
    );
    expect(changed.proved).toBe(false);
    expect(changed.digest.recorded).not.toBe(changed.digest.recomputed);
    expect(() => assertProved(changed)).toThrow(/FOLD_DIVERGED/);
  });

  test("to a summary's model is no decision for replay, and the recorded replies diverge nowhere", async () => {
    const { app, turns } = await run();
    const document = await stepwise(app, turns, "recorded");
    const decisions = modelIntents(turns).filter(({ intent }) => intent.input === undefined);
    expect(document).toMatchObject({ same: decisions.length, different: 0, failed: 0, skipped: 0 });
    expect(document.decisions.map(({ step }) => step)).toEqual(decisions.map((_, k) => k + 1));
  });

  test("before any model was asked is told as an unknown intent", async () => {
    const { app, turns } = await run();
    expect(() => atOnce(promptOf(app, turns, 0))).toThrow(/INTENT_UNKNOWN/);
  });
});
