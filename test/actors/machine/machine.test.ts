/**
 * Goal: the door says what XState's own pure functions say, and refuses what a ledger could not record.
 * Method: the corpus in step with the public functions; a small machine for each trap; faults by message.
 */
import * as fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import {
  type AnyStateMachine,
  assign,
  createMachine,
  emit,
  enqueueActions,
  fromPromise,
  initialTransition,
  log,
  not,
  raise,
  sendParent,
  sendTo,
  setup,
  spawnChild,
  StateNode,
  transition,
} from "xstate";
import { z } from "zod";
import {
  callableOf,
  compensation,
  modelCall,
  question,
  reasonOf,
  type SignalEvents,
  toActors,
} from "../../../actors/machine/callable.ts";
import { machineFaults } from "../../../actors/machine/faults.ts";
import { doneEvent, errorEvent, openMachine, statusOf } from "../../../actors/machine/machine.ts";
import type { MachineAction, MachineEvent } from "../../../actors/machine/actions.ts";
import { nodesOf } from "../../../actors/machine/snapshot.ts";
import { isMeshError } from "../../../protocol/errors.ts";
import { type Json, toJson } from "../../../protocol/json.ts";
import { limits } from "../../../protocol/limits.ts";
import type { CorpusCase } from "../../support/machine-driver.ts";
import { saga, tool } from "./corpus/callables.ts";
import * as children from "./corpus/children.ts";
import * as errors from "./corpus/errors.ts";
import * as events from "./corpus/events.ts";
import * as history from "./corpus/history.ts";
import * as invocations from "./corpus/invocations.ts";
import * as parallel from "./corpus/parallel.ts";
import * as timers from "./corpus/timers.ts";

const corpus = [parallel, history, timers, invocations, children, events, errors].flatMap((file) =>
  Object.values<CorpusCase>(file),
);
const actors = toActors({ tool, saga });

/** The code and the text of what a call throws. */
function thrown(body: () => unknown): { code: string; message: string; cause: unknown } {
  try {
    body();
  } catch (error) {
    if (isMeshError(error)) return { code: error.code, message: error.message, cause: error.cause };
    throw error;
  }
  throw new Error("nothing was thrown");
}

/** A snapshot as text, with state nodes by their ids: how the door's own nodes hold their actions is no matter of state. */
const textOf = (snapshot: object): string =>
  JSON.stringify(snapshot, function (this: Record<string, unknown>, key, value: unknown) {
    const plain = this[key];
    return plain instanceof StateNode ? plain.id : value;
  });

describe.each(corpus)("the door to $name", (of) => {
  test("agrees with the public initialTransition and transition", () => {
    const door = openMachine(of.machine);
    const alphabet = [...of.events.flatMap((event) => toTaken(of, event)), ...afterEvents(of.machine)];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...alphabet), { maxLength: 15 }), (path) => {
        let [snapshot, actions] = initialTransition(of.machine, of.input);
        let step = door.initial(of.input);
        expect(textOf(step.snapshot)).toBe(textOf(snapshot));
        expect(outcomeOf(step.actions)).toEqual(outcomeOf(actions.flatMap(publicAction)));
        for (const event of path) {
          if (snapshot.status !== "active") return;
          [snapshot, actions] = transition(of.machine, snapshot, event);
          step = door.step(step.snapshot, event);
          expect(textOf(step.snapshot)).toBe(textOf(snapshot));
          expect(outcomeOf(step.actions)).toEqual(outcomeOf(actions.flatMap(publicAction)));
        }
      }),
      { numRuns: 60, seed: 5 },
    );
  });

  test("gives the same snapshot after rest and revival, and the same text again", () => {
    const door = openMachine(of.machine);
    const path = fc.array(
      fc.constantFrom(...of.events.flatMap((event) => toTaken(of, event)), ...afterEvents(of.machine)),
      {
        maxLength: 15,
      },
    );
    fc.assert(
      fc.property(path, (events) => {
        const { snapshot } = events.reduce(
          (step, event) => door.step(step.snapshot, event),
          door.initial(of.input),
        );
        const text = JSON.stringify(door.persist(snapshot));
        const revived = door.revive(JSON.parse(text) as Json);
        expect(JSON.stringify(door.persist(revived))).toBe(text);
        expect(statusOf(revived)).toEqual(statusOf(snapshot));
        expect(text).not.toMatch(/x:\d/);
      }),
      { numRuns: 40, seed: 6 },
    );
  });

  test("has no faults", () => {
    expect(machineFaults(of.machine)).toEqual([]);
  });
});

