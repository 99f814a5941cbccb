/**
 * Goal: a script is taken for what it says or refused, and can reach nothing else. Method: scripts that
 * behave and scripts that do not.
 */
import { describe, expect, test } from "vitest";
import { ModelFailure, ModelReply, type ModelContext, type ModelRequest } from "../../../protocol/model.ts";
import { scriptedModel } from "../../../services/models/scripted.ts";

const request: ModelRequest = {
  saga: "trip-1",
  step: 3,
  now: 1_767_225_600_000,
  model: "m",
  instructions: "Book.",
  messages: [],
  tools: [],
  signals: [],
};
const quiet = (abort = new AbortController().signal): ModelContext => ({
  abort,
  live: () => {},
  spent: () => {},
});

describe("scriptedModel", () => {
  test("the script is given the request itself and its answer carries the model's name", async () => {
    const model = scriptedModel("demo", (seen) => ({
      text: `${seen === request}`,
      calls: [{ tool: "a", input: {} }],
    }));
    const reply = ModelReply.parse(await model.decide(request, quiet()));
    expect(reply).toMatchObject({ text: "true", model: "demo", calls: [{ tool: "a", input: {} }] });
    expect(reply.usage).toEqual({ inputTokens: 0, outputTokens: 0 });
  });

  test("a script that throws ends the attempts and the failure says where", async () => {
    const model = scriptedModel("demo", () => {
      throw new TypeError("no such city");
    });
    const failure = await model.decide(request, quiet()).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ModelFailure);
    expect(failure).toMatchObject({
      kind: "fail",
      message: expect.stringMatching(/demo at step 3 of saga trip-1.*no such city/),
    });
  });

  test("a script can play a provider's failure with its class", async () => {
    const model = scriptedModel("demo", () => {
      throw new ModelFailure("wait", "rate limited", { retryAfterMs: 250 });
    });
    await expect(model.decide(request, quiet())).rejects.toMatchObject({ kind: "wait", retryAfterMs: 250 });
  });

  test.each([
    ["a promise", async () => ({ text: "later" })],
    ["a promise that fails", async () => Promise.reject(new Error("later"))],
    ["nothing", () => undefined],
    ["a text", () => "hello"],
  ])("a script that returns %s is refused", async (_what, script) => {
    const model = scriptedModel("demo", script as never);
    await expect(model.decide(request, quiet())).rejects.toMatchObject({
      name: "ModelFailure",
      kind: "fail",
    });
  });

  test("an aborted decision does not ask the script", async () => {
    let asked = 0;
    const model = scriptedModel("demo", () => ({ text: String(++asked) }));
    await expect(model.decide(request, quiet(AbortSignal.abort()))).rejects.toMatchObject({
      name: "AbortError",
    });
    expect(asked).toBe(0);
  });
});
