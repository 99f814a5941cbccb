/**
 * Goal: validators judge a workflow's plan, its inputs, its outputs and what would be committed, and what they say
 * happens: a refusal is undone, a change is made within the budget and judged again, what planners are to know reaches
 * them, and nobody who cannot say has said yes.
 * Method: given, when, then over the ledger of the workflow, each folded twice; the travel planning's budget, and a
 * crash matrix of a workflow with its validators on a mesh in memory.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineApp, defineTool } from "sagamesh";
import { defineWorkflow, type NodeConfig } from "sagamesh/workflow";
import { defineValidator, honestOutput, type Validator } from "sagamesh/validators";
import {
  failed,
  fired,
  given,
  signalled,
  started,
  type Story,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { crashMatrix, testMesh } from "../../../services/testing/index.ts";
import type { WorkflowContext } from "../../../actors/workflow/spec.ts";
import cases from "../validators/cases.json" with { type: "json" };

const Leg = z.object({ total_cost: z.number(), minutes: z.number().default(0) });
const refund = defineTool({
  ...{ name: "refund", description: "Undoes.", effect: "idempotent" },
  ...{ input: z.object({ of: z.string() }), output: z.json(), retry: { attemptsMax: 1, backoffMs: 1 } },
});
const book = (name: string) =>
  defineTool({
    ...{ name, description: "Books.", effect: "idempotent", input: Leg, output: Leg },
    retry: { attemptsMax: 1, backoffMs: 1 },
    compensation: { tool: refund, input: () => ({ of: name }) },
  });
const judge = (name: string): Validator => defineValidator({ name, check: "elsewhere" });
const judging = judge("judging");
const legs = ["T1", "T2", "T3", "T4", "T5"];
const journey = (more: object = {}, ofT4: Partial<NodeConfig> = {}) =>
  defineWorkflow({
    ...{ name: "journey", version: 1, input: z.json(), output: z.json() },
    nodes: Object.fromEntries(
      legs.map((leg, k) => [
        leg,
        {
          run: book(leg),
          after: k === 0 ? [] : [legs[k - 1]],
          input: () => ({ total_cost: 1, minutes: 0 }),
          ...(leg === "T4" ? ofT4 : {}),
        },
      ]),
    ) as Record<string, NodeConfig>,
    ...more,
  });
const begun = started({});
const leg = (name: string, total_cost = 900) => succeeded(name, { total_cost, minutes: 0 });
const shown = { digest: "d", tokens: 10 };
const said = (more: object, validator = "judging") =>
  succeeded(validator, { validator, by: "code", shown, judged: "j", ...more });
const yes = said({ verdict: "accept" });
const no = said({ verdict: "reject", reason: "over 5000 USD" });
/** All tools that are open succeed, until none is. */
function drained(story: Story): Story {
  if (story.state.phase.kind === "ended") return story;
  const id = story.open.find((one) => story.state.open[one]?.intent.kind === "tool");
  return id === undefined ? story : drained(story.when(leg(id)));
}
/** How many effects were undone. */
const undoneIn = ({ turns }: Story): number =>
  turns.flatMap(({ steps }) => steps.flatMap(({ intents }) => intents)).filter((one) => "undoes" in one)
    .length;
const contextOf = (story: Story) => story.state.snapshot.context as WorkflowContext;
const answered = (answer: boolean) => voted("question", "answer", { answer });
const asks = { kind: "saga", name: "judging" } as const;
const runs = (name: string) => ({ kind: "tool", name }) as const;
const undoes = (undone: string) => ({ kind: "tool", name: "refund", undoes: undone }) as const;

