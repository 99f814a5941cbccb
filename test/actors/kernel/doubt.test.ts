/**
 * Goal: people are asked about a doubt on the terms of its tool, as about an approval: who may speak, how they hear of it,
 * how many must say the same, who is next. None of it decides what became of the call; a result that comes late does.
 * Method: given, when, then over ledgers. Each turn is folded twice, the second time onto a state put to rest.
 */
import { setup } from "xstate";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { AskTerms } from "../../../actors/machine/callable.ts";
import { contractOf, toolFaults } from "../../../actors/contract/tool-contract.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import type { IntentOf } from "../../../protocol/intent.ts";
import { limits } from "../../../protocol/limits.ts";
import { TaskNotice } from "../../../protocol/notice.ts";
import {
  fired,
  given,
  inDoubt,
  resulted,
  started,
  type Story,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { calling, Of } from "../../support/workbench.ts";

const begun = started({ of: "x" });
const day = 86_400_000;
const done = { id: "d" };

const tell = defineTool({
  name: "tell",
  description: "Tells people.",
  effect: "idempotent",
  input: z.object({ channel: z.string(), task: TaskNotice }),
  output: z.json(),
});
const looker = defineSaga({
  name: "looker",
  version: 1,
  input: z.object({ task: TaskNotice }),
  output: z.json(),
  signals: {},
  machine: setup({}).createMachine({ initial: "looking", states: { looking: {} } }),
});
const notify = { tool: tell, input: { channel: "#money" } };

const charge = (onDoubt: "ask" | { ask: AskTerms }) =>
  defineTool({
    name: "charge",
    description: "Charges, once.",
    effect: "once",
    onDoubt,
    input: Of,
    output: z.object({ id: z.string() }),
  });
const doubtful = (ask: AskTerms) => given(calling(charge({ ask })), begun, inDoubt("charge"));
const happened = { answer: { outcome: "happened", output: done } };
const not = (reason?: string) => ({
  answer: { outcome: "did_not_happen", ...(reason === undefined ? {} : { reason }) },
});
const taskIn = (story: Story): IntentOf<"task"> => {
  const intent = story.state.open[story.intent("doubt")]?.intent;
  if (intent?.kind !== "task") throw new Error("it is a task");
  return intent;
};

test("`ask` alone asks anyone, for a week, and the same terms written out are the same task", () => {
  const short = taskIn(given(calling(charge("ask")), begun, inDoubt("charge")));
  expect(short).toMatchObject({ about: "doubt", of: "1-0", to: [] });
  expect(taskIn(doubtful({ to: [] }))).toEqual(short);
  expect(taskIn(doubtful({ to: [], withinMs: limits.taskWithinMs }))).toEqual(short);
});

describe("the terms of a doubt", () => {
  test("say who may speak; anybody else is refused with who it is", () => {
    const asked = doubtful({ to: ["ann", "finance"] });
    asked.when(voted("doubt", "answer", { by: "mallory", ...happened })).thenRefused("VOTER_NOT_ASKED");
    for (const voter of [{ by: "ann" }, { by: "bob", as: "finance" }])
      expect(asked.when(voted("doubt", "answer", { ...voter, ...happened })).end?.status).toBe("completed");
  });

  test("say how many must find the same; who speaks again has changed their mind, and the reason does not count", () => {
    const asked = doubtful({ to: [], quorum: 2 });
    const one = asked.when(voted("doubt", "answer", { by: "ann", ...not("no such charge") }));
    one.thenNothing();
    one.when(voted("doubt", "answer", { by: "ann", id: "v2", ...not() })).thenNothing();
    expect(one.when(voted("doubt", "answer", { by: "bob", ...not("nothing there") })).end?.status).toBe(
      "failed",
    );
    const other = one.when(voted("doubt", "answer", { by: "bob", ...happened }));
    other.thenNothing();
    expect(other.when(voted("doubt", "answer", { by: "ann", id: "v3", ...happened })).end?.status).toBe(
      "completed",
    );
  });

  test("tell people by a tool, and remind them until somebody has settled it", () => {
    const asked = doubtful({ to: ["ann"], withinMs: day, remindEveryMs: 60_000, notify });
    asked.then(
      { kind: "task", about: "doubt" },
      { kind: "tool", name: "tell", for: taskIn(asked).id },
      { kind: "timer", for: taskIn(asked).id },
    );
    const notice = asked.intents.find((one) => one.kind === "tool" && one.for !== undefined);
    expect((notice as IntentOf<"tool">).input).toMatchObject({
      channel: "#money",
      task: { about: "doubt", of: "1-0", tool: "charge", input: { of: "x" }, to: ["ann"], reminder: 0 },
    });
    const told = asked.when(succeeded("tell", {}));
    const reminder =
      Object.values(told.state.open).find(({ intent }) => intent.kind === "timer")?.intent.id ?? "";
    told.when(fired(reminder)).then({ kind: "tool", name: "tell" }, { kind: "timer" });
    const settled = told.when(voted("doubt", "answer", { by: "ann", ...happened }));
    expect(settled.end?.status).toBe("completed");
    expect(Object.values(settled.state.open)).toEqual([]);
  });

  test("have the next in line asked on theirs, whose word then settles it", () => {
    const asked = doubtful({ to: ["ann"], withinMs: day, escalate: { to: ["cfo"], withinMs: 2 * day } });
    const first = taskIn(asked);
    const next = asked.when(fired("doubt"), { at: first.dueAt });
    next.then({
      kind: "task",
      about: "doubt",
      of: "1-0",
      to: ["cfo"],
      dueAt: first.dueAt + 2 * day,
      after: { task: first.id, because: "deadline" },
    });
    next.when(voted("doubt", "answer", { by: "ann", ...happened })).thenRefused("VOTER_NOT_ASKED");
    const settled = next.when(voted("doubt", "answer", { by: "cfo", ...not("refunded") }));
    expect(settled.end).toMatchObject({ status: "failed", reason: "refunded" });
    // The last in line says nothing either: it is told as in doubt.
    expect(next.when(fired("doubt")).end).toMatchObject({ reason: "nobody settled the doubt in time" });
  });

  test("have a saga stand in, whose output is the finding; what is none calls the people", () => {
    const asked = doubtful({ to: ["ann"], notify, standIn: { saga: looker } });
    asked.then({ kind: "task", about: "doubt" }, { kind: "saga", name: "looker" });
    expect(asked.when(succeeded("looker", happened.answer)).end?.status).toBe("completed");
    asked
      .when(succeeded("looker", { vote: "approve" }))
      .then({ kind: "denied", code: "BAD_RESULT" }, { kind: "tool", name: "tell" });
  });

  test("do not keep out a result that comes late from whoever performed it", () => {
    const asked = doubtful({ to: ["ann"], quorum: 2, escalate: { to: ["cfo"] } });
    for (const story of [asked, asked.when(fired("doubt"))])
      expect(story.when(resulted("1-0", { outcome: "succeeded", output: done })).end?.status).toBe(
        "completed",
      );
  });

  test("are held against their form at load, and stand in the tool's document", () => {
    expect(toolFaults(charge({ ask: { to: ["ann"], remindEveryMs: 60_000 } }))).toEqual([
      expect.stringContaining("tool charge: onDoubt: remindEveryMs needs notify"),
    ]);
    expect(toolFaults(charge({ ask: { to: "ann" } as never }))).toEqual([
      expect.stringContaining("tool charge: onDoubt: "),
    ]);
    expect(contractOf(charge({ ask: { to: ["ann"], notify } }))["onDoubt"]).toEqual({
      ask: {
        line: [
          {
            to: ["ann"],
            withinMs: limits.taskWithinMs,
            notify: { name: "tell", input: { channel: "#money" } },
          },
        ],
      },
    });
  });
});
