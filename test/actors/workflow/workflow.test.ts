/**
 * Goal: a workflow runs what is ready, and whatever fails, is taken back or is called off, the smallest set of what it
 * did is undone, once, what rests on a thing before that thing.
 * Method: given, when, then over ledgers, each folded twice.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import { defineWorkflow, type NodeConfig } from "../../../actors/workflow/define.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import {
  failed,
  fired,
  given,
  inDoubt,
  type Story,
  signalled,
  started,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { foldLedger } from "../../../actors/kernel/replay.ts";
import { nodeOfPlan, shapeFaults } from "../../../actors/workflow/plan.ts";
import type { WorkflowContext } from "../../../actors/workflow/spec.ts";
import type { Intent } from "../../../protocol/intent.ts";
import { PlannedNode } from "../../../protocol/workflow.ts";

const Of = z.object({ of: z.string() });
const Made = z.object({ id: z.string(), price: z.number().optional() });

const drop = defineTool({
  ...{ name: "drop", description: "Undoes.", effect: "idempotent" },
  ...{ input: z.object({ id: z.string() }), output: z.json(), retry: { attemptsMax: 1, backoffMs: 1 } },
});
const make = (name: string) =>
  defineTool({
    ...{ name, description: "Makes.", effect: "idempotent", input: z.json(), output: Made },
    retry: { attemptsMax: 1, backoffMs: 1 },
    compensation: { tool: drop, input: () => ({ id: name }) },
  });
const [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map(make) as [Tool, Tool, Tool, Tool, Tool];
type Tool = ReturnType<typeof make>;
const ask = defineTool({
  ...{ name: "ask", description: "Reads.", effect: "read", input: z.json(), output: z.json() },
});

interface More {
  readonly onFailure?: "end" | "replan";
  readonly replansMax?: number;
  readonly atEnd?: "undo" | "keep";
  readonly openForMs?: number;
  readonly edges?: readonly { from: string; to: string; when?: object }[];
}
const workflow = (nodes: Record<string, NodeConfig>, more: More = {}) =>
  defineWorkflow({
    ...{ name: "flow", version: 1, input: Of, signals: { weather: z.object({ node: z.string() }) } },
    on: { weather: ({ node }) => [{ node, reason: "a storm", data: { wind: 12 } }] },
    nodes: nodes,
    ...(more as object),
  });
const begun = started({ of: "x" });
const ok = { id: "i" };
const no = { code: "FULL", retry: false };
const contextOf = (story: Story) => story.state.snapshot.context as WorkflowContext;
const statusOf = (story: Story) =>
  Object.fromEntries(Object.entries(contextOf(story).nodes).map(([name, { status }]) => [name, status]));
const runs = (name: string) => ({ kind: "tool", name }) as const;
const undoes = (undone: string) => ({ kind: "tool", name: "drop", undoes: undone }) as const;

/** T1..T5 in a row. */
const chain = (more?: More) =>
  workflow(
    {
      a: { run: a },
      b: { run: b, after: ["a"] },
      c: { run: c, after: ["b"] },
      d: { run: d, after: ["c"] },
      e: { run: e, after: ["d"] },
    },
    more,
  );

