/**
 * Goal: while a saga is paused nothing is decided and nothing that a decision brings about begins, nothing that comes
 * is lost or reordered, and what it costs to go on is what it would have cost at once.
 * Method: given, when, then, which folds each turn a second time onto a state put to rest: what is held is held in
 * snapshots, too. A saga that was paused and one that was not must come to the same.
 */
import fc from "fast-check";
import { assign, setup } from "xstate";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { toActors } from "../../../actors/machine/callable.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import {
  failed,
  fired,
  given,
  type Given,
  replied,
  signalled,
  started,
  type Story,
  storyBegan,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { agentOf, call, calling, finish, hold, Of, sequence } from "../../support/workbench.ts";

const begun = started({ of: "x" });
const done = { id: "i" };
const pause = signalled("pause", { reason: "let me look" }, { id: "pause", from: "ana" });
const resume = signalled("resume", null, { id: "resume" });
const kinds = (story: Story): string[] => story.intents.map(({ kind }) => kind);
const lastParts = (story: Story): unknown[] => {
  const message = story.messages.findLast(({ role }) => role === "user");
  return message?.role === "user" ? [...message.parts] : [];
};

describe("a paused machine", () => {
  const machine = sequence(hold, hold);

  test("records a result, whose effect stands, and takes it only when it is resumed", () => {
    const paused = given(machine, begun, pause).when(succeeded("hold", done));
    paused.thenNothing();
    expect(paused.state.effects).toHaveLength(1);
    expect(paused.state.paused).toMatchObject({ by: "ana", reason: "let me look" });
    paused.when(resume).then({ kind: "tool", name: "hold" });
  });

  test("says who paused it last and why, and since when at first", () => {
    const story = given(machine, begun)
      .when(pause, { at: 5_000 })
      .when(signalled("pause", "still looking", { from: "ben" }), { at: 9_000 });
    expect(story.state.paused).toEqual({ at: 5_000, by: "ben", reason: "still looking" });
  });

  test("lets further attempts of a tool that failed go on, for what the last one did may still be told", () => {
    given(machine, begun, pause).when(failed("hold")).then({ kind: "retry", attempt: 2 });
  });

  test("is undone at once by a cancel, without taking what was held", () => {
    const story = given(machine, begun, pause, succeeded("hold", done)).when(signalled("cancel"));
    story.then({ kind: "tool", name: "release" });
    expect(story.state.paused).toBeUndefined();
    expect(story.when(succeeded("release", {})).end).toMatchObject({ status: "cancelled", standing: [] });
  });

  test("takes what came in the order in which it came, a failure before a signal that would have saved it", () => {
    const [no, again] = [failed("hold", { retry: false }), signalled("again")];
    const first = given(calling(hold), begun, pause, no, again).when(resume);
    expect(kinds(first)).toEqual(["end"]); // The failure led to undoing, and there was nothing to undo.
    const second = given(calling(hold), begun, pause, again, succeeded("hold", done)).when(resume);
    expect(kinds(second)).toEqual(["tool"]); // It began anew; the old call's success is not the new one's.
  });

  const dated = defineTool({
    name: "dated",
    description: "Says when.",
    effect: "idempotent",
    input: Of,
    output: z.object({ on: z.iso.date().transform((text) => new Date(text)) }),
  });
  const dating = defineSaga({
    name: "dating",
    version: 1,
    input: Of,
    output: z.object({ year: z.number() }),
    signals: { on: z.iso.date().transform((text) => new Date(text)) },
    machine: setup({
      types: { context: {} as { year: number }, events: {} as { type: "on"; data: Date } },
      actors: toActors({ dated }),
    }).createMachine({
      id: "dating",
      initial: "calling",
      context: { year: 0 },
      states: {
        calling: {
          invoke: {
            src: "dated",
            input: { of: "x" },
            onDone: {
              target: "waiting",
              actions: assign({ year: ({ event }) => event.output.on.getUTCFullYear() }),
            },
          },
        },
        waiting: {
          on: {
            on: {
              target: "done",
              actions: assign({ year: ({ context, event }) => context.year + event.data.getUTCFullYear() }),
            },
          },
        },
        done: { type: "final" },
      },
      output: ({ context }) => context,
    }),
  });

  test("takes a held value as its schema makes it, a date as a date", () => {
    const told = [succeeded("dated", { on: "2026-03-01" }), signalled("on", "2027-03-01")];
    const story = given(dating, begun, pause, ...told, resume);
    expect(story.end).toMatchObject({ status: "completed", output: { year: 4053 } });
  });
});

