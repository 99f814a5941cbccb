/**
 * Goal: children that stand in line begin in order, never more at once than there are places, and all come to an end, by
 * whatever the ones before them ended. Method: random walks of a machine that asks for children, calls them off and sends to
 * them, beside a model of two lists; after each turn the ledger is read back, and every reader must agree.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AnyStateMachine, enqueueActions, sendTo, setup, spawnChild, stopChild } from "xstate";
import { z } from "zod";
import { compensation, toActors } from "../../../actors/machine/callable.ts";
import { budgetFaults } from "../../../actors/contract/budget-config.ts";
import type { Definition } from "../../../actors/contract/definition.ts";
import { isInLine, type SagaState } from "../../../actors/contract/state.ts";
import { decideTurn } from "../../../actors/kernel/fold.ts";
import { foldLedger, stateFromJson, stateToJson } from "../../../actors/kernel/replay.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import type { Event } from "../../../protocol/event.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import type { Intent } from "../../../protocol/intent.ts";
import type { Json } from "../../../protocol/json.ts";
import type { Result } from "../../../protocol/result.ts";
import { ledgerVersion, toStored, Turn } from "../../../protocol/turn.ts";
import { given, replied, started, succeeded } from "../../../services/testing/given.ts";
import { accountOf } from "../../../services/ledger/account-reader.ts";
import { viewOf } from "../../../services/views/view.ts";
import { whyOf } from "../../support/why-of.ts";
import { atOnce } from "../../../services/wire/loop.ts";
import { decider, resultOf, signal, success } from "../../support/many.ts";
import { expectSame } from "../../support/accounts.ts";
import { agentOf, call, look } from "../../support/workbench.ts";

const seed = 20261123;
const places = 3;
const lineMax = 5;

const leaf = defineSaga({
  name: "leaf",
  version: 1,
  input: z.json(),
  output: z.json(),
  signals: { note: z.json() },
  machine: setup({}).createMachine({ initial: "here", states: { here: {} } }),
});
const erased = setup({ actors: toActors({ leaf, compensation }) }) as unknown as {
  createMachine(config: object): AnyStateMachine;
};
interface Told {
  readonly context: { readonly n: number };
  readonly event: { readonly data: { readonly n: number; readonly id: string } };
}
interface Asked extends Told {
  readonly enqueue: { (action: unknown): void; assign(values: object): void };
}
/** It asks for so many children, calls one off, or sends to one; `over` ends it, `undo` undoes what it did. */
const parent = defineSaga({
  name: "parent",
  version: 1,
  input: z.json(),
  output: z.json(),
  signals: { more: z.json(), drop: z.json(), tell: z.json(), over: z.null(), undo: z.null() },
  budget: { childrenOpenMax: places, childrenInLineMax: lineMax },
  machine: erased.createMachine({
    context: { n: 0 },
    initial: "working",
    states: {
      working: {
        on: {
          more: {
            actions: enqueueActions((({ enqueue, context, event }: Asked) => {
              const { n } = event.data;
              for (let k = 0; k < n; k++) {
                const id = `c${context.n + k}`;
                enqueue(spawnChild("leaf", { id, input: id }));
              }
              enqueue.assign({ n: context.n + n });
            }) as never),
          },
          drop: { actions: stopChild((({ event }: Told) => event.data.id) as never) },
          tell: { actions: sendTo((({ event }: Told) => event.data.id) as never, { type: "note" } as never) },
          over: "over",
          undo: "undoing",
          "xstate.done.actor.*": {},
          "xstate.error.actor.*": {},
        },
      },
      undoing: {
        invoke: { id: "undo", src: "compensation", input: { because: "asked" }, onDone: "over" },
        on: { "xstate.done.actor.*": {}, "xstate.error.actor.*": {} },
      },
      over: { type: "final" },
    },
  }),
}).definition;

/**
 * A saga and its ledger, as bytes would hold it: each turn is decided from a state that was read back, or both from that and from
 * the one in memory, which must come to the same.
 */
