/**
 * Goal: the same events give the same end in a mesh and in XState's interpreter, whatever dies between any two of them.
 * Method: machines made by hand, one for each feature; each is run by `createActor` on a simulated clock with bodies as promises,
 * and by a mesh in memory with the same bodies as tools, whose host and worker die after every event; what a machine saw stands
 * in its output.
 */
import { expect, test } from "vitest";
import {
  type AnyStateMachine,
  assign,
  cancel,
  createActor,
  enqueueActions,
  fromPromise,
  raise,
  sendTo,
  setup,
  SimulatedClock,
  spawnChild,
} from "xstate";
import { z } from "zod";
import { NotPerformed } from "../../../actors/contract/tool.ts";
import { defineApp, defineSaga, defineTool, toActors } from "../../../services/index.ts";
import { testMesh } from "../../../services/testing/index.ts";

const Asked = z.object({ n: z.number() });
const double = ({ n }: { n: number }): number => n * 2;
/** What lies behind a failure, two deep. */
const behind = new TypeError("fetch failed", {
  cause: Object.assign(new Error("no answer"), { code: "ECONNREFUSED" }),
});
const tools = {
  double: defineTool({
    ...{
      name: "double",
      description: "Twice as much.",
      effect: "idempotent",
      input: Asked,
      output: z.number(),
    },
    perform: async (asked) => double(asked),
  }),
  refuse: defineTool({
    ...{ name: "refuse", description: "Never.", effect: "once", input: Asked, output: z.number() },
    perform: async () => {
      throw new NotPerformed("declined", { retry: false, cause: behind });
    },
  }),
  quiet: defineTool({
    ...{ name: "quiet", description: "Nothing.", effect: "once", input: z.object({}), output: z.void() },
    perform: async () => {},
  }),
};
/** A machine for other machines: it counts what it is told, asks a tool at the end, and says the answer. */
const listening = setup({
  types: { context: {} as { n: number }, events: {} as { type: "say" | "stop"; amount: number } },
  actors: toActors({ double: tools.double }),
}).createMachine({
  context: { n: 0 },
  initial: "open",
  states: {
    open: {
      on: {
        say: { actions: assign({ n: ({ context, event }) => context.n + event.amount }) },
        stop: "asking",
      },
    },
    asking: {
      invoke: {
        src: "double",
        input: ({ context }) => ({ n: context.n }),
        onDone: { target: "done", actions: assign({ n: ({ event }) => event.output }) },
      },
    },
    done: { type: "final" },
  },
  output: ({ context }) => ({ heard: context.n }),
});
const Amount = z.object({ amount: z.number() });
const listener = defineSaga({
  ...{ name: "listener", version: 1, input: z.any(), output: z.object({ heard: z.number() }) },
  signals: { say: Amount, stop: Amount },
  machine: listening,
});
/** What a machine tells its listener, on A and B. */
const telling = (id: string) => ({
  A: { actions: sendTo(id, ({ event }: { event: Heard }) => ({ type: "say", amount: event.amount })) },
  B: { actions: sendTo(id, { type: "stop", amount: 0 }) },
});
const promises = {
  double: fromPromise(async ({ input }: { input: { n: number } }) => double(input)),
  refuse: fromPromise(async () => {
    throw new NotPerformed("declined", { cause: behind });
  }),
  quiet: fromPromise(async () => {}),
  get listener() {
    return listening.provide({ actors: { double: promises.double } as never });
  },
};

interface Heard {
  readonly type: string;
  readonly amount?: number;
  readonly output?: unknown;
  readonly error?: Error;
}
const saw = assign(({ context, event }: { context: { saw: unknown[] }; event: Heard }) => ({
  saw: [
    ...context.saw,
    [event.type, event.amount ?? event.output ?? told(event.error) ?? "nothing", ...causesOf(event.error)],
  ],
}));
const told = (error: Error | undefined) => error && `${error.name}: ${error.message}`;
/** What a machine reads of an error's causes. */
const causesOf = (error: unknown): string[] => {
  const { cause } = (error ?? {}) as { cause?: Error & { code?: string } };
  return cause === undefined ? [] : [`${cause.name} ${cause.code}: ${cause.message}`, ...causesOf(cause)];
};
const made = (config: object): AnyStateMachine =>
  (
    setup({
      types: { context: {} as { saw: unknown[] } },
      actors: toActors({ ...tools, listener }),
    }) as unknown as { createMachine(config: object): AnyStateMachine }
  ).createMachine({
    context: { saw: [] },
    output: ({ context }: { context: { saw: unknown[] } }) => context.saw,
    ...config,
  });
const ends = { end: { type: "final" } };

