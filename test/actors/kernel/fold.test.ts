/**
 * Goal: what an XState machine asks for becomes intents, timers and signals as the table of the machines says, and
 * what belongs to an earlier entry, or comes at an odd moment, changes nothing. Method: given, when, then.
 */
import { describe, expect, test } from "vitest";
import { assign, cancel, emit, log, raise, sendTo, setup, spawnChild, stopChild } from "xstate";
import { z } from "zod";
import { compensation, modelCall, toActors } from "../../../actors/machine/callable.ts";
import { defineSaga, type SagaConfig } from "../../../actors/saga/define.ts";
import type { SagaDefinition } from "../../../actors/contract/definition.ts";
import { decideTurn } from "../../../actors/kernel/fold.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { limits } from "../../../protocol/limits.ts";
import {
  cancelled,
  failed,
  fired,
  given,
  replied,
  resulted,
  signalled,
  started,
  succeeded,
} from "../../../services/testing/given.ts";
import { agentOf, call, calling, finish, hold, look, sequence, together } from "../../support/workbench.ts";

const begun = started({ of: "x" });
const done = { id: "i" };

const sagaOf = (
  machine: SagaConfig<z.ZodType, z.ZodType, never>["machine"],
  signals: Record<string, z.ZodType> = {},
  more: Partial<SagaConfig<z.ZodType, z.ZodType, Record<string, z.ZodType>>> = {},
): SagaDefinition =>
  defineSaga({
    name: "one",
    version: 1,
    input: z.json(),
    output: z.json(),
    signals,
    machine,
    ...more,
  });

const child = calling(hold);
const toolActors = toActors({ look, hold, child, compensation });

describe("an invoked actor", () => {
  test("is an intent, and its result the actor's own event", () => {
    const story = given(calling(look)).when(begun);
    story.then({ kind: "tool", id: "1-0", name: "look", input: { of: "x" } });
    story.when(succeeded("look", 5)).then({ kind: "end", output: { said: 5 } });
    story
      .when(failed("look", { retry: false, reason: "dark" }))
      .then({ kind: "end", status: "failed", reason: "dark" });
  });

  test("of an earlier entry is not listened to: its result is its own", () => {
    const again = given(calling(hold), begun).when(signalled("again"));
    again.then({ kind: "tool", id: "2-0" });
    const late = again.when(succeeded("1-0", done));
    late.thenNothing();
    late
      .when(succeeded("2-0", { id: "second" }))
      .then({ kind: "end", status: "completed", output: { said: { id: "second" } } });
  });

  test("that reads is over at once when its state is left, and what it says then is known", () => {
    const again = given(calling(look), begun, signalled("again"));
    expect(again.open).toEqual(["2-0"]);
    again.when(succeeded("1-0", 1)).thenNotTaken("known");
  });

  test("that is refused before it became an intent is told so, in the same turn", () => {
    const wrong = sagaOf(
      setup({ actors: toolActors }).createMachine({
        initial: "a",
        states: {
          a: { invoke: { src: "look", input: { of: 7 as never }, onError: "refused" } },
          refused: { type: "final" },
        },
      }),
    );
    given(wrong)
      .when(started(null))
      .then({ kind: "denied", name: "look", code: "CALL_INVALID" }, { kind: "end", status: "completed" });
  });

  test("that is refused is not told to a state that was entered anew meanwhile", () => {
    const counting = sagaOf(
      setup({
        types: {
          context: {} as { entered: number; errors: string[] },
          events: {} as { type: "xstate.error.actor.*"; actorId: string },
        },
        actors: toolActors,
      }).createMachine({
        initial: "a",
        context: { entered: 0, errors: [] },
        states: {
          a: {
            entry: assign({ entered: ({ context }) => context.entered + 1 }),
            always: { guard: ({ context }) => context.entered > 3, target: "done" },
            invoke: [
              { id: "one", src: "look", input: { of: 7 as never } },
              { id: "two", src: "look", input: { of: 7 as never } },
            ],
            on: {
              "xstate.error.actor.*": {
                target: "a",
                reenter: true,
                actions: assign({ errors: ({ context, event }) => [...context.errors, event.actorId] }),
              },
            },
          },
          done: { type: "final" },
        },
        output: ({ context }) => context as never,
      }),
    );
    expect(given(counting, started(null)).end).toMatchObject({
      output: { entered: 4, errors: ["one", "one", "one"] },
    });
  });
});