function ledgerOf(definition: Definition, how: "read back" | "both ways" = "read back") {
  const turns: Turn[] = [];
  const self = decider(definition, (of, state, turn, ...rest) => {
    const revived = state && stateFromJson(of, JSON.parse(JSON.stringify(stateToJson(of, state))));
    const anew = decideTurn(of, revived, turn, ...rest);
    const decided = how === "read back" ? anew : decideTurn(of, state, turn, ...rest);
    if (how === "both ways") {
      expect(decided.steps).toEqual(anew.steps);
      expect(stateToJson(of, decided.state)).toEqual(stateToJson(of, anew.state));
    }
    const { saga, at } = turn;
    const whole = { v: ledgerVersion, saga, turn: decided.state.turn, at, host: "h", prev: "" } as const;
    const stored = toStored({ ...whole, steps: decided.steps });
    turns.push(Turn.parse(JSON.parse(JSON.stringify(stored))));
    return decided;
  });
  return { self, turns };
}

const named = ({ open }: SagaState, isWanted: (one: SagaState["open"][IntentId]) => boolean): string[] =>
  Object.values(open).flatMap((one) =>
    one.intent.kind === "saga" && isWanted(one) ? [one.input as string] : [],
  );
const inLine = (state: SagaState): string[] => named(state, isInLine);
const running = (state: SagaState): string[] => named(state, (one) => !isInLine(one));
const idOf = ({ open }: SagaState, name: string): IntentId =>
  Object.values(open).find(({ intent, input }) => intent.kind === "saga" && input === name)!.intent.id;

type Op =
  | { readonly op: "more"; readonly n: number }
  | { readonly op: "end"; readonly which: number; readonly how: Result["outcome"] }
  | { readonly op: "drop" | "tell"; readonly which: number }
  | { readonly op: "pause" | "resume" };
const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ op: fc.constant("more" as const), n: fc.integer({ min: 1, max: 6 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant("end" as const),
      which: fc.nat(9),
      how: fc.constantFrom("succeeded" as const, "failed" as const, "cancelled" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ op: fc.constantFrom("drop" as const, "tell" as const), which: fc.nat(9) }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constantFrom("pause" as const, "resume" as const) }) },
);

/** What should be: two lists, what was refused, and what is to be told to whom once it begins. */
class Model {
  running: string[] = [];
  line: string[] = [];
  refused = 0;
  asked = 0;
  paused = false;
  readonly held: (() => void)[] = [];
  readonly begun: string[] = [];
  readonly dropped = new Set<string>();

  take(change: () => void): void {
    if (this.paused) this.held.push(change);
    else change();
  }
  more(n: number): void {
    for (let k = 0; k < n; k++) {
      const name = `c${this.asked++}`;
      if (this.running.length < places && this.line.length === 0) this.running.push(name);
      else if (this.line.length < lineMax) this.line.push(name);
      else this.refused += 1;
    }
  }
  end(name: string): void {
    this.running = this.running.filter((one) => one !== name);
    this.advance();
  }
  drop(name: string): void {
    this.dropped.add(name);
    this.line = this.line.filter((one) => one !== name);
  }
  advance(): void {
    while (!this.paused && this.running.length < places && this.line.length > 0) {
      const name = this.line.shift()!;
      this.running.push(name);
      this.begun.push(name);
    }
  }
  resume(): void {
    this.paused = false;
    this.advance();
    for (const change of this.held.splice(0)) change();
  }
}

const endOf: Record<string, Result> = {
  succeeded: { outcome: "succeeded", output: null },
  failed: { outcome: "failed", code: "NO", reason: "no", retry: false },
  cancelled: { outcome: "cancelled", code: "CANCELLED", reason: "off" },
};

interface Walk {
  readonly self: ReturnType<typeof decider>;
  readonly turns: readonly Turn[];
  readonly model: Model;
}