/** A corpus event as the machine takes it; the clock's are none. */
function toTaken(of: CorpusCase, event: MachineEvent): MachineEvent[] {
  const [kind, id] = event.type.split(/:(.*)/);
  if (id === undefined) return [event];
  if (kind === "advance") return [];
  return [
    kind === "error" ? errorEvent(id, { reason: "declined" }) : doneEvent(id, of.results?.[id] ?? null),
  ];
}

const afterEvents = (machine: AnyStateMachine): MachineEvent[] =>
  nodesOf(machine.root).flatMap((node) => node.after.map(({ eventType }) => ({ type: String(eventType) })));

/** All that the params of any action may hold. */
interface PublicParams {
  id: string;
  src: string;
  input: unknown;
  actorRef: { id: string };
  event: MachineEvent;
  delay?: number;
  sendId: string;
  to: { id: string };
}

/** The public function's action in the door's words, read independently of the door. */
function publicAction({ type, params }: { type: string; params: unknown }): MachineAction[] {
  const { id, src, input, actorRef, event, delay, sendId, to } = (params ?? {}) as PublicParams;
  if (type === "xstate.spawnChild") return [{ type: "invoke", id: actorRef.id, src, input: toJson(input) }];
  if (type === "xstate.stopChild") return params === undefined ? [] : [{ type: "stop", id }];
  if (type === "xstate.cancel") return [{ type: "untimer", id: sendId }];
  if (type === "xstate.sendTo") return [{ type: "send", to: to.id, event }];
  if (type === "xstate.raise" && delay !== undefined) return [{ type: "timer", id, event, delayMs: delay }];
  return [];
}

/** What is left of a list of actions: what runs, what was stopped, what was sent. */
function outcomeOf(actions: readonly MachineAction[]) {
  const running = new Map<string, Json>();
  const timers = new Map<string, number>();
  const stopped: string[] = [];
  const sent: string[] = [];
  for (const action of actions) {
    if (action.type === "invoke") running.set(action.id, [action.src, action.input]);
    if (action.type === "stop" && !running.delete(action.id)) stopped.push(action.id);
    if (action.type === "timer") timers.set(action.event.type, action.delayMs);
    if (action.type === "untimer") timers.delete(action.id);
    if (action.type === "send") sent.push(`${action.to} ${JSON.stringify(action.event)}`);
  }
  return { running: [...running], timers: [...timers], stopped, sent: sent.sort() };
}

