/**
 * Goal: a signal, an actor and a timer come to what they come to in XState, and a saga that began under the former rules
 * goes on under them. Method: given / when / then, the same turns under either rule.
 */
import { describe, expect, test } from "vitest";
import { assign, cancel, raise, setup, spawnChild } from "xstate";
import { z } from "zod";
import { defineTool } from "../../../actors/contract/tool.ts";
import { type SignalEvents, toActors } from "../../../actors/machine/callable.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import {
  failed,
  fired,
  given,
  inDoubt,
  resulted,
  signalled,
  started,
  succeeded,
  type Happening,
} from "../../../services/testing/given.ts";
import type { Result } from "../../../protocol/result.ts";
import { look } from "../../support/workbench.ts";

/** A start as it was written before it said this of its saga. */
const without =
  (...members: readonly ("follows" | "causes" | "errorNames")[]): Happening =>
  (story) => {
    const event = (started({}) as Extract<Happening, (...of: never[]) => unknown>)(story);
    const kept = Object.entries(event).filter(([member]) => !members.includes(member as "follows"));
    return Object.fromEntries(kept) as typeof event;
  };
/** A start as it was written before machines followed XState. */
const startedBefore =
  (input: unknown): Happening =>
  (story) => {
    const event = (
      without("follows", "causes", "errorNames") as Extract<Happening, (...of: never[]) => unknown>
    )(story);
    return { ...event, input } as typeof event;
  };

const lamp = (whenEarly?: "keep" | "ignore" | { ON?: "keep" | "ignore"; OFF?: "keep" | "ignore" }) =>
  defineSaga({
    ...{ name: "lamp", version: 1, input: z.json(), output: z.json() },
    signals: { ON: z.null(), OFF: z.null() },
    ...(whenEarly === undefined ? {} : { whenEarly }),
    machine: setup({}).createMachine({
      initial: "off",
      on: { OFF: ".off" },
      states: { off: { on: { ON: "on" } }, on: {} },
    }),
  });
const pressed = [signalled("ON"), signalled("ON"), signalled("OFF")];
const valueOf = (story: ReturnType<typeof given>): unknown =>
  (story.state.snapshot as { value: unknown }).value;

describe("a signal that no present state takes", () => {
  test("is dropped as XState drops it, and its ledger says so", () => {
    const story = given(lamp(), started({}), ...pressed.slice(0, 2));
    story.then({ kind: "denied", name: "ON", code: "SIGNAL_NOT_TAKEN", reason: /takes the signal "ON"/ });
    expect(valueOf(story.when(signalled("OFF")))).toBe("off");
    expect(story.state.kept).toEqual([]);
  });

  test("is kept and offered again where the saga says so, for all of them or by name", () => {
    expect(valueOf(given(lamp("keep"), started({}), ...pressed))).toBe("on");
    expect(valueOf(given(lamp({ ON: "keep" }), started({}), ...pressed))).toBe("on");
    expect(valueOf(given(lamp({ OFF: "keep" }), started({}), ...pressed))).toBe("off");
  });

  test("is not told of where the state forbids it: it was taken, and nothing follows", () => {
    const door = defineSaga({
      ...{ name: "door", version: 1, input: z.json(), output: z.json(), signals: { knock: z.null() } },
      machine: setup({}).createMachine({ on: { knock: {} } }),
    });
    given(door, started({}), signalled("knock")).thenNothing();
  });

  test("is kept by a saga that began when that was the rule", () => {
    const story = given(lamp(), startedBefore({}), ...pressed);
    expect(valueOf(story)).toBe("on");
    expect(lamp().definition.hash).toBe(lamp("keep").definition.hash);
  });
});