describe("a timer of a paused machine", () => {
  const timed = defineSaga({
    name: "timed",
    version: 1,
    input: Of,
    output: z.json(),
    signals: { leave: z.null(), back: z.null() },
    machine: setup({}).createMachine({
      id: "timed",
      initial: "counting",
      states: {
        counting: { after: { 60_000: "over" }, on: { leave: "away" } },
        away: { on: { back: "counting" } },
        over: { type: "final" },
      },
    }),
  });

  test("closes when it fires, and is taken on resume", () => {
    const story = given(timed, begun, pause).when(fired("timer"));
    expect(story.open).toEqual([]);
    expect(story.when(resume).end).toMatchObject({ status: "completed" });
  });

  test("is not taken if a signal that came before it left its state, even where that state is entered again", () => {
    const story = given(timed, begun, pause, signalled("leave"), signalled("back"), fired("timer")).when(
      resume,
    );
    expect(story.end).toBeUndefined();
    expect(story.state.snapshot.value).toBe("counting");
    story.then({ kind: "timer" });
  });
});

describe("a paused agent", () => {
  const agent = agentOf();
  const holding = replied({ calls: [call("hold")] });

  test("lets a decision in flight finish, and begins nothing that it decided until it is resumed", () => {
    const story = given(agent, begun, pause).when(holding);
    story.thenNothing();
    expect(story.open).toEqual([]);
    expect(story.when(resume).intents).toMatchObject([{ kind: "tool", name: "hold", call: "1.0" }]);
  });

  test("never carries out a held decision that an instruction came after: it decides anew, and the cost stays", () => {
    const usage = { inputTokens: 70, outputTokens: 7 };
    const story = given(
      agent,
      begun,
      pause,
      replied({ calls: [call("hold")], usage }),
      signalled("instruct", "hold nothing", { from: "ana" }),
    ).when(resume);
    story.then({ kind: "model" });
    expect(lastParts(story)).toMatchObject([{ type: "instructions", text: "hold nothing", from: "ana" }]);
    expect(story.state.spent).toMatchObject({ inputTokens: 70, outputTokens: 7, steps: 2 });
    story.when(replied(finish)).then({ kind: "end", status: "completed" });
  });

  test("tells the model when a held signal came, and that it is later now", () => {
    const story = given(agent, begun, replied({ calls: [call("wait", {})] }))
      .when(pause, { at: storyBegan + 60_000 })
      .when(signalled("note", { text: "n" }), { at: storyBegan + 61_000 })
      .when(resume, { at: storyBegan + 900_000 });
    const message = story.messages.at(-1);
    expect(message).toMatchObject({
      at: storyBegan + 900_000,
      parts: [{ call: "1.0" }, { type: "signal", at: storyBegan + 61_000 }],
    });
  });

  test("makes no further attempt of a model call that failed, and makes it when it is resumed", () => {
    const story = given(agent, begun, pause).when(failed("model"));
    story.thenNothing();
    expect(story.open).toEqual([]);
    story.when(resume).then({ kind: "retry", id: "1-0", attempt: 2 });
  });

  test("drops that attempt if a signal supersedes the decision", () => {
    const story = given(agent, begun, pause, failed("model"), signalled("hint")).when(resume);
    story.then({ kind: "model" });
    expect(story.open).toHaveLength(1);
  });

  const asked = agentOf({
    tools: [
      defineTool({
        name: "pay",
        description: "Pays.",
        effect: "once",
        compensation: "point_of_no_return",
        input: Of,
        output: z.object({}),
        approval: () => ({ by: ["finance"], withinMs: 1_000, otherwise: "approve" }),
      }),
    ],
  });
  test.each([
    ["a vote", voted("approval", "approve", { by: "finance" })],
    ["its time", fired("approval")],
  ])("does not begin a call that %s approves until it is resumed", (_, approve) => {
    const story = given(asked, begun, replied({ calls: [call("pay")] }), pause).when(approve);
    story.thenNothing();
    expect(story.open).toEqual([]);
    story.when(resume).then({ kind: "tool", name: "pay" });
    expect(story.when(signalled("cancel")).end).toMatchObject({ status: "cancelled", standing: [] });
  });

  test("goes on undoing what it was undoing, and hears of it when it is resumed", () => {
    const before = [begun, replied({ calls: [call("hold")] }), succeeded("hold", done)];
    const undoing = given(agent, ...before, replied({ calls: [call("undo", { calls: ["1.0"] })] }), pause);
    const undone = undoing.when(succeeded("release", {}));
    expect(undone.state.effects).toEqual([]);
    expect(kinds(undone)).toEqual([]);
    expect(kinds(undone.when(resume))).toEqual(["model"]);
  });

  test.each([
    ["while it is asked", [] as Given[]],
    ["with a reply held", [holding]],
    ["with a failure held", [failed("model", { retry: false })]],
    ["with a signal held", [signalled("note", { text: "n" }), holding]],
  ])("ends by a cancel %s, and asks nobody", (_, held) => {
    const story = given(agent, begun, pause, ...held).when(signalled("cancel", "enough"));
    expect(story.end).toMatchObject({ status: "cancelled", reason: "enough", standing: [] });
    expect(kinds(story)).toEqual(["end"]);
  });

  test("ends by a cancel that finds its undoing finished and held", () => {
    const before = [begun, replied({ calls: [call("hold")] }), succeeded("hold", done)];
    const undone = given(agent, ...before, signalled("cancel"), pause, succeeded("release", {}));
    expect(undone.end).toBeUndefined();
    expect(undone.when(signalled("cancel", "now", { id: "again" })).end).toMatchObject({
      status: "cancelled",
    });
  });

  test("tells its open children to pause and to go on only where the whole tree is meant", () => {
    const parent = agentOf({ name: "parent", agents: [agent] });
    const one = given(parent, begun, replied({ calls: [call("helper")] }));
    one.when(pause).thenNothing();
    const tree = one.when(signalled("pause", { tree: true }));
    tree.then({ kind: "signal", name: "pause", data: { tree: true } });
    tree.when(signalled("resume", { tree: true })).then({ kind: "signal", name: "resume" });
  });
});

