/**
 * Goal: each thing that can be wrong with a plan is told, with its code and its place, all at once; and nothing that is
 * right is. A plan that is right becomes a workflow that does what it says.
 * Method: the example's plan spoiled in one place at a time, held against the example's tools; the trace of a planner
 * that drew 34 edges in circles; then the plan on the test mesh.
 */
import { describe, expect, test } from "vitest";
import { defineApp } from "sagamesh";
import type { Plan } from "sagamesh/workflow";
import { defineValidator } from "sagamesh/validators";
import { scriptedModel, testMesh } from "sagamesh/testing";
import { planFindings, judgeProposal, emptyDraft } from "../../../actors/plan/proposal.ts";
import type { Json } from "../../../protocol/json.ts";
import { Plan as PlanSchema, planSchema } from "../../../protocol/documents/plan.ts";
import { catalogueOfApp } from "../../../services/workflow/planner.ts";
import { held, offsite, tools } from "../../examples/planned-bookings.ts";
import { isWorkflow } from "../../../actors/workflow/kind.ts";

const model = scriptedModel("clerk", () => ({
  calls: [{ tool: "finish", input: { output: { id: "x", places: 3 } } }],
}));
const offered = { tools, models: { clerk: model } };
const catalogue = catalogueOfApp(defineApp(offered));

type Node = Plan["nodes"][number];
type Edge = Plan["edges"][number];
const change = <T extends object>(all: readonly T[], k: number, more: object): T[] =>
  all.map((one, at) => (at === k ? { ...one, ...more } : one));
const node = (k: number, more: object): unknown => ({ ...offsite, nodes: change(offsite.nodes, k, more) });
const edge = (k: number, more: object): unknown => ({ ...offsite, edges: change(offsite.edges, k, more) });
const without = (one: object, key: string): object =>
  Object.fromEntries(Object.entries(one).filter(([name]) => name !== key));

const found = (plan: unknown): string[] => {
  const read = planFindings(plan, catalogue);
  return "plan" in read ? [] : read.findings.map(({ code, at }) => `${code} ${at}`);
};
const agent = {
  model: "clerk",
  instructions: "Do it.",
  tools: [],
  output: { type: "object" },
  steps: 3,
} as const;