describe("a step", () => {
  test("does not run the context's factory again", () => {
    const inputs: unknown[] = [];
    const machine = createMachine({
      context: ({ input }: { input: unknown }) => {
        inputs.push(input);
        return {};
      },
      on: { ping: { actions: assign({}) } },
    });
    const door = openMachine(machine);
    const { snapshot } = door.initial({ of: 1 });
    door.step(door.step(snapshot, { type: "ping" }).snapshot, { type: "ping" });
    expect(inputs).toEqual([{ of: 1 }]);
  });

  test("says whether a transition was enabled, even one that changes nothing", () => {
    const door = openMachine(
      createMachine({
        initial: "a",
        states: { a: { on: { again: { target: "a", reenter: true }, forbidden: {} } } },
      }),
    );
    const { snapshot } = door.initial(undefined);
    expect(door.step(snapshot, { type: "again" }).taken).toBe(true);
    expect(door.step(snapshot, { type: "unknown" })).toEqual({ snapshot, actions: [], taken: false });
    expect(door.step(snapshot, { type: "unknown" }).snapshot).toBe(snapshot);
    expect(door.step(snapshot, { type: "forbidden" }).taken).toBe(false);
  });

  test("of an ended machine takes nothing, though a root handler is there", () => {
    const door = openMachine(
      createMachine({
        initial: "end",
        context: { n: 0 },
        on: { ping: { actions: assign({ n: 1 }) } },
        states: { end: { type: "final" } },
      }),
    );
    const { snapshot } = door.initial(undefined);
    expect(statusOf(snapshot).status).toBe("done");
    expect(door.step(snapshot, { type: "ping" })).toEqual({ snapshot, actions: [], taken: false });
  });

  test("on an error that nobody handles ends in error, with the error kept over rest", () => {
    const machine = setup({ actors }).createMachine({
      initial: "a",
      states: { a: { invoke: { id: "t", src: "tool" } } },
    });
    const door = openMachine(machine);
    const { snapshot, actions } = door.step(
      door.initial(undefined).snapshot,
      errorEvent("t", { reason: "declined" }),
    );
    expect(statusOf(door.revive(door.persist(snapshot)))).toMatchObject({
      status: "error",
      error: { reason: "declined" },
      value: "a",
    });
    expect(actions).toEqual([{ type: "stop", id: "t" }]);
  });

  test("throws MACHINE_THREW for a guard, an assign and an initial context that throw", () => {
    const fail = (): never => {
      throw new Error("broken");
    };
    const door = openMachine(
      createMachine({
        context: { n: 0 },
        on: { guard: { guard: fail, actions: [] }, assign: { actions: assign({ n: fail }) } },
      }),
    );
    const { snapshot } = door.initial(undefined);
    for (const type of ["guard", "assign"]) {
      const error = thrown(() => door.step(snapshot, { type }));
      expect(error).toMatchObject({ code: "MACHINE_THREW", cause: expect.any(Error) as unknown });
      expect(error.message).toContain("broken");
    }
    expect(thrown(() => openMachine(createMachine({ context: fail })).initial(undefined)).code).toBe(
      "MACHINE_THREW",
    );
    expect(door.step(snapshot, { type: "other" }).actions).toEqual([]); // Nothing of the failed step is left over.
  });

  test("of an endless `always` or raise loop throws instead of hanging", () => {
    const looping = createMachine({
      initial: "a",
      states: { a: { on: { go: "b" } }, b: { always: "c" }, c: { always: "b" } },
    });
    const raising = createMachine({ on: { go: { actions: raise({ type: "go" }) } } });
    for (const machine of [looping, raising]) {
      const door = openMachine(machine);
      expect(thrown(() => door.step(door.initial(undefined).snapshot, { type: "go" })).message).toContain(
        `more than ${limits.microstepsMax} microsteps`,
      );
    }
    expect(looping.options.maxIterations).toBe(Infinity);
  });

  test("stops a machine that spawns in assign or in its context", () => {
    const inAssign = setup({ actors }).createMachine({
      context: { ref: {} },
      on: { go: { actions: assign((args) => ({ ref: args.spawn("tool", { id: "x" }) })) } },
    });
    const door = openMachine(inAssign);
    expect(thrown(() => door.step(door.initial(undefined).snapshot, { type: "go" })).message).toContain(
      "`spawn` leaves no trace",
    );
    const inContext = setup({ actors }).createMachine({
      context: (args) => ({ ref: args.spawn("tool", { id: "x" }) }),
    });
    expect(thrown(() => openMachine(inContext).initial(undefined)).message).toContain(
      "`spawn` leaves no trace",
    );
  });

  test("refuses what only shows when an action is resolved", () => {
    const machine = setup({ actors }).createMachine({
      context: { never: Number.POSITIVE_INFINITY },
      on: {
        unnamed: { actions: enqueueActions(({ enqueue }) => enqueue.spawnChild("tool")) },
        system: {
          actions: enqueueActions(({ enqueue }) => enqueue.spawnChild("tool", { id: "t", systemId: "s" })),
        },
        foreign: {
          actions: enqueueActions(({ enqueue }) =>
            enqueue.spawnChild(fromPromise(() => Promise.resolve(1)) as never, { id: "t" }),
          ),
        },
        effect: { actions: enqueueActions(({ enqueue }) => enqueue(() => {})) },
        parent: { actions: enqueueActions(({ enqueue }) => enqueue.sendParent({ type: "up" })) },
        self: { actions: enqueueActions(({ enqueue, self }) => enqueue.sendTo(self, { type: "x" })) },
        selfSend: { actions: assign(({ self }) => (self.send({ type: "x" }), {})) },
        never: { actions: raise({ type: "x" }, { delay: ({ context }) => context.never }) },
        nobody: { actions: sendTo("nobody", { type: "x" }) },
      },
    });
    const door = openMachine(machine);
    const { snapshot } = door.initial(undefined);
    const messages = {
      unnamed: "needs an id",
      system: "systemId",
      foreign: "not bound by toActors",
      effect: "is not recorded",
      parent: "#_parent",
      self: "raise it",
      selfSend: "`self` cannot be used",
      never: "Infinity",
      nobody: "nobody",
    };
    for (const [type, message] of Object.entries(messages)) {
      const error = thrown(() => door.step(snapshot, { type }));
      expect([type, error.code]).toEqual([type, "MACHINE_THREW"]);
      expect(error.message).toContain(message);
    }
  });

  test("orders a signal behind the start of the child it is for, and before the stop of the one it left", () => {
    const door = openMachine(children.supervisor.machine);
    const first = door.initial(undefined);
    expect(first.actions.map(({ type }) => type)).toEqual(["invoke", "send"]);
    const again = door.step(first.snapshot, { type: "swap" });
    expect(again.actions).toMatchObject([
      { type: "send", event: { type: "goodbye" } },
      { type: "stop" },
      { type: "invoke" },
      { type: "send", event: { type: "welcome" } },
    ]);
  });

  test("leaves out what starts and stops within it", () => {
    const door = openMachine(timers.instant.machine);
    const open = door.step(door.initial(undefined).snapshot, { type: "open" });
    expect(
      door
        .step(open.snapshot, { type: "pass" })
        .actions.filter(({ type }) => type === "invoke" || type === "stop"),
    ).toEqual([]);
  });

  test("gives inputs, events and what is shown as JSON", () => {
    const machine = setup({ actors }).createMachine({
      initial: "a",
      states: {
        a: {
          invoke: { id: "t", src: "saga", input: () => ({ of: undefined, n: 1 }) },
          entry: [
            emit({ type: "shown", at: new Date(0) } as never),
            log("words", "label"),
            raise({ type: "later", at: new Date(0) }, { delay: -5 }),
          ],
        },
      },
    });
    expect(openMachine(machine).initial(undefined).actions).toEqual([
      { type: "live", kind: "emit", value: { type: "shown", at: "1970-01-01T00:00:00.000Z" } },
      { type: "live", kind: "log", value: { value: "words", label: "label" } },
      {
        type: "timer",
        id: "raise.later",
        event: { type: "later", at: "1970-01-01T00:00:00.000Z" },
        delayMs: 0,
      },
      { type: "invoke", id: "t", src: "saga", input: { n: 1 } },
    ]);
  });

  test("lets named actions of our own through where they are allowed", () => {
    const machine = createMachine({
      on: { go: { actions: { type: "sagamesh.decide", params: { step: 1 } } } },
    });
    const own = openMachine(machine, { builtin: true });
    expect(own.step(own.initial(undefined).snapshot, { type: "go" }).actions).toEqual([
      { type: "builtin", name: "sagamesh.decide", params: { step: 1 } },
    ]);
    const users = openMachine(machine);
    expect(thrown(() => users.step(users.initial(undefined).snapshot, { type: "go" })).code).toBe(
      "MACHINE_THREW",
    );
    expect(machineFaults(machine, { builtin: true })).toEqual([]);
    expect(machineFaults(machine)).toHaveLength(1);
  });
});