describe("running", () => {
  test("independent nodes start together, and one that joins them once both have committed", () => {
    const flow = workflow({ a: { run: a }, b: { run: b }, c: { run: c, after: ["a", "b"] } });
    given(flow, begun)
      .then({ ...runs("a"), dependsOn: [], call: "a.1" }, { ...runs("b"), dependsOn: [], call: "b.1" })
      .when(succeeded("b", ok))
      .thenNothing()
      .when(succeeded("a", ok))
      .then({ ...runs("c"), dependsOn: ["a.1", "b.1"], call: "c.1" })
      .when(succeeded("c", { id: "z" }))
      .then({ kind: "end", status: "completed", output: { a: ok, b: ok, c: { id: "z" } }, standing: [] });
  });

  test("an input is made of what the workflow was given and of what earlier nodes said", () => {
    const flow = workflow({
      a: { run: a, input: ({ input }) => ({ first: input as never }) },
      b: { run: b, after: ["a"], input: ({ output }) => ({ id: output("a", a).id }) },
    });
    given(flow, begun)
      .then({ ...runs("a"), input: { first: { of: "x" } } })
      .when(succeeded("a", ok))
      .then({ ...runs("b"), input: { id: "i" } });
  });

  test("a condition chooses one of two branches, and the join goes on with the one that was chosen", () => {
    const flow = workflow(
      { a: { run: a }, b: { run: b }, c: { run: c }, d: { run: d, join: "any" } },
      {
        edges: [
          { from: "a", to: "b", when: { node: "a", at: "/price", is: "atMost", value: 10 } },
          { from: "a", to: "c", when: { node: "a", at: "/price", is: "atLeast", value: 11 } },
          { from: "b", to: "d" },
          { from: "c", to: "d" },
        ],
      },
    );
    const story = given(flow, begun, succeeded("a", { id: "i", price: 7 })).then(runs("b"));
    expect(statusOf(story)).toMatchObject({ c: "skipped", d: "waiting" });
    story
      .when(succeeded("b", ok))
      .then({ ...runs("d"), dependsOn: ["b.1", "a.1"] })
      .when(succeeded("d", ok))
      .then({ kind: "end", status: "completed" });
  });

  test("an any with one failed branch does not cascade", () => {
    const flow = workflow({
      a: { run: a },
      b: { run: b },
      c: { run: c, when: { any: [{ node: "a" }, { node: "b" }] } },
    });
    given(flow, begun, failed("a", no))
      .thenNothing()
      .when(succeeded("b", ok))
      .then(runs("c"))
      .when(succeeded("c", ok))
      .then({ kind: "end", status: "completed", standing: [] });
  });

  test("a node that stands in for one that failed runs only then", () => {
    const nodes = {
      a: { run: a },
      b: { run: b, when: { not: { node: "a" } } },
      c: { run: c, when: { any: [{ node: "a" }, { node: "b" }] } },
    };
    given(workflow(nodes), begun, failed("a", no)).then(runs("b"));
    const story = given(workflow(nodes), begun, succeeded("a", ok)).then(runs("c"));
    expect(statusOf(story)).toMatchObject({ b: "skipped" });
  });

  test("an optional node fails without the workflow", () => {
    const flow = workflow({ a: { run: a }, b: { run: b, after: ["a"], optional: true } });
    given(flow, begun, succeeded("a", ok), failed("b", no)).then({ kind: "end", status: "completed" });
  });

  test("an output that does not fit the node's log is a failure, and is undone", () => {
    const flow = workflow({ a: { run: a, log: z.object({ price: z.number() }) } });
    given(flow, begun)
      .when(succeeded("a", ok))
      .then(undoes("1-0"))
      .when(succeeded("drop", {}))
      .then({ kind: "end", status: "failed", code: "BAD_RESULT", standing: [] });
  });

  test("a node may be a workflow of its own, which undoes by itself what it did", () => {
    const inner = workflow({ a: { run: a } });
    const flow = defineWorkflow({
      ...{ name: "outer", version: 1, input: Of },
      nodes: { one: { run: inner }, two: { run: b, after: ["one"] } },
    });
    given(flow, begun)
      .then({ kind: "saga", name: "flow", call: "one.1", input: { of: "x" } })
      .when({
        ...{ type: "result", intent: "1-0" as never, attempt: 1, by: "test" },
        result: { outcome: "succeeded", output: {}, undoable: true },
      })
      .then({ ...runs("b"), dependsOn: ["one.1"] })
      .when(failed("b", no))
      .then({ kind: "saga", undoes: "1-0" });
  });
});

describe("a read", () => {
  test("of what has not committed is the reader's failure, and nothing of it is performed", () => {
    const flow = workflow({ a: { run: a }, b: { run: b, input: ({ output }) => output("a") } });
    const story = given(flow, begun);
    expect(statusOf(story)).toMatchObject({ b: "failed" });
    expect(contextOf(story).nodes["b"]).toMatchObject({
      code: "CALL_INVALID",
      reason: expect.stringContaining('"a" has not committed: name it in "after", or ask has("a")') as string,
    });
    expect(story.turns.flatMap(({ steps }) => steps.flatMap(({ intents }) => intents))).not.toContainEqual(
      expect.objectContaining(runs("b")),
    );
  });

  test("that a former version did not record is no other decision of it", () => {
    const flow = workflow({
      a: { run: a },
      b: { run: b },
      c: { run: c, after: ["b"], input: ({ output }) => output("a") },
    });
    const story = given(flow, begun, succeeded("a", ok), succeeded("b", ok));
    const recorded = (change: (intent: Intent) => Intent) =>
      story.turns.map((turn) => ({
        ...turn,
        steps: turn.steps.map((step) => ({ ...step, intents: step.intents.map(change) })),
      }));
    const ofC = (less: object) => (intent: Intent) =>
      intent.kind === "tool" && intent.name === "c" ? { ...intent, inputFrom: undefined, ...less } : intent;
    const former = recorded(ofC({ dependsOn: ["b.1"] }));
    expect(foldLedger(flow.definition, former).state).toEqual(story.state);
    const other = recorded(ofC({ dependsOn: ["z.1"] }));
    expect(() => foldLedger(flow.definition, other)).toThrow(/FOLD_DIVERGED/);
    const forged = recorded(ofC({ dependsOn: ["b.1"], inputFrom: ["b.1"] }));
    expect(() => foldLedger(flow.definition, forged)).toThrow(/FOLD_DIVERGED/);
  });
});

