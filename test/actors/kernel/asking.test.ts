/**
 * Goal: a task says who may speak, of which exact arguments, and who is next; what serves it (notices, reminders, a
 * saga that stands in) never decides whether it stands; and changed arguments need approvals of their own.
 * Method: given, when, then over ledgers. Each turn is folded twice, the second time onto a state put to rest.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { question, toActors } from "../../../actors/machine/callable.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { callsAtMost } from "../../../actors/policies/ready-made.ts";
import { definePolicy } from "../../../actors/contract/policy.ts";
import { type Approval, defineTool, type Tool } from "../../../actors/contract/tool.ts";
import { callDigest } from "../../../actors/kernel/folding.ts";
import { MeshError } from "../../../protocol/errors.ts";
import type { IntentOf } from "../../../protocol/intent.ts";
import { TaskNotice } from "../../../protocol/notice.ts";
import { accept } from "../../../actors/kernel/accept.ts";
import {
  failed,
  fired,
  given,
  inDoubt,
  replied,
  resulted,
  signalled,
  started,
  type Story,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { setup } from "xstate";
import { agentOf, call, calling, Of } from "../../support/workbench.ts";
import { agentOwn } from "../../support/own.ts";

const begun = started({ of: "x" });
const day = 86_400_000;

const tell = defineTool({
  name: "tell",
  description: "Tells people.",
  effect: "idempotent",
  input: z.object({ channel: z.string(), task: TaskNotice }),
  output: z.json(),
  retry: { attemptsMax: 2, backoffMs: 10 },
});

const standInOf = (name: string, output: z.ZodType) =>
  defineSaga({
    name,
    version: 1,
    input: z.object({ style: z.string(), task: TaskNotice }),
    output,
    signals: {},
    machine: setup({}).createMachine({ initial: "thinking", states: { thinking: {} } }),
  });
const reviewer = standInOf("reviewer", z.json());

const paying = (terms: Partial<Approval> | ((input: z.infer<typeof Of>) => false | Approval) = {}) =>
  defineTool({
    name: "pay",
    description: "Pays.",
    effect: "once",
    onDoubt: "model",
    input: Of.extend({ note: z.string().optional() }),
    output: z.json(),
    uses: [tell, reviewer],
    approval:
      typeof terms === "function"
        ? terms
        : { by: ["ann", "finance"], withinMs: day, otherwise: "deny", ...terms },
  });

const notifying = { notify: { tool: tell, input: { channel: "#money" } } };
const byAnn = { by: "ann" };

const taskIn = (story: Story, id = "approval"): IntentOf<"task"> => {
  const intent = story.state.open[story.intent(id)]?.intent;
  if (intent?.kind !== "task") throw new Error("it is a task");
  return intent;
};

describe("who may speak", () => {
  const asked = given(calling(paying()), begun);

  test("is who the task is for, by name or in the role they claim; anybody else is refused with who it is", () => {
    asked.when(voted("approval", "approve", { by: "mallory" })).thenRefused("VOTER_NOT_ASKED");
    asked.when(voted("approval", "approve", { by: "bob", as: "sales" })).thenRefused("VOTER_NOT_ASKED");
    asked.when(voted("approval", "deny", { by: "mallory" })).thenRefused("VOTER_NOT_ASKED");
    asked
      .when(voted("approval", "edit", { by: "mallory", input: { of: "y" } }))
      .thenRefused("VOTER_NOT_ASKED");
    asked.when(voted("approval", "approve", byAnn)).then({ kind: "tool", name: "pay" });
    asked
      .when(voted("approval", "approve", { by: "bob", as: "finance" }))
      .then({ kind: "tool", name: "pay" });
  });

  test("of a task for nobody in particular is anybody", () => {
    given(calling(paying({ by: [] })), begun)
      .when(voted("approval", "approve", { by: "whoever" }))
      .then({ kind: "tool", name: "pay" });
  });

  test("counts towards a quorum under one name only, whatever the role", () => {
    const one = given(calling(paying({ quorum: 2 })), begun, voted("approval", "approve", byAnn));
    one.when(voted("approval", "approve", { by: "ann", as: "finance" })).thenNothing();
    one.when(voted("approval", "approve", { by: "bob", as: "finance" })).then({ kind: "tool", name: "pay" });
  });
});

describe("the digest of a call that people approve", () => {
  test("is of the input as the tool's schema reads it, and stands in the task", () => {
    const asked = given(calling(paying()), begun);
    expect(taskIn(asked)).toMatchObject({ tool: "pay", digest: callDigest(paying(), { of: "x" }) });
    expect(callDigest(paying(), { of: "x", ignored: 1 })).toBe(callDigest(paying(), { of: "x" }));
  });

  test("is another one under another contract, so that a vote on the old call counts for nothing", () => {
    const stricter = { ...paying(), version: 2 };
    const { digest } = taskIn(given(calling(paying()), begun));
    const asked = given(calling(stricter), begun);
    asked.when(voted("approval", "approve", { ...byAnn, digest })).thenRefused("ARGUMENTS_CHANGED");
    expect(callDigest({ ...paying(), description: "Pays, in other words." }, { of: "x" })).toBe(digest);
  });

  test("binds a vote: one for other arguments is refused, and every recorded vote names its own", () => {
    const asked = given(calling(paying({ quorum: 2 })), begun);
    asked
      .when(voted("approval", "approve", { ...byAnn, digest: callDigest(paying(), { of: "y" }) }))
      .thenRefused("ARGUMENTS_CHANGED");
    const digest = callDigest(paying(), { of: "x" });
    for (const vote of [{ ...byAnn, digest }, byAnn])
      expect(asked.when(voted("approval", "approve", vote)).turns.at(-1)?.steps[0]?.event).toMatchObject({
        vote: { vote: "approve", digest },
      });
  });

  test("has no place in a vote on a question", () => {
    const asked = given(agentOf(), begun, replied({ calls: [call("ask", { question: "?" })] }));
    asked.when(voted("question", "answer", { answer: 1, digest: "abc" })).thenRefused("ARGUMENTS_CHANGED");
  });
});

describe("an edit", () => {
  const asked = given(
    agentOf({ tools: [paying({ quorum: 2 })] }),
    begun,
    replied({ calls: [call("pay", { of: "x" })] }),
  );
  const edit = (input: unknown) => voted("1.0", "edit", { ...byAnn, input });

  test("is held against the tool's schema at the door", () => {
    asked.when(edit({ of: 7 })).thenRefused("INPUT_INVALID");
    asked.when(voted("1.0", "edit", byAnn)).thenRefused("INPUT_INVALID");
    asked.when(edit({ of: "y", ignored: true })).thenRefused("INPUT_INVALID");
    asked.when(edit({ of: "x" })).thenRefused("INPUT_INVALID");
  });

  test("is no approval: it opens another task, with its own digest and no votes, and closes the one before", () => {
    const voting = asked.when(voted("1.0", "approve", { by: "ann" }));
    const first = voting.intent("1.0");
    const edited = voting.when(edit({ of: "y" }));
    edited.then({
      kind: "task",
      about: "approval",
      input: { of: "y" },
      call: "1.0",
      digest: callDigest(paying(), { of: "y" }),
      quorum: 2,
      after: { task: first, because: "edit", by: "ann" },
    });
    edited.when(voted(first, "approve", { by: "ann" })).thenNotTaken("over");
    const again = edited.when(voted("1.0", "approve", { by: "ann" }));
    again.thenNothing();
    again
      .when(voted("1.0", "approve", { by: "bob", as: "finance" }))
      .then({ kind: "tool", name: "pay", input: { of: "y" }, call: "1.0" });
  });

  test("is told to the model with the result of the changed call", () => {
    const paid = given(
      agentOf({ tools: [paying()] }),
      begun,
      replied({ calls: [call("pay", { of: "x" })] }),
      edit({ of: "y" }),
      voted("1.0", "approve", byAnn),
    ).when(succeeded("pay", { paid: true }));
    expect(paid.messages.at(-1)).toMatchObject({
      parts: [{ call: "1.0", outcome: "succeeded", edited: { by: "ann", input: { of: "y" } } }],
    });
  });

  test("of arguments that need no approval needs one all the same, on the terms of the task", () => {
    const pay = paying(({ of }) => of !== "small" && { by: ["ann"], withinMs: day, otherwise: "deny" });
    const edited = given(calling(pay), begun).when(
      voted("approval", "edit", { ...byAnn, input: { of: "small" } }),
      { at: Date.UTC(2026, 1, 1) },
    );
    edited.then({ kind: "task", to: ["ann"], dueAt: Date.UTC(2026, 1, 1) + day, input: { of: "small" } });
  });

  test("of arguments that need others asks those others", () => {
    const pay = paying(({ of }) => ({ by: [of === "x" ? "ann" : "cfo"], withinMs: day, otherwise: "deny" }));
    given(calling(pay), begun)
      .when(voted("approval", "edit", { ...byAnn, input: { of: "much" } }))
      .then({ kind: "task", to: ["cfo"] });
  });

  test("is judged by the policies like any call: one that none allows is denied", () => {
    const no = agentOf({
      tools: [paying()],
      policies: [
        definePolicy({
          name: "no y",
          judge: ({ input }) => ((input as { of: string }).of === "y" ? { deny: "no y" } : undefined),
        }),
      ],
    });
    const begunCall = given(no, begun, replied({ calls: [call("pay")] }));
    begunCall.when(edit({ of: "y" })).then({ kind: "denied", code: "POLICY_DENIED" }, { kind: "model" });
    begunCall.when(edit({ of: "z" })).then({ kind: "task", input: { of: "z" } });
  });

  test("that a policy rewrites is approved as it was rewritten", () => {
    const capped = agentOf({
      tools: [paying()],
      policies: [
        definePolicy({
          name: "cap",
          judge: ({ input }) =>
            (input as { of: string }).of === "y" ? { rewrite: { of: "less" } } : undefined,
        }),
      ],
    });
    const edited = given(capped, begun, replied({ calls: [call("pay")] })).when(edit({ of: "y" }));
    edited.then({
      kind: "task",
      input: { of: "less" },
      rewrittenBy: "cap",
      digest: callDigest(paying(), { of: "less" }),
      after: { because: "edit", by: "ann" },
    });
    edited.when(voted("1.0", "approve", byAnn)).then({ kind: "tool", input: { of: "less" } });
  });

  test("needs the policies' approvals for itself, and the tool's after them", () => {
    const big = agentOf({
      tools: [paying()],
      policies: [
        definePolicy({
          name: "board",
          judge: () => ({ approve: { by: ["board"], withinMs: day, otherwise: "deny" } }),
        }),
      ],
    });
    const first = given(big, begun, replied({ calls: [call("pay")] }));
    first.then({ kind: "task", to: ["board"] });
    const second = first.when(voted("1.0", "approve", { by: "board" }));
    second.then({ kind: "task", to: ["ann", "finance"] });
    const edited = second.when(edit({ of: "y" }));
    edited.then({ kind: "task", to: ["board"], input: { of: "y" } });
    const again = edited.when(voted("1.0", "approve", { by: "board" }));
    again.then({ kind: "task", to: ["ann", "finance"], input: { of: "y" } });
    again.when(voted("1.0", "approve", byAnn)).then({ kind: "tool", input: { of: "y" } });
  });

  test("leaves the effect undoable by the model's own name for the call", () => {
    const hold = defineTool({
      name: "hold",
      description: "Holds.",
      effect: "idempotent",
      input: Of,
      output: z.json(),
      approval: { by: ["ann"], withinMs: day, otherwise: "deny" },
      compensation: {
        tool: defineTool({
          name: "release",
          description: "Releases.",
          effect: "idempotent",
          input: Of,
          output: z.json(),
        }),
        input: ({ input }) => input,
      },
    });
    given(
      agentOf({ tools: [hold] }),
      begun,
      replied({ calls: [call("hold")] }),
      edit({ of: "y" }),
      voted("1.0", "approve", byAnn),
      succeeded("hold", 1),
    )
      .when(replied({ calls: [call("undo", { calls: ["1.0"] })] }))
      .then({ kind: "tool", name: "release", input: { of: "y" } });
  });
});

describe("the deadline", () => {
  const cfo = { by: ["cfo"], withinMs: 2 * day, otherwise: "approve", quorum: 2 } as const;
  const lined = calling(paying({ ...notifying, otherwise: { escalate: { ...cfo, ...notifying } } }));

  test("asks the next in line on their own terms, and says so from the beginning", () => {
    const asked = given(lined, begun);
    const first = taskIn(asked);
    expect(first).toMatchObject({ otherwise: "approve", next: [{ to: ["cfo"], withinMs: 2 * day }] });
    const at = first.dueAt;
    const next = asked.when(fired("approval"), { at });
    next.then(
      {
        kind: "task",
        to: ["cfo"],
        quorum: 2,
        dueAt: at + 2 * day,
        digest: first.digest,
        after: { task: first.id, because: "deadline" },
      },
      { kind: "tool", name: "tell" },
    );
    expect(taskIn(next).next).toBeUndefined();
    next.when(voted("approval", "approve", byAnn)).thenRefused("VOTER_NOT_ASKED");
    next.when(fired("approval")).then({ kind: "tool", name: "pay" });
  });

  test("of a question goes down its line before the default holds", () => {
    const saga = defineSaga({
      name: "asking",
      version: 1,
      input: z.json(),
      output: z.json(),
      signals: {},
      machine: setup({
        actors: toActors({
          ask: question({
            to: ["desk"],
            withinMs: 500,
            otherwise: 3,
            answer: z.number(),
            escalate: { to: ["boss"], escalate: { to: [], withinMs: 100 } },
          }),
        }),
      }).createMachine({
        initial: "asking",
        states: {
          asking: { invoke: { src: "ask", input: { question: "How many?" }, onDone: "done" } },
          done: { type: "final" },
        },
      }),
    });
    const last = given(saga, started(null), fired("question"), fired("question"));
    expect(taskIn(last, "question")).toMatchObject({ to: [], otherwise: 3 });
    expect(last.when(fired("question")).end?.status).toBe("completed");
  });

  test("of an agent's question is the terms its definition gives", () => {
    const agent = agentOf({ ask: { to: ["desk"], withinMs: 1_000, otherwise: "yes", ...notifying } });
    const asked = given(agent, begun).when(replied({ calls: [call("ask", { question: "Go?" })] }));
    asked.then({ kind: "task", about: "question", to: ["desk"] }, { kind: "tool", name: "tell" });
    asked.when(voted("question", "answer", { by: "x", answer: 1 })).thenRefused("VOTER_NOT_ASKED");
    expect(asked.when(fired("question")).messages.at(-1)).toMatchObject({ parts: [{ output: "yes" }] });
    expect(agent.definition.hash).not.toBe(agentOf({ ask: { to: ["others"] } }).definition.hash);
    expect(agent.definition.hash).not.toBe(agentOf().definition.hash);
  });

  test("of terms that escalate to themselves is no terms", () => {
    const round: { by: string[]; withinMs: number; otherwise: unknown } = {
      by: ["ann"],
      withinMs: 1,
      otherwise: "deny",
    };
    round.otherwise = { escalate: round };
    expect(given(calling(paying(() => round as Approval)), begun).intents).toMatchObject([
      { kind: "denied", code: "CALL_INVALID", reason: expect.stringContaining("in line") as string },
      { kind: "end" },
    ]);
  });
});

describe("a notice", () => {
  const asked = given(calling(paying(notifying)), begun);
  const notice = (story: Story) =>
    story.intents.find((one) => one.kind === "tool" && one.for !== undefined) as IntentOf<"tool">;

  test("is a call of the tool the terms name, given what it needs to tell", () => {
    asked.then({ kind: "task" }, { kind: "tool", name: "tell", for: taskIn(asked).id });
    expect(notice(asked).input).toMatchObject({
      channel: "#money",
      task: {
        task: `saga-1/${taskIn(asked).id}`,
        tool: "pay",
        input: { of: "x" },
        to: ["ann", "finance"],
        digest: taskIn(asked).digest,
        reminder: 0,
      },
    });
  });

  test("that fails is tried again, then given up, and the task stands", () => {
    const retried = asked.when(failed("tell"));
    retried.then({ kind: "retry", attempt: 2 });
    const over = retried.when(failed("tell"));
    over.thenNothing();
    over.when(voted("approval", "approve", byAnn)).then({ kind: "tool", name: "pay" });
  });

  test("is not tried again once the task is over", () => {
    asked
      .when(voted("approval", "approve", byAnn))
      .when(failed("tell"))
      .thenNothing();
  });

  test("is no effect: it does not stand, leaves no doubt, and holds up neither the end nor an undoing", () => {
    const denied = asked.when(succeeded("tell")).when(voted("approval", "deny", byAnn));
    expect(denied.end).toMatchObject({ status: "failed", standing: [] });
    const cut = asked.when(voted("approval", "deny", byAnn));
    expect(cut.end).toMatchObject({ status: "failed", standing: [] });
    cut.when(resulted("1-1", { outcome: "succeeded", output: 1 }, 1)).thenNotTaken("known");
    const unclear = asked.when(inDoubt("tell"));
    expect(unclear.state.doubts).toEqual({});
  });

  test("is asked of no policy and counts for none", () => {
    const pay = paying(notifying);
    const agent = agentOf({ tools: [pay, tell], policies: [callsAtMost(tell, 0), callsAtMost(pay, 1)] });
    given(agent, begun)
      .when(replied({ calls: [call("pay")] }))
      .then({ kind: "task" }, { kind: "tool", name: "tell" });
  });

  test("whose input does not fit is recorded as refused, and people are asked all the same", () => {
    const bad = paying({ notify: { tool: tell, input: { channel: 7 } } });
    const still = given(calling(bad), begun);
    still.then(
      { kind: "task" },
      { kind: "denied", name: "tell", code: "CALL_INVALID", for: taskIn(still).id },
    );
    still.when(voted("approval", "approve", byAnn)).then({ kind: "tool", name: "pay" });
  });

  test("by a tool that the definition does not have refuses the call, and says what to do", () => {
    const other: Tool = { ...tell, name: "other" };
    const pay = paying(() => ({ by: [], withinMs: 1, otherwise: "deny", notify: { tool: other } }));
    expect(given(calling(pay), begun).intents[0]).toMatchObject({
      kind: "denied",
      reason: expect.stringMatching(/tool other, which calling does not have: add it to `uses`/) as string,
    });
  });

  test("needs no declaration where the terms are fixed, in a tool, a question or an agent", () => {
    const fixed = { by: [], withinMs: 1, otherwise: "deny", ...notifying } as const;
    const pay: Tool = { ...paying(), uses: [], approval: fixed };
    expect([...calling(pay).definition.tools.keys()]).toContain("tell");
    const agent = agentOf({ ask: { to: [], ...notifying } });
    expect([...agent.definition.tools.keys()]).toContain("tell");
    expect(agentOwn(agent.definition).frame?.tools.map(({ name }) => name)).not.toContain("tell");
  });
});

describe("a reminder", () => {
  const terms = { ...notifying, withinMs: 10_000, remindEveryMs: 4_000 };
  const asked = given(calling(paying(terms)), begun, succeeded("tell"));
  const timerOf = (story: Story) =>
    Object.values(story.state.open).find(({ intent }) => intent.kind === "timer")
      ?.intent as IntentOf<"timer">;

  test("is a timer of its own, which has the tool tell people again and arms the next, up to the deadline", () => {
    const first = timerOf(asked);
    expect(first).toMatchObject({ for: taskIn(asked).id, dueAt: taskIn(asked).dueAt - 6_000 });
    const second = asked.when(fired(first.id), { at: first.dueAt });
    second.then({ kind: "tool", name: "tell" }, { kind: "timer", dueAt: first.dueAt + 4_000 });
    expect(second.intents[0]).toMatchObject({ input: { task: { reminder: 1 } } });
    const third = second
      .when(succeeded("tell"))
      .when(fired(timerOf(second).id), { at: timerOf(second).dueAt });
    third.then({ kind: "tool", name: "tell" });
  });

  test("that comes a day late comes once", () => {
    const late = given(calling(paying({ ...terms, withinMs: 7 * day })), begun, succeeded("tell"));
    const story = late.when(fired(timerOf(late).id), { at: timerOf(late).dueAt + day });
    story.then({ kind: "tool", name: "tell" }, { kind: "timer" });
  });

  test("is over with its task", () => {
    const timer = timerOf(asked);
    for (const over of [
      asked.when(voted("approval", "approve", byAnn)),
      asked.when(signalled("again")),
      asked.when(signalled("cancel")),
    ]) {
      expect(over.open).not.toContain(timer.id);
      over.when({ type: "timer", intent: timer.id }).thenNotTaken("known");
    }
  });

  test("without anybody to be told by is a fault of the terms", () => {
    const faults = calling(paying({ remindEveryMs: 5_000 })).definition.faults.join();
    expect(faults).toMatch(/remindEveryMs needs notify/);
    expect(calling(paying({ ...notifying, remindEveryMs: 1 })).definition.faults).toHaveLength(1);
  });
});

describe("a saga that stands in", () => {
  const standIn = { saga: reviewer, input: { style: "strict" } };
  const asked = given(calling(paying({ ...notifying, standIn })), begun);

  test("is started for the task instead of the notice, with the task as its input", () => {
    asked.then({ kind: "task" }, { kind: "saga", name: "reviewer", for: taskIn(asked).id });
    expect(asked.intents[1]).toMatchObject({
      input: { style: "strict", task: { tool: "pay", input: { of: "x" } } },
    });
  });

  test("gets a slice of the budget like any child, and where there is none the people are told instead", () => {
    const asking = (budget: object) =>
      given(agentOf({ tools: [paying({ ...notifying, standIn })], budget }), begun).when(
        replied({ calls: [call("pay")] }),
      );
    asking({ steps: 12 }).then({ kind: "task" }, { kind: "saga", for: "2-0", budget: { steps: 5 } });
    asking({ depthMax: 0 }).then(
      { kind: "task" },
      { kind: "denied", name: "reviewer", code: "DEPTH_EXCEEDED", for: "2-0" },
      { kind: "tool", name: "tell" },
    );
  });

  test("approves or denies by its output, under its own id", () => {
    asked.when(succeeded("reviewer", { vote: "approve" })).then({ kind: "tool", name: "pay" });
    expect(asked.when(succeeded("reviewer", { vote: "deny", reason: "odd" })).end?.reason).toBe("odd");
  });

  test("may edit, and then people decide: it is not asked again", () => {
    const edited = asked.when(succeeded("reviewer", { vote: "edit", input: { of: "y" } }));
    edited.then(
      { kind: "task", input: { of: "y" }, after: { because: "edit" } },
      { kind: "tool", name: "tell" },
    );
    expect(taskIn(edited).standIn).toBeUndefined();
    edited.when(voted("approval", "approve", byAnn)).then({ kind: "tool", name: "pay", input: { of: "y" } });
  });

  test("that fails, or says what is no vote, leaves it to the people, who are told then", () => {
    asked.when(failed("reviewer", { retry: false })).then({ kind: "tool", name: "tell" });
    asked
      .when(succeeded("reviewer", "looks good"))
      .then({ kind: "denied", name: "reviewer", code: "BAD_RESULT" }, { kind: "tool", name: "tell" });
    asked
      .when(succeeded("reviewer", { vote: "edit", input: { of: 7 } }))
      .then({ kind: "denied", name: "reviewer", code: "BAD_RESULT" }, { kind: "tool", name: "tell" });
  });

  test("is one vote of a quorum; the people are told that more is needed", () => {
    const one = given(calling(paying({ ...notifying, standIn, quorum: 2 })), begun).when(
      succeeded("reviewer", { vote: "approve" }),
    );
    one.then({ kind: "tool", name: "tell" });
    one.when(voted("approval", "approve", byAnn)).then({ kind: "tool", name: "pay" });
  });

  test("is told to cancel when somebody was faster, and its word then changes nothing", () => {
    const over = asked.when(voted("approval", "approve", byAnn));
    over.then({ kind: "tool", name: "pay" }, { kind: "signal", name: "cancel" });
    over.when(succeeded("reviewer", { vote: "deny" })).thenNothing();
    asked.when(signalled("cancel")).then({ kind: "signal", name: "cancel" });
  });

  test("answers a question with its output, which must fit", () => {
    const agent = agentOf({ ask: { to: ["desk"], standIn } });
    const ask = call("ask", { question: "?", schema: { type: "number" } });
    const question = given(agent, begun, replied({ calls: [ask] }));
    const answered = question.when(succeeded("reviewer", 7));
    expect(answered.messages.at(-1)).toMatchObject({ parts: [{ call: "1.0", output: 7 }] });
    question.when(succeeded("reviewer", "seven")).then({ kind: "denied", code: "BAD_RESULT" });
  });
});

describe("a question for several", () => {
  test("is answered once enough of them say the same, and who speaks again has changed their mind", () => {
    const agent = agentOf({ ask: { to: ["a", "b", "c"], quorum: 2 } });
    const say = (by: string, answer: unknown) => voted("question", "answer", { by, answer });
    const split = given(agent, begun, replied({ calls: [call("ask", { question: "?" })] })).when(say("a", 1));
    split.thenNothing();
    const changed = split.when(say("b", 2)).when(say("a", 2));
    expect(changed.messages.at(-1)).toMatchObject({ parts: [{ output: 2 }] });
    const twice = split.when(say("a", 1));
    twice.thenNothing();
    expect(twice.when(say("c", 1)).messages.at(-1)).toMatchObject({ parts: [{ output: 1 }] });
  });
});

test("a vote is refused as a MeshError that says what to do", () => {
  const { definition, state } = given(calling(paying()), begun);
  const vote = { vote: "approve", by: "mallory" } as const;
  const said = accept(definition, state, { type: "task", intent: "1-0" as never, id: "v", vote }, 0);
  expect(said).toMatchObject({ type: "refused", error: expect.any(MeshError) as MeshError });
  expect(said).toMatchObject({ error: { remedy: expect.stringMatching(/--as ROLE/) } });
});
