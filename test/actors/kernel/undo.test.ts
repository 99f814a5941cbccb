/**
 * Goal: what succeeded is undone in reverse order of dependency, once, and no end leaves an effect unsaid.
 * Method: given, when, then; the machines undo by `compensation`, by failing, or by being cancelled.
 */
import { describe, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { compensation, toActors } from "../../../actors/machine/callable.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import {
  cancelled,
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
  finish,
  hold,
  look,
  Of,
  send,
  sequence,
  together,
} from "../../support/workbench.ts";

const unbook = defineTool({
  name: "unbook",
  description: "Unbooks.",
  effect: "probe",
  input: Of,
  output: z.json(),
});
const book = defineTool({
  name: "book",
  description: "Books.",
  effect: "probe",
  input: Of,
  output: z.json(),
  compensation: { tool: unbook, input: ({ input }) => input },
});

const begun = started({ of: "x" });
const done = { id: "i" };

describe("undoing", () => {
  test("goes from the last effect to the first, one after the other, where each was decided on the one before", () => {
    given(
      sequence(hold, hold, hold),
      begun,
      succeeded("t0", done),
      succeeded("t1", done),
      succeeded("t2", done),
    )
      .when(signalled("cancel"))
      .then({ kind: "tool", name: "release", undoes: "3-0" })
      .when(succeeded("release", {}))
      .then({ kind: "tool", name: "release", undoes: "2-0" })
      .when(succeeded("release", {}))
      .then({ kind: "tool", name: "release", undoes: "1-0" })
      .when(succeeded("release", {}))
      .then({ kind: "end", status: "cancelled", standing: [] });
  });

  test("goes in parallel where the effects were decided together", () => {
    given(together(hold, hold, look), begun, succeeded("t0", done), succeeded("t1", done))
      .when(signalled("cancel"))
      .then(
        { kind: "tool", name: "release", undoes: "1-0" },
        { kind: "tool", name: "release", undoes: "1-1" },
      );
  });

  test("goes in parallel where one effect was decided before the other had settled", () => {
    const story = given(
      agentOf(),
      begun,
      replied({ calls: [call("hold", { of: "a" })] }),
      signalled("hint"),
      replied({ calls: [call("hold", { of: "b" })] }),
      succeeded("1.0", done),
      succeeded("2.0", done),
    );
    story.when(signalled("cancel")).then({ kind: "tool", undoes: "2-0" }, { kind: "tool", undoes: "4-0" });
  });

  test("keeps an effect that was in doubt in its place: what was decided after the doubt is undone before it", () => {
    given(
      agentOf(),
      begun,
      replied({ calls: [call("charge_model")] }),
      inDoubt("charge_model"),
      replied({ calls: [call("hold")] }),
      succeeded("hold", done),
      succeeded("2-0", done, 1),
    )
      .when(signalled("cancel"))
      .then({ kind: "tool", undoes: "4-0" })
      .when(succeeded("release", {}))
      .then({ kind: "tool", undoes: "2-0" });
  });

  test("waits for every effect in flight, and not for what only reads", () => {
    const waiting = given(together(hold, hold, look), begun, succeeded("t0", done)).when(signalled("cancel"));
    waiting.thenNothing();
    expect(waiting.open).toEqual(["1-1"]);
    waiting
      .when(succeeded("1-1", done))
      .then({ kind: "tool", undoes: "1-0" }, { kind: "tool", undoes: "1-1" });
    waiting.when(failed("1-1")).then({ kind: "tool", undoes: "1-0" });
  });

  test("tries its compensation as often as its tool says, with one key", () => {
    const story = given(sequence(hold), begun, succeeded("t0", done)).when(signalled("cancel"));
    const key = (story.intents[0] as { key: string }).key;
    const again = story.when(failed("release"));
    again.then({ kind: "retry", attempt: 2 });
    expect(again.state.open[again.intent("release")]?.intent).toMatchObject({ key });
  });

  test("that is stuck asks a human, and ends well when the human undid it", () => {
    const stuck = given(sequence(hold), begun, succeeded("t0", done), signalled("cancel")).when(
      failed("release", { retry: false }),
    );
    stuck.then({ kind: "task", about: "stuck", of: "1-0" });
    stuck.when(voted("stuck", "approve")).then({ kind: "end", status: "cancelled", standing: [] });
  });

  test("that is stuck leaves the effect standing when nobody does, and lists it", () => {
    const stuck = given(
      sequence(hold),
      begun,
      succeeded("t0", done),
      signalled("cancel"),
      failed("release", { retry: false }),
    );
    const standing = [expect.stringMatching(/^hold saga-1\.1-0\./)];
    expect(stuck.when(voted("stuck", "deny")).end).toMatchObject({ status: "cancelled", standing });
    expect(stuck.when(fired("stuck")).end).toMatchObject({ status: "cancelled", standing });
  });

  test("that is stuck in doubt ends when it turns out to have happened after all", () => {
    const stuck = given(sequence(book), begun, succeeded("t0", done), signalled("cancel")).when(
      inDoubt("unbook"),
    );
    stuck.then({ kind: "task", about: "stuck", of: "1-0" });
    const after = stuck.when(succeeded("3-0", {}, 1));
    after.then({ kind: "end", status: "cancelled", standing: [] });
    expect(after.open).toEqual([]);
  });

  test("still asks the human about a stuck compensation when the saga is cancelled meanwhile", () => {
    const stuck = given(
      calling(hold),
      begun,
      succeeded("hold", { wrong: 1 }),
      failed("release", { retry: false }),
    );
    const after = stuck.when(signalled("cancel"));
    after.thenNothing();
    after.when(voted("stuck", "approve")).then({ kind: "end", status: "cancelled", standing: [] });
  });

  test("lists a point of no return that was passed, and undoes what came before it", () => {
    given(sequence(hold, send), begun, succeeded("t0", done), succeeded("t1", done))
      .when(signalled("cancel"))
      .then({ kind: "tool", name: "release", undoes: "1-0" })
      .when(succeeded("release", {}))
      .then({ kind: "end", status: "cancelled", standing: [/^send/] });
  });
});