describe("before it runs", () => {
  const before = journey({}, { validators: { before: [judging] } });
  const asked = given(before, begun, leg("T1"), leg("T2")).when(leg("T3"));

  test("a node's input is shown to its judge, with the rest of what that declares, and it runs after a yes", () => {
    asked.then({ ...asks, input: { seen: { item: { total_cost: 1, minutes: 0 } } } });
    asked.when(yes).then({ ...runs("T4"), input: { total_cost: 1, minutes: 0 } });
  });

  test("a node that is refused never ran: nothing of it is undone, and what was done is, in reverse", () => {
    const story = asked.when(no);
    story.then(undoes("3-0"));
    const end = story
      .when(succeeded("refund", {}))
      .when(succeeded("refund", {}))
      .when(succeeded("refund", {})).end;
    expect(end).toMatchObject({ status: "failed", code: "VALIDATION_REJECTED", standing: [] });
  });
});

describe("before it commits", () => {
  const commit = journey({ onFailure: "replan", replansMax: 1 }, { validators: { commit: [judging] } });
  const asked = given(commit, begun, leg("T1"), leg("T2"), leg("T3")).when(leg("T4", 4_000));

  test("a total over the budget is refused: T4 is undone, T1 to T3 stay until replanning is exhausted", () => {
    const expected = cases.journey.expected.find(({ event }) => event.includes("at T4"));
    expect(expected?.outcome).toContain("T1..T3 stay until replanning is exhausted");
    asked.then(asks);
    const rejected = asked.when(no);
    rejected.then(undoes("4-0"));
    // The same is planned again, once; and if that is refused too, all is undone.
    const again = rejected.when(succeeded("refund", {}));
    again.then(runs("T4"));
    expect(contextOf(again).nodes["T3"]?.status).toBe("committed");
    expect(contextOf(again).nodes["T4"]?.before?.[0]).toMatchObject({ reason: "judging: over 5000 USD" });
    const exhausted = again.when(leg("T4", 3_900)).when(no).when(succeeded("refund", {}));
    exhausted.then(undoes("3-0"));
  });

  test("nothing of it is shown as committed before all have said yes", () => {
    expect(contextOf(asked).nodes["T4"]?.status).toBe("running");
    const going = asked.when(yes);
    going.then(runs("T5"));
    expect(contextOf(going).nodes["T4"]).toMatchObject({
      status: "committed",
      verdicts: [{ validator: "judging", stage: "commit", verdict: "accept", tokens: 10 }],
    });
  });

  test("a cancel while it is judged undoes it like any run that succeeded, once, and the judge is called off", () => {
    const cancelled = asked.when(signalled("cancel"));
    cancelled.then({ kind: "signal", name: "cancel" });
    const judgeEnds = failed("judging", { code: "CANCELLED", retry: false });
    cancelled.when(judgeEnds).then(undoes("4-0"));
  });
});

describe("when it has run", () => {
  test("every judge is asked at once, and one refusal is enough once all have spoken", () => {
    const two = journey({}, { validators: { output: [judging, judge("other")] } });
    const story = given(two, begun, leg("T1"), leg("T2"), leg("T3")).when(leg("T4"));
    story.then(asks, { kind: "saga", name: "other" });
    story.when(no).thenNothing();
    story
      .when(no)
      .when(said({ verdict: "accept" }, "other"))
      .then(undoes("4-0"));
    story
      .when(yes)
      .when(said({ verdict: "accept" }, "other"))
      .then(runs("T5"));
  });

  test("a judge of the workflow judges every node, and one that is dead has not said yes", () => {
    const every = journey({ validators: { output: [judging] } });
    const story = given(every, begun).when(leg("T1"));
    story.then(asks);
    story.when(failed("judging", { code: "MODEL_FAILED", retry: false })).then(undoes("1-0"));
    story.when(yes).then(runs("T2")).when(leg("T2")).then(asks);
  });
});

