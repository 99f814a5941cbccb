/**
 * Goal: what is in doubt, comes late, or was planned away stands in no end, holds no end up, and is undone as its own node said.
 * Method: given, when, then; and any workflow whose effects are doubted, come late and are planned anew, whose end is asked for.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../actors/contract/tool.ts";
import { defineWorkflow, type NodeConfig } from "../../../actors/workflow/define.ts";
import type { WorkflowContext } from "../../../actors/workflow/spec.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import {
  failed,
  fired,
  given,
  inDoubt,
  replied,
  signalled,
  started,
  type Story,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { agentOf, call } from "../../support/workbench.ts";

const doubts = ["ask", "model", "compensate"] as const;
const drop = defineTool({
  ...{ name: "drop", description: "Undoes.", effect: "idempotent" },
  ...{ input: z.object({ of: z.string(), key: z.string() }), output: z.json() },
});
const tools = Array.from({ length: 6 }, (_, k) =>
  defineTool({
    ...{ name: `t${k}`, description: "Makes.", effect: "once", onDoubt: doubts[k % 3]! },
    ...{ input: z.json(), output: z.json() },
    compensation: { tool: drop, input: ({ key }) => ({ of: "the tool", key }) },
  }),
);
const planner = defineTool({
  ...{ name: "planner", description: "Plans.", effect: "read", input: z.json(), output: z.json() },
});

interface FlowTerms {
  readonly optional?: true;
  readonly replanner?: typeof planner;
  readonly replansMax?: number;
}

/** Nodes one after the other, or all at once; each says what it is when it is undone. */
const flowOf = (size: number, isChain: boolean, { optional, ...more }: FlowTerms = {}) =>
  defineWorkflow({
    ...{
      name: "flow",
      version: 1,
      input: z.json(),
      onFailure: "replan",
      replansMax: 9,
      uses: tools,
      ...more,
    },
    nodes: Object.fromEntries(
      Array.from({ length: size }, (_, k): [string, NodeConfig] => [
        `n${k}`,
        {
          ...{ run: tools[k]!, input: () => ({}) },
          ...(optional && { optional }),
          ...(isChain && k > 0 ? { after: [`n${k - 1}`] } : {}),
          compensation: { run: drop, input: ({ key }) => ({ of: `n${k} t${k}`, key }) },
        },
      ]),
    ),
  });
const planned = (name: string, run: string, after: readonly string[] = []) => ({
  nodes: [
    {
      ...{ name, run, input: {} },
      compensation: { run: "drop", input: { of: `${name} ${run}`, key: { $ref: "key" } } },
    },
  ],
  edges: after.map((from) => ({ from, to: name })),
});
const contextOf = (story: Story) => story.state.snapshot.context as WorkflowContext;
const full = { code: "FULL", retry: false };
const undoes = (undone: string, of: string) =>
  ({ kind: "tool", name: "drop", undoes: undone, input: { of } }) as const;

describe("a call that was told as failed and happened after all", () => {
  test("is undone at once, and not left standing beside what is done in its place", () => {
    const story = given(flowOf(1, true), started({}), failed("t0", full), succeeded("1-0", {}, 1));
    story.then(undoes("1-0", "n0 t0"));
    const done = story.when(succeeded("2-0", {})).when(succeeded("drop", {}));
    done.then({ kind: "end", status: "completed", standing: [] });
    expect(done.state.effects).toMatchObject([{ intent: "2-0" }]);
  });

  test("after the end is undone, and the end stays what it was", () => {
    const end = given(flowOf(1, true, { optional: true }), started({}), failed("t0", full));
    expect(end.end).toMatchObject({ status: "completed" });
    const late = end.when(succeeded("1-0", {}, 1));
    late.then(undoes("1-0", "n0 t0"));
    late.when(succeeded("drop", {})).then({ kind: "end", status: "completed", standing: [] });
  });

  test("is undone as its node said, also where another stands in that one's place or none", () => {
    const asked = given(flowOf(2, true, { replanner: planner }), started({}), failed("t0", full));
    for (const patch of [planned("n0", "t3"), { ...planned("other", "t3"), remove: ["n0", "n1"] }])
      asked
        .when(succeeded("planner", patch))
        .when(succeeded("1-0", {}, 1))
        .then(undoes("1-0", "n0 t0"));
  });

  test("is no run of the node of that name that is planned again once it was taken away", () => {
    const without = given(flowOf(2, true, { replanner: planner }), started({}), failed("t0", full))
      .when(succeeded("planner", { ...planned("other", "t3"), remove: ["n0", "n1"] }))
      .when(failed("t3", full));
    const again = without.when(succeeded("planner", { ...planned("n0", "t4"), remove: ["other"] }));
    expect(contextOf(again).nodes["n0"]?.call).toBe("n0.2");
    const late = again
      .when(succeeded("1-0", {}, 1))
      .when(signalled("invalidate", { node: "n0", reason: "r" }));
    late.thenNothing(); // The run that is up is waited for.
    late.when(succeeded("t4", {})).then(undoes("5-0", "n0 t4"));
  });
});

