/**
 * Goal: fifty parallel children never exceed the pool they share by a token, and an agent that has used up its budget
 * goes on after a raise. Method: a provider with a bill of its own, on the memory mesh, with crashes at many of the host's
 * writes; test/end-to-end/budget.test.ts kills hosts on a real server.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent, defineApp, defineTool } from "sagamesh";
import { ModelFailure } from "sagamesh/models";
import { scriptedModel, testMesh } from "sagamesh/testing";
import { viewOf } from "../../../services/views/view.ts";
import { viewingByFold } from "../../../services/views/folded.ts";
import { openTestMesh } from "../../../services/testing/test-mesh.ts";
import { type Bill, chief, clerksCount, fiftyApp, pool } from "../../support/fifty.ts";

import { budgetOf, checkPool, sumOf } from "../../support/fifty-checks.ts";
import { atOnce } from "../../../services/wire/loop.ts";

describe("fifty children that use up all they are given", () => {
  test("use most of the pool and nothing more, and each ends well in its last step", async () => {
    const bills: Bill[] = [];
    const own = fiftyApp({ bill: (one) => bills.push(one), think: async () => undefined });
    await using t = testMesh(own);
    const saga = await t.start(chief, {}, { id: "chief" });
    expect(await saga.result()).toMatchObject({ status: "completed" });
    const turns = await saga.ledger();
    const budget = checkPool(turns, bills);
    expect(budget.used.tokens).toBe(sumOf(bills));
    expect(sumOf(bills)).toBeGreaterThan(0.6 * pool.tokens);
    const clerks = (await saga.ledger()).flatMap(({ steps }) =>
      steps.flatMap(({ event }) => (event.type === "result" && event.spent !== undefined ? [event] : [])),
    );
    expect(clerks).toHaveLength(clerksCount);
    for (const { result } of clerks) expect(result.outcome).toBe("succeeded");
    // Without its definition the ledger and what was registered say the same.
    const declared = () => pool;
    expect(budgetOf(viewOf(turns, { budgetOf: declared }))).toEqual(budget);
  });

  test("never exceed it though their host crashes again and again", async () => {
    const bills: Bill[] = [];
    const own = fiftyApp({ bill: (one) => bills.push(one), think: async () => undefined });
    let [writes, crashes] = [0, 0];
    await using t = openTestMesh(
      own,
      {},
      {
        crashesAt: (role, port, method, when) => {
          if (role !== "host" || port !== "ledger" || method !== "append" || crashes >= 14) return false;
          writes += 1;
          const isDue = writes % 61 === 0 && (when === "before") === (crashes % 2 === 0);
          if (isDue) crashes += 1;
          return isDue;
        },
      },
    );
    const saga = await t.start(chief, {}, { id: "chief" });
    expect(await saga.result()).toMatchObject({ status: "completed" });
    expect(crashes).toBeGreaterThan(5);
    const budget = checkPool(await saga.ledger(), bills);
    // What dead hosts had asked for is held against the pool.
    expect(budget.used.tokens).toBeGreaterThan(sumOf(bills) - 1);
  }, 60_000);
});

test("a call that is superseded before it began costs nothing", async () => {
  const usage = { inputTokens: 5, outputTokens: 5 };
  const slow = defineAgent({
    ...{ name: "slow", version: 1, description: "", model: "busy", instructions: "", tools: [] },
    ...{
      signals: { hurry: z.null() },
      input: z.object({}),
      output: z.string(),
      budget: { tokens: 1_000_000 },
    },
  });
  const busy = scriptedModel("busy", ({ messages }) => {
    if (messages.length === 1) throw new ModelFailure("wait", "busy", { retryAfterMs: 3_600_000 });
    return { calls: [{ tool: "finish", input: { output: "done" } }], usage };
  });
  const app = defineApp({ sagas: [slow], models: { busy } });
  await using t = testMesh(app);
  const saga = await t.start(slow, {});
  await saga.signal("hurry", null);
  expect(await saga.result()).toMatchObject({ status: "completed" });
  const turns = await saga.ledger();
  expect(budgetOf(viewOf(turns, atOnce(viewingByFold(app, turns))))).toMatchObject({
    used: { tokens: 10 },
    reserved: { tokens: 0 },
  });
}, 60_000);

describe("an agent that asks for more", () => {
  const ring = defineTool({
    ...{ name: "ring", description: "Rings.", effect: "idempotent", placement: "host" },
    input: z.object({ n: z.number() }),
    output: z.object({}),
    perform: async () => ({}),
  });
  const bell = defineAgent({
    ...{
      name: "bell",
      version: 1,
      description: "Rings.",
      model: "script",
      instructions: "Ring.",
      signals: {},
    },
    input: z.object({}),
    output: z.string(),
    tools: [ring],
    budget: { steps: 3, atLimit: "ask" },
  });
  const script = scriptedModel("script", ({ step, messages }) =>
    messages.filter(({ role }) => role === "assistant").length >= 6
      ? { calls: [{ tool: "finish", input: { output: "rung" } }] }
      : { calls: [{ tool: "ring", input: { n: step } }] },
  );
  const bells = defineApp({ sagas: [bell], models: { script } });

  test("waits for a human through restarts, and goes on with what it is given", async () => {
    await using t = testMesh(bells);
    const saga = await t.start(bell, {}, { id: "bell" });
    const [task] = await t.tasks();
    expect(task).toMatchObject({ about: "budget", question: expect.stringContaining("3 of 3 steps") });
    await t.crash();
    await t.vote(task!, { vote: "answer", answer: { steps: 2 }, by: "ann" });
    await t.crash();
    expect(await t.tasks()).toHaveLength(1);
    await saga.signal("budget", { steps: 20 });
    expect(await saga.result()).toMatchObject({ status: "completed", output: "rung" });
    expect(await t.tasks()).toEqual([]);
  });

  test("that nobody answers ends after a week, and undoes what it did", async () => {
    await using t = testMesh(bells);
    const saga = await t.start(bell, {});
    expect(await saga.result({ within: "8d" })).toMatchObject({ status: "failed", code: "BUDGET_EXCEEDED" });
  });
});