describe("a plan", () => {
  test("that is right has no findings, and its JSON Schema takes it", () => {
    expect(found(offsite)).toEqual([]);
    expect(PlanSchema.parse(JSON.parse(JSON.stringify(offsite)))).toEqual(offsite);
    expect(JSON.stringify(planSchema())).toContain("pointOfNoReturn");
  });

  test.each<[string, unknown, string[]]>([
    ["is no plan at all", "book something", ["NOT_A_PLAN "]],
    ["has a member nobody knows", { ...offsite, code: "rm -rf" }, ["NOT_A_PLAN "]],
    [
      "has no node",
      { ...offsite, nodes: [], edges: [] },
      ["EMPTY /nodes", "GOAL_UNSERVED /goals/0", "CONSTRAINT_UNCOVERED /constraints/0"],
    ],
    [
      "has two nodes of one name",
      node(1, { name: "flight" }),
      ["DUPLICATE /nodes/1", "DANGLING /edges/1/from", "REF_UNKNOWN /nodes/2/input"],
    ],
    [
      "has an edge twice",
      { ...offsite, edges: [...offsite.edges, offsite.edges[0]] },
      ["DUPLICATE /edges/2"],
    ],
    ["has an edge to nowhere", edge(0, { to: "pool" }), ["DANGLING /edges/0/to"]],
    [
      "has a condition on nobody",
      edge(0, { when: { any: [{ node: "pool" }, { node: "rooms" }] } }),
      ["DANGLING /edges/0/when"],
    ],
    [
      "waits for itself",
      { ...offsite, edges: [...offsite.edges, { ...offsite.edges[0], from: "hall", to: "rooms" }] },
      ["CYCLE /nodes/1"],
    ],
    [
      "has no root",
      {
        ...offsite,
        edges: [
          ...offsite.edges,
          ...["flight", "rooms"].map((to) => ({ ...offsite.edges[0], from: "hall", to })),
        ],
      },
      ["CYCLE /nodes/0", "NO_ROOT /nodes"],
    ],
    [
      "has a node behind a circle",
      { ...offsite, edges: [{ ...offsite.edges[0], from: "flight", to: "flight" }, ...offsite.edges] },
      ["CYCLE /nodes/0", "UNREACHABLE /nodes/2"],
    ],
    [
      "names a predicate nobody has",
      edge(0, { when: { node: "flight", is: "nice" } }),
      ["CONDITION_INVALID /edges/0/when"],
    ],
    [
      "asks for a part that no output has",
      node(0, { success: [{ is: "atLeast", at: "/seats", value: 1 }] }),
      ["CONDITION_INVALID /nodes/0/success/0"],
    ],
    ["has an any of nothing", node(2, { when: { any: [] } }), ["CONDITION_INVALID /nodes/2/when"]],
    ["names a role nobody has", node(0, { role: "wizard" }), ["ROLE_UNKNOWN /nodes/0/role"]],
    ["runs what nobody has", node(0, { run: "teleport" }), ["RUN_UNKNOWN /nodes/0/run"]],
    [
      "is undone by what nobody has",
      node(0, { compensation: { run: "teleport", input: {} } }),
      ["RUN_UNKNOWN /nodes/0/compensation/run"],
    ],
    [
      "refers to a node it does not rest on",
      node(0, { input: { city: { $ref: "input /city" }, places: { $ref: "node rooms /places" } } }),
      ["REF_UNKNOWN /nodes/0/input"],
    ],
    [
      "refers to a branch of several, of which another may have led to it",
      node(2, {
        join: "any",
        input: { city: "BER", places: { $ref: "node rooms /places" } },
      }),
      ["REF_UNKNOWN /nodes/2/input"],
    ],
    [
      "refers on an edge to a branch of several, and to what comes after it",
      edge(0, {
        agent: undefined,
        run: "hall",
        when: { any: [{ node: "flight" }, { node: "rooms" }] },
        input: { city: { $ref: "node rooms /id" }, places: { $ref: "node hall /places" } },
        compensation: { run: "release", input: { madeWithKey: { $ref: "key" } } },
      }),
      ["REF_UNKNOWN /edges/0/input", "REF_UNKNOWN /edges/0/input"],
    ],
    [
      "refers to a part that is not there",
      node(2, { input: { city: "BER", places: { $ref: "node rooms /beds" } } }),
      ["REF_UNKNOWN /nodes/2/input"],
    ],
    [
      "refers to an input that is not there",
      node(0, { input: { city: { $ref: "input /town" }, places: 3 } }),
      ["REF_UNKNOWN /nodes/0/input"],
    ],
    [
      "holds a reference of no form",
      node(0, { input: { city: { $ref: "somewhere" }, places: 3 } }),
      ["REF_UNKNOWN /nodes/0/input"],
    ],
    [
      "leaves out what a tool needs",
      node(0, { input: { city: { $ref: "input /city" } } }),
      ["INPUT_UNFIT /nodes/0/input"],
    ],
    [
      "gives a tool what it does not take",
      node(0, { input: { city: "BER", places: "many" } }),
      ["INPUT_UNFIT /nodes/0/input"],
    ],
    [
      "gives a tool a part of another type",
      node(2, { input: { city: "BER", places: { $ref: "node rooms /id" } } }),
      ["INPUT_UNFIT /nodes/2/input"],
    ],
    [
      "gives a tool the workflow's input, which does not fit",
      { ...offsite, nodes: offsite.nodes.map((one, k) => (k === 0 ? without(one, "input") : one)) },
      ["INPUT_UNFIT /nodes/0/input"],
    ],
    [
      "has a node without a log",
      { ...offsite, nodes: offsite.nodes.map((one) => without(one, "log")) },
      [0, 1, 2].map((k) => `LOG_MISSING /nodes/${k}/log`),
    ],
    [
      "has an edge without a log",
      { ...offsite, edges: offsite.edges.map((one) => without(one, "log")) },
      [0, 1].map((k) => `LOG_MISSING /edges/${k}/log`),
    ],
    [
      "logs what is never said",
      node(0, { log: { type: "object", properties: { seat: { type: "string" } }, required: ["seat"] } }),
      ["LOG_UNFIT /nodes/0/log"],
    ],
    ["carries what is never said", edge(0, { log: { type: "string" } }), ["LOG_UNFIT /edges/0/log"]],
    [
      "has an edge without an agent",
      { ...offsite, edges: offsite.edges.map((one) => without(one, "agent")) },
      [0, 1].flatMap((k) => [`AGENT_MISSING /edges/${k}/agent`]),
    ],
    [
      "has a node that nobody does",
      { ...offsite, nodes: offsite.nodes.map((one, k) => (k === 0 ? without(one, "run") : one)) },
      ["AGENT_MISSING /nodes/0/agent"],
    ],
    ["has a node that two do", node(0, { agent }), ["AGENT_MISSING /nodes/0/agent"]],
    [
      "has an agent on a model nobody has",
      edge(0, { agent: { ...agent, model: "oracle" } }),
      ["MODEL_UNKNOWN /edges/0/agent/model"],
    ],
    [
      "has an agent with a tool nobody has",
      edge(0, { agent: { ...agent, tools: ["hammer"] } }),
      ["RUN_UNKNOWN /edges/0/agent/tools"],
    ],
    [
      "has an agent that does what nothing undoes",
      edge(0, { agent: { ...agent, tools: ["hall"] } }),
      ["COMPENSATION_MISSING /edges/0/compensation"],
    ],
    [
      "says nothing of compensations",
      {
        ...offsite,
        nodes: offsite.nodes.map((one) => without(one, "compensation")),
        edges: offsite.edges.map((one) => without(one, "compensation")),
      },
      [
        ...[0, 1, 2].map((k) => `COMPENSATION_MISSING /nodes/${k}/compensation`),
        ...[0, 1].map((k) => `COMPENSATION_MISSING /edges/${k}/compensation`),
      ],
    ],
    [
      "trusts a tool to undo itself that does not",
      node(0, { compensation: { by: "itself" } }),
      ["COMPENSATION_MISSING /nodes/0/compensation"],
    ],
    [
      "undoes with what it is not given",
      node(0, { compensation: { run: "release", input: { madeWithKey: { $ref: "node rooms /id" } } } }),
      ["REF_UNKNOWN /nodes/0/compensation/input"],
    ],
    [
      "undoes with an input that is not taken",
      node(0, { compensation: { run: "release", input: { key: { $ref: "key" } } } }),
      ["COMPENSATION_INVALID /nodes/0/compensation/input"],
    ],
    [
      "undoes what a carried edge did not do",
      edge(0, { compensation: { run: "release", input: { madeWithKey: "k" } } }),
      ["COMPENSATION_INVALID /edges/0/compensation"],
    ],
    [
      "serves no goal",
      { ...offsite, goals: [...offsite.goals, { name: "fun", says: "All have fun." }] },
      ["GOAL_UNSERVED /goals/1"],
    ],
    [
      "checks a constraint nowhere",
      { ...offsite, nodes: offsite.nodes.map((one) => without(one, "success")) },
      ["CONSTRAINT_UNCOVERED /constraints/0"],
    ],
    ["covers what nobody asked for", node(0, { covers: ["fame"] }), ["REF_UNKNOWN /nodes/0/covers"]],
    [
      "names a validator nobody has",
      { ...offsite, constraints: [{ ...offsite.constraints[0], validators: ["oracle"] }] },
      ["RUN_UNKNOWN /constraints/0/validators"],
    ],
    [
      "names a node as the runtime does",
      { ...offsite, nodes: [...offsite.nodes, { ...offsite.nodes[0], name: "undo" }] },
      ["NAME_UNUSABLE /nodes/3/name"],
    ],
  ])("that %s is told so", (_, plan, expected) => {
    expect(found(plan).sort()).toEqual([...expected].sort());
  });

  test("has all its faults told at once", () => {
    const wrong = {
      ...offsite,
      nodes: change(change(offsite.nodes, 0, { role: "wizard", run: "teleport" }), 1, {
        compensation: undefined,
      }),
      edges: [...offsite.edges, { ...offsite.edges[0], from: "hall", to: "rooms" }],
    };
    expect(found(wrong).sort()).toEqual([
      "COMPENSATION_MISSING /nodes/1/compensation",
      "CYCLE /nodes/1",
      "ROLE_UNKNOWN /nodes/0/role",
      "RUN_UNKNOWN /nodes/0/run",
    ]);
  });

  test("of eleven tasks and 34 edges, each task in a circle, is refused with each circle named", () => {
    // Drawn by a planner in the field, whose runtime wrote all its agents before anybody looked.
    const groups = [
      [1, 2, 3, 4],
      [5, 6],
      [7, 8, 9, 10, 11],
    ];
    const edges = groups.flatMap((group) =>
      group.flatMap((from) => group.filter((to) => to !== from).map((to) => [`T${from}`, `T${to}`] as const)),
    );
    expect(edges).toHaveLength(34);
    const [first] = offsite.nodes;
    const plan = {
      ...offsite,
      nodes: Array.from({ length: 11 }, (_, k) => ({ ...first, name: `T${k + 1}` })),
      edges: edges.map(([from, to]) => ({ ...offsite.edges[0], from, to })),
    };
    expect(found(plan)).toEqual(["CYCLE /nodes/0", "CYCLE /nodes/4", "CYCLE /nodes/6", "NO_ROOT /nodes"]);
  });
});