describe("spawnChild and stopChild", () => {
  const crew = sagaOf(
    setup({ actors: toolActors }).createMachine({
      initial: "on",
      entry: [
        spawnChild("hold", { id: "h", input: { of: "h" } }),
        spawnChild("look", { id: "l", input: { of: "l" } }),
      ],
      states: {
        on: { on: { fire: { actions: [stopChild("h"), stopChild("l")] }, end: "off" } },
        off: { type: "final" },
      },
    }),
    { fire: z.null(), end: z.null() },
  );

  test("are intents, and their cancelling: a read is over at once, an effect ends by its own result", () => {
    const fire = given(crew).when(started(null));
    fire.then({ kind: "tool", name: "hold" }, { kind: "tool", name: "look" });
    expect(fire.when(signalled("fire")).open).toEqual(["1-0"]);
  });

  test("stopping what is settled already changes nothing", () => {
    given(crew, started(null), succeeded("h", done), succeeded("l")).when(signalled("fire")).thenNothing();
  });

  test("leave an effect whose end the saga waits for", () => {
    const over = given(crew, started(null), signalled("fire"), signalled("end"));
    expect(over.end).toBeUndefined();
    over.when(succeeded("hold", done)).then({ kind: "end", status: "completed" });
  });
});

describe("a delayed event", () => {
  const timed = sagaOf(
    setup({ actors: toolActors }).createMachine({
      initial: "on",
      states: {
        on: {
          entry: raise({ type: "own" }, { id: "own", delay: 500 }),
          after: { 1_000: "late" },
          on: {
            own: "raised",
            again: { target: "on", reenter: true },
            never: { actions: cancel("own") },
            leave: "left",
          },
        },
        raised: { type: "final" },
        late: { type: "final" },
        left: { on: { back: "on" } },
      },
      output: ({ self: _self, ...rest }) => rest.event.type as never,
    }),
    { again: z.null(), never: z.null(), leave: z.null(), back: z.null() },
  );

  test("is a timer, due at the turn's time plus the delay, and named by its intent", () => {
    given(timed)
      .when(started(null), { at: 10_000 })
      .then({ kind: "timer", dueAt: 10_500 }, { kind: "timer", dueAt: 11_000 });
  });

  test("comes when its timer fires, whatever the time is then", () => {
    const story = given(timed, started(null));
    expect(story.when(fired("own"), { at: 1 }).end?.status).toBe("completed");
  });

  test("that was cancelled is purged, and its firing is known", () => {
    const never = given(timed, started(null), signalled("never"));
    expect(never.open).toEqual(["1-1"]);
    never.when(fired("1-0")).thenNotTaken("known");
  });

  test("of an earlier entry does not come", () => {
    const again = given(timed, started(null)).when(signalled("again"));
    again.then({ kind: "timer", id: "2-0" }, { kind: "timer", id: "2-1" });
    again.when(fired("1-1")).thenNotTaken("known");
    expect(again.when(fired("2-1")).end?.status).toBe("completed");
  });

  test("of a state that was left is purged, unless the machine raised it itself", () => {
    expect(
      given(timed, started(null), signalled("leave"), signalled("back"), signalled("leave")).open,
    ).toEqual(["1-0", "3-0"]);
  });

  test("of a turn above the head makes the reader's view stale", () => {
    given(timed, started(null)).when(fired("7-0")).thenNotTaken("stale");
  });

  test("farther away than a century ends the saga: no server could keep it", () => {
    const endless = sagaOf(
      setup({}).createMachine({
        initial: "a",
        states: { a: { after: { [limits.timerMaxMs + 1]: "b" } }, b: { type: "final" } },
      }),
    );
    expect(given(endless, started(null)).end).toMatchObject({ status: "failed", code: "MACHINE_THREW" });
  });
});

