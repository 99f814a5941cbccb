/**
 * Goal: what people say is an input, what follows from it is derived, and silence has a recorded meaning.
 * Method: given, when, then over approvals, questions and doubts.
 */
import { assign, setup } from "xstate";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { IntentId } from "../../../protocol/ids.ts";
import { question, toActors } from "../../../actors/machine/callable.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { callsAtMost } from "../../../actors/policies/ready-made.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import type { Approval } from "../../../actors/contract/tool.ts";
import {
  fired,
  given,
  inDoubt,
  replied,
  signalled,
  started,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { agentOf, call, calling, chargeAsk, Of } from "../../support/workbench.ts";

const begun = started({ of: "x" });
/** In the role that the approvals here are for. */
const finance = { as: "finance" };

const paying = (terms: Partial<Approval> | (() => never) = {}) =>
  defineTool({
    name: "pay",
    description: "Pays.",
    effect: "once",
    onDoubt: "model",
    input: Of,
    output: z.json(),
    approval:
      typeof terms === "function"
        ? terms
        : () => ({ by: ["finance"], withinMs: 1_000, otherwise: "deny", ...terms }),
  });

describe("an approval", () => {
  test("is asked for before the call becomes an intent, with its terms", () => {
    given(calling(paying({ quorum: 2 })))
      .when(begun, { at: 5_000 })
      .then({
        kind: "task",
        about: "approval",
        to: ["finance"],
        dueAt: 6_000,
        quorum: 2,
        input: { of: "x" },
      });
  });

  test("given, the call is made", () => {
    given(calling(paying()), begun)
      .when(voted("approval", "approve", finance))
      .then({ kind: "tool", name: "pay", input: { of: "x" } });
  });

  test("takes as many people as its quorum, and nobody twice", () => {
    const first = given(calling(paying({ quorum: 2 })), begun).when(
      voted("approval", "approve", { ...finance, by: "ann" }),
    );
    first.thenNothing();
    const again = first.when(voted("approval", "approve", { ...finance, by: "ann" }));
    again.thenNothing();
    again.when(voted("approval", "approve", { ...finance, by: "bob" })).then({ kind: "tool", name: "pay" });
  });

  test("of a hundred people is one call", () => {
    const votes = Array.from({ length: 100 }, (_, k) =>
      voted("1-0", "approve", { ...finance, by: `p${k}`, id: `v${k}` }),
    );
    given(calling(paying()), begun).when(votes).then({ kind: "tool", name: "pay" });
  });

  test("denied by one is denied, with the reason", () => {
    given(calling(paying({ quorum: 2 })), begun, voted("approval", "approve", { ...finance, by: "ann" }))
      .when(voted("approval", "deny", { ...finance, by: "bob", reason: "too dear" }))
      .then({ kind: "end", status: "failed", reason: "too dear" });
  });

  test("that nobody gave in time is denied, or given where its terms say so", () => {
    given(calling(paying()), begun)
      .when(fired("approval"))
      .then({ kind: "end", status: "failed", reason: "nobody approved in time" });
    given(calling(paying({ otherwise: "approve" })), begun)
      .when(fired("approval"))
      .then({ kind: "tool", name: "pay" });
  });

  test("is not given by an answer", () => {
    given(calling(paying()), begun)
      .when(voted("approval", "answer", { ...finance, answer: true }))
      .thenRefused("INPUT_INVALID");
  });

  test("cannot be given to a call that nobody waits for any more", () => {
    const left = given(calling(paying()), begun, signalled("again"));
    left.when(voted("1-0", "approve", finance)).thenNotTaken("over");
    left.when(voted("2-0", "approve", finance)).then({ kind: "tool", name: "pay" });
  });

  test("does not let two calls through where a policy allows one", () => {
    const pay = paying();
    const agent = agentOf({ tools: [pay], policies: [callsAtMost(pay, 1)] });
    const asked = given(agent, begun).when(
      replied({ calls: [call("pay", { of: "a" }), call("pay", { of: "b" })] }),
    );
    asked.then({ kind: "task", about: "approval" }, { kind: "task", about: "approval" });
    const first = asked.when(voted("1.0", "approve", finance));
    first.then({ kind: "tool", name: "pay" });
    first.when(voted("1.1", "approve", finance)).then({ kind: "denied", code: "POLICY_DENIED" });
  });

  test("whose terms throw, or are none, denies the call", () => {
    const throwing = paying(() => {
      throw new Error("no terms");
    });
    expect(given(calling(throwing), begun).intents).toMatchObject([
      { kind: "denied", code: "CALL_INVALID" },
      { kind: "end" },
    ]);
    const endless = paying({ withinMs: Number.NaN });
    expect(given(calling(endless), begun).intents).toMatchObject([
      { kind: "denied", code: "CALL_INVALID" },
      { kind: "end" },
    ]);
  });
});

const asking = (config: { withinMs?: number; otherwise?: number } = {}) =>
  defineSaga({
    name: "asking",
    version: 1,
    input: z.json(),
    output: z.object({ answer: z.number() }),
    signals: {},
    machine: setup({
      types: { context: {} as { answer: number } },
      actors: toActors({ ask: question({ to: ["desk"], answer: z.number(), ...config }) }),
    }).createMachine({
      initial: "asking",
      context: { answer: 0 },
      states: {
        asking: {
          invoke: {
            id: "ask",
            src: "ask",
            input: { question: "How many?" },
            onDone: { target: "done", actions: assign({ answer: ({ event }) => event.output }) },
            onError: "unanswered",
          },
        },
        done: { type: "final" },
        unanswered: { type: "final", tags: "failed" },
      },
      output: ({ context }) => context,
    }),
  });

describe("a question", () => {
  test("is answered by what fits its schema", () => {
    const asked = given(asking({ withinMs: 500 })).when(started(null), { at: 1_000 });
    asked.then({ kind: "task", about: "question", question: "How many?", to: ["desk"], dueAt: 1_500 });
    asked.when(voted("question", "answer", { by: "desk", answer: "three" })).thenRefused("INPUT_INVALID");
    asked.when(voted("question", "approve", { by: "desk" })).thenRefused("INPUT_INVALID");
  });

  test("that somebody declines fails with the reason", () => {
    given(asking(), started(null))
      .when(voted("question", "deny", { by: "desk" }))
      .then({ kind: "end", status: "failed" });
  });

  test("that nobody answers in time has its default, or fails", () => {
    given(asking({ otherwise: 3 }), started(null))
      .when(fired("question"))
      .then({ kind: "end", status: "completed", output: { answer: 3 } });
    given(asking(), started(null)).when(fired("question")).then({ kind: "end", status: "failed" });
  });

  test("whose default does not fit is a fault at load", () => {
    expect(asking({ otherwise: "three" as never }).definition.faults.join()).toMatch(/default of a question/);
  });

  test("of a model is answered by what fits the schema it gave", () => {
    const asked = given(agentOf(), begun).when(
      replied({ calls: [call("ask", { question: "Which?", schema: { type: "string", enum: ["a", "b"] } })] }),
    );
    asked.then({ kind: "task", about: "question", question: "Which?", call: "1.0" });
    asked.when(voted("question", "answer", { answer: "c" })).thenRefused("INPUT_INVALID");
    const answered = asked.when(voted("question", "answer", { answer: "b" }));
    expect(answered.messages.at(-1)).toMatchObject({
      parts: [{ call: "1.0", outcome: "succeeded", output: "b" }],
    });
  });

  test("of a model with a schema that is none is refused to the model", () => {
    const asked = given(agentOf(), begun).when(
      replied({ calls: [call("ask", { question: "?", schema: { type: "nonsense" } })] }),
    );
    expect(asked.messages.at(-1)).toMatchObject({ parts: [{ outcome: "failed", code: "CALL_INVALID" }] });
  });
});

describe("a vote", () => {
  test("with an id that a signal had is taken", () => {
    given(
      calling(paying({ quorum: 2 })),
      begun,
      voted("approval", "approve", { ...finance, by: "ann", id: "7" }),
      signalled("stop", null, { id: "7" }),
    );
    const both = given(calling(paying()), begun, signalled("again", null, { id: "7" }));
    both.when(voted("approval", "approve", { ...finance, id: "7" })).then({ kind: "tool", name: "pay" });
  });

  test("that comes twice is taken once", () => {
    const voting = given(
      calling(paying({ quorum: 2 })),
      begun,
      voted("approval", "approve", { ...finance, id: "v" }),
    );
    voting.when(voted("approval", "approve", { ...finance, by: "bob", id: "v" })).thenNotTaken("known");
  });

  test("for what is no task is refused", () => {
    given(agentOf(), begun).when(voted("model", "approve")).thenRefused("TASK_UNKNOWN");
  });

  test("of yes or no is no answer to a doubt", () => {
    const doubtful = given(calling(chargeAsk), begun, inDoubt("charge_ask"));
    doubtful.when(voted("doubt", "deny")).thenRefused("INPUT_INVALID");
    doubtful.when(voted("doubt", "approve")).thenRefused("INPUT_INVALID");
    doubtful.when(voted("doubt", "answer", { answer: { outcome: "happened" } })).thenRefused("INPUT_INVALID");
  });

  test("for a task that is over changes nothing, and only its repeat by id is known", () => {
    const over = given(calling(paying()), begun, voted("approval", "approve", finance));
    over.when(voted("1-0", "deny", finance)).thenNotTaken("over");
    const vote = { vote: "approve" as const, by: "somebody", as: "finance" };
    over.when({ type: "task", intent: "1-0" as IntentId, id: "vote-1", vote }).thenNotTaken("known");
    expect(over.when(succeeded("pay", 1)).end?.status).toBe("completed");
  });
});
