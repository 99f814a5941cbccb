/**
 * Many tales: what may come a few times or thousands of times, with what it comes to.
 *
 * Work is counted and not timed: by V8, which counts how often each line of `actors` and of XState runs, and by the
 * members that go through the functions of objects and lists.
 */
import { Session } from "node:inspector";
import { describe, expect, test } from "vitest";
import type { Definition } from "../../actors/contract/definition.ts";
import { decideTurn } from "../../actors/kernel/fold.ts";
import type { Event } from "../../protocol/event.ts";
import { frozenState } from "./frozen.ts";
import {
  type Decider,
  decider,
  manyAgent,
  manyInvokes,
  manySignals,
  manySpawns,
  manyTimers,
  replyOf,
  resultOf,
  signal,
  success,
} from "./many.ts";

/** One whose states no later turn can write into. */
export const frozenSaga = (definition: Definition): Decider =>
  decider(definition, (of, state, turn) => {
    const decided = decideTurn(of, state, turn);
    return { ...decided, state: frozenState(decided.state) };
  });

const list = <T>(n: number, of: (k: number) => T): T[] => Array.from({ length: n }, (_, k) => of(k));
export const tools = (saga: Decider): Event[] => saga.open("tool").map((id) => success(id));

/** An agent whose model has called n at once. */
export function asked(n: number, bounds?: object): Decider {
  const saga = frozenSaga(manyAgent(bounds));
  saga.start();
  saga.turn(success(saga.open("model")[0]!, replyOf(n)));
  return saga;
}

/** What is told n times over: it must come to the same, whatever n is. */
interface Tale {
  /** All but the last turn. */
  readonly before: (n: number) => Decider;
  /** The turn that is counted. */
  readonly last: (saga: Decider, n: number) => readonly Event[];
  /** What it comes to, for n of each. */
  readonly then: (saga: Decider, n: number) => unknown;
  readonly is: (n: number) => unknown;
}

const openKinds = (saga: Decider) => ({ tools: saga.open("tool").length, all: saga.open().length });