describe("a stored snapshot", () => {
  const machine = setup({ actors }).createMachine({
    id: "m",
    initial: "a",
    states: { a: { invoke: { id: "t", src: "tool" }, on: { go: "b" } }, b: {} },
  });

  test("stops its child by id after it was revived", () => {
    const door = openMachine(machine);
    const revived = door.revive(door.persist(door.initial(undefined).snapshot));
    expect(door.step(revived, { type: "go" }).actions).toEqual([{ type: "stop", id: "t" }]);
  });

  test("of another machine is refused, not bent to fit", () => {
    const stored = openMachine(machine).persist(openMachine(machine).initial(undefined).snapshot);
    const renamed = createMachine({ id: "m", initial: "z", states: { z: {} } });
    const unbound = createMachine({ id: "m", initial: "a", states: { a: {} } });
    const grown = setup({ actors }).createMachine({
      id: "m",
      initial: "a",
      states: { a: { initial: "x", states: { x: {} } } },
    });
    expect(thrown(() => openMachine(renamed).revive(stored))).toMatchObject({
      code: "FOLD_DIVERGED",
      message: expect.stringContaining('"m.a"') as string,
    });
    expect(thrown(() => openMachine(unbound).revive(stored)).message).toContain('binds no actor "tool"');
    expect(thrown(() => openMachine(grown).revive(stored)).message).toContain("other states active");
    expect(thrown(() => openMachine(machine).revive({ value: "a" })).code).toBe("BAD_MESSAGE");
  });

  test("keeps a state whose id holds a dot, and data that looks like an actor", () => {
    const dotted = createMachine({
      id: "d",
      initial: "on",
      context: { data: { xstate$$type: 1, id: "nobody" } },
      states: {
        on: {
          initial: "x",
          on: { off: "off" },
          states: { x: { on: { y: "y" } }, y: { id: "far.away" }, last: { type: "history" } },
        },
        off: { on: { on: "on.last" } },
      },
    });
    const door = openMachine(dotted);
    let { snapshot } = door.initial(undefined);
    for (const type of ["y", "off", "on"])
      snapshot = door.step(door.revive(door.persist(snapshot)), { type }).snapshot;
    expect(statusOf(snapshot)).toMatchObject({
      value: { on: "y" },
      context: { data: { xstate$$type: 1, id: "nobody" } },
    });
  });

  test("is refused if the context holds what JSON cannot say", () => {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    for (const value of [new Date(0), new Map(), Number.NaN, 1n, () => 1, [undefined], cycle]) {
      const door = openMachine(createMachine({ context: { value } }));
      expect(thrown(() => door.persist(door.initial(undefined).snapshot)).code).toBe("APP_INVALID");
    }
    const door = openMachine(createMachine({ context: { a: undefined, b: [null, { c: "" }] } }));
    expect(door.persist(door.initial(undefined).snapshot)).toMatchObject({
      context: { b: [null, { c: "" }] },
    });
  });
});

