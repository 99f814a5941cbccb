/**
 * Goal: every way a model call can end is a result whose code says what helps, short enough for a ledger. Method: one
 * attempt with a port that ends as the test says.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { digestOfRequest } from "../../../actors/request/conversation.ts";
import { MeshError } from "../../../protocol/errors.ts";
import {
  type ModelAnswer,
  ModelFailure,
  type ModelContext,
  type ModelRequest,
} from "../../../protocol/model.ts";
import type { Clock } from "../../../services/wire/ports.ts";
import { ModelReply } from "../../../protocol/model.ts";
import type { Result } from "../../../protocol/result.ts";
import { given, resulted, started } from "../../../services/testing/given.ts";
import { agentOf } from "../../support/workbench.ts";
import { CutOff } from "../../../services/perform/cut-off.ts";
import { decide } from "../../../services/perform/decide.ts";

const request: ModelRequest = {
  ...{ saga: "s", step: 1, now: 0, model: "m", instructions: "", messages: [], tools: [], signals: [] },
};

/** No time passes in these tests: the call's own timeout is never due. */
const clock = { after: () => () => undefined } as unknown as Clock;

const digest = digestOfRequest(request);
const attempt = (
  act: (context: ModelContext) => Promise<ModelAnswer>,
  { cutOff = new CutOff(), recorded = digest, sent = undefined as string | undefined } = {},
) =>
  decide(
    { clock, live: () => undefined },
    { name: "m", decide: (_, context) => act(context) },
    { request, digest, sent },
    { digest: recorded, cutOff },
  );
const failing = (error: unknown) => attempt(() => Promise.reject(error));

test("I12: a request that has not the digest recorded before the call is not sent", async () => {
  let asked = 0;
  const answer = async () => ((asked += 1), { model: "m", calls: [] });
  await expect(attempt(answer, { recorded: "another" })).rejects.toThrow(/FOLD_DIVERGED/);
  expect(asked).toBe(0);
  await attempt(answer);
  expect(asked).toBe(1);
});

test("what was sent in place of the conversation is recorded with the reply, whatever the port says of it", async () => {
  const answer = async () => ({ model: "m", calls: [], sent: "the port's own" });
  expect(await attempt(answer, { sent: "ours" })).toMatchObject({ output: { sent: "ours" } });
  expect(await attempt(answer)).not.toHaveProperty("output.sent");
});

describe("a failure", () => {
  test.each([
    ["retry", "MODEL_FAILED", true],
    ["wait", "MODEL_OVERLOADED", true],
    ["fail", "MODEL_REJECTED", false],
  ] as const)("of the class %s is recorded as %s, retry %s", async (kind, code, retry) => {
    const result = await failing(new ModelFailure(kind, "429 slow down", { retryAfterMs: 5 }));
    expect(result).toEqual({ outcome: "failed", code, reason: "429 slow down", retry, retryAfterMs: 5 });
  });

  test("without a class is worth another attempt, and one with a code keeps it", async () => {
    expect(await failing(new Error("odd"))).toMatchObject({ code: "MODEL_FAILED", retry: true });
    const unknown = new MeshError("MODEL_UNKNOWN", "no port");
    expect(await failing(unknown)).toMatchObject({ code: "MODEL_UNKNOWN", retry: false });
  });

  test("that repeats the whole request is recorded by its beginning", async () => {
    const { reason } = (await failing(new Error("x".repeat(1_000_000)))) as { reason: string };
    expect(reason.length).toBeLessThan(1_100);
  });

  test("has the cost that the port told before it", async () => {
    const usage = { inputTokens: 3, outputTokens: 0, estimated: true as const };
    const result = await attempt(async ({ spent }) => {
      spent(usage);
      throw new ModelFailure("retry", "torn");
    });
    expect(result).toMatchObject({ outcome: "failed", usage });
  });
});