describe("an id that a machine gives again", () => {
  const crew = defineSaga({
    ...{ name: "crew", version: 1, input: z.json(), output: z.json() },
    signals: { hire: z.null() },
    machine: setup({
      types: { context: {} as { said: unknown[] } },
      actors: toActors({ look }),
    }).createMachine({
      context: { said: [] },
      on: {
        hire: { actions: spawnChild("look", { id: "one", input: { of: "a" } }) },
        "xstate.done.actor.one": {
          actions: assign({
            said: ({ context, event }) => [...context.said, (event as { output?: unknown }).output],
          }),
        },
        "xstate.error.actor.one": {
          actions: assign({
            said: ({ context, event }) => [...context.said, (event as { error?: Error }).error?.message],
          }),
        },
      },
    }),
  });
  const saidOf = (story: ReturnType<typeof given>) =>
    (story.state.snapshot.context as { said: unknown[] }).said;

  test("leaves the earlier actor running: what both say is heard, in whatever order it comes", () => {
    const two = given(crew, started({}), signalled("hire"), signalled("hire"));
    const [first, second] = two.open;
    const both = two.when(succeeded(`${first}`, 1)).when(succeeded(`${second}`, 2));
    expect(saidOf(both)).toEqual([1, 2]);
    expect(both.state.displaced).toEqual({});
    const late = two
      .when(succeeded(`${second}`, 2))
      .when(failed(`${first}`, { code: "TOOL_FAILED", reason: "full", retry: false }));
    expect(saidOf(late)).toEqual([2, "full"]);
  });

  test("forgets the earlier actor in a saga that began when that was the rule", () => {
    const two = given(crew, startedBefore({}), signalled("hire"), signalled("hire"));
    const [first, second] = two.open;
    expect(saidOf(two.when(succeeded(`${first}`, 1)).when(succeeded(`${second}`, 2)))).toEqual([2]);
  });

  const bell = defineSaga({
    ...{ name: "bell", version: 1, input: z.json(), output: z.json() },
    signals: { set: z.null(), unset: z.null() },
    machine: setup({ types: { context: {} as { rung: number } } }).createMachine({
      context: { rung: 0 },
      on: {
        set: { actions: raise({ type: "ring" }, { id: "r", delay: 40 }) },
        unset: { actions: cancel("r") },
        ring: { actions: assign({ rung: ({ context }) => context.rung + 1 }) },
      },
    }),
  });

  test("of a delayed raise is taken back once: the latest, as in XState; once it was all of them", () => {
    const set = [signalled("set"), signalled("set"), signalled("unset"), signalled("unset")];
    const now = given(bell, started({}), ...set);
    expect(now.open).toEqual(["2-0"]);
    expect((now.when(fired("2-0")).state.snapshot.context as { rung: number }).rung).toBe(1);
    expect(given(bell, startedBefore({}), ...set).open).toEqual([]);
  });
});

describe("what a machine hears", () => {
  const Pay = z.object({ amount: z.number(), from: z.string() });
  const signals = { pay: Pay, poke: z.object({}), note: z.string() };
  const till = defineSaga({
    ...{ name: "till", version: 1, input: z.json(), output: z.json(), signals },
    machine: setup({
      types: { context: {} as { paid: unknown[] }, events: {} as SignalEvents<typeof signals> },
    }).createMachine({
      context: { paid: [] },
      on: {
        pay: {
          actions: assign({
            paid: ({ event }) => [
              "amount" in event,
              event.data.amount,
              event.data.from,
              event.from,
              event.type,
            ],
          }),
        },
        poke: { actions: assign({ paid: ({ event }) => [event.data] }) },
        note: { actions: assign({ paid: ({ event }) => [event.data, "length" in event] }) },
      },
    }),
  });
  const paidOf = (story: ReturnType<typeof given>) =>
    (story.state.snapshot.context as { paid: unknown[] }).paid;
  const pay = signalled("pay", { amount: 5, from: "her purse" });

  test("is a signal's data on the event itself, under the sender's own name and not the data's", () => {
    expect(paidOf(given(till, started({}), pay))).toEqual([true, 5, "her purse", "outside", "pay"]);
    expect(paidOf(given(till, startedBefore({}), pay))[0]).toBe(false);
  });

  test("is no member of a text", () => {
    expect(paidOf(given(till, started({}), signalled("note", "abc")))).toEqual(["abc", false]);
  });

  test("of a signal without data is an object, where its schema asks for one that may be empty", () => {
    expect(paidOf(given(till, started({}), signalled("poke")))).toEqual([{}]);
  });
});

