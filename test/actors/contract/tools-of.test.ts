/**
 * Goal: the promises of a machine that runs in XState become tools by one word each, and run as they did (TF1).
 * Method: one machine of five promises, by `createActor` and on a test mesh; bodies that throw, end late, return nothing.
 */
import { describe, expect, expectTypeOf, test } from "vitest";
import {
  type AnyStateMachine,
  assign,
  createActor,
  createMachine,
  fromPromise,
  setup,
  toPromise,
} from "xstate";
import { z } from "zod";
import { defineApp, defineSaga, NotPerformed, toActors, type Tool, toolsOf } from "sagamesh";
import { testMesh } from "sagamesh/testing";

interface Order {
  readonly to: string;
}
const bodies = {
  look: fromPromise(({ input }: { input: Order }) => Promise.resolve({ price: input.to.length })),
  reserve: fromPromise(() => Promise.resolve("r-1")),
  charge: fromPromise(({ input }: { input: { cents: number } }) => Promise.resolve(input.cents * 2)),
  print: fromPromise(async ({ input }: { input: Order }) => Promise.resolve([input.to, null])),
  send: fromPromise(async ({ input }: { input: Order }) => Promise.resolve(`sent to ${input.to}`)),
};

const order = ["look", "reserve", "charge", "print", "send"] as const;
/** The same machine, whatever its actors are. */
const machineOf = (actors: object): AnyStateMachine => {
  const states = order.map((src, k) => {
    const said = assign(({ context, event }) => ({
      said: [...(context["said"] as unknown[]), event["output"] as unknown],
    }));
    const invoke = {
      src,
      input: ({ context }: { context: Order }) => ({ to: context.to, cents: 3 }),
      onDone: { target: order[k + 1] ?? "done", actions: said },
    };
    return [src, { invoke }] as const;
  });
  const config = {
    context: ({ input }: { input: Order }) => ({ ...input, said: [] }),
    initial: "look",
    states: { ...Object.fromEntries(states), done: { type: "final" } },
    output: ({ context }: { context: { said: unknown[] } }) => context.said,
  };
  return createMachine(config as never, { actors } as never); // Of states made by a loop nothing is typed.
};

const asTools = toolsOf("order", {
  look: { effect: "read", perform: bodies.look },
  reserve: { effect: "idempotent", perform: bodies.reserve },
  charge: { effect: "once", perform: bodies.charge },
  print: { effect: "idempotent", perform: bodies.print },
  send: { effect: "once", perform: bodies.send },
});

/** A saga that calls one tool and ends with what it gave, or with the error that it heard. */
const calling = (tool: Tool, name = "calls") =>
  defineSaga({
    ...{ name, version: 1, input: z.json(), output: z.json() },
    machine: setup({ actors: toActors({ tool }) }).createMachine({
      context: ({ input }) => ({ input, said: null }),
      initial: "calling",
      output: ({ context }: { context: Record<string, unknown> }) => context["said"],
      states: {
        calling: {
          invoke: {
            src: "tool",
            input: ({ context }: { context: Record<string, unknown> }) => context["input"],
            onDone: { target: "done", actions: assign({ said: ({ event }) => event.output }) },
            onError: {
              target: "done",
              actions: assign({ said: ({ event }) => (event.error as { code: string }).code }),
            },
          },
        },
        done: { type: "final" },
      },
    }),
  });

const ranWith = async (tool: Tool, input: z.input<ReturnType<typeof z.json>> = null) => {
  await using t = testMesh(defineApp({ sagas: [calling(tool)] }));
  const saga = await t.start(calling(tool), input);
  const end = await saga.result();
  return {
    output: end.status === "completed" ? end.output : end.reason,
    calls: t.effects().map(({ tool: name, attempt, ended }) => [name, attempt, ended]),
  };
};

describe("a machine of five promises", () => {
  test("says on the mesh what it says by itself, ported by one word about each", async () => {
    const alone = await toPromise(createActor(machineOf(bodies), { input: { to: "ana" } }).start());
    const saga = defineSaga({
      ...{ name: "order", version: 1, input: z.object({ to: z.string() }), output: z.json() },
      machine: machineOf(toActors(asTools)),
    });
    await using t = testMesh(defineApp({ sagas: [saga] }));
    const end = await (await t.start(saga, { to: "ana" })).result();
    expect(end).toMatchObject({ status: "completed", output: alone });
    expect(alone).toEqual([{ price: 3 }, "r-1", 6, ["ana", null], "sent to ana"]);
    expect(t.effects().map(({ tool }) => tool)).toEqual(
      ["look", "reserve", "charge", "print", "send"].map((key) => `order__${key}`),
    );
  });

  test("types what goes in and comes out by the promises' own types, or by schemas", () => {
    const { look } = asTools;
    expectTypeOf<z.infer<typeof look.input>>().toEqualTypeOf<Order>();
    expectTypeOf<z.infer<typeof look.output>>().toEqualTypeOf<{ price: number }>();
    expectTypeOf<z.infer<typeof asTools.send.output>>().toEqualTypeOf<string>();
    const { add } = toolsOf({
      add: { effect: "read", input: z.object({ n: z.number() }), perform: ({ n }: { n: number }) => n + 1 },
    });
    expectTypeOf<z.infer<typeof add.input>>().toEqualTypeOf<{ n: number }>();
    expectTypeOf<z.infer<typeof add.output>>().toEqualTypeOf<number>();
    expect(add).toMatchObject({ name: "add", effect: "read", retry: look.retry });
  });
});