describe("a failure", () => {
  test("of the first node leaves nothing to undo", () => {
    given(chain(), begun)
      .when(failed("a", no))
      .then({ kind: "end", status: "failed", code: "FULL", standing: [] });
  });

  test("of the third undoes the second, then the first", () => {
    given(chain(), begun, succeeded("a", ok), succeeded("b", ok))
      .when(failed("c", no))
      .then(undoes("2-0"))
      .when(succeeded("drop", {}))
      .then(undoes("1-0"))
      .when(succeeded("drop", {}))
      .then({ kind: "end", status: "failed", code: "FULL", standing: [] });
  });

  test("is tried again as often as the workflow says, before anything else is undone", () => {
    const flow = chain({ onFailure: "replan", replansMax: 1 });
    given(flow, begun, succeeded("a", ok), succeeded("b", ok))
      .when(failed("c", no))
      .then({ ...runs("c"), call: "c.2", dependsOn: ["b.1", "a.1"] })
      .when(failed("c", no))
      .then(undoes("2-0"));
  });

  test("that may have left something is undone before the node is tried again", () => {
    const flow = workflow({ a: { run: a } }, { onFailure: "replan" });
    given(flow, begun)
      .when(failed("a", { code: "UNAVAILABLE", retry: true }))
      .then(undoes("1-0"))
      .when(succeeded("drop", {}))
      .then({ ...runs("a"), call: "a.2" })
      .when(succeeded("a", ok))
      .then({ kind: "end", status: "completed", standing: [] });
  });

  test("stops what runs beside it, and waits for how that ends before it undoes it", () => {
    const flow = workflow({ a: { run: a }, b: { run: b } });
    given(flow, begun)
      .when(failed("a", no))
      .thenNothing()
      .when(succeeded("b", ok))
      .then(undoes("1-1"))
      .when(succeeded("drop", {}))
      .then({ kind: "end", status: "failed", standing: [] });
  });

  test("with atEnd keep leaves what it did not touch, and the end lists it", () => {
    const flow = workflow({ a: { run: a }, b: { run: b, after: ["a"] } }, { atEnd: "keep" });
    given(flow, begun, succeeded("a", ok))
      .when(failed("b", no))
      .then({ kind: "end", status: "failed", standing: [/^a /] });
  });
});

