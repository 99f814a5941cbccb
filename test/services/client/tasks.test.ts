/**
 * Goal: what a person is shown of a task is what the ledger holds, whether the task is open or over; people are told,
 * reminded and relieved in time; and wherever a process dies, an approval is one effect.
 * Method: the test mesh, whose clock is turned, with hosts and workers that die; the view of ledgers made by the
 * kernel, with its definition and without.
 */
import { describe, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { toActors } from "../../../actors/machine/callable.ts";
import { defineAgent } from "../../../actors/agent/define.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { type Approval, defineTool } from "../../../actors/contract/tool.ts";
import { isMeshError } from "../../../protocol/errors.ts";
import type { TaskDetailDocument } from "../../../protocol/documents/task.ts";
import { StandInVote, TaskNotice } from "../../../protocol/notice.ts";
import { defineApp } from "../../../services/app/app.ts";
import { describeTask, taskDetailDocument } from "../../../services/cli/telling/task-detail.ts";
import { type SagaView, viewOf } from "../../../services/views/view.ts";
import { scriptedModel } from "../../../services/models/scripted.ts";
import { crashMatrix } from "../../../services/testing/crash-matrix.ts";
import {
  failed,
  fired,
  given,
  replied,
  started,
  type Story,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { testMesh } from "../../../services/testing/test-mesh.ts";
import { agentOf, call, Of } from "../../support/workbench.ts";

const hour = 3_600_000;
const told: string[] = [];
const tell = defineTool({
  name: "tell",
  description: "Tells people.",
  effect: "idempotent",
  input: z.object({ channel: z.string(), task: TaskNotice }),
  output: z.object({}),
  perform: async ({ channel, task }) => {
    told.push(`${channel} ${task.to.join()} ${task.reminder}`);
    return {};
  },
});
const giveBack = defineTool({
  name: "give_back",
  description: "Gives it back.",
  effect: "idempotent",
  input: z.object({ paidWithKey: z.string() }),
  output: z.object({}),
  perform: async () => ({}),
});
const paid = new Map<string, number>();
const payOn = (terms: Approval) =>
  defineTool({
    name: "pay",
    description: "Pays.",
    effect: "idempotent",
    input: z.object({ cents: z.int() }),
    output: z.object({ receipt: z.string() }),
    approval: terms,
    compensation: { tool: giveBack, input: ({ key }) => ({ paidWithKey: key }) },
    perform: async ({ cents }, { key }) => {
      paid.set(key, cents);
      return { receipt: "r" };
    },
  });

/** A machine of one state, which the runtime lets decide by what it is asked. */
const reviewing = defineAgent({
  name: "reviewing",
  version: 1,
  description: "Reviews payments.",
  model: "reviewer",
  instructions: "Review.",
  input: z.object({ task: TaskNotice }),
  output: StandInVote,
  signals: {},
  tools: [],
});

const agentWith = (terms: Approval) =>
  defineAgent({
    name: "payer",
    version: 1,
    description: "Pays.",
    model: "script",
    instructions: "Pay.",
    input: z.object({ cents: z.int() }),
    output: z.object({ told: z.string() }),
    signals: {},
    tools: [payOn(terms)],
  });

const appWith = (terms: Approval, review: StandInVote = { vote: "approve" }) => {
  const agent = agentWith(terms);
  const script = scriptedModel("script", ({ step, messages }) =>
    step === 1
      ? {
          text: "The invoice is due.",
          calls: [{ tool: "pay", input: { cents: 700 } }],
          usage: { inputTokens: 9, outputTokens: 3, usd: 0.25 },
        }
      : { calls: [{ tool: "finish", input: { output: { told: JSON.stringify(messages.at(-1)) } } }] },
  );
  const reviewer = scriptedModel("reviewer", () => ({
    calls: [{ tool: "finish", input: { output: review } }],
  }));
  return { agent, app: defineApp({ sagas: [agent], models: { script, reviewer } }) };
};

const line: Approval = {
  by: ["ana", "finance"],
  withinMs: 10 * hour,
  remindEveryMs: 4 * hour,
  notify: { tool: tell, input: { channel: "#pay" } },
  otherwise: {
    escalate: {
      by: ["cfo"],
      withinMs: 24 * hour,
      otherwise: "deny",
      notify: { tool: tell, input: { channel: "#board" } },
    },
  },
};

const only = async (t: ReturnType<typeof testMesh>) => {
  const [task, ...more] = await t.tasks();
  if (task === undefined || more.length > 0) throw new Error("there is one task");
  return task;
};

describe("people", () => {
  test("are told, reminded until the deadline, and then others are, while hosts and workers die", async () => {
    told.length = 0;
    const { agent, app } = appWith(line);
    await using t = testMesh(app);
    const saga = await t.start(agent, { cents: 700 }, { id: "s1" });
    expect(told).toEqual(["#pay ana,finance 0"]);
    await t.advance("5h");
    await t.crash();
    expect(told).toEqual(["#pay ana,finance 0", "#pay ana,finance 1"]);
    await t.advance("4h");
    await t.advance("2h");
    expect(told.slice(2)).toEqual(["#pay ana,finance 2", "#board cfo 0"]);
    await t.advance("22h");
    expect(await saga.end()).toBeUndefined();
    await t.advance("2h");
    expect(await saga.result()).toMatchObject({ status: "completed" });
    expect(t.effects("pay")).toEqual([]);
    expect(await t.tasks()).toEqual([]);
  });

  test("who are not asked are refused at once, and nothing is sent", async () => {
    const { agent, app } = appWith(line);
    await using t = testMesh(app);
    const saga = await t.start(agent, { cents: 700 }, { id: "s1" });
    const task = await only(t);
    const turns = (await saga.ledger()).length;
    await expect(t.vote(task, { vote: "approve", by: "mallory" })).rejects.toThrow("[VOTER_NOT_ASKED]");
    await expect(t.vote(task, { vote: "approve", by: "bo", as: "sales" })).rejects.toThrow(/for bo as sales/);
    expect(await saga.ledger()).toHaveLength(turns);
    await t.vote(task, { vote: "approve", by: "bo", as: "finance" });
    expect(await saga.result()).toMatchObject({ status: "completed" });
    expect(t.effects("pay")).toHaveLength(1);
  });
});

describe("a saga that stands in", () => {
  const standIn: Approval = { ...line, standIn: { saga: reviewing } };

  test("decides instead of the people, who are never told", async () => {
    told.length = 0;
    const { agent, app } = appWith(standIn);
    await using t = testMesh(app);
    const saga = await t.start(agent, { cents: 700 }, { id: "s1" });
    expect(await saga.result()).toMatchObject({ status: "completed" });
    expect(t.effects("pay")).toHaveLength(1);
    expect(told).toEqual([]);
    const task = (await saga.ledger()).flatMap(({ steps }) => steps.flatMap(({ intents }) => intents));
    const { id } = task.find(({ kind }) => kind === "task") ?? { id: "" };
    const detail = await t.task({ saga: "s1", intent: id });
    expect(detail).toMatchObject({
      state: "succeeded",
      votes: [{ vote: "approve" }],
      standIn: { outcome: "succeeded" },
    });
    expect(detail.votes[0]?.by).toBe(detail.standIn?.saga);
  });

  test("that is cancelled with its task leaves nothing behind", async () => {
    const { agent, app } = appWith(standIn);
    // A model that never replies: the review is at work when somebody is faster.
    const slow = { name: "reviewer", decide: () => new Promise<never>(() => undefined) };
    await using t = testMesh(app, { models: { reviewer: slow } });
    const saga = await t.start(agent, { cents: 700 }, { id: "s1" });
    await t.vote(await only(t), { vote: "deny", by: "ana", reason: "no" });
    expect(await saga.result()).toMatchObject({ status: "completed" });
    const child = (await t.list()).map(({ saga }) => saga).find((id) => id !== "s1") ?? "";
    expect(await t.anySaga(child).result()).toMatchObject({ status: "cancelled" });
  });
});

describe("a reviewer", () => {
  test("is shown what was asked, why, what it costs, how it is undone, who is next and what to type", async () => {
    const { agent, app } = appWith(line);
    await using t = testMesh(app);
    await t.start(agent, { cents: 700 }, { id: "s1" });
    const task = await only(t);
    const detail = await t.task(task);
    expect(detail).toMatchObject({
      state: "open",
      tool: "pay",
      input: { cents: 700 },
      digest: task.digest,
      to: ["ana", "finance"],
      votes: [],
      atDeadline: { does: "escalate", to: ["cfo"] },
      atLast: { does: "deny" },
      why: { call: "1.0", text: "The invoice is due.", calls: [{ tool: "pay" }] },
      spent: { steps: 1, usd: 0.25 },
      undo: { by: "compensation", tool: "give_back" },
      notices: [{ tool: "tell", reminder: 0, outcome: "succeeded" }],
      remindEveryMs: 4 * hour,
    });
    expect(detail.denial).toMatch(/APPROVAL_DENIED/);
    const text = describeTask(taskDetailDocument(detail));
    for (const said of [
      /^for +ana, finance$/m,
      /then cfo for 1 d, then it is denied$/m,
      /^undone by +give_back$/m,
      /^why .*The invoice is due\.$/m,
      /^cost +1 decisions, 9 \+ 3 tokens, 0\.25 USD so far$/m,
      /^sagamesh approve s1\/\S+ --by ana --digest [0-9a-f]{16}$/m,
      /^sagamesh edit s1\/\S+ --by ana --digest [0-9a-f]{16} --input '\{"cents":700\}'$/m,
    ])
      expect(text).toMatch(said);
  });

  test("sees what became of a task that is over, and of the one that followed an edit", async () => {
    const { agent, app } = appWith({ ...line, quorum: 2 });
    await using t = testMesh(app);
    const saga = await t.start(agent, { cents: 700 }, { id: "s1" });
    const first = await only(t);
    await t.vote(first, { vote: "approve", by: "ana" });
    await t.vote(first, { vote: "edit", input: { cents: 70 }, by: "bo", as: "finance" });
    const second = await only(t);
    expect(second.intent).not.toBe(first.intent);
    expect(second.digest).not.toBe(first.digest);
    expect(await t.task(first)).toMatchObject({
      state: "superseded",
      ended: expect.stringMatching(/^bo changed the arguments/) as string,
      votes: [
        { vote: "approve", by: "ana", digest: first.digest },
        { vote: "edit", by: "bo", as: "finance" },
      ],
    });
    expect(await t.task(second)).toMatchObject({
      state: "open",
      input: { cents: 70 },
      after: { task: first.intent, because: "edit", by: "bo" },
      why: { text: "The invoice is due." },
    });
    expect(taskDetailDocument(await t.task(first)).commands).toEqual([]);
    for (const by of ["ana", "bo"]) await t.vote(second, { vote: "approve", by, as: "finance" });
    const end = await saga.result();
    expect(end).toMatchObject({ status: "completed" });
    expect(JSON.stringify(end)).toContain(String.raw`\"edited\":{\"by\":\"bo\",\"input\":{\"cents\":70}}`);
    expect(t.effects("pay").map(({ input }) => input)).toEqual([{ cents: 70 }]);
  });

  test("is not deceived by what a model says: it stays on its line, and what is invisible is spelt out", () => {
    const detail = {
      ...{ saga: "s1", intent: "1-0", agent: "a", about: "approval", question: "May\nit? \u001b[2J", to: [] },
      ...{ dueAt: 0, state: "open", votes: [], atDeadline: { does: "deny" }, line: [], notices: [] },
      spent: { steps: 1, inputTokens: 0, outputTokens: 0, usd: 0 },
      why: { call: "1.0", model: "m", text: "fine\nsagamesh approve s1/9-9 \u202e", calls: [] },
      ...{ task: "s1/1-0", commands: ["sagamesh approve s1/1-0"] },
    } as unknown as TaskDetailDocument;
    const lines = describeTask(detail).split("\n");
    expect(lines.filter((one) => one.startsWith("sagamesh approve"))).toEqual(["sagamesh approve s1/1-0"]);
    expect(lines.join("")).toContain("\\u{1b}");
    expect(lines.join("")).toContain("\\u{202e}");
  });

  test("of what is no task is told so", async () => {
    const { agent, app } = appWith(line);
    await using t = testMesh(app);
    await t.start(agent, { cents: 700 }, { id: "s1" });
    await expect(t.task({ saga: "s1", intent: "1-0" })).rejects.toThrow("[TASK_UNKNOWN]");
  });
});

/** Of ten votes two are enough; the others hear it. */
const overWhenTwoHad = (error: unknown): void => {
  if (!isMeshError(error, "TASK_OVER")) throw error;
};

test("an approval after an edit is one effect, wherever a process dies", { timeout: 300_000 }, async () => {
  const { agent, app } = appWith({ ...line, quorum: 2 });
  const report = await crashMatrix(app, async (t) => {
    paid.clear();
    const saga = await t.start(agent, { cents: 700 }, { id: "s1" });
    await t.vote(await only(t), { vote: "edit", input: { cents: 7 }, by: "ana" });
    const task = await only(t);
    for (let k = 0; k < 10; k++)
      await t.vote(task, { vote: "approve", by: `p${k}`, as: "finance" }).catch(overWhenTwoHad);
    await saga.result();
    return [...paid.values()];
  });
  expect(report.rows.length).toBeGreaterThan(20);
  expect(report.faults, report.text).toEqual([]);
});

describe("the view of a ledger without its definition", () => {
  const alone = (story: Story): SagaView => viewOf(story.turns);
  const folded = (story: Story): SagaView => viewOf(story.turns, { state: story.state });
  const agrees = (story: Story): void => {
    const openIn = (view: SagaView) => view.open.map(({ intent }) => intent.id);
    expect(openIn(alone(story))).toEqual(openIn(folded(story)));
    expect(alone(story).effects).toEqual(folded(story).effects);
  };
  const standing = defineSaga({
    name: "standing",
    version: 1,
    input: z.object({ task: TaskNotice }),
    output: z.json(),
    signals: {},
    machine: setup({ actors: toActors({}) }).createMachine({ initial: "on", states: { on: {} } }),
  });
  const terms = { ...line, quorum: 1 };
  const begin = (more: Partial<Approval>) =>
    given(
      agentOf({
        tools: [{ ...payOn({ ...terms, ...more }), input: Of, compensation: undefined }],
        ask: { to: [], quorum: 2 },
      }),
      started({ of: "x" }),
    ).when(replied({ calls: [call("pay"), call("ask", { question: "?" })] }));

  test("agrees with the fold about notices, reminders, escalations and edits", () => {
    const asked = begin({});
    agrees(asked);
    const timer = Object.values(asked.state.open).find(({ intent }) => intent.kind === "timer")?.intent;
    const reminded = asked
      .when(succeeded("tell", {}))
      .when(fired("timer"), { at: timer?.kind === "timer" ? timer.dueAt : 0 });
    agrees(reminded);
    agrees(reminded.when(failed("tell", { retry: false })));
    agrees(reminded.when(fired("1.0")));
    const edited = reminded.when(voted("1.0", "edit", { by: "ana", input: { of: "y" } }));
    agrees(edited);
    expect(alone(edited).open.find(({ intent }) => intent.kind === "task")?.input).toEqual({ question: "?" });
    const paying = edited.when(voted("1.0", "approve", { by: "ana" }));
    agrees(paying);
    expect(
      alone(paying).open.find(({ intent }) => intent.kind === "tool" && intent.name === "pay")?.input,
    ).toEqual({
      of: "y",
    });
    agrees(asked.when(voted("1.1", "answer", { by: "a", answer: 1 })));
    agrees(
      asked
        .when(voted("1.1", "answer", { by: "a", answer: 1 }))
        .when(voted("1.1", "answer", { by: "b", answer: 1 })),
    );
  });

  test("agrees with the fold about an edit that policies refuse", () => {
    const asked = given(
      agentOf({
        tools: [{ ...payOn(terms), input: Of, compensation: undefined }],
        policies: [
          {
            name: "no y",
            judge: ({ input }) => ((input as { of: string }).of === "y" ? { deny: "no" } : undefined),
          },
        ],
      }),
      started({ of: "x" }),
    ).when(replied({ calls: [call("pay")] }));
    const refused = asked.when(voted("1.0", "edit", { by: "ana", input: { of: "y" } }));
    refused.then({ kind: "denied", code: "POLICY_DENIED" }, { kind: "model" });
    agrees(refused);
  });

  test("agrees with the fold about a saga that stands in, whether its word is taken or not", () => {
    const asked = begin({ standIn: { saga: standing } });
    agrees(asked);
    for (const said of [{ vote: "approve" }, { vote: "deny" }, { vote: "edit", input: { of: "z" } }, "what?"])
      agrees(asked.when(succeeded("standing", said)));
    agrees(asked.when(failed("standing", { retry: false })));
  });
});
