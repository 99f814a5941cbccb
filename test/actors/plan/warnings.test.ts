/**
 * Goal: what may go wrong with a plan in some runs is told before it runs, one sentence for each input, all at once; it is
 * mended while a plan is made and no fault of one that is there. Each constraint is shown with what checks it.
 * Method: the example's plan and tools of its own, held against each other; a planner on the test mesh.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineApp, defineTool } from "sagamesh";
import { catalogueOfApp, definePlanner, type Plan } from "sagamesh/workflow";
import { scriptedModel, testMesh } from "sagamesh/testing";
import { coverOf } from "../../../actors/plan/cover.ts";
import { planFindings } from "../../../actors/plan/proposal.ts";
import { answerOf, offsite, questionOf, tools } from "../../examples/planned-bookings.ts";

const read = (name: string, input: z.ZodType, output: z.ZodType) =>
  defineTool({
    ...{ name, description: "Reads.", effect: "read", input, output },
    perform: () => Promise.resolve(null as never),
  });
const found = defineApp({
  tools: [
    ...tools,
    read(
      "find",
      z.object({ city: z.string() }),
      z.object({
        ids: z.array(z.string()),
        kind: z.enum(["suite", "room"]),
        since: z.iso.date(),
        guest: z.string().nullable(),
        note: z.string().optional(),
        nights: z.number().default(1),
        name: z.string(),
      }),
    ),
    read(
      "reserve",
      z.object({
        ids: z.array(z.int()).optional(),
        kind: z.enum(["tent"]).optional(),
        since: z.iso.datetime().optional(),
        guest: z.string().optional(),
        note: z.string().optional(),
        nights: z.number().optional(),
        name: z.string().min(1).optional(),
      }),
      z.json(),
    ),
  ],
  models: { clerk: scriptedModel("clerk", () => ({ text: "" })) },
});
const catalogue = catalogueOfApp(found);
const anything = { log: {}, compensation: { by: "itself" } } as const;

/** One finds, one is given these of what was found. */
const giving = (...members: readonly string[]): Plan => ({
  ...{ v: 1, name: "stay", version: 1, constraints: [], roles: [{ name: "clerk", does: "It." }] },
  goals: [{ name: "stay", says: "Somebody stays." }],
  input: { type: "object", properties: { city: { type: "string" } } },
  nodes: [
    {
      ...{ name: "a", role: "clerk", does: "Finds.", run: "find", covers: ["stay"], ...anything },
      input: { city: "BER" },
    },
    {
      ...{ name: "b", role: "clerk", does: "Reserves.", run: "reserve", ...anything },
      input: Object.fromEntries(members.map((key) => [key, { $ref: `node a /${key}` }])),
    },
  ],
  edges: [{ from: "a", to: "b", does: "It waits.", agent: { by: "runtime" }, ...anything }],
});
const told = (plan: unknown): string[] => {
  const said = planFindings(plan, catalogue);
  const all = "plan" in said ? said.warnings : said.findings;
  return all.map(({ code, at, says }) => `${code} ${at} ${says}`);
};
const mend = "; require it, name another part, or let a node between make what is wanted";