describe("a child saga", () => {
  const parent = sagaOf(
    setup({ actors: toolActors }).createMachine({
      initial: "on",
      states: {
        on: {
          invoke: { id: "kid", src: "child", input: { of: "k" }, onDone: "done", onError: "failed" },
          on: {
            hurry: { actions: sendTo("kid", { type: "stop", data: null }) },
            later: { actions: sendTo("kid", { type: "stop", fast: true }, { id: "later", delay: 100 }) },
            never: { actions: cancel("later") },
            swap: { target: "on", reenter: true },
            leave: "left",
          },
        },
        left: {},
        done: { type: "final" },
        failed: { type: "final", tags: "failed" },
      },
    }),
    { hurry: z.null(), later: z.null(), never: z.null(), swap: z.null(), leave: z.null() },
  );
  const running = given(parent, started(null));

  test("is started under an id made of its parent's intent, for ever the same", () => {
    const [first, second] = [given(parent, started(null)), given(parent, started(null))].map(
      ({ intents }) => intents[0],
    );
    expect(first).toMatchObject({ kind: "saga", name: "calling", input: { of: "k" } });
    expect(first).toEqual(second);
    const swapped = running.when(signalled("swap")).intents.find(({ kind }) => kind === "saga");
    expect((swapped as { saga: string }).saga).not.toBe((first as { saga: string }).saga);
  });

  test("is sent signals, with the event's data or what else it holds", () => {
    running.when(signalled("hurry")).then({ kind: "signal", name: "stop", data: null });
    running
      .when(signalled("later"))
      .then({ kind: "timer" })
      .when(fired("later"))
      .then({ kind: "signal", name: "stop", data: { fast: true } });
  });

  test("is not sent what was meant for the child before it", () => {
    const swapped = given(parent, started(null), signalled("later"), signalled("swap"));
    swapped.when(fired("later")).thenNothing();
  });

  test("is not sent what was cancelled", () => {
    expect(given(parent, started(null), signalled("later"), signalled("never")).open).toEqual(["1-0"]);
  });

  test("whose start or output does not fit is a failure of its call", () => {
    running.when(failed("calling", { retry: false })).then({ kind: "end", status: "failed" });
    const strict = defineSaga({
      ...child.definition,
      output: z.number(),
      machine: setup({}).createMachine({}),
    });
    const saga = sagaOf(
      setup({ actors: toActors({ kid: strict }) }).createMachine({
        initial: "a",
        states: {
          a: { invoke: { src: "kid", input: { of: "x" } as never, onDone: "b" } },
          b: { type: "final" },
        },
      }),
    );
    expect(given(saga, started(null), succeeded("calling", "no number")).end).toMatchObject({
      status: "failed",
      code: "BAD_RESULT",
    });
  });

  test("that is no longer wanted is told to cancel, once, and its end is waited for", () => {
    const left = running.when(signalled("leave"));
    left.then({ kind: "signal", name: "cancel", data: { reason: "cancelled by saga-1" } });
    const over = left.when(signalled("cancel"));
    over.thenNothing();
    const told = over.when(succeeded("signal", null));
    told.thenNothing();
    told
      .when(failed("calling", { code: "CANCELLED", retry: false }))
      .then({ kind: "end", status: "cancelled" });
  });

  test("cannot have failed to take a signal: a failure of one is refused, and it is open until it is acked", () => {
    const hurried = running.when(signalled("hurry"));
    const id = hurried.intent("signal");
    const refused = hurried.when(failed("signal")).thenRefused("BAD_MESSAGE");
    expect(refused.open).toContain(id);
    expect(refused.when(succeeded("signal", null)).open).not.toContain(id);
  });

  test("tells its parent how it ended", () => {
    const kid = given(
      calling(look),
      started({ of: "x" }, { saga: "boss", intent: "3-0" }),
      succeeded("look", 1),
    );
    expect(kid.open).toEqual([kid.end?.id]);
    const told = kid.when(succeeded("end", null));
    told.thenNothing();
    expect(told.open).toEqual([]);
  });
});

describe("what is only shown", () => {
  test("goes to the live lane and not into the ledger", () => {
    const talking = setup({ types: { emitted: {} as { type: "news"; n: number } } }).createMachine({
      entry: [emit({ type: "news", n: 1 }), log("hello")],
    });
    const { definition } = sagaOf(talking);
    const { steps, shown } = decideTurn(definition, undefined, {
      saga: parseSagaId("s"),
      at: 0,
      events: [
        { type: "start", definition: { name: "one", version: 1, hash: definition.hash }, input: null },
      ],
    });
    expect(steps[0]?.intents).toEqual([]);
    expect(shown).toMatchObject([{ kind: "emit", value: { type: "news", n: 1 } }, { kind: "log" }]);
  });
});