describe("an invalidation", () => {
  const all = ["a", "b", "c", "d", "e"] as const;
  const done = (more?: More) =>
    given(chain({ openForMs: 1_000_000, ...more }), begun, ...all.map((name) => succeeded(name, ok)));
  const of = (node: string, more: object = {}) => signalled("invalidate", { node, reason: "gone", ...more });

  test("of the third of five undoes it and what rests on it, from the last, and that part is done again", () => {
    const story = done({ onFailure: "replan" })
      .when(of("c", { data: { until: 9 } }))
      .then(undoes("5-0"))
      .when(succeeded("drop", {}))
      .then(undoes("4-0"))
      .when(succeeded("drop", {}))
      .then(undoes("3-0"))
      .when(succeeded("drop", { refunded: 0.5 }))
      .then({ ...runs("c"), call: "c.2", dependsOn: ["b.1", "a.1"] });
    expect(contextOf(story).nodes["c"]).toMatchObject({
      status: "running",
      before: [{ call: "c.1", code: "INVALIDATED", reason: "gone", output: ok, undone: { refunded: 0.5 } }],
    });
    expect(contextOf(story).changes["c"]).toMatchObject({ reason: "gone", data: { until: 9 } });
  });

  test("is seen by the inputs of what is done again", () => {
    const flow = workflow(
      {
        a: {
          run: a,
          input: ({ attempt, before, changes }) => ({
            attempt,
            why: before.map(({ reason }) => reason),
            until: changes["a"]?.data ?? null,
          }),
        },
      },
      { onFailure: "replan", openForMs: 1000 },
    );
    given(flow, begun, succeeded("a", ok))
      .when(of("a", { data: 9 }))
      .then(undoes("1-0"))
      .when(succeeded("drop", {}))
      .then({ ...runs("a"), input: { attempt: 2, why: ["gone"], until: 9 } });
  });

  test("of the first undoes all of them, each once, in reverse", () => {
    let story = done().when(of("a"));
    for (const intent of ["5-0", "4-0", "3-0", "2-0", "1-0"])
      story = story.then(undoes(intent)).when(succeeded("drop", {}));
    story.then({ kind: "end", status: "failed", code: "INVALIDATED", standing: [] });
  });

  test("of the third, where nothing is done again, undoes the rest after it", () => {
    let story = done().when(of("c"));
    for (const intent of ["5-0", "4-0", "3-0", "2-0", "1-0"])
      story = story.then(undoes(intent)).when(succeeded("drop", {}));
    story.then({ kind: "end", status: "failed", standing: [] });
  });

  test("leaves what is kept, and what rests on that alone", () => {
    done({ onFailure: "replan" })
      .when(of("b", { keep: ["c"] }))
      .then(undoes("2-0"))
      .when(succeeded("drop", {}))
      .then({ ...runs("b"), call: "b.2" })
      .when(succeeded("b", ok))
      .then({ kind: "timer" });
  });

  test("leaves a dependent whose condition still holds by another branch", () => {
    const flow = workflow(
      { a: { run: a }, b: { run: b }, c: { run: c, when: { any: [{ node: "a" }, { node: "b" }] } } },
      { openForMs: 1000, onFailure: "replan" },
    );
    given(flow, begun, succeeded("a", ok), succeeded("b", ok), succeeded("c", ok))
      .when(of("a"))
      .then(undoes("1-0"))
      .when(succeeded("drop", {}))
      .then({ ...runs("a"), call: "a.2" });
  });

  test("takes what read it along, with an edge or without", () => {
    const flow = workflow(
      {
        a: { run: a },
        b: { run: b },
        c: { run: c, after: ["b"], input: ({ output }) => ({ a: output("a") }) },
        d: { run: d, after: ["b"], input: ({ has }) => ({ a: has("a") }) },
        e: { run: e, after: ["b"] },
      },
      { onFailure: "replan", openForMs: 1000 },
    );
    const up = given(flow, begun, succeeded("a", ok), succeeded("b", ok));
    const ground = { dependsOn: ["b.1", "a.1"], inputFrom: ["a.1"] };
    expect(up.intents.slice(-3)).toMatchObject([
      { ...runs("c"), ...ground },
      { ...runs("d"), ...ground },
      runs("e"),
    ]);
    expect(up.intents.at(-1)).not.toHaveProperty("inputFrom");
    up.when(succeeded("c", ok))
      .when(succeeded("d", ok))
      .when(succeeded("e", ok))
      .when(of("a"))
      .then(undoes("3-0"), undoes("3-1"));
  });

  test("of the branch that a node read takes the node along, although another branch holds it", () => {
    const flow = workflow(
      {
        a: { run: a },
        b: { run: b },
        c: {
          run: c,
          when: { any: [{ node: "a" }, { node: "b" }] },
          input: ({ has, output }) => (has("a") ? output("a") : output("b")),
        },
      },
      { openForMs: 1000, onFailure: "replan" },
    );
    const up = given(flow, begun, succeeded("a", ok), succeeded("b", ok), succeeded("c", ok));
    up.when(of("a")).then(undoes("2-0"));
    up.when(of("b")).then({ kind: "tool", undoes: "1-1" });
  });

  test("leaves what began on a no: what was asked after may commit later and be taken back, and nothing follows", () => {
    const flow = workflow(
      {
        a: { run: a },
        b: { run: b, input: ({ has, signals, attempts }) => [has("a"), attempts("a"), signals as never] },
      },
      { onFailure: "replan", openForMs: 1000 },
    );
    const asked = given(flow, begun);
    expect(asked.intents.at(-1)).toMatchObject({ ...runs("b"), input: [false, [], {}], dependsOn: [] });
    const up = asked.when(succeeded("b", ok)).when(succeeded("a", ok));
    expect(statusOf(up)).toEqual({ a: "committed", b: "committed" });
    const again = up.when(of("a"));
    again.then(undoes("1-0"));
    again.when(succeeded("drop", {})).then({ ...runs("a"), call: "a.2" });
  });

  test("leaves an unrelated branch, which goes on meanwhile", () => {
    const flow = workflow(
      { a: { run: a }, b: { run: b, after: ["a"] }, c: { run: c }, d: { run: d, after: ["c"] } },
      { onFailure: "replan" },
    );
    given(flow, begun, succeeded("a", ok), succeeded("b", ok))
      .when(of("a"))
      .then(undoes("2-0"))
      .when(succeeded("c", ok))
      .then(runs("d"));
  });

  test("of what rests on something in flight waits for that, and undoes a late success with the rest", () => {
    const flow = workflow({ a: { run: a }, b: { run: b, after: ["a"] } }, { onFailure: "replan" });
    given(flow, begun, succeeded("a", ok))
      .when(of("a"))
      .thenNothing()
      .when(succeeded("b", ok))
      .then(undoes("2-0"))
      .when(succeeded("drop", {}))
      .then(undoes("1-0"))
      .when(succeeded("drop", {}))
      .then({ ...runs("a"), call: "a.2" });
  });

  test("that comes while its node is being undone changes nothing", () => {
    done({ onFailure: "replan" })
      .when(of("d"))
      .then(undoes("5-0"))
      .when(of("d"))
      .thenNothing()
      .when(of("e"))
      .thenNothing();
  });

  test("of what others rest on, while those are being undone, waits for them", () => {
    done({ onFailure: "replan", replansMax: 2 })
      .when(of("d"))
      .then(undoes("5-0"))
      .when(of("c"))
      .thenNothing()
      .when(succeeded("drop", {}))
      .then(undoes("4-0"))
      .when(succeeded("drop", {}))
      .then(undoes("3-0"))
      .when(succeeded("drop", {}))
      .then({ ...runs("c"), call: "c.2" });
  });

  test("of what a node rests on that is being undone for itself waits for that one too", () => {
    const flow = workflow(
      { a: { run: a }, b: { run: b, when: { any: [{ node: "a" }, { not: { node: "a" } }] } } },
      { openForMs: 1000, onFailure: "replan", replansMax: 2 },
    );
    given(flow, begun, succeeded("a", ok), succeeded("b", ok))
      .when(of("b"))
      .then(undoes("2-0"))
      .when(of("a"))
      .thenNothing()
      .when(succeeded("drop", {}))
      .then(undoes("1-0"))
      .when(succeeded("drop", {}))
      .then({ ...runs("a"), call: "a.2" });
  });

  test("of a node that has not run is remembered, for when it does", () => {
    const flow = workflow({
      a: { run: a },
      b: { run: b, after: ["a"], input: ({ changes }) => changes["b"]?.reason },
    });
    given(flow, begun)
      .when(of("b"))
      .thenNothing()
      .when(succeeded("a", ok))
      .then({ ...runs("b"), input: "gone" });
  });

  test("of no node of the graph is refused, and so is one that keeps what it takes back", () => {
    given(chain(), begun)
      .when(of("z"))
      .thenRefused("INPUT_INVALID")
      .when(of("a", { keep: ["a"] }))
      .thenRefused("INPUT_INVALID")
      .when(signalled("invalidate", "a"))
      .thenRefused("INPUT_INVALID");
  });

  test("follows from a declared signal, where the definition says so", () => {
    const story = done({ onFailure: "replan" })
      .when(signalled("weather", { node: "e" }))
      .then(undoes("5-0"))
      .when(succeeded("drop", {}))
      .then({ ...runs("e"), call: "e.2" });
    expect(contextOf(story).changes["e"]).toMatchObject({ reason: "a storm", data: { wind: 12 } });
    expect(contextOf(story).heard).toEqual({ weather: { node: "e" } });
  });

  test("is possible for as long as the workflow says, and no longer", () => {
    const story = done();
    story.when(fired("timer")).then({ kind: "end", status: "completed" });
    story.when(signalled("conclude")).then({ kind: "end", status: "completed" });
    story.when(signalled("conclude")).when(of("a")).thenRefused("SAGA_ENDED");
  });

  test("of a point of no return undoes only what rests on it, and does it again", () => {
    const flow = workflow(
      { a: { run: a, pointOfNoReturn: true }, b: { run: b, after: ["a"] } },
      { onFailure: "replan", openForMs: 1000 },
    );
    given(flow, begun, succeeded("a", ok), succeeded("b", ok))
      .when(of("a"))
      .then(undoes("2-0"))
      .when(succeeded("drop", {}))
      .then({ ...runs("a"), call: "a.2" });
  });
});