describe("a success that comes late", () => {
  test("joins the set that is undone", () => {
    given(calling(hold), begun, signalled("cancel"))
      .when(succeeded("hold", done))
      .then({ kind: "tool", name: "release", undoes: "1-0" })
      .when(succeeded("release", {}))
      .then({ kind: "end", status: "cancelled", standing: [] });
  });

  test("after the end is undone, the saga ends again, and its parent is told once", () => {
    const parent = { saga: "boss", intent: "4-2" };
    const ended = given(
      calling(chargeAsk),
      started({ of: "x" }, parent),
      inDoubt("charge_ask"),
      signalled("cancel"),
    ).when(succeeded("release", {}));
    ended.then({ kind: "end", status: "cancelled", standing: [] });
    const late = ended.when(succeeded("end", null)).when(succeeded("1-0", done, 1));
    late.then({ kind: "tool", name: "release", undoes: "1-0", input: { id: "i" } });
    const again = late.when(succeeded("release", {}));
    again.then({ kind: "end", status: "cancelled", standing: [] });
    expect(again.open).toEqual([]);
  });

  test("that comes while its doubt is being undone is undone once more: that undoing may have come before it", () => {
    const story = given(calling(chargeAsk), begun, inDoubt("charge_ask"), signalled("cancel"));
    const late = story.when(succeeded("1-0", done, 1));
    late.then({ kind: "tool", name: "release", undoes: "1-0", input: { id: "i" } });
    const first = late.when(succeeded("3-0", {}));
    first.thenNothing();
    first.when(failed("4-0", { retry: false })).then({ kind: "task", about: "stuck", of: "1-0" });
    first.when(succeeded("4-0", {})).then({ kind: "end", status: "cancelled", standing: [] });
  });

  test("of an effect decided after everything was undone stands, even in the very turn of the undoing", () => {
    const rebooking = defineSaga({
      name: "rebooking",
      version: 1,
      input: z.json(),
      output: z.json(),
      signals: { change: z.null() },
      machine: setup({ actors: toActors({ hold, compensation }) }).createMachine({
        initial: "waiting",
        states: {
          waiting: { on: { change: "undoing" } },
          undoing: { invoke: { src: "compensation", input: { because: "change" }, onDone: "booking" } },
          booking: { invoke: { src: "hold", input: { of: "x" }, onDone: "booked" } },
          booked: { type: "final" },
        },
      }),
    });
    const story = given(rebooking, started(null)).when(signalled("change"));
    story.then({ kind: "tool", name: "hold", id: "2-0" });
    story.when(succeeded("hold", done)).then({ kind: "end", status: "completed" });
  });
});