const tales: Readonly<Record<string, Tale>> = {
  "a reply with n calls opens n": {
    before(n) {
      const saga = frozenSaga(manyAgent());
      expect(n).toBeGreaterThan(0);
      saga.start();
      return saga;
    },
    last: (saga, n) => [success(saga.open("model")[0]!, replyOf(n))],
    then: openKinds,
    is: (n) => ({ tools: n, all: n }),
  },
  "n results of one turn are told in one message": {
    before: asked,
    last: tools,
    then: (saga) => ({ ...openKinds(saga), stand: saga.state.effects.length }),
    is: (n) => ({ tools: 0, all: 1, stand: n }),
  },
  "n results are told in the order of the calls, whatever order they come in": {
    before: asked,
    last: (saga) => tools(saga).reverse(),
    then: openKinds,
    is: () => ({ tools: 0, all: 1 }),
  },
  "a cancel undoes n effects that stand": {
    before(n) {
      const saga = asked(n);
      saga.turn(...tools(saga));
      return saga;
    },
    last: () => [signal("cancel", "c")],
    then: openKinds,
    is: (n) => ({ tools: n, all: n }),
  },
  "n effects that are undone in one turn leave nothing standing": {
    before(n) {
      const saga = asked(n);
      saga.turn(...tools(saga));
      saga.turn(signal("cancel", "c"));
      return saga;
    },
    last: (saga) => saga.open("tool").map((id) => success(id, {})),
    then: (saga) => ({ ...openKinds(saga), stand: saga.state.effects.length, phase: saga.state.phase.kind }),
    is: () => ({ tools: 0, all: 0, stand: 0, phase: "ended" }),
  },
  "n results that come in after a cancel are undone": {
    before(n) {
      const saga = asked(n);
      saga.turn(signal("cancel", "c"));
      return saga;
    },
    last: tools,
    then: (saga) => ({ ...openKinds(saga), stand: saga.state.effects.length }),
    is: (n) => ({ tools: n, all: n, stand: n }),
  },
  "n calls in doubt are told, and stand": {
    before: asked,
    last: (saga) =>
      saga
        .open("tool")
        .map((id) => resultOf(id, { outcome: "failed", code: "NOT_FOUND", reason: "no", retry: false })),
    then: (saga) => ({ ...openKinds(saga), doubts: Object.keys(saga.state.doubts).length }),
    is: (n) => ({ tools: 0, all: 1, doubts: n }),
  },
  "a state that invokes n is left with n results": {
    before(n) {
      const saga = frozenSaga(manyInvokes(n));
      saga.start();
      return saga;
    },
    last: tools,
    then: (saga) => ({ ...openKinds(saga), stand: saga.state.effects.length }),
    is: (n) => ({ tools: 0, all: 0, stand: n }),
  },
  "a state that is left stops n actors": {
    before(n) {
      const saga = frozenSaga(manyInvokes(n, "ask"));
      saga.start();
      return saga;
    },
    last: () => [signal("go", "g")],
    then: (saga) => ({ ...openKinds(saga), actors: Object.keys(saga.state.actors).length }),
    is: () => ({ tools: 0, all: 0, actors: 0 }),
  },
  "n people answer n questions": {
    before(n) {
      const saga = frozenSaga(manyInvokes(n, "ask"));
      saga.start();
      return saga;
    },
    last: (saga) =>
      saga.open("task").map((intent, k) => ({
        type: "task" as const,
        intent,
        id: `v${k}`,
        vote: { vote: "answer" as const, by: "ana", answer: k },
      })),
    then: openKinds,
    is: () => ({ tools: 0, all: 0 }),
  },
  "n timers fire": {
    before(n) {
      const saga = frozenSaga(manyTimers(n));
      saga.start();
      return saga;
    },
    last: (saga) => saga.open("timer").map((intent) => ({ type: "timer" as const, intent })),
    then: openKinds,
    is: () => ({ tools: 0, all: 0 }),
  },
  "a state that is left takes n timers back": {
    before(n) {
      const saga = frozenSaga(manyTimers(n));
      saga.start();
      return saga;
    },
    last: () => [signal("go", "g")],
    then: openKinds,
    is: () => ({ tools: 0, all: 0 }),
  },
  "n signals are taken": {
    before() {
      const saga = frozenSaga(manySignals());
      saga.start();
      return saga;
    },
    last: (_saga, n) => list(n, (k) => signal("note", `n${k}`)),
    then: (saga) => Object.keys(saga.state.seen).length,
    is: (n) => n,
  },
  "n signals that come early are kept": {
    before() {
      const saga = frozenSaga(manySignals());
      saga.start();
      return saga;
    },
    last: (_saga, n) => list(n, (k) => signal("early", `e${k}`)),
    then: (saga) => saga.state.kept.length,
    is: (n) => n,
  },
  "n kept signals are taken once they can be": {
    before(n) {
      const saga = frozenSaga(manySignals());
      saga.start();
      saga.turn(...list(n, (k) => signal("early", `e${k}`)));
      return saga;
    },
    last: () => [signal("go", "g")],
    then: (saga) => ({ kept: saga.state.kept.length, phase: saga.state.phase.kind }),
    is: () => ({ kept: 0, phase: "running" }),
  },
};

/** A start is a tale of its own: nothing is before it. */
const starts: Readonly<Record<string, (n: number) => Definition>> = {
  "a state that invokes n": (n) => manyInvokes(n),
  "an action that spawns n": (n) => manySpawns(n),
  "a state with n timers": (n) => manyTimers(n),
};

/** An agent that has made n effects, one after another, and is cancelled. */
function cancelledAfter(n: number): Decider {
  const saga = decider(manyAgent());
  saga.start();
  for (let k = 0; k < n; k++) {
    saga.turn(success(saga.open("model")[0]!, replyOf(1)));
    saga.turn(...tools(saga));
  }
  saga.turn(signal("cancel", "c"));
  return saga;
}