function walked(ops: readonly Op[]): Walk {
  const { self, turns } = ledgerOf(parent);
  const model = new Model();
  self.start();
  let told = 0;
  const send = (name: string, data: Json = null) => self.turn(signal(name, `s${told++}`, data));
  for (const one of ops) {
    const names = [...running(self.state), ...inLine(self.state)];
    if (one.op === "more") {
      model.take(() => model.more(one.n));
      send("more", { n: one.n });
    } else if (one.op === "end") {
      const name = running(self.state)[one.which % Math.max(1, running(self.state).length)];
      if (name === undefined) continue;
      self.turn(resultOf(idOf(self.state, name), endOf[one.how]!));
      model.end(name);
    } else if (one.op === "drop" || one.op === "tell") {
      const name = names[one.which % Math.max(1, names.length)];
      // XState throws where a machine sends to an actor that it has stopped.
      if (name === undefined || (one.op === "tell" && (model.paused || model.dropped.has(name)))) continue;
      if (one.op === "drop") model.take(() => model.drop(name));
      send(one.op, { id: name });
    } else if (one.op === "pause") {
      model.paused = true;
      send("pause", { reason: "a look" });
    } else {
      send("resume", {});
      model.resume();
    }
    expect(inLine(self.state), one.op).toEqual(model.line);
    expect(running(self.state).toSorted(), one.op).toEqual(model.running.toSorted());
    expect(running(self.state).length).toBeLessThanOrEqual(places);
  }
  return { self, turns, model };
}

/** In the order in which they left the line, by their inputs. */
const begunIn = (turns: readonly Turn[]): Json[] => {
  const inputs = new Map(
    intentsIn(turns).map((one) => [one.id, one.kind === "saga" ? one.input : undefined]),
  );
  return turns.flatMap(({ steps }) =>
    steps.flatMap(({ begun = [] }) => begun.map(({ intent }) => inputs.get(intent) ?? null)),
  );
};
const intentsIn = (turns: readonly Turn[]): Intent[] =>
  turns.flatMap(({ steps }) => steps.flatMap(({ intents }) => intents));