describe("a change", () => {
  const augment = { units: { min: 15 } };
  const later = (minutes: number) =>
    said({
      verdict: "augment",
      reason: "nobody leaves a plane at once",
      changes: [
        {
          at: "/minutes",
          to: minutes,
          amount: minutes,
          unit: "min",
          what: "time to leave",
          why: "common sense",
        },
      ],
    });
  const asked = (more: object) =>
    given(
      journey({ augment, ...more }, { validators: { before: [judging] } }),
      begun,
      leg("T1"),
      leg("T2"),
    ).when(leg("T3"));

  test("within the budget is made and judged again, and the node runs with it", () => {
    const again = asked({}).when(later(15));
    again.then({ ...asks, input: { seen: { item: { minutes: 15 } } } });
    again.when(yes).then({ ...runs("T4"), input: { total_cost: 1, minutes: 15 } });
    expect(contextOf(again).augmented).toEqual({ min: 15 });
  });

  test("over the budget is refused, also when it comes in small steps", () => {
    asked({}).when(later(30)).then(undoes("3-0"));
    expect(contextOf(asked({}).when(later(30))).nodes["T4"]).toMatchObject({ code: "AUGMENT_REFUSED" });
    asked({}).when(later(10)).when(later(20)).then(undoes("3-0"));
  });

  test("over the budget is put before people where the workflow says so, and their yes makes it", () => {
    const task = asked({ augment: { ...augment, over: "ask" } }).when(later(30));
    task.then({ kind: "task", about: "question" });
    task
      .when(answered(true))
      .then({ ...asks, input: { seen: { item: { minutes: 30 } } } })
      .when(yes)
      .then({ ...runs("T4"), input: { minutes: 30 } });
    task.when(answered(false)).then(undoes("3-0"));
  });

  test("that goes on for ever ends, and one that no budget allows is never made", () => {
    const wide = { augment: { units: { min: 1_000 }, times: 2 } };
    asked(wide).when(later(1)).when(later(2)).when(later(3)).then(undoes("3-0"));
    asked({ augment: undefined }).when(later(1)).then(undoes("3-0"));
  });

  test("of an output must fit what the node gives", () => {
    const output = journey({ augment: { units: { u: 9 } } }, { validators: { output: [judging] } });
    const story = given(output, begun, leg("T1"), leg("T2"), leg("T3")).when(leg("T4"));
    const change = { at: "/total_cost", amount: 1, unit: "u", what: "w", why: "y" };
    story
      .when(said({ verdict: "augment", reason: "r", changes: [{ ...change, to: "dear" }] }))
      .then(undoes("4-0"));
    const cheaper = story
      .when(said({ verdict: "augment", reason: "r", changes: [{ ...change, to: 901 }] }))
      .when(yes);
    expect(contextOf(cheaper).nodes["T4"]?.output).toEqual({ total_cost: 901, minutes: 0 });
  });
});

describe("not to know", () => {
  const doubt = said({ verdict: "undecided", reason: "I do not see the map" });
  const asked = (whenUndecided?: string) =>
    given(
      journey(whenUndecided === undefined ? {} : { whenUndecided }, { validators: { before: [judging] } }),
      begun,
      leg("T1"),
      leg("T2"),
    ).when(leg("T3"));

  test("is a refusal, a question or nothing, as the workflow says", () => {
    asked().when(doubt).then(undoes("3-0"));
    asked("accept").when(doubt).then(runs("T4"));
    const task = asked("ask").when(doubt);
    task.then({
      ...{ kind: "task", about: "question" },
      question: 'May "T4" go on (before)? judging: I do not see the map',
    });
    task.when(answered(true)).then(runs("T4"));
    task.when(answered(false)).then(undoes("3-0"));
  });
});