describe("undoing", () => {
  test("goes in parallel where one does not rest on the other", () => {
    const flow = workflow({
      a: { run: a },
      b: { run: b, after: ["a"] },
      c: { run: c, after: ["a"] },
      d: { run: d, after: ["b", "c"] },
    });
    given(flow, begun, succeeded("a", ok), succeeded("b", ok), succeeded("c", ok))
      .when(failed("d", no))
      .then(undoes("2-0"), undoes("2-1"))
      .when(succeeded("2-0", {}));
  });

  test("goes by what rests on what through a node that only reads", () => {
    const flow = workflow({ a: { run: a }, q: { run: ask, after: ["a"] }, b: { run: b, after: ["q"] } });
    given(flow, begun, succeeded("a", ok), succeeded("ask", 1), succeeded("b", ok)).then({ kind: "end" });
    given(
      workflow({
        a: { run: a },
        q: { run: ask, after: ["a"] },
        b: { run: b, after: ["q"] },
        c: { run: c, after: ["b"] },
      }),
      begun,
      succeeded("a", ok),
      succeeded("ask", 1),
      succeeded("b", ok),
    )
      .when(failed("c", no))
      .then(undoes("3-0"))
      .when(succeeded("drop", {}))
      .then(undoes("1-0"));
  });

  test("does not follow the time: what committed last goes together with what it does not rest on", () => {
    const flow = workflow({
      a: { run: a },
      b: { run: b, after: ["a"] },
      c: { run: c },
      d: { run: d, after: ["b", "c"] },
    });
    given(flow, begun, succeeded("c", ok), succeeded("a", ok), succeeded("b", ok))
      .when(failed("d", no))
      .then(undoes("1-1"), undoes("3-0"))
      .when(succeeded("5-1", {}))
      .then(undoes("1-0"));
  });

  test("by a node's own compensation goes before what its tool declares", () => {
    const flow = workflow({
      a: {
        run: a,
        compensation: { run: drop, input: ({ key, outcome }) => ({ id: `${outcome} ${key.slice(0, 1)}` }) },
      },
      b: { run: b, after: ["a"] },
    });
    given(flow, begun, succeeded("a", ok))
      .when(failed("b", no))
      .then({ ...undoes("1-0"), input: { id: "succeeded s" } });
  });

  const mender = defineAgent({
    ...{ name: "mender", version: 1, description: "Undoes.", model: "m", instructions: "Undo." },
    ...{ input: z.object({ id: z.string() }), output: z.json(), signals: {}, tools: [] },
  });
  const withMender = workflow({
    a: {
      run: a,
      compensation: { run: mender, input: ({ output }) => ({ id: (output as { id: string }).id }) },
    },
    b: { run: b, after: ["a"] },
  });
  const ofMender = (result: object): Parameters<Story["when"]>[0] =>
    ({ type: "result", intent: "3-0", attempt: 1, by: "test", result }) as never;

  test("may be an agent's work: a saga that is started for it", () => {
    given(withMender, begun, succeeded("a", ok))
      .when(failed("b", no))
      .then({ kind: "saga", name: "mender", undoes: "1-0", starts: true, input: { id: "i" } })
      .when(ofMender({ outcome: "succeeded", output: { refunded: 1 } }))
      .then({ kind: "end", status: "failed", standing: [] });
  });

  test("by an agent that fails is a task for a human, and the effect stands if nobody undoes it", () => {
    given(withMender, begun, succeeded("a", ok), failed("b", no))
      .when(ofMender({ outcome: "failed", code: "MODEL_REFUSED", reason: "no" }))
      .then({ kind: "task", about: "stuck", of: "1-0" })
      .when(voted("stuck", "deny"))
      .then({ kind: "end", status: "failed", standing: [/^a /] });
  });

  test("that gets stuck holds up what it rests on, and nothing is done again before a human has said", () => {
    const flow = chain({ onFailure: "replan", openForMs: 1000 });
    const stuck = given(
      flow,
      begun,
      ...(["a", "b", "c", "d", "e"] as const).map((name) => succeeded(name, ok)),
    )
      .when(signalled("invalidate", { node: "d", reason: "gone" }))
      .when(failed("drop", no))
      .then({ kind: "task", about: "stuck", of: "5-0" });
    stuck
      .when(voted("stuck", "approve"))
      .then(undoes("4-0"))
      .when(succeeded("drop", {}))
      .then({ ...runs("d"), call: "d.2" });
    let story = stuck.when(voted("stuck", "deny"));
    for (const intent of ["4-0", "3-0", "2-0", "1-0"])
      story = story.then(undoes(intent)).when(succeeded("drop", {}));
    story.then({ kind: "end", status: "failed", standing: [/^e /] });
  });

  test("of a cancelled workflow is of everything but points of no return, in reverse", () => {
    const flow = workflow({
      a: { run: a },
      b: { run: b, after: ["a"], pointOfNoReturn: true },
      c: { run: c, after: ["b"] },
      d: { run: d, after: ["c"] },
    });
    given(flow, begun, succeeded("a", ok), succeeded("b", ok), succeeded("c", ok))
      .when(signalled("cancel", { reason: "enough" }))
      .thenNothing()
      .when(failed("d", no))
      .then(undoes("3-0"))
      .when(succeeded("drop", {}))
      .then(undoes("1-0"))
      .when(succeeded("drop", {}))
      .then({ kind: "end", status: "cancelled", reason: "enough", standing: [/^b /] });
  });

  test("of a kept node never comes, whatever happens later", () => {
    const story = given(
      chain({ onFailure: "replan", openForMs: 1000 }),
      begun,
      ...(["a", "b", "c", "d", "e"] as const).map((name) => succeeded(name, ok)),
    );
    story
      .when(signalled("invalidate", { node: "d", reason: "gone", keep: ["a", "b"] }))
      .when(succeeded("drop", {}))
      .when(succeeded("drop", {}))
      .when(failed("d", no))
      .then(undoes("3-0"))
      .when(succeeded("drop", {}))
      .then({ kind: "end", status: "failed", standing: [/^a /, /^b /] });
  });

  test("a doubt that a human settles after the node was undone is undone again", () => {
    const once = defineTool({
      ...{
        name: "once",
        description: "Once.",
        effect: "once",
        input: z.json(),
        output: Made,
        onDoubt: "model",
      },
      compensation: { tool: drop, input: () => ({ id: "once" }) },
    });
    given(workflow({ a: { run: once } }), begun)
      .when(inDoubt("once"))
      .then(undoes("1-0"))
      .when(succeeded("drop", {}))
      .then({ kind: "end", status: "failed", standing: [] })
      .when({
        ...{ type: "result", intent: "1-0" as never, attempt: 1, by: "x" },
        result: { outcome: "succeeded", output: ok },
      })
      .then(undoes("1-0"));
  });
});