describe("an input", () => {
  test("of a part that never fits is refused, with each such part in one sentence", () => {
    expect(told(giving("ids", "kind", "nights"))).toEqual([
      'INPUT_UNFIT /nodes/1/input "/ids" from "node a /ids": it is a string, and a number is wanted; ' +
        '"/kind" from "node a /kind": it is "suite", and "tent" is wanted',
    ]);
  });

  test("of a part that fits in some runs is no fault, and is told of: what may be null, absent, or of another form", () => {
    const plan = giving("since", "guest", "note", "name", "nights");
    expect(planFindings(plan, catalogue)).toHaveProperty("plan");
    expect(told(plan)).toEqual([
      'MAY_MISFIT /nodes/1/input "node a /note": it may be that it is not there, and then nothing can be made of it; ' +
        '"/since" from "node a /since": it may be that it is "2026-01-31", and that is not taken: Invalid ISO datetime; ' +
        `"/guest" from "node a /guest": it may be that it is null, and a string is wanted${mend}`,
      'MAY_EXCEED /nodes/1/input "/name" from "node a /name": it may be that it is "", and that is not taken: Too small: expected string to have >=1 characters',
    ]);
    expect(defineApp({ ...found.config, plans: [plan] }).faults).toEqual([]);
  });

  test("of each node and edge is told of in one round", () => {
    const plan = giving("guest");
    const [first, second] = plan.nodes;
    const more = {
      ...plan,
      nodes: [{ ...first, input: { city: { $ref: "input /city" } } }, second, { ...second, name: "c" }],
      edges: [...plan.edges, { ...plan.edges[0], to: "c" }],
    };
    expect(told(more).map((line) => line.split(" ", 2).join(" "))).toEqual([
      "MAY_MISFIT /nodes/0/input",
      "MAY_MISFIT /nodes/1/input",
      "MAY_MISFIT /nodes/2/input",
    ]);
  });
});

describe("a constraint", () => {
  const checked = (...success: NonNullable<Plan["nodes"][number]["success"]>): Plan => ({
    ...offsite,
    nodes: offsite.nodes.map(({ success: _success, ...node }, k) => ({
      ...node,
      ...(k === 0 ? { success } : {}),
    })),
  });

  test("is shown with what checks it", () => {
    expect(coverOf(offsite, catalogue)).toEqual([
      {
        constraint: "room_for_all",
        says: "Each booking has places for all.",
        by: ["flight", "rooms", "hall"].map((name) => `${name}: atLeast /places 1`),
      },
    ]);
  });

  test.each<[string, Plan, string[]]>([
    ["that could fail is taken", checked({ is: "atLeast", at: "/places", value: 1 }), []],
    [
      "that never fails is told of",
      checked(
        { is: "present", at: "/places" },
        { is: "atMost", at: "/places", value: Number.MAX_SAFE_INTEGER },
      ),
      [
        'CHECK_VOID /constraints/0 what checks "room_for_all" never fails, whatever is said: ' +
          '"flight: present /places", "flight: atMost /places 9007199254740991"',
      ],
    ],
    [
      "that only asks for presence is told of",
      {
        ...giving("kind"),
        ...{ constraints: offsite.constraints, edges: [] },
        nodes: giving("kind")
          .nodes.slice(0, 1)
          .map((node) => ({
            ...node,
            ...{ covers: ["stay", "room_for_all"], success: [{ is: "present", at: "/note" }] },
          })),
      },
      [
        'CHECK_WEAK /constraints/0 what checks "room_for_all" asks only whether something is there, and not what: ' +
          '"a: present /note"',
      ],
    ],
  ])("with a check %s", (_, plan, expected) => {
    expect(told(plan)).toEqual(expected);
  });

  test("is shown to the planner with its checks, and one that nothing fails is mended", async () => {
    const empty = checked({ is: "present", at: "/places" });
    const shown: unknown[] = [];
    const model = scriptedModel("model", (request) => {
      const { step, checks } = questionOf(request) as { step: string; checks?: { by: string[] }[] };
      shown.push([step, checks?.[0]?.by[0]]);
      return { text: JSON.stringify(answerOf(step === "whole" ? offsite : empty, step)) };
    });
    const planner = definePlanner({ model: "model" });
    await using t = testMesh(defineApp({ sagas: [planner], models: { model }, tools }));
    const saga = await t.start(planner, { spec: "Book all.", catalogue });
    expect(await saga.result()).toMatchObject({ status: "completed", output: { plan: offsite, rounds: 1 } });
    const weak = "flight: present /places";
    expect(shown.filter((one, k) => JSON.stringify(one) !== JSON.stringify(shown[k - 1]))).toEqual([
      ...[
        ["roles", undefined],
        ["nodes", undefined],
      ],
      ...["edges", "logs", "agents", "whole"].map((step) => [step, weak]),
    ]);
  });
});