describe("a signal", () => {
  const waiting = (whenEarly: "keep" | "ignore") =>
    sagaOf(
      setup({
        types: {
          context: {} as { got: unknown[] },
          events: {} as { type: string; data: unknown; at: number; from: string },
        },
      }).createMachine({
        initial: "first",
        context: { got: [] },
        states: {
          first: { on: { open: "second" } },
          second: {
            on: {
              note: {
                actions: assign({
                  got: ({ context, event }) => [
                    ...context.got,
                    event.data instanceof Date ? "a date" : event.data,
                  ],
                }),
              },
              close: "closed",
            },
          },
          closed: { type: "final" },
        },
        output: ({ context }) => ({ got: context.got }) as never,
      }),
      {
        open: z.null(),
        close: z.null(),
        note: z.iso
          .date()
          .transform((day) => new Date(day))
          .or(z.string()),
      },
      { whenEarly },
    );
  const early = [
    started(null),
    signalled("note", "a"),
    signalled("note", "b"),
    signalled("open"),
    signalled("close"),
  ];

  test("that no state takes yet is kept, and offered again in order once the machine has moved", () => {
    expect(given(waiting("keep"), ...early).end?.output).toEqual({ got: ["a", "b"] });
  });

  test("that no state takes is dropped where the definition says so, and recorded all the same", () => {
    const story = given(waiting("ignore"), ...early);
    expect(story.end?.output).toEqual({ got: [] });
    expect(story.turns).toHaveLength(5);
  });

  test("is taken as its schema reads it, also when it was kept through a rest", () => {
    const story = given(waiting("keep"), started(null), signalled("note", "2026-01-01"), signalled("open"));
    expect(story.when(signalled("close")).end?.output).toEqual({ got: ["a date"] });
  });

  test("carries the turn's time and its sender", () => {
    const from = sagaOf(
      setup({ types: { events: {} as { type: "go"; at: number; from: string } } }).createMachine({
        initial: "a",
        states: { a: { on: { go: "b" } }, b: { type: "final" } },
        output: ({ event }) => event as never,
      }),
      { go: z.null() },
    );
    const story = given(from, started(null)).when(signalled("go", null, { from: "ann" }), { at: 77 });
    expect(story.turns.at(-1)).toMatchObject({ at: 77, steps: [{ event: { from: "ann" } }] });
  });

  test("twice in one turn under one id is taken once", () => {
    const story = given(waiting("keep"), started(null), signalled("open"), [
      signalled("note", "a", { id: "n" }),
      signalled("note", "a", { id: "n" }),
    ]);
    expect(story.when(signalled("close")).end?.output).toEqual({ got: ["a"] });
  });
});

describe("cancel", () => {
  test("of a machine's saga undoes what stands, waits for what is open, and ends as cancelled with the reason", () => {
    const story = given(sequence(hold, hold), begun, succeeded("t0", done)).when(
      signalled("cancel", { reason: "enough" }),
    );
    story.thenNothing();
    story
      .when(cancelled("2-0"))
      .then({ kind: "tool", undoes: "1-0" })
      .when(succeeded("release", {}))
      .then({ kind: "end", status: "cancelled", reason: "enough" });
  });

  test("takes a plain text as its reason", () => {
    given(sequence(look), begun)
      .when(signalled("cancel", "enough"))
      .then({ kind: "end", status: "cancelled", reason: "enough" });
  });

  test("leaves no timer, read or model call open", () => {
    const busy = sagaOf(
      setup({
        actors: toActors({ look, sum: modelCall({ model: "m", instructions: "Sum up." }) }),
      }).createMachine({
        initial: "a",
        states: {
          a: {
            after: { 5_000: "b" },
            invoke: [
              { src: "look", input: { of: "x" } },
              { src: "sum", input: { prompt: "all of it" } },
            ],
          },
          b: {},
        },
      }),
    );
    const story = given(busy, started(null));
    expect(story.open).toHaveLength(3);
    const over = story.when(signalled("cancel"));
    expect(over.open).toEqual([]);
    over
      .when(
        resulted(
          "1-1",
          { outcome: "cancelled", code: "CANCELLED", reason: "", usage: { inputTokens: 3, outputTokens: 0 } },
          1,
        ),
      )
      .thenNotTaken("known");
  });

  test("is not taken twice, and not for a new reason", () => {
    expect(
      given(sequence(look), begun, [signalled("cancel", "a"), signalled("cancel", "b", { id: "2" })]).end
        ?.reason,
    ).toBe("a");
  });
});