describe("while people are asked", () => {
  const doubt = said({ verdict: "undecided", reason: "I do not see the map" });
  const change = { at: "/minutes", to: 30, amount: 30, unit: "min", what: "a walk", why: "it is nice" };
  const more = said({ verdict: "augment", reason: "a walk", changes: [change] });
  const terms = { whenUndecided: "ask", augment: { units: { min: 15 }, over: "ask" } };
  const asked = (stage: "before" | "output", answer: typeof doubt, replans: object = {}) => {
    const flow = journey({ ...terms, ...replans }, { validators: { [stage]: [judging] } });
    const story = given(flow, begun, leg("T1"), leg("T2")).when(leg("T3"));
    return (stage === "before" ? story : story.when(leg("T4"))).when(answer);
  };
  const cases: [string, "before" | "output", typeof doubt][] = [
    ["whether a node may run", "before", doubt],
    ["whether what it did may stand", "output", doubt],
    ["whether a change may be made", "before", more],
    ["whether a change of what it did may be made", "output", more],
  ];

  test.each(cases)("%s, a cancel asks no more and undoes what was done, once", (_, stage, answer) => {
    const story = asked(stage, answer);
    story.then({ kind: "task", about: "question" });
    const cancelled = story.when(signalled("cancel"));
    const undone = drained(cancelled);
    expect(undone.end).toMatchObject({ status: "cancelled", standing: [] });
    expect([undone.open, undoneIn(undone)]).toEqual([[], stage === "before" ? 3 : 4]);
  });

  test.each(cases)("%s, what falls asks no more, and is asked about anew", (_, stage, answer) => {
    const story = asked(stage, answer, { onFailure: "replan", replansMax: 1 });
    const fallen = story.when(signalled("invalidate", { node: "T3", reason: "a strike" }));
    expect(fallen.open.map((id) => fallen.state.open[id]?.intent.kind)).toEqual(["tool"]);
    const again = drained(fallen);
    expect(again.intents).toMatchObject([{ kind: "saga", name: "judging" }]);
    expect(drained(again.when(yes)).end).toMatchObject({ status: "completed" });
  });

  test.each(cases)("%s, silence is no yes, and is told as silence", (_, stage, answer) => {
    const story = asked(stage, answer).when(fired("question"));
    expect(contextOf(story).nodes["T4"]?.reason).toMatch(/^it was not allowed: .*time/);
    expect(drained(story).end).toMatchObject({ status: "failed", standing: [] });
  });
});

describe("the plan", () => {
  const planner = defineTool({
    ...{ name: "planner", description: "Plans.", effect: "read", input: z.json(), output: z.json() },
  });
  const planned = journey({
    validators: { plan: [judging] },
    onFailure: "replan",
    replansMax: 3,
    replanner: planner,
  });

  test("is judged before anything of it runs, with what each node rests on and what undoes it", () => {
    const story = given(planned).when(begun);
    const second = { name: "T2", run: "T2", kind: "tool", after: ["T1"], when: { node: "T1" } };
    story.then({ ...asks, input: { seen: { item: { edges: cases.journey.dependencies } } } });
    const [judged] = story.intents as unknown as { input?: { seen: { item: { nodes: unknown[] } } } }[];
    expect(judged?.input?.seen.item.nodes[1]).toMatchObject(second);
    story.when(yes).then(runs("T1"));
    expect(story.when(no).end).toMatchObject({ status: "failed", code: "VALIDATION_REJECTED" });
  });

  test("as a patch would have it is judged before it is taken, and a refused one is planned again, told why", () => {
    const asked = given(planned, begun, yes).when(failed("T1", { code: "FULL", retry: false }));
    asked.then({ kind: "tool", name: "planner" });
    const patch = { nodes: [{ name: "T1", run: "T2", input: { total_cost: 2 } }] };
    const patched = asked.when(succeeded("planner", patch));
    patched.then(asks);
    patched.when(yes).then({ ...runs("T2"), input: { total_cost: 2 } });
    patched.when(no).then({ kind: "tool", name: "planner", input: { faults: ["judging: over 5000 USD"] } });
  });

  test("and what a judge wants known reach whoever plans next", () => {
    const fed = journey({ validators: { output: [judging] }, onFailure: "replan", replanner: planner });
    const known = said({ verdict: "feedback", reason: "the later flight is cheaper" });
    const story = given(fed, begun, leg("T1")).when(known);
    story.then(runs("T2"));
    story.when(failed("T2", { code: "FULL", retry: false })).then({
      ...{ kind: "tool", name: "planner" },
      input: {
        feedback: [
          { from: "T1/judging", node: "T1", stage: "output", reason: "the later flight is cheaper" },
        ],
      },
    });
  });

  test("cannot take a node's judges away: what stands in its place is judged by them", () => {
    const guarded = journey(
      { onFailure: "replan", replanner: planner },
      { validators: { before: [judging] } },
    );
    const story = given(guarded, begun, leg("T1"), leg("T2"), leg("T3"), no).when(
      succeeded("planner", {
        nodes: [{ name: "T4", run: "T4", input: { total_cost: 7 } }],
        edges: [{ from: "T3", to: "T4" }],
      }),
    );
    story.then({ ...asks, input: { seen: { item: { total_cost: 7 } } } });
  });
});

