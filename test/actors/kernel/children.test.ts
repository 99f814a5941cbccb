/**
 * Goal: a child's end is its parent's result, whatever it is; a cancel goes down the tree, and the tree is undone from
 * its leaves to its root, with what cannot be undone in the root's end.
 * Method: given, when, then, from the parent's side and from the child's; both at once on a real server in
 * test/end-to-end/tree.test.ts.
 */
import { describe, expect, test } from "vitest";
import { toJson } from "../../../protocol/json.ts";
import {
  cancelled,
  failed,
  given,
  replied,
  resulted,
  signalled,
  started,
  type Story,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { agentOf, call, finish, hold, look } from "../../support/workbench.ts";

const child = agentOf({ name: "child" });
const parent = agentOf({ name: "parent", tools: [hold, look], agents: [child] });
const begun = started({ of: "x" });
const done = { id: "i" };
const both = given(parent, begun).when(replied({ calls: [call("hold"), call("child")] }));
const parts = (story: Story): unknown[] => {
  const message = story.messages.at(-1);
  return message?.role === "user" ? [...message.parts] : [];
};
const childFails = resulted("2-1", {
  ...{ outcome: "failed", code: "BUDGET_EXCEEDED", reason: "too dear", retry: false },
  standing: ["pay child-1.2-0.ab"],
});

describe("a child that failed", () => {
  test("is told to the model as a result: its code, its reason, and what it left standing", () => {
    const story = both.when(succeeded("hold", done)).when(childFails);
    story.then({ kind: "model" });
    expect(parts(story)[1]).toEqual({
      ...{ type: "result", call: "1.1", tool: "child", outcome: "failed" },
      ...{ code: "BUDGET_EXCEEDED", reason: "too dear", standing: ["pay child-1.2-0.ab"] },
    });
  });

  test("is not started again, and ends nothing by itself: its parent may go on to a good end", () => {
    const story = both.when(succeeded("hold", done)).when(childFails).when(replied(finish));
    expect(story.end).toMatchObject({ status: "completed", standing: [] });
    story.when(childFails).thenNotTaken("known");
  });

  test("left standing what its parent's end lists, if that fails or is cancelled too", () => {
    const story = both.when(succeeded("hold", done)).when(childFails).when(signalled("cancel"));
    story.then({ kind: "tool", name: "release" });
    expect(story.when(succeeded("release", {})).end).toMatchObject({
      ...{ status: "cancelled", standing: ["pay child-1.2-0.ab"] },
    });
  });
});

describe("a cancel of the parent", () => {
  const told = both.when(succeeded("hold", done)).when(signalled("cancel", "enough"));

  test("is sent to every open child, and nothing of the parent's own is undone before they have ended", () => {
    told.then({ kind: "signal", name: "cancel", data: { reason: "cancelled by saga-1" } });
    told.when(succeeded("signal")).thenNothing();
    told.when(failed("child", { code: "CANCELLED", retry: false })).then({ kind: "tool", name: "release" });
  });

  test("is sent to a child once, however often the parent is cancelled", () => {
    told.when(signalled("cancel", "again", { id: "again" })).thenNothing();
  });

  test("finds what a child does that was too late to hear of it: its success is its end", () => {
    told.when(succeeded("child", { answer: "done" })).then({ kind: "tool", name: "release" });
  });
});

describe("a child that is cancelled", () => {
  const running = given(
    child,
    started({ of: "x" }, { saga: "parent-1", intent: "3-1" }),
    replied({ calls: [call("hold"), call("send")] }),
  );

  test("undoes its own effects, then tells its parent what it could not undo", () => {
    const undoing = running
      .when([succeeded("hold", done), succeeded("send", done)])
      .when(signalled("cancel", "cancelled by parent-1"));
    undoing.then({ kind: "tool", name: "release" });
    const ended = undoing.when(succeeded("release", {}));
    const key = toJson(ended.state.effects.map((one) => `${one.tool} ${one.key}`));
    ended.then({ kind: "end", status: "cancelled", code: "CANCELLED", standing: key });
    expect(ended.state.open[ended.intent("end")]).toBeDefined(); // Its parent is told by a publish that is recorded.
  });

  test("waits for an effect in flight, and undoes it if it succeeds after all", () => {
    const waiting = running.when(signalled("cancel"));
    waiting.thenNothing();
    const undoing = waiting.when(succeeded("hold", done)).when(cancelled("send"));
    undoing.then({ kind: "tool", name: "release" });
  });
});

describe("a child that has ended well and left what can be undone", () => {
  const well = resulted("child", { outcome: "succeeded", output: { answer: "1" }, undoable: true });
  const after = both.when(succeeded("hold", done)).when(well);

  test("is an effect of its parent's that stands, from the result on", () => {
    expect(after.state.effects.map(({ tool }) => tool)).toEqual(["hold", "child"]);
    const nothing = both.when(succeeded("hold", done)).when(succeeded("child", { answer: "1" }));
    expect(nothing.state.effects.map(({ tool }) => tool)).toEqual(["hold"]);
  });

  test("is undone with the rest on a cancel, and what it leaves is in its parent's end", () => {
    const undoing = after.when(signalled("cancel", "enough"));
    undoing.then({ kind: "tool", name: "release" }, { kind: "saga", name: "child", undoes: "2-1" });
    const ended = undoing.when([
      succeeded("release", {}),
      succeeded("child", { standing: ["pay child-1.2-0.ab"] }),
    ]);
    expect(ended.end).toMatchObject({ status: "cancelled", standing: ["pay child-1.2-0.ab"] });
  });

  test("is undone before what it was decided on", () => {
    const one = given(parent, begun, replied({ calls: [call("hold")] }), succeeded("hold", done));
    const undoing = one
      .when(replied({ calls: [call("child")] }))
      .when(well)
      .when(signalled("cancel"));
    undoing.then({ kind: "saga", name: "child" });
    undoing.when(succeeded("child", { standing: [] })).then({ kind: "tool", name: "release" });
  });

  test("is undone by the model's own undo of that call", () => {
    const undoing = after.when(replied({ calls: [call("undo", { calls: ["1.1"] })] }));
    undoing.then({ kind: "saga", undoes: "2-1" });
    const undone = undoing.when(succeeded("child", { standing: [] }));
    undone.then({ kind: "model" });
    expect(undone.state.effects.map(({ tool }) => tool)).toEqual(["hold"]);
  });

  test("that cannot be had any more is a human's matter, and is listed", () => {
    const undoing = after.when(signalled("cancel"));
    const stuck = undoing.when([
      succeeded("release", {}),
      failed("child", { code: "SAGA_ARCHIVED", reason: "it was archived", retry: false }),
    ]);
    stuck.then({ kind: "task", about: "stuck" });
    expect(stuck.when(voted("stuck", "deny")).end?.standing).toEqual([
      expect.stringMatching(/^child child-/),
    ]);
  });

  test("has nothing undone by a parent that ends well", () => {
    expect(after.when(replied(finish)).end).toMatchObject({ status: "completed", standing: [] });
  });
});

describe("a saga that has ended and is asked by its parent to undo", () => {
  const parentRef = { saga: "parent-1", intent: "3-1" };
  const ended = given(
    child,
    started({ of: "x" }, parentRef),
    replied({ calls: [call("hold"), call("send")] }),
  )
    .when([succeeded("hold", done), succeeded("send", done)])
    .when(replied(finish));
  const told = ended.when(succeeded("end"));
  const order = (saga: string) =>
    signalled("cancel", { reason: "r", tell: { saga, intent: "9-0" } }, { id: "order", from: saga });

  test.each([
    ["whose end its parent has heard of", told],
    ["whose end is on its way", ended],
  ])("%s undoes what stands, once, and ends once more for the one who asked", (_, story) => {
    const undoing = story.when(order("parent-1"));
    undoing.then({ kind: "tool", name: "release" });
    const undone = undoing.when(succeeded("release", {}));
    undone.then({ kind: "end", status: "cancelled", standing: [/^send /] });
    expect(undone.open).toEqual([undone.intent("end")]);
    expect(undone.state.tells).toEqual({ saga: "parent-1", intent: "9-0" });
    undone.when(order("parent-1")).thenNotTaken("known");
  });

  test("refuses it from anybody else", () => {
    told.when(order("somebody")).thenRefused("SAGA_ENDED");
    given(child, begun, replied(finish)).when(order("somebody")).thenRefused("SAGA_ENDED");
  });
});