describe("the door", () => {
  const agent = agentOf();

  test("refuses to pause or instruct what has ended or is about to", () => {
    const over = given(agent, begun, replied(finish));
    for (const name of ["pause", "resume", "instruct"])
      over.when(signalled(name, name === "instruct" ? "x" : null)).thenRefused("SAGA_ENDED");
    const undoing = given(sequence(hold, hold), begun, succeeded("hold", done), signalled("cancel"));
    undoing.when(pause).thenRefused("SAGA_ENDED");
  });

  test("knows a repeat of a pause, also after the resume: it does not pause again", () => {
    given(agent, begun, pause, resume).when(pause).thenNotTaken("known");
  });
});

describe("a saga that was paused", () => {
  const settled = {
    hold: succeeded("hold", done),
    send: succeeded("send", done),
    look: succeeded("look", 1),
  };
  const happenings = fc.shuffledSubarray(["hold", "send", "look", "note"] as const, { minLength: 1 });

  test("has done and told what it would have without the pause, whatever came meanwhile", () => {
    fc.assert(
      fc.property(happenings, fc.nat({ max: 3 }), (names, at) => {
        const told = names.map((name) =>
          name === "note" ? signalled("note", { text: "n" }) : settled[name],
        );
        const before = [begun, replied({ calls: [call("hold"), call("send"), call("look")] })];
        const without = given(agentOf(), ...before, ...told);
        const paused = given(agentOf(), ...before, ...told.slice(0, at), pause, ...told.slice(at), resume);
        const said = ({ messages }: Story) =>
          messages.flatMap((message) =>
            message.role === "user"
              ? message.parts.filter((part) => part.type !== "result" || part.outcome !== "pending")
              : [],
          );
        const timeless = (parts: unknown[]) => parts.map((part) => ({ ...(part as object), at: 0 }));
        expect(timeless(said(paused))).toEqual(timeless(said(without)));
        expect(paused.state.effects.map(({ tool }) => tool)).toEqual(
          without.state.effects.map(({ tool }) => tool),
        );
        expect(Object.keys(paused.state.open)).toHaveLength(Object.keys(without.state.open).length);
      }),
      { numRuns: 60 },
    );
  });
});