describe("a replan", () => {
  test("may take away the node that asked for it, with what it was asked for", () => {
    const asked = given(
      flowOf(2, true, { replanner: planner }),
      started({}),
      succeeded("t0", {}),
      failed("t1", full),
    );
    const without = asked.when(succeeded("planner", { remove: ["n1"] }));
    without.then({ kind: "end", status: "completed", output: { n0: {} } });
  });
});

describe("a cancel while people are asked about a doubt", () => {
  const workflow = given(flowOf(1, true), started({}), inDoubt("t0"));
  const agent = given(
    agentOf(),
    started({ of: "x" }),
    replied({ calls: [call("charge_ask")] }),
    inDoubt("charge_ask"),
  );

  test.each([
    ["workflow", workflow, {}],
    ["agent", agent, { id: "i" }],
  ])("of a %s undoes it by its key and waits for no answer", (_, asked, output) => {
    const cancelled = asked.when(signalled("cancel"));
    expect(cancelled.intents).toMatchObject([{ kind: "tool", undoes: asked.state.effects[0]?.intent }]);
    const [undoing] = cancelled.intents;
    const ended = cancelled.when(succeeded(undoing!.id, {}));
    expect(ended.end).toMatchObject({ status: "cancelled", standing: [] });
    expect(ended.open).toEqual([]);
    expect(ended.turns.at(-1)?.steps[0]?.closed).toContainEqual(
      expect.objectContaining({ as: "cancelled", because: "undone" }),
    );
    // What they would have said is said by a late word, and followed as ever.
    const doubted = asked.state.effects[0]!.intent;
    ended.when(failed(doubted, full, 1)).thenNothing();
    const late = ended.when(succeeded(doubted, output, 1));
    expect(late.intents).toMatchObject([{ kind: "tool", undoes: doubted }]);
    expect(late.when(succeeded(late.intents[0]!.id, {})).end).toMatchObject({ standing: [] });
  });

  test.each(["happened", "did_not_happen"])(
    "takes the answer that it %s while that is being undone",
    (outcome) => {
      const asked = given(flowOf(1, true), started({}), inDoubt("t0"), signalled("cancel"));
      const output = outcome === "happened" ? { output: {} } : {};
      const answered = asked.when(voted("doubt", "answer", { answer: { outcome, ...output } }));
      expect(answered.intents).toHaveLength(outcome === "happened" ? 1 : 0); // It may have come after that undoing.
      expect(drained(answered).end).toMatchObject({ status: "cancelled", standing: [] });
    },
  );

  test("whose effect was undone lets the same be done again", () => {
    const asked = given(flowOf(1, true), started({}), inDoubt("t0"));
    const fallen = asked.when(signalled("invalidate", { node: "n0", reason: "gone" }));
    const again = fallen.when(succeeded("drop", {}));
    again.then({ kind: "tool", name: "t0" });
    again.when(succeeded("t0", {})).then({ kind: "end", status: "completed", standing: [] });
  });
});

const toolsOf = (story: Story): IntentId[] =>
  story.open.filter(
    (id) => story.state.phase.kind !== "ended" && story.state.open[id]?.intent.kind === "tool",
  );
const nameOf = ({ state }: Story, id: IntentId): string => {
  const intent = state.open[id]?.intent;
  return intent !== undefined && "name" in intent ? intent.name : "";
};

/** All that is open succeeds until nothing moves; a planner gives up. */
function drained(story: Story): Story {
  for (let turns = 0; turns < 300; turns++) {
    const [id] = toolsOf(story);
    if (id === undefined) return story;
    story = story.when(succeeded(id, nameOf(story, id) === "planner" ? { giveUp: "enough" } : {}));
  }
  throw new Error("it does not come to rest");
}

/** People let every question pass. */
function unanswered(story: Story): Story {
  const [task] = story.open;
  return task === undefined ? story : unanswered(drained(story.when(fired(task))));
}