describe("an answer", () => {
  const judge = (said: string, step: "roles" | "nodes" | "logs" = "roles") =>
    judgeProposal(step, emptyDraft, said, catalogue);

  test.each<[string, string, string]>([
    ["nothing", "", "NOT_A_PLAN"],
    ["half an object", '{"name":"x","goals":[{', "NOT_A_PLAN"],
    ["a list", "[[[[]]]]", "NOT_A_PLAN"],
    ["something else", '{"answer":42}', "NOT_A_PLAN"],
    ["what nests ten thousand deep", `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`, "NOT_A_PLAN"],
    ["a prototype", '{"__proto__":{"name":"x"},"name":"x"}', "NOT_A_PLAN"],
    ["what is too long", "x".repeat(500_001), "TOO_LARGE"],
  ])("that is %s changes nothing and is told of", (_, said, code) => {
    const { draft, findings, next } = judge(said);
    expect(draft).toEqual(emptyDraft);
    expect(new Set(findings.map((one) => one.code))).toEqual(new Set([code]));
    expect(next).toBe("roles");
  });

  test("with more nodes than a graph may have is too large, and with a pattern no schema of ours", () => {
    const many = Array.from({ length: 501 }, (_, k) => ({ name: `n${k}`, role: "travel", does: "It." }));
    expect(judge(JSON.stringify({ nodes: many }), "nodes").findings).toMatchObject([
      { code: "TOO_LARGE", at: "/nodes" },
    ]);
    const slow = { logs: { nodes: { a: { type: "string", pattern: "(a+)+$" } }, edges: {} } };
    expect(judge(JSON.stringify(slow), "logs").findings).toMatchObject([{ code: "NOT_A_PLAN" }]);
  });

  test("with thousands of faults tells the first hundred and how many there are", () => {
    const nodes = Array.from({ length: 400 }, (_, k) => ({ name: `n${k}` }));
    const { findings, found: all } = judge(JSON.stringify({ nodes }), "nodes");
    expect([findings.length, all]).toEqual([100, 800]);
  });
});