/** Tells each tale with 3, with few and with ten times as many. */
export const tellTales = (few: number): unknown =>
  describe("a turn", () => {
    const many = 10 * few;
    test.for(Object.keys(tales))("%s, for 3 as for thousands, with work in proportion", (name) => {
      const { before, last, then, is } = tales[name]!;
      const work = (n: number): number => {
        const saga = before(n);
        const events = last(saga, n);
        const done = workOf(() => saga.turn(...events));
        expect(then(saga, n)).toEqual(is(n));
        return done;
      };
      work(3);
      expect(work(many) / work(few)).toBeLessThan(12);
    });

    test.for(Object.keys(starts))("begins %s, for 3 as for thousands, with work in proportion", (name) => {
      const work = (n: number): number => {
        const saga = frozenSaga(starts[name]!(n));
        const done = workOf(() => saga.start());
        expect(saga.open()).toHaveLength(n);
        return done;
      };
      work(3);
      expect(work(many) / work(few)).toBeLessThan(12);
    });

    test("undoes one of n effects that were made one after another, the latest first, with the same work whatever n is", () => {
      const work = (n: number): number => {
        const saga = cancelledAfter(n);
        const isLatestAlone = (): boolean => {
          const open = saga.open("tool");
          return open.length === 1 && open[0] === saga.state.effects.at(-1)?.undoing;
        };
        let turns = 0;
        const done = workOf(() => {
          for (; isLatestAlone(); turns++) saga.turn(...tools(saga));
        });
        expect([turns, saga.state.phase.kind]).toEqual([n, "ended"]);
        return done / n;
      };
      expect(work(many) / work(few)).toBeLessThan(1.5);
    });
  });

/**
 * What a turn or a fold does, in executions: of every function and block of ours and of XState's, as V8 counts them, and of what
 * functions of the language do with each member of an object or a list.
 */
export function workOf(turn: () => void): number {
  const members = countingMembers();
  const blocks = countingBlocks();
  try {
    turn();
  } finally {
    members.stop();
  }
  return blocks() + members.count();
}

/** How often functions of that name run in `actors` and XState while a turn is taken. */
export function runsOf(name: string, turn: () => void): number {
  const runs = countingBlocks((of) => of === name);
  turn();
  return runs();
}

function countingBlocks(isCounted = (_functionName: string): boolean => true): () => number {
  const session = new Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  return () => {
    let count = 0;
    session.post("Profiler.takePreciseCoverage", (_error, { result }) => {
      for (const { url, functions } of result)
        if (url.includes("/actors/") || url.includes("/xstate/"))
          for (const { functionName, ranges } of functions)
            if (isCounted(functionName)) for (const range of ranges) count += range.count;
    });
    session.post("Profiler.stopPreciseCoverage");
    session.disconnect();
    return count;
  };
}

type AnyFunction = (this: object, ...args: unknown[]) => unknown;

/** Counts the members that the slow functions of objects and lists go through. */
function countingMembers(): { count(): number; stop(): void } {
  let count = 0;
  const undo: (() => void)[] = [];
  const watch = (on: object, names: readonly string[], sizeOf: (self: object, args: unknown[]) => number) => {
    const functions = on as Record<string, AnyFunction>;
    for (const name of names) {
      const plain = functions[name]!;
      functions[name] = function (...args) {
        count += sizeOf(this, args);
        return plain.apply(this, args);
      };
      undo.push(() => (functions[name] = plain));
    }
  };
  const { keys } = Object;
  watch(Object, ["entries", "values", "fromEntries"], (_self, [value]) =>
    Array.isArray(value) ? value.length : keys(value as object).length,
  );
  watch(
    Array.prototype,
    [
      "map",
      "filter",
      "flatMap",
      "some",
      "every",
      "find",
      "findLast",
      "includes",
      "indexOf",
      "slice",
      "concat",
    ],
    (self) => (self as unknown[]).length,
  );
  return { count: () => count, stop: () => undo.forEach((one) => one()) };
}