describe("planning again", () => {
  const planner = defineTool({
    ...{ name: "planner", description: "Plans.", effect: "read", input: z.json(), output: z.json() },
  });
  const flow = (more: object = {}) =>
    defineWorkflow({
      ...{ name: "flow", version: 1, input: Of, onFailure: "replan", replanner: planner, uses: [c, d] },
      nodes: { a: { run: a }, b: { run: b, after: ["a"] } },
      ...(more as { replansMax?: number }),
    });
  const patch = {
    nodes: [
      {
        name: "b",
        run: "c",
        input: { was: { $ref: "node a /id" }, of: { $ref: "input /of" } },
        when: { node: "a" },
      },
    ],
  };

  test("is asked of whoever the workflow names, and its patch of the graph is what runs then", () => {
    given(flow(), begun, succeeded("a", ok))
      .when(failed("b", no))
      .then({ kind: "tool", name: "planner", call: "plan.1" })
      .when(succeeded("planner", patch))
      .then({ ...runs("c"), call: "b.2", input: { was: "i", of: "x" }, dependsOn: ["a.1"] })
      .when(succeeded("c", ok))
      .then({ kind: "end", status: "completed" });
  });

  test("is asked with what stands, and of what was rolled back with why and what its undoing said alone", () => {
    const asked = given(flow({ replansMax: 2, openForMs: 1_000_000 }), begun)
      .when(succeeded("a", { id: "stands" }))
      .when(succeeded("b", { id: "rolled-back" }))
      .when(signalled("invalidate", { node: "b", reason: "gone" }))
      .when(succeeded("drop", { refunded: 0.5 }));
    asked.then({ kind: "tool", name: "planner" });
    const [{ input }] = asked.intents as unknown as [{ input: { nodes: unknown } }];
    expect(input.nodes).toMatchObject({
      a: { status: "committed", output: { id: "stands" } },
      b: { status: "undone", code: "INVALIDATED", reason: "gone", undone: { refunded: 0.5 } },
    });
    expect(JSON.stringify(input)).not.toContain("rolled-back");
    // Nor when it is asked again, once that run is one of those before.
    const again = asked.when(succeeded("planner", {})).when(failed("b", no));
    again.then({ kind: "tool", name: "planner" });
    const [{ input: next }] = again.intents as unknown as [{ input: { nodes: Record<string, unknown> } }];
    expect(next.nodes["b"]).toMatchObject({ before: [{ call: "b.1", reason: "gone" }] });
    expect(JSON.stringify(next)).not.toContain("rolled-back");
  });

  test("with a patch that is no graph is told so and asked again, as often as the workflow says", () => {
    const cyclic = { nodes: [{ name: "b", run: "c", when: { node: "b" } }] };
    const story = given(flow({ replansMax: 2 }), begun, succeeded("a", ok), failed("b", no))
      .when(succeeded("planner", cyclic))
      .then({ kind: "tool", name: "planner", call: "plan.2", input: { faults: [/cycle/] } });
    story.when(succeeded("planner", cyclic)).then(undoes("1-0"));
  });

  test("by somebody who gives up ends the workflow with the reason", () => {
    given(flow(), begun, succeeded("a", ok), failed("b", no))
      .when(succeeded("planner", { giveUp: "ten minutes too late" }))
      .then(undoes("1-0"))
      .when(succeeded("drop", {}))
      .then({ kind: "end", status: "failed", code: "INFEASIBLE", reason: "ten minutes too late" });
  });

  test("never touches what has committed", () => {
    const touching = { nodes: [{ name: "a", run: "c" }] };
    given(flow(), begun, succeeded("a", ok), failed("b", no))
      .when(succeeded("planner", touching))
      .then(undoes("1-0"));
  });
});