/** What may still come of calls that were told as failed, cancelled or in doubt. */
const late = ({ state }: Story): [IntentId, number][] =>
  Object.entries(state.doubts).map(([id, { attempt }]) => [id as IntentId, attempt]);

function happen(story: Story, choice: number): Story {
  if (story.state.phase.kind !== "running") return story;
  const pick = Math.floor(choice / 16);
  const [doubted] = late(story).slice(pick % Math.max(1, late(story).length));
  const tasks = story.open.filter((id) => story.state.open[id]?.intent.kind === "task");
  const names = Object.keys(contextOf(story).nodes);
  const name = names[pick % names.length]!;
  switch (choice % 16) {
    case 0:
      return story.when(signalled("invalidate", { node: name, reason: "gone" }));
    case 1:
    case 2:
      return doubted === undefined ? story : story.when(succeeded(doubted[0], {}, doubted[1]));
    case 3:
      return doubted === undefined ? story : story.when(failed(doubted[0], full, doubted[1]));
    case 4:
    case 5: {
      const task = tasks[pick % Math.max(1, tasks.length)];
      const answers = [{ outcome: "happened", output: {} }, { outcome: "did_not_happen" }];
      if (task === undefined) return story;
      return story.when(pick % 3 === 2 ? fired(task) : voted(task, "answer", { answer: answers[pick % 3] }));
    }
  }
  const open = toolsOf(story);
  const id = open[pick % Math.max(1, open.length)];
  if (id === undefined) return story;
  if (nameOf(story, id) === "planner") return story.when(succeeded(id, patchOf(names, pick)));
  const isUndoing = nameOf(story, id) === "drop";
  if (choice % 16 < 9 && !isUndoing) return story.when(failed(id, full));
  return choice % 16 < 12 && !isUndoing ? story.when(inDoubt(id)) : story.when(succeeded(id, {}));
}

/** Takes nodes away, puts others in their place, and puts some back that were taken away before. */
function patchOf(names: readonly string[], pick: number): object {
  const name = ["n0", "n1", "n2", "other"][pick % 4]!;
  const run = `t${pick % 6}`;
  if (pick % 3 === 0) return { ...planned(name, run), remove: names.filter((one) => one !== name) };
  return pick % 3 === 1 ? planned(name, run) : { ...planned("other", run), remove: [name] };
}

/** What undid each thing is what its own run's node said. */
function expectOwn(story: Story): void {
  const ran = new Map<string, string>();
  for (const { steps } of story.turns)
    for (const { intents } of steps)
      for (const intent of intents) {
        if (intent.kind !== "tool" || intent.name === "planner") continue;
        if (intent.undoes === undefined) {
          assert(![...ran.values()].includes(`${intent.call} ${intent.key}`), "a run's name is used twice");
          ran.set(intent.id, `${intent.call!.split(".")[0]} ${intent.name}`);
        } else assert.equal((intent.input as { of: string }).of, ran.get(intent.undoes));
      }
}

describe("any workflow whose calls are doubted, come late and are planned anew", () => {
  const calls = (story: Story) => story.state.effects.map((effect) => effect.call ?? "").sort();

  test.each([true, false])(
    "ends once it is asked to, and leaves what committed alone (cancelled: %s)",
    (isCancelled) => {
      fc.assert(
        fc.property(
          fc.integer({ min: 1, max: 3 }),
          fc.boolean(),
          fc.record(
            { optional: fc.constant(true as const), replanner: fc.constant(planner) },
            { requiredKeys: [] },
          ),
          fc.array(fc.nat(100_000), { maxLength: 24 }),
          (size, isChain, terms, choices) => {
            let story = given(flowOf(size, isChain, terms), started({}));
            for (const choice of choices) story = happen(story, choice);
            if (isCancelled && story.state.phase.kind === "running") story = story.when(signalled("cancel"));
            story = drained(story);
            if (!isCancelled) story = unanswered(story);
            assert.equal(story.state.phase.kind, "ended");
            for (let [one] = late(story); one !== undefined; [one] = late(story))
              story = drained(story.when(succeeded(one[0], {}, one[1])));
            expectOwn(story);
            assert.deepEqual(story.open, []);
            const { phase } = story.state;
            assert(phase.kind === "ended");
            const committed = Object.values(contextOf(story).nodes).flatMap(({ status, call: of }) =>
              status === "committed" ? [of ?? ""] : [],
            );
            assert.deepEqual(calls(story), phase.ending.status === "completed" ? committed.sort() : []);
          },
        ),
        { numRuns: 20 },
      );
    },
  );
});