describe("a machine that fails", () => {
  const throwing = (on: "start" | "signal" | "output") =>
    sagaOf(
      setup({
        types: { events: {} as { type: "go" } },
        actors: toolActors,
        guards: {
          broken: () => {
            throw new Error("guard broke");
          },
        },
      }).createMachine({
        context: () => {
          if (on === "start") throw new Error("no context");
          return {};
        },
        initial: "a",
        states: {
          a: { invoke: { src: "hold", input: { of: "x" }, onDone: "b" } },
          b: { on: { go: on === "signal" ? { guard: "broken", target: "c" } : "c" } },
          c: { type: "final" },
        },
        output: () => {
          throw new Error("no output");
        },
      }),
      { go: z.null() },
    );

  test("at its start ends as failed, with a state that can be put to rest", () => {
    expect(given(throwing("start"), started(null)).end).toMatchObject({
      status: "failed",
      code: "MACHINE_THREW",
      reason: /no context/ as never,
    });
  });

  test("on an event ends as failed, with what it did undone", () => {
    const story = given(throwing("signal"), started(null), succeeded("hold", done)).when(signalled("go"));
    story.then({ kind: "tool", name: "release", undoes: "1-0" });
    story
      .when(succeeded("release", {}))
      .then({ kind: "end", status: "failed", code: "MACHINE_THREW", reason: /guard broke/ });
  });

  test("while it says its output ends as failed, with what it did undone", () => {
    const story = given(throwing("output"), started(null), succeeded("hold", done)).when(signalled("go"));
    story.then({ kind: "tool", name: "release", undoes: "1-0" });
  });

  test("by an error nobody handles ends with that error's code and reason, and undoes what it did", () => {
    const story = given(sequence(hold, hold), begun, succeeded("t0", done)).when(
      failed("t1", { code: "NOT_PERFORMED", reason: "full", retry: false }),
    );
    story.then({ kind: "tool", name: "release" });
    story
      .when(succeeded("release", {}))
      .then({ kind: "end", status: "failed", code: "NOT_PERFORMED", reason: "full" });
  });

  test("by an output that does not fit ends as failed, with what it did undone", () => {
    const saga = sagaOf(calling(hold).definition && machineOfHold(), {}, { output: z.number() });
    const story = given(saga, started(null)).when(succeeded("hold", done));
    story.then({ kind: "tool", name: "release" });
    story.when(succeeded("release", {})).then({ kind: "end", status: "failed", code: "BAD_RESULT" });
  });

  test("by never coming to rest is ended, on every host after the same number of events", () => {
    const restless = sagaOf(
      setup({ actors: toolActors }).createMachine({
        initial: "a",
        states: {
          a: { invoke: { src: "look", input: { of: 7 as never }, onError: { target: "a", reenter: true } } },
        },
      }),
    );
    expect(given(restless, started(null)).end).toMatchObject({
      status: "failed",
      code: "MACHINE_THREW",
      reason: /come to rest/ as never,
    });
  }, 60_000);

  test("to give a question or a compensation its words is refused, not recorded as what nobody can read", () => {
    const saga = sagaOf(
      setup({ actors: toolActors }).createMachine({
        initial: "a",
        states: {
          a: { invoke: { src: "compensation", input: {} as never, onError: "b" } },
          b: { type: "final" },
        },
      }),
    );
    given(saga).when(started(null)).then({ kind: "denied", code: "CALL_INVALID" }, { kind: "end" });
  });
});

const machineOfHold = () =>
  setup({ actors: toolActors }).createMachine({
    initial: "a",
    states: { a: { invoke: { src: "hold", input: { of: "x" }, onDone: "b" } }, b: { type: "final" } },
    output: () => "no number" as never,
  });