describe("a plan that runs", () => {
  let runs = 0;
  const plannedOf = ({ startable }: ReturnType<typeof defineApp>) => {
    const [definition] = startable.filter(isWorkflow);
    return { definition };
  };
  const run = async (plan: unknown, input: Json) => {
    held.clear();
    const app = defineApp({ ...offered, plans: [plan] });
    const t = testMesh(app);
    const [definition] = app.startable;
    const saga = await t.start({ ...definition, definition } as never, input, {
      id: `run-${++runs}`,
    });
    return { t, end: await saga.result(), held: [...held.values()].map(({ of }) => of).sort() };
  };

  test("books all three in its order, with what it is to log", async () => {
    const { t, end, held } = await run(offsite, { people: 12, city: "BER" });
    await using _ = t;
    expect(end).toMatchObject({ status: "completed", output: { hall: { places: 12 } } });
    expect(held).toEqual(["flight", "hall", "rooms"]);
  });

  test("holds nothing where the hall is too small", async () => {
    const { t, end, held } = await run(offsite, { people: 30, city: "BER" });
    await using _ = t;
    expect(end).toMatchObject({ status: "failed", standing: [] });
    expect(held).toEqual([]);
    expect(t.effects("release")).toHaveLength(2);
  });

  test("takes an output that misses a success condition for a failure, and undoes it", async () => {
    const { t, end, held } = await run(node(1, { success: [{ is: "atLeast", at: "/places", value: 15 }] }), {
      people: 12,
      city: "BER",
    });
    await using _ = t;
    expect(end).toMatchObject({ status: "failed", code: "BAD_RESULT", standing: [] });
    expect(held).toEqual([]);
    expect(t.effects("hall")).toHaveLength(0);
  });

  test("passes an edge that does something, and an agent of its own", async () => {
    const plan: Plan = {
      ...offsite,
      nodes: offsite.nodes.map((one): Node => {
        const { run: _run, ...rest } = one;
        return one.name === "flight"
          ? { ...rest, agent: { ...agent, tools: [], output: one.log }, compensation: { by: "itself" } }
          : one;
      }),
      edges: offsite.edges.map(({ agent: _agent, ...one }): Edge =>
        one.from === "rooms"
          ? {
              ...{ ...one, run: "rooms", input: { city: "BER", places: { $ref: "node rooms /places" } } },
              compensation: { run: "release", input: { madeWithKey: { $ref: "key" } } },
            }
          : { ...one, agent: { by: "runtime" } },
      ),
    };
    expect(found(plan)).toEqual([]);
    const { t, end, held } = await run(plan, { people: 12, city: "BER" });
    await using _ = t;
    expect(end).toMatchObject({
      status: "completed",
      output: { flight: { id: "x", places: 3 }, "rooms--hall": { places: 12 }, hall: { places: 12 } },
    });
    expect(held).toEqual(["hall", "rooms", "rooms"]);
  });

  test("is judged by the validators of a constraint, before the nodes that cover it commit", async () => {
    const fewRooms = defineValidator({
      name: "few_rooms",
      check: ({ item }) => ({
        verdict: (item as { places: number }).places > 10 ? "reject" : "accept",
        reason: "more than ten",
      }),
    });
    const judgedPlan = {
      ...offsite,
      constraints: [{ ...offsite.constraints[0], validators: ["few_rooms"] }],
    };
    const t = testMesh(defineApp({ ...offered, validators: [fewRooms], plans: [judgedPlan] }));
    await using _ = t;
    held.clear();
    const { definition } = plannedOf(defineApp({ ...offered, validators: [fewRooms], plans: [judgedPlan] }));
    const start = (people: number) =>
      t.start(
        { ...definition, definition } as never,
        { people, city: "BER" },
        {
          id: `run-${++runs}`,
        },
      );
    expect(await (await start(8)).result()).toMatchObject({ status: "completed" });
    const refused = await start(12);
    expect(await refused.result()).toMatchObject({
      status: "failed",
      code: "VALIDATION_REJECTED",
      standing: [],
    });
    expect(held.size).toBe(3);
    expect(
      (await t.list()).map(({ saga }) => saga).filter((id) => id.startsWith("few_rooms")).length,
    ).toBeGreaterThanOrEqual(4);
  });

  test("has a hash that covers all of it, and is refused at load with all its faults", () => {
    const hashOf = (plan: unknown) => defineApp({ ...offered, plans: [plan] }).startable[0]?.hash;
    expect(hashOf(offsite)).toBe(hashOf(JSON.parse(JSON.stringify(offsite))));
    expect(hashOf(node(2, { input: { city: "BER", places: 3 } }))).not.toBe(hashOf(offsite));
    expect(hashOf(node(2, { does: "Books it later." }))).not.toBe(hashOf(offsite));
    const { faults } = defineApp({ ...offered, plans: [node(0, { run: "teleport", role: "wizard" })] });
    expect(faults).toEqual([
      'plan "offsite": ROLE_UNKNOWN /nodes/0/role: there is no role "wizard"',
      'plan "offsite": RUN_UNKNOWN /nodes/0/run: the application has no tool, agent or saga "teleport"',
    ]);
  });
});