describe("on a mesh", () => {
  const held = new Set<string>();
  const known = new Set<string>();
  const release = defineTool({
    ...{
      name: "release",
      description: "Undoes.",
      effect: "idempotent",
      input: z.object({ key: z.string() }),
      output: z.json(),
    },
    perform: async ({ key }) => {
      held.delete(key);
      return {};
    },
  });
  const reserve = (name: string, answer: (key: string) => { status: string }) =>
    defineTool({
      ...{ name, description: "Reserves.", effect: "idempotent", input: z.json(), output: z.json() },
      compensation: { tool: release, input: ({ key }) => ({ key }) },
      perform: async (_, { key }) => {
        if (!known.has(key)) held.add(key);
        known.add(key);
        return answer(key);
      },
    });
  const honest = honestOutput();
  const car = reserve("car", () => ({ status: "FAILED: no vehicle is free" }));
  const validators = { output: [honest] };
  const flow = defineWorkflow({
    ...{ name: "flow", version: 1, input: z.json(), validators },
    nodes: {
      flight: { run: reserve("flight", () => ({ status: "confirmed" })) },
      car: { run: car, after: ["flight"] },
    },
  });
  const alone = defineWorkflow({
    ...{ name: "alone", version: 1, input: z.json(), validators, nodes: { car: { run: car } } },
  });
  const app = defineApp({ sagas: [flow] });

  test("an output that says it failed though it was a success is undone, and its verdict stands in the ledger", async () => {
    await using mesh = testMesh(app);
    const saga = await mesh.start(flow, {});
    expect(await saga.result()).toMatchObject({
      ...{ status: "failed", standing: [], reason: expect.stringContaining("FAILED: no vehicle") as unknown },
    });
    expect([...held]).toEqual([]);
    expect(mesh.effects("check_honest_output")).toHaveLength(2);
    const verdicts = (await saga.ledger()).flatMap(({ steps }) =>
      steps.flatMap(({ event }) =>
        event.type === "result" && event.result.outcome === "succeeded" && event.spent !== undefined
          ? [{ output: event.result.output, calls: event.spent.toolCalls }]
          : [],
      ),
    );
    expect(verdicts).toMatchObject([
      { output: { verdict: "accept", validator: "honest_output" }, calls: 1 },
      {
        output: { verdict: "reject", judged: expect.any(String) as unknown, shown: { tokens: 14 } },
        calls: 1,
      },
    ]);
  });

  test("the same comes of it with one death at each write of host and worker", async () => {
    const report = await crashMatrix(defineApp({ sagas: [alone] }), async (mesh) => {
      held.clear();
      known.clear();
      const saga = await mesh.start(alone, {}, { id: "alone-1" });
      const { status } = await saga.result();
      return { status, held: held.size, booked: known.size };
    });
    expect(report.faults, report.text).toEqual([]);
    expect(report.rows.length).toBeGreaterThan(20);
  });
});