describe("what is no workflow", () => {
  const bare = defineTool({
    ...{ name: "bare", description: "x", effect: "idempotent", input: z.json(), output: z.json() },
  });
  const faultsOf = (nodes: Record<string, NodeConfig>, more?: More) =>
    workflow(nodes, more).definition.faults;

  test("is told of all its faults at once, and is refused at load", () => {
    const faults = faultsOf(
      {
        a: { run: a, when: { node: "b" } },
        b: { run: b, when: { node: "a" } },
        c: { run: bare, after: ["nowhere"], when: { node: "a", is: "cheap" } },
        undo: { run: d, compensation: { run: bare, input: () => ({}) }, pointOfNoReturn: true },
        e: { run: ask, after: ["undo"], compensation: { run: drop, input: () => ({}) } },
      },
      { edges: [{ from: "a", to: "nobody" }], replansMax: -1 },
    );
    for (const said of [
      /in a cycle: a, b/,
      /"c" rests on "nowhere", which is no node/,
      /there is no predicate "cheap"/,
      /node "c": nothing undoes it/,
      /"undo": the name is reserved/,
      /a compensation and is a point of no return/,
      /a read changes nothing/,
      /to "nobody", which is no node/,
      /replansMax is -1/,
    ])
      expect(faults).toContainEqual(expect.stringMatching(said));
  });

  test("is one where every node waits for another", () => {
    expect(faultsOf({ a: { run: a, after: ["b"] }, b: { run: b, after: ["a"] } })).toContainEqual(
      expect.stringMatching(/it has no root/),
    );
  });

  test("is one with a planned input that refers to a branch of several", () => {
    const planned = (name: string, more: object): PlannedNode =>
      PlannedNode.parse({ name, run: "ask", ...more });
    const branches = [planned("a", {}), planned("b", {})];
    const reading = (of: string) => planned("d", { when: { node: "c" }, input: { $ref: `node ${of} /id` } });
    const joined = planned("c", { when: { any: [{ node: "a" }, { all: [{ node: "a" }, { node: "b" }] }] } });
    const faultsOfPlan = (of: string) =>
      shapeFaults(
        "plan",
        [...branches, joined, reading(of)].flatMap((node) => {
          const made = nodeOfPlan(node, [], new Map([["ask", ask]]));
          return "faults" in made ? [] : [made];
        }),
        {},
      );
    expect(faultsOfPlan("a")).toEqual([]); // Each way leads over a.
    expect(faultsOfPlan("c")).toEqual([]);
    expect(faultsOfPlan("b")).toEqual([expect.stringMatching(/"node b", which need not have committed/)]);
  });

  test("is one whose condition is none", () => {
    expect(faultsOf({ a: { run: a, when: { both: [] } as never } })).toContainEqual(
      expect.stringMatching(/the condition of "a" is none/),
    );
  });
});