describe("faults", () => {
  test("are all listed, each with its place and its remedy", () => {
    const foreign = fromPromise(() => Promise.resolve(1));
    // An implementation of an older habit is not typed for any of this.
    const machine = createMachine(
      {
        id: "bad",
        type: "parallel",
        context: ({ spawn }: { spawn: unknown }) => ({ spawn }),
        states: {
          one: {
            initial: "a",
            entry: [
              () => {},
              "undeclared",
              "printed",
              sendParent({ type: "up" }),
              sendTo("#_internal", { type: "x" }),
            ],
            exit: [
              spawnChild("nowhere" as never),
              spawnChild(foreign as never, { id: "f", systemId: "s", syncSnapshot: true }),
            ],
            after: { undeclaredDelay: "one" },
            states: {
              a: { invoke: { id: "same", src: "bound" }, always: { guard: "undeclaredGuard", target: "b" } },
              b: { invoke: { src: foreign as never, onSnapshot: {} } },
            },
          },
          two: {
            invoke: { id: "same", src: "missing", systemId: "s" },
            on: {
              x: {
                guard: not("other"),
                actions: [
                  assign(({ spawn }) => ({ ref: spawn })),
                  assign({ n: async () => Promise.resolve(1) }),
                ],
              },
              y: {
                actions: [sendTo("same", { type: "y" }), raise({ type: "z" }, { delay: "unknown" as never })],
              },
            },
          },
        },
      } as never,
      { actors: { bound: actors.tool, foreign }, actions: { printed: () => {} } },
    );
    const faults = machineFaults(machine);
    for (const fault of [
      'the actor "foreign": its logic would run unrecorded',
      'the action "printed": a function of your own',
      'the context of "bad": `spawn`',
      'the state "bad.one", entry: a function of your own',
      'the state "bad.one", entry: the action "undeclared" is not declared',
      'the state "bad.one", entry: a saga\'s parent',
      'the state "bad.one", entry: an event to the machine itself',
      'the state "bad.one", entry: the delay "undeclaredDelay" is not declared',
      'the state "bad.one", exit, spawnChild: the actor "nowhere" is not declared',
      'the state "bad.one", exit: spawnChild needs an id',
      'the state "bad.one", exit, spawnChild: inline logic',
      'the state "bad.one", exit, spawnChild: systemId',
      'the state "bad.one", exit: syncSnapshot',
      'the state "bad.one.a", on "always": the guard "undeclaredGuard" is not declared',
      'the state "bad.one.b", invoke: inline logic',
      'the state "bad.one.b", invoke: onSnapshot',
      'the state "bad.two", invoke: the actor "missing" is not declared',
      'the state "bad.two", invoke: systemId',
      'the state "bad.two", on "x": the guard "other" is not declared',
      'the state "bad.two", on "x": `spawn`',
      'the state "bad.two", on "x": an async assign',
      'the state "bad.two", on "y": the delay "unknown" is not declared',
      'the state "bad.two", on "y": "same" is a tool and takes no signals',
      'the states "bad.one.a" and "bad.two" both invoke under the id "same"',
    ])
      expect(faults.filter((line) => line.startsWith(fault))).toHaveLength(1);
    expect(faults).toHaveLength(24);
  });

  test("are not seen in what is pure", () => {
    const machine = setup({ actors, delays: { soon: 5 } }).createMachine({
      context: { spawn: 0 },
      initial: "a",
      states: {
        a: {
          invoke: { id: "t", src: "tool" },
          after: { soon: "b", 10: "b" },
          on: { x: { actions: assign((_, params) => Object({ spawn: params })) } },
        },
        b: { invoke: { id: "t", src: "tool" } },
      },
    });
    expect(machineFaults(machine)).toEqual([]);
  });
});