describe("a line of children", () => {
  test("is what two lists say, whatever is asked, called off, ended and paused, and every reader agrees", () => {
    let left = 0;
    fc.assert(
      fc.property(fc.array(op, { minLength: 5, maxLength: 40 }), (ops) => {
        const { self, turns, model } = walked(ops);
        if (model.paused) self.turn(signal("resume", "last", {}));
        model.resume();
        for (let name = running(self.state)[0]; name !== undefined; name = running(self.state)[0]) {
          self.turn(success(idOf(self.state, name)));
          model.end(name);
        }
        expect(inLine(self.state)).toEqual([]);
        expect(begunIn(turns)).toEqual(model.begun);
        const denied = intentsIn(turns).flatMap((one) => (one.kind === "denied" ? [one.code] : []));
        expect(denied).toEqual(Array(model.refused).fill("BREADTH_EXCEEDED"));
        expect(self.state.spent.children).toBe(
          intentsIn(turns).filter((one) => one.kind === "saga" && one.inLine !== true).length +
            model.begun.length,
        );
        expect(stateToJson(parent, foldLedger(parent, turns).state)).toEqual(stateToJson(parent, self.state));
        left += model.begun.length;
      }),
      { seed, numRuns: 300, endOnFailure: true },
    );
    expect(left).toBeGreaterThan(500); // The walks go where they are to go.
  });

  test("is told alike by the fold and by the account of the ledger after each turn", () => {
    fc.assert(
      fc.property(fc.array(op, { minLength: 5, maxLength: 25 }), (ops) => {
        const { turns } = walked(ops);
        let state: SagaState | undefined;
        for (const [k, turn] of turns.entries()) {
          ({ state } = foldLedger(parent, [turn], state));
          const account = accountOf(turns.slice(0, k + 1));
          expectSame(account, state);
          const line = [...account.open.values()].flatMap((one) => (one.inLine ? [one.input] : []));
          expect(line).toEqual(inLine(state));
        }
      }),
      { seed, numRuns: 40, endOnFailure: true },
    );
  });

  test("is over at once when its saga is called off, and nobody is told of those who stood in it", () => {
    fc.assert(
      fc.property(fc.array(op, { maxLength: 25 }), fc.constantFrom("cancel", "over", "undo"), (ops, how) => {
        const { self, turns, model } = walked(ops);
        if (model.paused) self.turn(signal("resume", "last", {}));
        model.resume();
        const before = inLine(self.state);
        const asked = running(self.state);
        self.turn(signal(how, "end"));
        expect(inLine(self.state)).toEqual([]);
        const { steps } = turns.at(-1)!;
        expect(steps.flatMap(({ closed }) => closed).filter(({ as }) => as === "cancelled")).toHaveLength(
          before.length,
        );
        const told = steps.flatMap(({ intents }) => intents).filter(({ kind }) => kind === "signal");
        expect(told.length).toBeLessThanOrEqual(asked.length);
        for (let name = running(self.state)[0]; name !== undefined; name = running(self.state)[0])
          self.turn(resultOf(idOf(self.state, name), endOf["cancelled"]!));
        for (let [id] = self.open("signal"); id !== undefined; [id] = self.open("signal"))
          self.turn(success(id, null));
        expect(self.state.phase).toMatchObject({ kind: "ended" });
        expect(begunIn(turns)).toEqual(model.begun);
      }),
      { seed, numRuns: 150, endOnFailure: true },
    );
  });

  test("keeps what a child is sent until it begins, in order", () => {
    const { self, turns } = ledgerOf(parent);
    self.start();
    self.turn(signal("more", "1", { n: 4 }));
    self.turn(signal("tell", "2", { id: "c3" }));
    self.turn(signal("tell", "3", { id: "c3" }));
    expect(intentsIn(turns).filter(({ kind }) => kind === "signal")).toEqual([]);
    const { steps } = self.turn(success(idOf(self.state, "c0")));
    const child = self.state.open[idOf(self.state, "c3")]!.intent;
    const { saga } = child as Extract<Intent, { kind: "saga" }>;
    expect(steps[0]).toMatchObject({
      begun: [{ intent: child.id }],
      intents: [
        { kind: "signal", name: "note", saga },
        { kind: "signal", name: "note", saga },
      ],
    });
    self.turn(signal("tell", "4", { id: "c3" }));
    expect(
      new Set(self.open("signal").map((id) => (self.state.open[id]!.intent as { key?: string }).key)).size,
    ).toBe(self.open("signal").length === 0 ? 0 : 1);
  });

  test("that was recorded otherwise does not fold", () => {
    const { self, turns } = ledgerOf(parent);
    self.start();
    self.turn(signal("more", "1", { n: 5 }));
    self.turn(success(idOf(self.state, "c1")));
    const other = turns.map((turn) => ({
      ...turn,
      steps: turn.steps.map((step) =>
        step.begun === undefined ? step : { ...step, begun: [{ intent: idOf(self.state, "c4") }] },
      ),
    }));
    expect(() => foldLedger(parent, other)).toThrow(expect.objectContaining({ code: "FOLD_DIVERGED" }));
    expect(() => foldLedger(parent, other)).toThrow(/begun 1: expected/);
  });

  test("is shown: each with its place, and those whose place has come", () => {
    const { self, turns } = ledgerOf(parent);
    self.start();
    self.turn(signal("more", "1", { n: 8 }));
    self.turn(success(idOf(self.state, "c1")));
    const view = viewOf(turns);
    expect(view.open.map(({ input, inLine: place }) => [input, place])).toEqual([
      ["c0", undefined],
      ["c2", undefined],
      ["c3", undefined],
      ["c4", 1],
      ["c5", 2],
      ["c6", 3],
      ["c7", 4],
    ]);
    const told = atOnce(whyOf(turns))
      .sentences.map(({ text }) => text)
      .join("\n");
    expect(told).toContain("in line (4th)");
    expect(told).toMatch(/leaf \(\d+-\d+\) stood in line and begins/);
  });
});

