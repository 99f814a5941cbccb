/**
 * Goal: what follows from a result, for each effect class and each way a performer can go wrong. Method: given,
 * when, then over sagas that call one tool.
 */
import { describe, expect, test } from "vitest";
import { assign, setup } from "xstate";
import { z } from "zod";
import { toActors } from "../../../actors/machine/callable.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { decideTurn } from "../../../actors/kernel/fold.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import {
  cancelled,
  deferred,
  failed,
  fired,
  given,
  inDoubt,
  replied,
  signalled,
  started,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import {
  agentOf,
  call,
  calling,
  chargeAsk,
  chargeCompensate,
  chargeModel,
  hold,
  look,
  Of,
  release,
  reserve,
  send,
} from "../../support/workbench.ts";

/** Calls with another input at each entry. */
const wantingAgain = defineSaga({
  name: "wanting_again",
  version: 1,
  input: Of,
  output: z.json(),
  signals: { again: z.null() },
  machine: setup({
    types: { context: {} as { n: number } },
    actors: toActors({ charge: chargeCompensate }),
  }).createMachine({
    initial: "calling",
    context: { n: 0 },
    states: {
      calling: {
        entry: assign({ n: ({ context }) => context.n + 1 }),
        invoke: {
          id: "call",
          src: "charge",
          input: ({ context }) => ({ of: `${context.n}` }),
          onDone: "done",
          onError: "failed",
        },
        on: { again: { target: "calling", reenter: true } },
      },
      done: { type: "final" },
      failed: { type: "final", tags: "failed" },
    },
  }),
});

const begun = started({ of: "x" });
const done = { id: "i" };

describe("a result", () => {
  test("of success ends the call, with the output as the tool's schema reads it", () => {
    const dated = defineTool({
      name: "dated",
      description: "A date.",
      effect: "read",
      input: Of,
      output: z.object({ at: z.coerce.date() }).transform(({ at }) => at.getUTCFullYear()),
    });
    given(calling(dated), begun)
      .when(succeeded("dated", { at: "2026-01-01T00:00:00Z" }))
      .then({ kind: "end", status: "completed", output: { said: 2026 } });
  });

  test("of a failure that may be tried again becomes the next attempt, with the same key and a backoff", () => {
    const story = given(calling(hold), begun);
    const key = (story.turns[0]?.steps[0]?.intents[0] as { key: string }).key;
    const again = story.when(failed("hold"));
    again.then({ kind: "retry", id: "1-0", attempt: 2 });
    expect(again.state.open[again.intent("hold")]).toMatchObject({ attempt: 2, intent: { key } });
  });

  test("of a failure is final once the attempts are used up", () => {
    const fails = Array.from({ length: 4 }, () => failed("hold"));
    const tried = given(calling(hold), begun, ...fails);
    expect(tried.state.open[tried.intent("hold")]?.attempt).toBe(5);
    tried
      .when(failed("hold", { reason: "for good" }))
      .then({ kind: "end", status: "failed", reason: "for good" });
  });

  test("of a failure that says not to try again is final at once", () => {
    given(calling(hold), begun)
      .when(failed("hold", { retry: false }))
      .then({ kind: "end", status: "failed" });
  });

  test("of an earlier attempt is known and changes nothing, unless it succeeded after all: the key is the same", () => {
    const retried = given(calling(hold), begun, failed("hold"));
    retried.when(failed("hold", {}, 1)).thenNotTaken("known");
    retried.when(succeeded("hold", done, 1)).then({ kind: "end", status: "completed" });
  });

  test("of a last attempt that may have got through is a failure, and undone by its key", () => {
    const thrown = failed("hold", { code: "TOOL_TIMEOUT", retry: true });
    given(calling(hold), begun, thrown, thrown, thrown, thrown)
      .when(thrown)
      .then({ kind: "tool", name: "release", undoes: "1-0" });
    const refused = failed("hold", { code: "NOT_PERFORMED", retry: true });
    given(calling(hold), begun, refused, refused, refused, refused)
      .when(refused)
      .then({ kind: "end", status: "failed", standing: [] });
  });

  test("of an earlier attempt does not count for the next one when both come in one turn", () => {
    const both = given(calling(hold), begun).when([
      failed("hold", {}, 1),
      failed("hold", { retry: false }, 1),
    ]);
    both.then({ kind: "retry", attempt: 2 });
    expect(both.end).toBeUndefined();
  });

  test("of a later attempt than this reader knows makes its view stale", () => {
    given(calling(hold), begun)
      .when(failed("hold", {}, 2))
      .thenNotTaken("stale");
  });

  test("of a turn above the head makes the reader's view stale", () => {
    given(calling(hold), begun)
      .when(succeeded("9-0", done, 1))
      .thenNotTaken("stale");
  });

  test("that does not fit is a failure, and what it may have done is undone by its key", () => {
    const key = given(calling(hold), begun).state.open["1-0" as never]?.intent;
    given(calling(hold), begun)
      .when(succeeded("hold", { wrong: true }))
      .then({ kind: "tool", name: "release", undoes: "1-0", input: { key: (key as { key: string }).key } });
  });

  test("that does not fit is in doubt for a tool that may not be repeated", () => {
    given(calling(chargeAsk), begun)
      .when(succeeded("charge_ask", 7))
      .then({ kind: "task", about: "doubt", of: "1-0" });
  });

  test("of doubt about what can be repeated is a failed attempt: it is run again", () => {
    given(calling(hold), begun).when(inDoubt("hold")).then({ kind: "retry", attempt: 2 });
    given(calling(look), begun).when(inDoubt("look")).then({ kind: "retry", attempt: 2 });
  });

  test("with a member called usage is not charged to the saga unless a model said it", () => {
    const usage = { inputTokens: 1_000, outputTokens: 1_000 };
    const story = given(
      agentOf(),
      begun,
      replied({ calls: [call("look")], usage: { inputTokens: 1, outputTokens: 2 } }),
    );
    expect(story.when(succeeded("look", { usage })).state.spent).toMatchObject({
      inputTokens: 1,
      outputTokens: 2,
    });
  });

  test("for a task or a timer is refused: an approval cannot be settled by a worker", () => {
    const asked = given(calling(chargeAsk), begun, inDoubt("charge_ask"));
    asked.when(succeeded("doubt", done, 1)).thenRefused("BAD_MESSAGE");
    const waiting = given(agentOf(), begun, replied({ calls: [call("wait", { forMs: 10 })] }));
    waiting.when(succeeded("timer", null, 1)).thenRefused("BAD_MESSAGE");
  });
});

describe("an effect in doubt", () => {
  test("is asked about where its tool says ask, and the answer is the call's result", () => {
    const asked = given(calling(chargeAsk), begun, inDoubt("charge_ask"));
    asked
      .when(voted("doubt", "answer", { answer: { outcome: "happened", output: done } }))
      .then({ kind: "end", status: "completed", output: { said: done } });
    asked
      .when(voted("doubt", "answer", { answer: { outcome: "did_not_happen" } }))
      .then({ kind: "end", status: "failed" });
  });

  test("whose task gets no answer in time is told as in doubt, and undone", () => {
    given(calling(chargeAsk), begun, inDoubt("charge_ask"))
      .when(fired("doubt"))
      .then({ kind: "tool", name: "release", undoes: "1-0" });
  });

  test("is told to the model where its tool says model, and blocks an equal call until it is settled", () => {
    const trimming = defineTool({ ...send, input: z.object({ of: z.string().trim() }) } as never);
    const agent = agentOf({ tools: [trimming] });
    const doubtful = given(agent, begun, replied({ calls: [call("send")] })).when(inDoubt("send"));
    expect(doubtful.messages.at(-1)).toMatchObject({ parts: [{ outcome: "in_doubt", code: "IN_DOUBT" }] });
    const again = doubtful.when(replied({ calls: [call("send", { of: " x" }), call("send", { of: "y" })] }));
    again.then({ kind: "denied", code: "CALL_IN_DOUBT" }, { kind: "tool", name: "send", call: "2.1" });
    const settled = again.when(failed("2-0", { retry: false }, 1)).when(succeeded("send", done));
    settled.when(replied({ calls: [call("send")] })).then({ kind: "tool", name: "send" });
  });

  test("is undone where its tool says compensate, and told after", () => {
    const story = given(calling(chargeCompensate), begun).when(inDoubt("charge_compensate"));
    story.then({ kind: "tool", name: "release", undoes: "1-0" });
    story
      .when(succeeded("release", {}))
      .then({ kind: "end", status: "failed", reason: "nobody reported", standing: [] });
  });

  test("is not told to a later entry of the state that asked", () => {
    const story = given(wantingAgain, begun, inDoubt("charge_compensate"), signalled("again"));
    const undone = story.when(succeeded("release", {}));
    undone.thenNothing();
    undone.when(succeeded("charge_compensate", done)).then({ kind: "end", status: "completed" });
  });

  test("that turns out to have succeeded is corrected, and the human's task is over", () => {
    const corrected = given(calling(chargeAsk), begun, inDoubt("charge_ask")).when(succeeded("1-0", done, 1));
    corrected.then({ kind: "end", status: "completed", output: { said: done } });
    expect(corrected.open).toEqual([]);
  });

  test("is not corrected by the failure of an earlier attempt", () => {
    const story = given(calling(chargeAsk), begun, failed("charge_ask"), inDoubt("charge_ask"));
    story.when(failed("1-0", { retry: false }, 1)).thenNotTaken("known");
    story.when(failed("1-0", { retry: false }, 2)).then({ kind: "end", status: "failed" });
  });

  test("takes no answer whose output is none of the tool's: the human is asked on, and may say it right", () => {
    const asked = given(calling(chargeAsk), begun, inDoubt("charge_ask"));
    const wrong = asked.when(
      voted("doubt", "answer", { answer: { outcome: "happened", output: { id: 7 } } }),
    );
    wrong.thenRefused("INPUT_INVALID");
    wrong
      .when(voted("doubt", "answer", { answer: { outcome: "happened", output: done } }))
      .then({ kind: "end", status: "completed", output: { said: done } });
  });

  test("keeps its task open where a recorded answer does not settle it", () => {
    const asked = given(calling(chargeAsk), begun, inDoubt("charge_ask"));
    const { definition, state } = asked;
    const vote = { vote: "answer", by: "ana", answer: { outcome: "happened", output: 7 } } as const;
    const event = { type: "task", intent: asked.intent("doubt"), id: "v", vote } as const;
    const decided = decideTurn(definition, state, { saga: state.saga, at: state.updatedAt, events: [event] });
    expect(decided.state.open).toEqual(state.open);
    expect(decided.state.doubts).toEqual(state.doubts);
  });

  test("P2: refuses a success that cannot be read, unless it is the very one that made the doubt", () => {
    const nobodyKnows = given(calling(chargeAsk), begun, inDoubt("charge_ask"));
    nobodyKnows.when(succeeded("1-0", { id: 7 }, 1)).thenRefused("BAD_RESULT");
    const unread = given(calling(chargeAsk), begun, succeeded("charge_ask", { id: 7 }));
    unread.when(succeeded("1-0", { id: 7 }, 1)).thenNotTaken("known");
    unread.when(succeeded("1-0", { id: 8 }, 1)).thenRefused("BAD_RESULT");
    const undone = given(calling(hold), begun, succeeded("hold", { wrong: 1 }), succeeded("release", {}));
    undone.when(succeeded("1-0", { wrong: 1 }, 1)).thenNotTaken("known");
    undone.when(succeeded("1-0", { wrong: 2 }, 1)).thenRefused("BAD_RESULT");
  });

  test("is told to the model when it is corrected, also while the model is asked", () => {
    const story = given(
      agentOf(),
      begun,
      replied({ calls: [call("send")] }),
      inDoubt("send"),
      succeeded("2-0", done, 1),
    );
    const said = story.when(replied({ calls: [call("look")] }));
    expect(said.messages.at(-1)).toMatchObject({
      role: "user",
      parts: [
        { call: "2.0", outcome: "pending" },
        { call: "1.0", outcome: "succeeded", output: done },
      ],
    });
  });
});

describe("a deferred call", () => {
  const waiting = given(calling(hold), begun, deferred("hold", 1_000));

  test("is settled by the outside", () => {
    waiting.when(succeeded("hold", done)).then({ kind: "end", status: "completed" });
  });

  test("fails when its time is over, and what was asked for is undone by its key", () => {
    waiting.when(fired("hold")).then({ kind: "tool", name: "release", undoes: "1-0" });
  });

  test("that is answered too late, after it was undone, is undone once more with what came back", () => {
    const late = given(
      calling(hold),
      begun,
      deferred("hold", 1_000),
      fired("hold"),
      succeeded("release", {}),
    ).when(succeeded("1-0", done, 1));
    late.then({ kind: "tool", name: "release", input: { id: "i" } });
    late.when(succeeded("release", {})).then({ kind: "end", status: "failed", standing: [] });
  });

  test("that fails is tried again like the first time, and may defer again", () => {
    const again = waiting.when(failed("hold"));
    expect(again.state.open[again.intent("hold")]).toMatchObject({ attempt: 2 });
    expect(again.state.open[again.intent("hold")]).not.toHaveProperty("deferred");
    again.when(fired("hold")).thenNotTaken("known");
    const twice = again.when(deferred("hold", 1_000));
    twice.thenNothing();
    twice.when(succeeded("hold", done, 1)).then({ kind: "end", status: "completed" });
  });

  test("cannot be a model's, a child's or a task's", () => {
    given(agentOf(), begun).when(deferred("model", 10)).thenRefused("BAD_MESSAGE");
  });

  test("that nobody waits for any more holds no cancel up: it is undone by its key", () => {
    waiting.when(signalled("cancel")).then({ kind: "tool", name: "release", undoes: "1-0" });
  });

  test("may be a compensation's own, which then ends by the outside", () => {
    given(calling(hold), begun, succeeded("hold", done)).when(signalled("again")).thenRefused("SAGA_ENDED");
    const undoing = given(calling(hold), begun, succeeded("hold", { wrong: 1 }), deferred("release", 1_000));
    undoing.when(succeeded("release", {})).then({ kind: "end", status: "failed", standing: [] });
  });
});

describe("an effect that was cancelled before it began", () => {
  test("is told as cancelled, and a late success stands and is undone with the rest", () => {
    const story = given(calling(reserve), begun, signalled("stop"));
    story.thenNothing();
    const over = story.when(cancelled("reserve"));
    over.then({ kind: "end", status: "failed", standing: [] });
    over.when(failed("1-0", { retry: false }, 1)).thenNotTaken("known");
    over.when(succeeded("1-0", done, 1)).thenNothing();
  });

  test("does not block an equal call", () => {
    const story = given(
      agentOf(),
      begun,
      replied({ calls: [call("charge_model")] }),
      cancelled("charge_model"),
    );
    story.when(replied({ calls: [call("charge_model")] })).then({ kind: "tool", name: "charge_model" });
  });
});

test("the tools of each class are what the tests above take them for", () => {
  expect([look, hold, reserve, chargeModel, send, release].map(({ effect }) => effect)).toEqual([
    "read",
    "idempotent",
    "probe",
    "once",
    "once",
    "idempotent",
  ]);
});
