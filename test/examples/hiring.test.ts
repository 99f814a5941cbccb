/**
 * A hiring saga that is called off on day two: requests are withdrawn, candidates declined politely, and it ends.
 *
 * Method: the example as a user would run it, on the mesh in memory, where days cost nothing. Its model is scripted and
 * notes what it was shown; the outside's account is the calls that the tools' bodies saw. Host and worker also die.
 */
import { describe, expect, test } from "vitest";
import type { ModelRequest } from "../../protocol/model.ts";
import { defineApp } from "../../services/app/app.ts";
import { type ScriptedAnswer, scriptedModel } from "../../services/models/scripted.ts";
import { crashMatrix, testMesh } from "../../services/testing/index.ts";
import { hireForRole } from "./hiring.ts";

const candidates = ["ana", "bo", "cy"];
const calls = (...all: [string, unknown][]): ScriptedAnswer => ({
  calls: all.map(([tool, input]) => ({ tool, input: input as never })),
});
const isCalledOff = ({ messages }: ModelRequest): boolean =>
  JSON.stringify(messages.at(-1)).includes("called off");

/** Searches, asks all three, waits for their answers, and declines when it is called off: or as the last word says. */
const recruiter = (parting: ScriptedAnswer, seen: ModelRequest[] = []) =>
  scriptedModel("recruiting_model", (request) => {
    seen.push(request);
    if (isCalledOff(request)) return parting;
    if (request.step === 1) return calls(["search_candidates", { role: "dev" }]);
    return calls(
      ...candidates.map((candidateId): [string, unknown] => ["request_interview", { candidateId }]),
    );
  });

const declines = calls(
  ...candidates.map((candidateId): [string, unknown] => [
    "send_decline",
    { candidateId, text: `Dear ${candidateId}, we are sorry: the position is no longer open.` },
  ]),
);

const appWith = (parting: ScriptedAnswer, seen?: ModelRequest[]) =>
  defineApp({ sagas: [hireForRole], models: { recruiting_model: recruiter(parting, seen) } });

describe("a hiring saga called off on day two", () => {
  test("declines politely, withdraws every request once, and ends with what cannot be taken back", async () => {
    const seen: ModelRequest[] = [];
    await using t = testMesh(appWith(declines, seen));
    const saga = await t.start(hireForRole, { role: "dev" }, { id: "hire" });
    await t.advance("1d");
    await t.crash();
    await t.advance("1d");
    await saga.cancel("the budget was cut");
    const end = await saga.result();
    expect(end).toMatchObject({ status: "cancelled", reason: "the budget was cut" });
    expect(t.effects("send_decline").map(({ input }) => input)).toEqual(
      declines.calls?.map(({ input }) => input),
    );
    const withdrawn = t
      .effects("withdraw_request")
      .map(({ input }) => (input as { candidateId: string }).candidateId);
    expect(withdrawn.sort()).toEqual(candidates);
    const requested = t.effects("request_interview").map(({ key }) => key);
    const undone = t
      .effects("withdraw_request")
      .map(({ input }) => (input as { requestKey: string }).requestKey);
    expect(undone.sort()).toEqual(requested.sort());
    expect(end.standing.map((effect) => effect.split(" ")[0])).toEqual(Array(3).fill("send_decline"));
    expect(JSON.stringify(seen.at(-1)?.messages.at(-1))).toContain("the budget was cut");
    expect(seen).toHaveLength(3); // It is asked once more, and no more than that.
  });

  test("is undone all the same if its last word is to finish, to wait, to ask, or nothing that can be read", async () => {
    const words: ScriptedAnswer[] = [
      calls(["finish", { output: { slots: [] } }]),
      calls(["wait", { forMs: 86_400_000 }]),
      calls(["ask", { question: "Really?" }]),
      calls(["no_such_tool", {}]),
      { text: "Goodbye." },
    ];
    for (const word of words) {
      await using t = testMesh(appWith(word));
      const saga = await t.start(hireForRole, { role: "dev" }, { id: "hire" });
      await t.advance("2d");
      const before = t.now();
      await saga.cancel("no");
      expect(await saga.result()).toMatchObject({ status: "cancelled", standing: [] });
      expect(t.effects("withdraw_request")).toHaveLength(3);
      expect(t.now() - before).toBeLessThan(3_600_000);
    }
  });

  test("may undo by name first, and nothing is undone twice", async () => {
    await using t = testMesh(appWith(calls(["undo", { calls: ["2.1"] }])));
    const saga = await t.start(hireForRole, { role: "dev" }, { id: "hire" });
    await t.advance("2d");
    await saga.cancel("no");
    await saga.result();
    const withdrawn = t
      .effects("withdraw_request")
      .map(({ input }) => (input as { candidateId: string }).candidateId);
    expect(withdrawn).toHaveLength(3);
    expect(withdrawn[0]).toBe("bo");
  });

  test("is not asked by a model that no longer answers, nor a second time", async () => {
    const app = defineApp({
      sagas: [hireForRole],
      models: {
        recruiting_model: {
          name: "recruiting_model",
          decide: async (request, context) =>
            isCalledOff(request)
              ? new Promise((_, refuse) =>
                  context.abort.addEventListener("abort", () => refuse(new Error("called off"))),
                )
              : recruiter(declines).decide(request, context),
        },
      },
    });
    await using t = testMesh(app);
    const saga = await t.start(hireForRole, { role: "dev" }, { id: "hire" });
    await t.advance("2d");
    await saga.cancel("first");
    expect(await saga.end()).toBeUndefined();
    await saga.cancel("second");
    expect(await saga.result()).toMatchObject({ status: "cancelled", reason: "second", standing: [] });
    expect(t.effects("withdraw_request")).toHaveLength(3);
  });

  test("withdraws and declines once each wherever its processes die", async () => {
    await crashMatrix(appWith(declines), async (t) => {
      const saga = await t.start(hireForRole, { role: "dev" }, { id: "hire" });
      await t.advance("2d");
      await saga.cancel("the budget was cut");
      expect(await saga.result()).toMatchObject({ status: "cancelled" });
      for (const tool of ["withdraw_request", "send_decline"])
        expect(new Set(t.effects(tool).map(({ key }) => key)).size).toBe(3);
    });
  }, 120_000);
});
