/**
 * Goal: a recorded reply is given to its own request and to no other. Method: one small ledger, asked right
 * and wrong.
 */
import { describe, expect, test } from "vitest";
import { digestOf } from "../../../protocol/digest.ts";
import type { ModelContext, ModelRequest } from "../../../protocol/model.ts";
import { recordedModel } from "../../../services/models/recorded.ts";

const request: ModelRequest = {
  saga: "trip-1",
  step: 2,
  now: 5,
  model: "m",
  instructions: "Book.",
  messages: [],
  tools: [],
  signals: [],
};
const reply = { text: "Booked.", model: "claude" };
const quiet = (abort = new AbortController().signal): ModelContext => ({
  abort,
  live: () => {},
  spent: () => {},
});

describe("recordedModel", () => {
  test("the same step with the same request gets the same reply", async () => {
    const model = recordedModel("ledger", [{ step: 2, request: digestOf(request), reply }]);
    expect(await model.decide(request, quiet())).toBe(reply);
  });

  test("a reply is looked up by step", async () => {
    const model = recordedModel("ledger", (step) =>
      step === 2 ? { step, request: digestOf(request), reply } : undefined,
    );
    expect(await model.decide(request, quiet())).toBe(reply);
  });

  test("a step that was never recorded ends the attempts and is named", async () => {
    const model = recordedModel("ledger", []);
    await expect(model.decide(request, quiet())).rejects.toMatchObject({
      kind: "fail",
      message: expect.stringContaining("step 2 of saga trip-1"),
    });
  });

  test("another request at the same step is refused with what was expected and what came", async () => {
    const model = recordedModel("ledger", [{ step: 2, request: digestOf(request), reply }]);
    const other = { ...request, instructions: "Cancel." };
    await expect(model.decide(other, quiet())).rejects.toMatchObject({
      kind: "fail",
      message: expect.stringContaining(`expected the request ${digestOf(request)}, got ${digestOf(other)}`),
    });
  });

  test("the ledger's own way to digest a request decides what is the same", async () => {
    const digest = ({ messages }: ModelRequest): string => digestOf(messages);
    const model = recordedModel("ledger", [{ step: 2, request: digest(request), reply }], { digest });
    expect(await model.decide({ ...request, saga: "trip-2", now: 6 }, quiet())).toBe(reply);
  });

  test("an aborted decision is not answered", async () => {
    const model = recordedModel("ledger", [{ step: 2, request: digestOf(request), reply }]);
    await expect(model.decide(request, quiet(AbortSignal.abort()))).rejects.toMatchObject({
      name: "AbortError",
    });
  });
});