const retry = { attemptsMax: 1, backoffMs: 0 };

describe("a tool of a table", () => {
  test("is not checked where nothing is declared, and checked where it is", async () => {
    const { echo, strict } = toolsOf({
      echo: { effect: "read", perform: (input: unknown) => input },
      strict: { effect: "read", input: z.object({ n: z.number() }), perform: ({ n }: { n: number }) => n },
    });
    expect((await ranWith(echo, { any: ["thing", 1, null] })).output).toEqual({ any: ["thing", 1, null] });
    expect(await ranWith(strict, { n: "no" })).toMatchObject({ output: "CALL_INVALID", calls: [] });
  });

  test("that throws is tried again as its effect allows, and never where it says that it was not performed", async () => {
    const throwing = (error: Error) => fromPromise(() => Promise.reject(error));
    const { again, once, not } = toolsOf({
      again: {
        effect: "idempotent",
        perform: throwing(new Error("down")),
        retry: { attemptsMax: 3, backoffMs: 1 },
      },
      once: { effect: "once", perform: throwing(new Error("down")), onDoubt: "model" },
      not: { effect: "once", perform: throwing(new NotPerformed("no card", { retry: false })) },
    });
    expect(await ranWith(again)).toMatchObject({ output: "TOOL_FAILED", calls: { length: 3 } });
    expect(await ranWith(once)).toMatchObject({ output: "IN_DOUBT", calls: { length: 1 } });
    expect(await ranWith(not)).toMatchObject({ output: "NOT_PERFORMED", calls: { length: 1 } });
  });

  test("made of a promise has no actor of its own, and says so", async () => {
    const { lonely } = toolsOf({
      lonely: { effect: "read", perform: fromPromise(({ self }) => Promise.resolve(self.id)), retry },
    });
    const saga = calling(lonely);
    await using t = testMesh(defineApp({ sagas: [saga] }));
    await (await t.start(saga, null)).result();
    expect(String(t.effects(lonely)[0]?.value)).toContain("a tool has no `self`");
  });

  test("made of a promise hears by its own signal that its time is over", async () => {
    let aborted = false;
    const { slow } = toolsOf({
      slow: {
        ...{ effect: "read", timeoutMs: 5_000, retry },
        perform: fromPromise(
          ({ signal }) =>
            new Promise((resolve) => signal.addEventListener("abort", () => resolve((aborted = true)))),
        ),
      },
    });
    expect((await ranWith(slow)).output).toBe("TOOL_TIMEOUT");
    expect(aborted).toBe(true);
  });

  test("of two machines in one application goes by two names in two spaces, and by one is refused", () => {
    const specs = () => ({ send: { effect: "once" as const, perform: bodies.send } });
    const appOf = (...tools: Tool[]) =>
      defineApp({ sagas: tools.map((tool, k) => calling(tool, `saga_${k}`)) }).faults;
    expect(appOf(toolsOf("hire", specs()).send, toolsOf("fire", specs()).send)).toEqual([]);
    expect(appOf(toolsOf(specs()).send, toolsOf(specs()).send)).toEqual([
      expect.stringContaining('two tools are named "send"'),
    ]);
  });

  test("that is none is a fault with its name, also in plain JavaScript", () => {
    const faultsOf = (spec: unknown) => toolsOf({ odd: spec } as never) as { odd: Tool };
    expect(faultsOf({ effect: "sometimes", perform: bodies.send }).odd.faults).toEqual([
      expect.stringContaining("tool odd: effect is"),
    ]);
    expect(faultsOf({ effect: "read" }).odd.body).toBeUndefined();
    expect(faultsOf(null).odd.faults).not.toEqual([]);
    expect(
      defineApp({ sagas: [calling(toolsOf("9 lives", { a: { effect: "read", perform: bodies.send } }).a)] })
        .faults,
    ).toEqual([expect.stringContaining('"9 lives__a" is not a tool\'s name')]);
  });
});