/** Each with the events it is sent; a number is milliseconds that pass. */
const cases: Record<string, { machine: AnyStateMachine; path: readonly (string | number)[] }> = {
  "a signal that no state takes": {
    machine: made({
      initial: "off",
      on: { C: { target: ".off", actions: saw } },
      states: { off: { on: { A: { target: "on", actions: saw } } }, on: { on: { D: "end" } }, ...ends },
    }),
    path: ["A", "A", "C", "D", "A", "D"],
  },
  "a result, a failure and a body that says nothing": {
    machine: made({
      initial: "a",
      states: {
        a: { invoke: { src: "double", input: { n: 4 }, onDone: { target: "b", actions: saw } } },
        b: { invoke: { src: "refuse", input: { n: 1 }, onError: { target: "c", actions: saw } } },
        c: { invoke: { src: "quiet", input: {}, onDone: { target: "d", actions: saw } } },
        d: { on: { D: "end" } },
        ...ends,
      },
    }),
    path: [1_000, "D"],
  },
  "children spawned under one id": {
    machine: made({
      initial: "a",
      states: {
        a: {
          on: {
            A: {
              actions: [
                spawnChild("double" as never, { id: "x", input: { n: 1 } }),
                spawnChild("double" as never, { id: "x", input: { n: 2 } }),
              ],
            },
            "xstate.done.actor.x": { actions: saw },
            D: "end",
          },
        },
        ...ends,
      },
    }),
    path: ["A", 1_000, "D"],
  },
  "a delayed raise of one id, taken back once": {
    machine: made({
      initial: "a",
      on: { T: { actions: saw } },
      states: {
        a: {
          on: {
            A: { actions: raise({ type: "T" }, { id: "t", delay: 60_000 }) },
            B: { actions: cancel("t") },
            D: "end",
          },
        },
        ...ends,
      },
    }),
    path: ["A", "A", "B", 120_000, "A", "B", 120_000, "D"],
  },
  "a machine in a machine, invoked and told": {
    machine: made({
      initial: "a",
      states: {
        a: {
          invoke: { id: "ear", src: "listener", input: {}, onDone: { target: "b", actions: saw } },
          on: telling("ear"),
        },
        b: { on: { D: "end" } },
        ...ends,
      },
    }),
    path: ["A", "A", "B", 1_000, "D"],
  },
  "a machine in a machine that is left while it listens, and entered again": {
    machine: made({
      initial: "a",
      states: {
        a: {
          invoke: { id: "ear", src: "listener", input: {}, onDone: { target: "b", actions: saw } },
          on: { ...telling("ear"), C: { target: "a", reenter: true } },
        },
        b: { on: { D: "end" } },
        ...ends,
      },
    }),
    path: ["A", "C", 1_000, "A", "A", "B", 1_000, "D"],
  },
  "machines that are spawned, told, and end after each other": {
    machine: made({
      initial: "a",
      entry: [
        spawnChild("listener" as never, { id: "one", input: {} }),
        spawnChild("listener" as never, { id: "two", input: {} }),
      ],
      on: { "xstate.done.actor.one": { actions: saw }, "xstate.done.actor.two": { actions: saw } },
      states: {
        a: { on: { ...telling("one"), C: "b" } },
        b: { on: { ...telling("two"), D: "end" } },
        ...ends,
      },
    }),
    path: ["A", "B", 1_000, "C", "A", "A", "B", 1_000, "D"],
  },
  "parallel regions, a history, a guard, an always and an enqueued raise": {
    machine: made({
      initial: "work",
      states: {
        work: {
          type: "parallel",
          on: { B: "rest", D: "end" },
          states: {
            left: { initial: "l1", states: { l1: { on: { A: { target: "l2", actions: saw } } }, l2: {} } },
            right: {
              initial: "r1",
              states: {
                r1: {
                  always: {
                    guard: ({ context }: { context: { saw: unknown[] } }) => context.saw.length > 1,
                    target: "r2",
                  },
                },
                r2: {
                  entry: enqueueActions(({ enqueue }) => enqueue.raise({ type: "T" })),
                  on: { T: { actions: saw } },
                },
              },
            },
            again: { type: "history", history: "deep" },
          },
        },
        rest: { on: { C: { target: "work.again", actions: saw } } },
        ...ends,
      },
    }),
    path: ["C", "A", "B", "A", "C", "A", "D"],
  },
};

const settled = () => new Promise((resolve) => setImmediate(resolve));

async function live(machine: AnyStateMachine, path: readonly (string | number)[]): Promise<unknown> {
  const clock = new SimulatedClock();
  const actor = createActor(machine.provide({ actors: promises as never }), { clock }).start();
  for (const step of path) {
    await settled();
    if (typeof step === "number") clock.increment(step);
    else actor.send({ type: step, amount: 7 });
  }
  await settled();
  return actor.getSnapshot().output as unknown;
}

async function inMesh(machine: AnyStateMachine, path: readonly (string | number)[]): Promise<unknown> {
  const Data = z.object({ amount: z.number() });
  const saga = defineSaga({
    ...{ name: "tried", version: 1, input: z.object({}), output: z.json(), machine },
    signals: { A: Data, B: Data, C: Data, D: Data },
  });
  await using mesh = testMesh(defineApp({ sagas: [saga] }));
  const tried = await mesh.start(saga, {}, { id: "tried" });
  for (const step of path) {
    await mesh.crash();
    if (typeof step === "number") await mesh.advance(step);
    else if ((await tried.end()) === undefined) await tried.signal(step as "A", { amount: 7 });
  }
  const end = await tried.result();
  return end.status === "completed" ? end.output : end;
}

test.each(Object.entries(cases))("%s ends as in XState's interpreter", async (_name, { machine, path }) => {
  const expected = await live(machine, path);
  expect(expected, "the path ends the machine").toBeDefined();
  expect(await inMesh(machine, path)).toEqual(expected);
});
