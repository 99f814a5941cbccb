/**
 * Goal: planning ends within its bounds with a plan or with coded findings, whatever its model says; each round is on
 * the ledger; nothing is asked about the agents of a graph that is none.
 * Method: the planner on the test mesh, with scripted models: a good one, and hostile ones. What was asked is what the
 * scripts were asked.
 */
import { describe, expect, test } from "vitest";
import { defineApp } from "sagamesh";
import { catalogueOfApp, definePlanner, type Plan } from "sagamesh/workflow";
import { scriptedModel, testMesh } from "sagamesh/testing";
import { openTestMesh } from "../../../services/testing/test-mesh.ts";
import type { PlanRefusal } from "../../../protocol/documents/plan.ts";
import { answerOf, offsite, questionOf, tools } from "../../examples/planned-bookings.ts";

const spec = "Book a flight, rooms and a hall for all, or nothing.";

/** Plans with a model that answers so; what it was asked, and how it ended. */
async function planWith(
  answer: (step: string, asked: number, findings: unknown[]) => string,
  { rounds, budget }: { rounds?: number; budget?: { tokens: number } } = {},
) {
  const asked: string[] = [];
  const prompts: string[] = [];
  const model = scriptedModel("model", (request) => {
    const { step, findings = [] } = questionOf(request);
    const prompt = JSON.stringify(request.messages);
    if (!prompts.includes(prompt)) {
      prompts.push(prompt);
      asked.push(step);
    }
    return { text: answer(step, asked.length, findings), usage: { inputTokens: 1_000, outputTokens: 1_000 } };
  });
  const planner = definePlanner({ model: "model", ...(budget === undefined ? {} : { budget }) });
  const app = defineApp({ sagas: [planner], models: { model }, tools });
  await using t = testMesh(app);
  const catalogue = catalogueOfApp(defineApp({ tools, models: { model } }));
  const saga = await t.start(planner, { spec, catalogue, ...(rounds === undefined ? {} : { rounds }) });
  const end = await saga.result();
  const ledger = await saga.ledger();
  const intents = ledger.flatMap(({ steps }) => steps.flatMap((one) => one.intents));
  const ended = intents.find((intent) => intent.kind === "end");
  return {
    asked,
    end,
    refusal: ended?.output as unknown as PlanRefusal,
    questions: intents.filter((intent) => intent.kind === "model").length,
    verdicts: intents.filter((intent) => intent.kind === "tool" && intent.name === "judge_plan").length,
    ledger: JSON.stringify(ledger),
  };
}

const say = (plan: Plan, step: string): string => JSON.stringify(answerOf(plan, step));
const codesOf = ({ findings }: PlanRefusal): string[] => [...new Set(findings.map(({ code }) => code))];
const withEdges = (edges: readonly (readonly [string, string])[]): Plan => ({
  ...offsite,
  edges: edges.map(([from, to]) => ({ ...(offsite.edges[0] as Plan["edges"][number]), from, to })),
});

describe("planning with a good model", () => {
  test("asks five questions and makes the plan", async () => {
    const { asked, end, questions, verdicts } = await planWith((step) => say(offsite, step));
    expect(end).toMatchObject({ status: "completed", output: { rounds: 0, plan: offsite } });
    expect(asked).toEqual(["roles", "nodes", "edges", "logs", "agents"]);
    expect([questions, verdicts]).toEqual([5, 5]);
  });

  test("shows the model what is wrong, takes what it mends and keeps the rest", async () => {
    const forgetful: Plan = {
      ...offsite,
      nodes: offsite.nodes.map((node) => ({ ...node, compensation: { by: "itself" } })),
    };
    const { asked, end, ledger } = await planWith((step, _asked, findings) => {
      if (step !== "whole") return say(forgetful, step);
      expect(findings).toHaveLength(3);
      const mended = answerOf(offsite, "agents") as { agents: object };
      return `Here is what I change:\n\`\`\`json\n${JSON.stringify(mended)}\n\`\`\``;
    });
    expect(end).toMatchObject({ status: "completed", output: { rounds: 1, plan: offsite } });
    expect(asked.at(-1)).toBe("whole");
    // The verdict, and the question that shows it.
    expect(ledger.split("COMPENSATION_MISSING").length - 1).toBeGreaterThanOrEqual(6);
  });

  test("has the graph mended before anything else is asked", async () => {
    const circle = withEdges([
      ["flight", "hall"],
      ["hall", "rooms"],
      ["rooms", "flight"],
    ]);
    const { asked, end } = await planWith((step) => say(step === "edges" ? circle : offsite, step));
    expect(end).toMatchObject({ status: "completed", output: { rounds: 1 } });
    expect(asked).toEqual(["roles", "nodes", "edges", "graph", "logs", "agents"]);
  });
});

