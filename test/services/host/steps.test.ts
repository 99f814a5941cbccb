/**
 * Goal: the steps of a budget are never fewer than what a provider was asked, whatever died in between; what was asked once and
 * answered is one step.
 * Method: an agent on the test mesh whose provider keeps its own account, from the moment it is asked. Hosts die while it thinks,
 * and some of its answers are failures.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import { ModelFailure, type ModelPort } from "../../../protocol/model.ts";
import { defineApp } from "../../../services/app/app.ts";
import { testMesh } from "../../../services/testing/test-mesh.ts";

const note = defineTool({
  ...{ name: "note", description: "Notes.", effect: "read", placement: "host" },
  ...{ input: z.object({ of: z.number() }), output: z.object({}), perform: async () => ({}) },
} as const);
const agentOf = (steps: number) =>
  defineAgent({
    ...{ name: "noting", version: 1, description: "Notes.", model: "counted", instructions: "Note." },
    ...{ input: z.object({}), output: z.object({}), signals: {}, tools: [note], budget: { steps } },
  });

type Fate = "answers" | "fails" | "dies";

/** A provider to which these things happen, one for each time it is asked; later it answers. */
function provider(fates: readonly Fate[], notes: number) {
  const account = { asked: 0 };
  const model: ModelPort = {
    name: "counted",
    decide: async ({ messages }) => {
      const fate = fates[account.asked] ?? "answers";
      account.asked += 1;
      if (fate === "fails") throw new ModelFailure("retry", "out of order");
      if (fate === "dies") await new Promise(() => undefined); // Its host dies meanwhile.
      const noted = messages.filter(({ role }) => role === "assistant").length;
      const finish = { tool: "finish", input: { output: {} } };
      return { model: "counted", calls: [noted < notes ? { tool: "note", input: { of: noted } } : finish] };
    },
  };
  return { account, model };
}

async function run(fates: readonly Fate[], { notes = 2, steps = 100 } = {}) {
  const { account, model } = provider(fates, notes);
  const agent = agentOf(steps);
  await using t = testMesh(defineApp({ sagas: [agent], models: { counted: model } }));
  const saga = await t.start(agent, {}, { id: "s-1" });
  for (let k = 0; k < 40 && (await saga.end()) === undefined; k++) {
    if (fates[account.asked - 1] === "dies") await t.crash();
    await t.advance("20s");
  }
  const { spent, budget } = await t.describe("s-1");
  return { asked: account.asked, steps: spent.steps, used: budget?.used.steps, end: await saga.end() };
}

test("a call that is answered at once is one step", async () => {
  expect(await run([])).toMatchObject({ asked: 3, steps: 3, used: 3, end: { status: "completed" } });
});

test("a call that is asked again after a death is a step more, and one that failed too", async () => {
  expect(await run(["dies", "dies", "answers", "fails"])).toMatchObject({ asked: 6, steps: 6, used: 6 });
});

test("a limit of steps holds for what a provider is asked, attempts included", async () => {
  const { asked, end } = await run(["dies", "dies", "dies", "dies", "dies", "dies"], { steps: 4 });
  expect(asked).toBe(4);
  expect(end).toMatchObject({ status: "failed", code: "BUDGET_EXCEEDED" });
});

test("steps are never fewer than what was asked, and more only by what had died unasked", async () => {
  const fate = fc.constantFrom<Fate>("answers", "answers", "fails", "dies");
  await fc.assert(
    fc.asyncProperty(fc.array(fate, { maxLength: 10 }), async (fates) => {
      const { asked, steps, used } = await run(fates, { notes: 3 });
      expect(steps).toBeGreaterThanOrEqual(asked);
      expect(steps).toBeLessThanOrEqual(asked + fates.filter((one) => one === "dies").length);
      expect(used).toBe(steps);
    }),
    { numRuns: 4, seed: 14 },
  );
});