describe("slices of a line", () => {
  const child = agentOf({ name: "leaf", budget: { steps: 4 }, tools: [look] });
  const rootOf = (steps: number, more: object = {}) =>
    agentOf({
      name: "root",
      budget: { steps, childrenOpenMax: 2, childrenInLineMax: 10, ...more },
      agents: [child],
    });
  const asking = (n: number) => replied({ calls: Array.from({ length: n }, () => call("leaf")) });
  const begun = started({ of: "x" });

  test("are taken by those who begin, and a child in line has none until then", () => {
    given(rootOf(30), begun)
      .when(asking(4))
      .then(
        { kind: "saga", budget: { steps: 4 } },
        { kind: "saga", budget: { steps: 4 } },
        { kind: "saga", inLine: true },
        { kind: "saga", inLine: true },
      );
    const story = given(rootOf(30), begun).when(asking(4));
    expect(story.intents.slice(2).every((one) => one.kind === "saga" && one.budget === undefined)).toBe(true);
    const after = story.when(succeeded("leaf", { answer: "1" }));
    const open = Object.values(after.state.open).filter(({ intent }) => intent.kind === "saga");
    expect(open.map((one) => [isInLine(one), (one.intent as { budget?: unknown }).budget])).toEqual([
      [false, { steps: 4 }],
      [false, { steps: 4 }],
      [true, undefined],
    ]);
  });

  test("that are not to be had keep the first in line waiting while others run, and refuse it where none does", () => {
    const waiting = given(rootOf(100, { children: 2 }), begun).when(asking(3));
    const inLineOf = (story: typeof waiting) => Object.values(story.state.open).filter(isInLine).length;
    expect(inLineOf(waiting)).toBe(1);
    const still = waiting.when(succeeded("leaf", { answer: "1" }));
    expect(inLineOf(still)).toBe(1); // There is a place, and the pool is empty; what runs may leave some of its slice.
    const refused = still.when(succeeded("leaf", { answer: "2" }));
    expect(inLineOf(refused)).toBe(0);
    const closed = refused.turns.at(-1)!.steps.flatMap((step) => step.closed);
    expect(closed).toContainEqual(expect.objectContaining({ as: "denied", code: "BUDGET_EXCEEDED" }));
    expect(refused.state.spent.children).toBe(2);
  });
});

describe("a budget", () => {
  test("may name a line, of as many as may be open at once", () => {
    expect(budgetFaults("x", { budget: { childrenInLineMax: 5_000, intentsOpenMax: 6_000 } })).toEqual([]);
    expect(budgetFaults("x", { budget: { childrenInLineMax: 10_001 } })).toHaveLength(1);
    expect(budgetFaults("x", { budget: { childrenInLineMax: 0.5 } })).toHaveLength(1);
  });
});

test("many in line are counted from turn to turn as they are counted anew", () => {
  const many = { ...parent, budget: { childrenOpenMax: 4, childrenInLineMax: 60 } } as Definition;
  const move = fc.record({ drops: fc.boolean(), which: fc.nat(59), more: fc.nat(3) });
  fc.assert(
    fc.property(fc.array(move, { minLength: 10, maxLength: 40 }), (moves) => {
      const ends = ledgerOf(many, "both ways");
      ends.self.start();
      ends.self.turn(signal("more", "first", { n: 50 }));
      for (const [k, { drops, which, more }] of moves.entries()) {
        const names = drops ? inLine(ends.self.state) : running(ends.self.state);
        const name = names[which % Math.max(1, names.length)];
        if (name === undefined) continue;
        if (drops) ends.self.turn(signal("drop", `d${k}`, { id: name }));
        else ends.self.turn(success(idOf(ends.self.state, name)));
        if (more > 0) ends.self.turn(signal("more", `m${k}`, { n: more }));
      }
    }),
    { seed, numRuns: 25, endOnFailure: true },
  );
});

test("five thousand may stand in line, and each end lets one of them begin", () => {
  const many = { ...parent, budget: { childrenInLineMax: 5_000, intentsOpenMax: 6_000 } } as Definition;
  const self = decider(many);
  self.start();
  const { steps } = self.turn(signal("more", "1", { n: 5_000 }));
  expect(steps[0]?.intents).toHaveLength(5_000);
  expect(running(self.state)).toHaveLength(64);
  const events: Event[] = running(self.state).map((name) => success(idOf(self.state, name)));
  const decided = self.turn(...events);
  expect(decided.steps.map(({ begun = [] }) => begun.length)).toEqual(Array(64).fill(1));
});
