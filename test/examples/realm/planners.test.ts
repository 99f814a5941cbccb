/**
 * Goal: the scripted planners say what a model would: as the port of a real agent, on a mesh in memory, their plans
 * come out as the agent's output and go through the validator. Method: an agent with the search as its `read` tool.
 */
import { defineAgent, defineApp, defineTool } from "sagamesh";
import { scriptedModel, testMesh } from "sagamesh/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Answer } from "./answer.ts";
import { printedPlanner, searchingPlanner, type Planner } from "./planners.ts";
import { problemOf } from "./problem.ts";
import { Schedule, storedSchedule } from "./schedule.ts";
import { searchFor, SearchInput } from "./search.ts";
import { validate } from "./validator.ts";

const table6 = storedSchedule("table6-claude37-P5").actions;

const searching = defineTool({
  name: "search",
  description: "Finds a schedule or proves that there is none.",
  effect: "read",
  placement: "host",
  input: SearchInput,
  output: Answer,
  perform: async (question) => searchFor(question),
});
const planner = defineAgent({
  name: "planner",
  version: 1,
  description: "Plans.",
  model: "planner",
  instructions: "Propose a schedule, or say why there is none.",
  input: SearchInput,
  output: z.object({
    schedule: Schedule.optional(),
    infeasible: z
      .object({ why: z.string(), lateMin: z.number().nullable(), relax: z.array(z.json()) })
      .optional(),
  }),
  signals: {},
  tools: [searching],
});

async function planned(script: Planner, question: SearchInput) {
  const app = defineApp({ sagas: [planner], models: { planner: scriptedModel("planner", script) } });
  await using t = testMesh(app);
  const saga = await t.start(planner, question);
  const result = await saga.result();
  if (result.status !== "completed") throw new Error(JSON.stringify(result));
  return result.output;
}

/** What the agent was started with. */
const asked: Parameters<typeof searchingPlanner>[0] = ({ messages }) => {
  const [first] = messages.flatMap((message) => (message.role === "user" ? message.parts : []));
  return SearchInput.parse(JSON.parse(first?.type === "text" ? first.text : "{}"));
};

describe("a scripted planner", () => {
  test("emits a printed schedule as a model's plan, and the validator refuses it", async () => {
    const { schedule = [] } = await planned(printedPlanner("table6-claude37-P5"), { problem: "P5" });
    expect(schedule).toEqual(table6);
    expect(validate({ problem: problemOf("P5"), schedule }).verdict).toBe("reject");
  });

  test("that asks the search ends with a schedule that is accepted", async () => {
    const { schedule = [] } = await planned(searchingPlanner(asked), { problem: "P5", serviceMin: 5 });
    expect(validate({ problem: problemOf("P5"), schedule }).verdict).toBe("accept");
  });

  test("says infeasible, by how much and what to relax, where that is the truth", async () => {
    const { schedule, infeasible } = await planned(searchingPlanner(asked), {
      problem: "P8-traffic",
      history: table6,
    });
    expect(schedule).toBeUndefined();
    expect(infeasible).toMatchObject({ lateMin: 10, relax: [{ what: "photos at 15:10", byMin: 10 }] });
  });

  test("that does not learn repeats its last plan", () => {
    const script = printedPlanner("table7-claude37-P8", "table9-gpt-o1-P8");
    const at = (step: number) => script({ step } as Parameters<Planner>[0]);
    expect(at(2)).not.toEqual(at(1));
    expect(at(5)).toEqual(at(2));
  });
});