describe("what a port returns", () => {
  const nested = (levels: number): unknown => (levels === 0 ? 0 : [nested(levels - 1)]);
  const wide = { tool: "look", input: Array.from({ length: 60_000 }, () => 0) };
  const returned = (answer: unknown): Promise<Result> => attempt(async () => answer as ModelAnswer);
  const asked = given(agentOf(), started({ of: "x" }));
  /** What the saga does at once: its model is asked again, its calls are begun, or it ends; a wait is none of them. */
  const next = (result: Result) =>
    asked
      .when(resulted("1-0", result))
      .turns.at(-1)!
      .steps.flatMap(({ intents }) => intents);

  test.for<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a text", "a page of a proxy"],
    ["no model's name", { text: "hi" }],
    ["calls that are no list", { model: "m", calls: { tool: "look" } }],
    ["a call without arguments", { model: "m", calls: [{ tool: "look" }] }],
    ["an unknown reason to stop", { model: "m", stop: "because" }],
    ["tokens below zero", { model: "m", usage: { inputTokens: -1, outputTokens: 0 } }],
    ["a member that throws", Object.defineProperty({}, "model", { get: () => raise(), enumerable: true })],
  ])("that is no reply, %s, fails at once with a code", async ([, answer]) => {
    const result = await returned(answer);
    expect(result).toMatchObject({ outcome: "failed", code: "MODEL_PORT_INVALID", retry: false });
    expect(next(result)).toMatchObject([{ kind: "end", status: "failed", code: "MODEL_PORT_INVALID" }]);
  });

  test("that is no reply costs what it says it has cost, else what the port told before", async () => {
    const usage = { inputTokens: 7, outputTokens: 1 };
    expect(await returned({ stop: "because", usage })).toMatchObject({ outcome: "failed", usage });
    const told = await attempt(async ({ spent }) => (spent(usage), undefined as unknown as ModelAnswer));
    expect(told).toMatchObject({ outcome: "failed", usage });
  });

  test("without text and calls is a reply, whose model is told so at once", async () => {
    expect(next(await returned({ model: "m" }))).toMatchObject([{ kind: "model" }]);
  });

  test("whose calls fit one by one and not together makes none of them, and its model is told at once", async () => {
    const result = await returned({ model: "m", calls: [wide, wide] });
    expect(result).toMatchObject({
      output: { calls: [{ fault: expect.anything() }, { fault: expect.anything() }] },
    });
    expect(next(result)).toMatchObject([{ kind: "model" }]);
  });

  test("with blocks that cannot be recorded is taken without them, and says so", async () => {
    const result = await returned({ model: "m", text: "t", blocks: [{ deep: nested(80) }], reason: "end" });
    expect(result).toMatchObject({
      outcome: "succeeded",
      output: { text: "t", reason: expect.stringMatching(/^end; .*blocks/) as string },
    });
    expect(result).not.toHaveProperty("output.blocks");
  });

  test("is taken, told at once or failed at once, whatever it is", async () => {
    const any = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      maxDepth: 2,
    });
    const call = fc.record({ tool: fc.constantFrom("look", "finish", "wait", "x", 5), input: any }, {});
    const reply = fc.record(
      {
        model: fc.oneof({ weight: 8, arbitrary: fc.constant("m") }, any),
        text: fc.oneof(fc.string({ unit: "binary" }), any),
        calls: fc.oneof({ weight: 4, arbitrary: fc.array(call, { maxLength: 4 }) }, any),
        blocks: fc.oneof(fc.array(fc.dictionary(fc.string(), any), { maxLength: 2 }), any),
        stop: fc.oneof(fc.constantFrom("end", "calls", "length", "pause", "refusal"), any),
        usage: any,
        sent: any,
      },
      { requiredKeys: ["model"] },
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof({ weight: 4, arbitrary: reply }, any), async (answer) => {
        const result = await returned(answer);
        if (result.outcome === "succeeded") expect(ModelReply.safeParse(result.output).success).toBe(true);
        else expect(result).toMatchObject({ code: "MODEL_PORT_INVALID", retry: false });
        const intents = next(result);
        expect(intents.length).toBeGreaterThan(0);
        expect(intents.filter(({ kind }) => kind === "retry")).toEqual([]);
      }),
      { numRuns: 60 },
    );
    expect(next(await failing(new ModelFailure("retry", "busy")))).toMatchObject([{ kind: "retry" }]);
  });
});

function raise(): never {
  throw new Error("a getter");
}