describe("planning with a hostile model", () => {
  test("never asks about agents where the graph stays a circle, and ends with what is wrong", async () => {
    const circle = withEdges([
      ["flight", "hall"],
      ["hall", "rooms"],
      ["rooms", "flight"],
    ]);
    const { asked, end, refusal, questions, verdicts, ledger } = await planWith((step) => say(circle, step));
    expect(end).toMatchObject({ status: "failed", code: "PLAN_INVALID" });
    expect(codesOf(refusal)).toEqual(["CYCLE", "NO_ROOT"]);
    // Equal questions count once.
    expect(new Set(asked)).toEqual(new Set(["roles", "nodes", "edges", "graph"]));
    // Three steps and the four rounds of the default, each question with its verdict on the ledger.
    expect([questions, verdicts]).toEqual([7, 7]);
    expect(refusal).toMatchObject({ rounds: 4, step: "graph" });
    expect(ledger).toContain("CYCLE");
  });

  test("asks about no agent once a mending makes a circle of the graph", async () => {
    const circle = withEdges([
      ["flight", "hall"],
      ["hall", "flight"],
    ]);
    const forgetful: Plan = {
      ...offsite,
      nodes: offsite.nodes.map((node) => ({ ...node, compensation: { by: "itself" } })),
    };
    const { asked, refusal } = await planWith((step) =>
      step === "whole" || step === "graph" ? say(circle, step) : say(forgetful, step),
    );
    expect(asked.slice(0, 7)).toEqual(["roles", "nodes", "edges", "logs", "agents", "whole", "graph"]);
    expect(refusal.step).toBe("graph");
    expect(codesOf(refusal)).toContain("CYCLE");
  });

  test("tells of roles and tools that nobody has", async () => {
    const wild: Plan = {
      ...offsite,
      nodes: offsite.nodes.map((node) => ({ ...node, role: "wizard", run: `conjure_${node.name}` })),
    };
    const { end, refusal, asked } = await planWith((step) => say(wild, step), { rounds: 1 });
    expect(end).toMatchObject({ status: "failed", code: "PLAN_INVALID" });
    expect(codesOf(refusal).sort()).toEqual(["ROLE_UNKNOWN", "RUN_UNKNOWN"]);
    expect(refusal.findings).toHaveLength(6);
    expect(asked).toEqual(["roles", "nodes", "edges", "graph"]);
  });

  test("refuses a plan whose compensations stay missing", async () => {
    const careless: Plan = {
      ...offsite,
      nodes: offsite.nodes.map((node) => ({ ...node, compensation: { by: "itself" } })),
    };
    const { refusal, questions } = await planWith((step) => say(careless, step), { rounds: 2 });
    expect(codesOf(refusal)).toEqual(["COMPENSATION_MISSING"]);
    expect(refusal.findings.map(({ at }) => at)).toEqual([0, 1, 2].map((k) => `/nodes/${k}/compensation`));
    expect(questions).toBe(7);
  });

  test("ends where it answers with junk alone", async () => {
    const { end, refusal, asked, questions } = await planWith(() => "I would rather not.", { rounds: 3 });
    expect(end).toMatchObject({ status: "failed", code: "PLAN_INVALID" });
    expect(codesOf(refusal)).toEqual(["NOT_A_PLAN"]);
    expect(new Set(asked)).toEqual(new Set(["roles"]));
    expect(questions).toBe(4);
  });

  test("ends where each mending brings new faults, for ever", async () => {
    const { refusal, questions } = await planWith(
      (step, asked) =>
        say({ ...offsite, nodes: offsite.nodes.map((node) => ({ ...node, role: `r${asked}` })) }, step),
      { rounds: 20 },
    );
    expect(questions).toBe(23);
    expect(refusal).toMatchObject({ rounds: 20, found: 3 });
  });

  test("ends at its budget, whatever its rounds", async () => {
    const { end, questions } = await planWith((step) => say(withEdges([["flight", "flight"]]), step), {
      rounds: 20,
      budget: { tokens: 30_000 },
    });
    expect(end).toMatchObject({ status: "failed", code: "BUDGET_EXCEEDED" });
    expect(questions).toBeLessThan(23);
  });
});

describe("a planner whose host dies", () => {
  test.each([3, 6, 9])("at its write %i goes on with what was said", async (at) => {
    let [asked, writes] = [0, 0];
    const model = scriptedModel("model", (request) => {
      asked += 1;
      return { text: say(offsite, questionOf(request).step) };
    });
    const planner = definePlanner({ model: "model" });
    const app = defineApp({ sagas: [planner], models: { model }, tools });
    const crashesAt = (role: string, port: string, method: string, when: string) =>
      role === "host" && port === "ledger" && method === "append" && when === "after" && ++writes === at;
    await using t = openTestMesh(app, {}, { crashesAt });
    const saga = await t.start(planner, { spec, catalogue: catalogueOfApp(app) });
    expect(await saga.result()).toMatchObject({ status: "completed", output: { plan: offsite } });
    expect(writes).toBeGreaterThan(at);
    // A question that was under way when its host died is asked again, and no other.
    expect(asked).toBeLessThanOrEqual(6);
  });
});
