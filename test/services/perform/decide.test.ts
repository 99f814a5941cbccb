/**
 * Goal: every way a model call can end is a result whose code says what helps, short enough for a ledger. Method: one
 * attempt with a port that ends as the test says.
 */
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