describe("what lay behind an error", () => {
  const pay = defineTool({
    ...{
      name: "pay",
      description: "Pay.",
      effect: "once",
      onDoubt: "model",
      input: z.json(),
      output: z.json(),
    },
  });
  const asking = defineSaga({
    ...{ name: "asking", version: 1, input: z.json(), output: z.json() },
    machine: setup({
      types: { context: {} as { heard: unknown } },
      actors: toActors({ pay }),
    }).createMachine({
      context: { heard: null },
      invoke: {
        src: "pay",
        input: { of: "a" },
        onError: { actions: assign({ heard: ({ event }) => event.error }) },
      },
    }),
  });
  const heardAfter = (begun: Happening, result: Result) => {
    const story = given(asking, begun);
    return (story.when(resulted(`${story.open[0]}`, result)).state.snapshot.context as { heard: object })
      .heard;
  };
  const cause = {
    name: "TypeError",
    message: "fetch failed",
    cause: { name: "Error", message: "no answer", code: 1 },
  };
  const why = { code: "TOOL_FAILED", reason: "full", name: "OutOfRooms", cause };

  test.each([
    ["a failure", { outcome: "failed", ...why, retry: false }],
    ["a doubt", { outcome: "in_doubt", ...why }],
  ] as const)("is heard with %s, and not in a saga that began when it was not told", (_, result) => {
    expect(heardAfter(started({}), result)).toMatchObject({ name: "OutOfRooms", message: "full", cause });
    expect(heardAfter(without("errorNames"), result)).toMatchObject({ name: "Error", cause });
    const before = heardAfter(without("causes", "errorNames"), result);
    expect(before).toMatchObject({ name: "Error", message: "full" });
    expect(Object.keys(before)).not.toContain("cause");
    expect(Object.keys(heardAfter(startedBefore({}), result))).toEqual(["outcome", "code", "reason"]);
  });
});

describe("a body that returns nothing", () => {
  const quiet = (output: z.ZodType, effect: "once" | "idempotent") =>
    defineTool({ name: "quiet", description: "Says nothing.", effect, input: z.object({}), output });
  const asking = (tool: ReturnType<typeof quiet>) =>
    defineSaga({
      ...{ name: "asking", version: 1, input: z.json(), output: z.json() },
      machine: setup({ actors: toActors({ tool }) }).createMachine({
        initial: "asking",
        states: {
          asking: { invoke: { src: "tool", onDone: "done" } as never },
          done: { type: "final" },
        },
      }),
    });

  test.each([
    ["z.void()", z.void(), "once"],
    ["z.undefined()", z.undefined(), "idempotent"],
    ["an optional output", z.string().optional(), "once"],
  ] as const)("succeeds where its output is %s, and was asked without an input", (_name, output, effect) => {
    const saga = asking(quiet(output, effect));
    given(saga, started({}))
      .then({ kind: "tool", input: {} })
      .when(succeeded("quiet"))
      .then({ kind: "end", status: "completed" });
  });

  test.each([
    ["z.void()", z.void()],
    ["z.undefined()", z.undefined()],
  ] as const)("is a success that corrects a doubt where its output is %s, however late", (_name, output) => {
    const doubtful = given(asking(quiet(output, "once")), started({}), inDoubt("quiet"));
    const late = doubtful.when(resulted("1-0", { outcome: "succeeded", output: null }));
    expect(late.state.doubts).toEqual({});
    expect(late.state.effects).toMatchObject([{ outcome: "succeeded" }]);
  });

  test("has failed in a saga that began when that was the rule", () => {
    const saga = asking(quiet(z.void(), "idempotent"));
    given(saga, startedBefore({})).then({ kind: "denied", code: "CALL_INVALID" }, { kind: "end" });
  });
});