describe("final states", () => {
  const ending = (tags: string) =>
    sagaOf(
      setup({}).createMachine({
        initial: "a",
        states: { a: { on: { go: "b" } }, b: { type: "final", tags } },
        output: () => ({ because: "why", code: "INFEASIBLE" }) as never,
      }),
      {
        go: z.null(),
      },
    );

  test.each([
    ["failed", "failed"],
    ["cancelled", "cancelled"],
    ["other", "completed"],
  ])("tagged %s end the saga as %s", (tag, status) => {
    given(ending(tag), started(null)).when(signalled("go")).then({ kind: "end", status });
  });

  test("tagged failed say why by their output, with a code where it gives one", () => {
    const { end } = given(ending("failed"), started(null), signalled("go"));
    expect(end).toMatchObject({ reason: "why", code: "INFEASIBLE" });
  });
});

describe("a batch", () => {
  test("of fifty calls is fifty intents at once, and ends when all are settled", () => {
    const saga = together(...Array.from({ length: 50 }, () => look));
    const story = given(saga).when(begun);
    expect(story.intents).toHaveLength(50);
    const most = given(
      saga,
      begun,
      Array.from({ length: 49 }, (_, k) => succeeded(`t${k}`, k)),
    );
    most.thenNothing();
    most.when(succeeded("t49")).then({ kind: "end", status: "completed" });
  });

  test("of results in one turn is folded in the order given", () => {
    const saga = sequence(look, look);
    const story = given(saga, begun).when([succeeded("t0", 1), signalled("go")]);
    story.then({ kind: "tool", id: "2-0" });
    story.when(succeeded("t1", 2)).then({ kind: "end" });
  });

  test("leaves the state it was decided from as it was", () => {
    const before = given(agentOf(), begun, replied({ calls: [call("look"), call("send")] }));
    const frozen = deepFreeze(before.state);
    const at = 5;
    const decided = decideTurn(before.definition, frozen, {
      saga: frozen.saga,
      at,
      events: [
        { type: "signal", name: "note", data: { text: "n" }, id: "n", from: "f", sentAt: at },
        {
          type: "result",
          intent: before.intent("look"),
          attempt: 1,
          by: "w",
          result: { outcome: "succeeded", output: 1 },
        },
        { type: "signal", name: "cancel", data: null, id: "c", from: "f", sentAt: at },
      ],
    });
    expect(decided.state.turn).toBe(3);
  });
});

/** Everything but the machine's own snapshot, which XState does not let itself be frozen. */
function deepFreeze<T extends { snapshot?: unknown }>(state: T): T {
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
    Object.freeze(value);
    Object.values(value).forEach(visit);
  };
  for (const [key, value] of Object.entries(state)) if (key !== "snapshot") visit(value);
  return Object.freeze(state);
}

describe("a start", () => {
  test("with an input that does not fit is refused with a code", () => {
    expect(() => given(calling(look), started({ of: 1 }))).toThrow(/INPUT_INVALID/);
  });

  test("comes first, and once", () => {
    expect(() => given(calling(look), signalled("stop"))).toThrow(/begins with a start/);
    given(calling(look), begun).when(begun).thenNotTaken("known");
    given(calling(look), begun)
      .when(started({ of: "other" }))
      .thenNotTaken("taken");
    given(calling(look), begun)
      .when(started({ of: "x" }, { saga: "boss", intent: "1-0" }))
      .thenNotTaken("taken");
  });
});

describe("a single model call of a machine", () => {
  const summing = sagaOf(
    setup({
      types: { context: {} as { text: string } },
      actors: toActors({ sum: modelCall({ model: "m", instructions: "Sum up." }) }),
    }).createMachine({
      initial: "a",
      context: { text: "" },
      states: {
        a: {
          invoke: {
            src: "sum",
            input: { prompt: "all of it" },
            onDone: { target: "b", actions: assign({ text: ({ event }) => event.output.text }) },
          },
        },
        b: { type: "final" },
      },
      output: ({ context }) => context.text as never,
    }),
  );

  test("is a model intent with its prompt, and its output the text", () => {
    const story = given(summing).when(started(null));
    story.then({ kind: "model", name: "m", input: { prompt: "all of it" } });
    story.when(replied({ text: "short" })).then({ kind: "end", output: "short" });
  });

  test("that fails is tried again", () => {
    given(summing, started(null)).when(failed("model")).then({ kind: "retry", attempt: 2 });
  });

  test("is not an agent's way to end", () => {
    given(agentOf(), begun)
      .when(replied(finish))
      .then({ kind: "end", output: { answer: "42" } });
  });
});