describe("callables", () => {
  test("type a machine's inputs, outputs and signals with nothing annotated by hand", () => {
    const _signals = { change: z.object({ reason: z.string() }) };
    const ask = question({ to: ["desk"], answer: z.enum(["yes", "no"]), otherwise: "no" });
    setup({
      types: {
        events: {} as SignalEvents<typeof _signals>,
        context: {},
      },
      actors: toActors({ ask, compensation, sum: modelCall({ model: "m", instructions: "Sum up." }) }),
    }).createMachine({
      initial: "a",
      context: {},
      on: { change: { actions: assign({ why: ({ event }) => event.data.reason }) } },
      states: {
        a: {
          invoke: {
            src: "ask",
            input: { question: "?" },
            onDone: { target: "b", actions: assign({ answer: ({ event }) => event.output }) },
          },
        },
        b: {
          invoke: {
            src: "sum",
            input: { prompt: "" },
            onDone: { actions: assign({ text: ({ event }) => event.output.text }) },
          },
        },
      },
    });
    expectTypeOf<SignalEvents<typeof _signals>>().toEqualTypeOf<{
      type: "change";
      data: { reason: string };
      at: number;
      from: string;
      reason: string;
    }>();
    expect(ask).toMatchObject({ kind: "question", withinMs: limits.taskWithinMs, otherwise: "no" });
  });

  test("are found by the name they were bound to, and by nothing else", () => {
    const door = openMachine(setup({ actors: toActors({ ring: tool }) }).createMachine({}));
    expect(door.bound("ring")).toBe(tool);
    expect(door.bound("tool")).toBeUndefined();
    expect(door.bound("toString")).toBeUndefined();
    expect(callableOf(fromPromise(() => Promise.resolve()))).toBeUndefined();
  });

  test("give the reason of any error", () => {
    expect(reasonOf({ code: "X", reason: "declined" })).toBe("declined");
    expect(reasonOf(new Error("broken"))).toBe("broken");
    expect(reasonOf("words")).toBe("words");
    expect(reasonOf(undefined)).toBe("undefined");
  });
});