describe("an end", () => {
  test("waits for an effect that is open when the machine is done", () => {
    const story = given(calling(hold), begun).when(signalled("stop"));
    story.thenNothing();
    story.when(succeeded("hold", done)).then({ kind: "end", status: "failed", standing: [/^hold/] });
  });

  test("does not wait for what only reads", () => {
    given(calling(look), begun).when(signalled("stop")).then({ kind: "end", status: "failed" });
  });

  test("lists what stands unless the saga completed", () => {
    expect(
      given(calling(hold), begun, signalled("stop"), succeeded("hold", done)).end?.standing,
    ).toHaveLength(1);
    expect(given(calling(hold), begun, succeeded("hold", done)).end?.standing).toEqual([]);
  });

  test("of a saga that completed lists what is in doubt, and no success: those are its purpose", () => {
    const told = given(agentOf(), begun, replied({ calls: [call("hold"), call("send")] }));
    const ended = told.when(succeeded("hold", done)).when(inDoubt("send")).when(replied(finish));
    ended.then({ kind: "end", status: "completed", standing: [/^send saga-1\.2-1\./] });
    ended.when(failed("2-1", { retry: false }, 1)).thenNothing();
  });

  test("waits for the human who was asked about a doubt, although the machine is done", () => {
    const asked = given(agentOf(), begun, replied({ calls: [call("charge_ask")] }), inDoubt("charge_ask"));
    const finished = asked.when(signalled("note", { text: "hurry" })).when(replied(finish));
    finished.thenNothing();
    expect(finished.open).toEqual(asked.open);
    const happened = { answer: { outcome: "happened", output: done } };
    finished
      .when(voted("doubt", "answer", happened))
      .then({ kind: "end", status: "completed", standing: [] });
    finished.when(fired("doubt")).then({ kind: "end", status: "completed", standing: [/^charge_ask/] });
  });

  test("no longer waits for that human once the saga is cancelled: what is in doubt is listed", () => {
    const asked = given(agentOf(), begun, replied({ calls: [call("charge_ask")] }), inDoubt("charge_ask"));
    const finished = asked.when(signalled("note", { text: "hurry" })).when(replied(finish));
    const ended = finished.when(signalled("cancel"));
    ended.then({ kind: "end", status: "completed", output: { answer: "42" }, standing: [/^charge_ask/] });
    const corrected = ended.when(succeeded("2-0", done, 1));
    corrected.thenNothing();
    expect(corrected.state.effects).toMatchObject([{ tool: "charge_ask", outcome: "succeeded" }]);
  });

  test("takes no further signal", () => {
    given(calling(look), begun, signalled("stop")).when(signalled("again")).thenRefused("SAGA_ENDED");
    given(calling(look), begun, signalled("stop")).when(signalled("cancel")).thenRefused("SAGA_ENDED");
  });

  test("is not begun twice by two cancels", () => {
    const story = given(calling(hold), begun, signalled("cancel")).when(signalled("cancel"));
    story.thenNothing();
    story.when(cancelled("hold")).then({ kind: "end", status: "cancelled" });
  });
});
