/**
 * A fork, as far as the fold is concerned: what is shared folds to what it was, and what follows is the fork's own.
 *
 * Method: stories of small sagas, each forked after each of its turns.
 */
import { describe, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { modelCall, question, toActors } from "../../../actors/machine/callable.ts";
import { defineAgent } from "../../../actors/agent/define.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import type { Definition } from "../../../actors/contract/definition.ts";
import { decideTurn } from "../../../actors/kernel/fold.ts";
import { deciderOf, inheritedTurns, isUnfinishedFork } from "../../../actors/kernel/lineage.ts";
import { foldLedger } from "../../../actors/kernel/replay.ts";
import { type SagaState, dueAtOf } from "../../../actors/contract/state.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import type { EventOf } from "../../../protocol/event.ts";
import { type IntentId, parseIntentId, parseSagaId } from "../../../protocol/ids.ts";
import { TaskNotice } from "../../../protocol/notice.ts";
import { toStored, Turn } from "../../../protocol/turn.ts";
import {
  failed,
  fired,
  given,
  replied,
  signalled,
  started,
  type Story,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { weekend } from "../../examples/weekend.ts";
import { agentOf, call, calling, finish, hold, reserve } from "../../support/workbench.ts";

const origin = parseSagaId("origin");
const fork = parseSagaId("fork");
const order = { saga: origin, head: "", order: "" };

/** The story under the origin's id: what follows from an id follows from that one. */
function asOrigin({ definition, turns }: Story): readonly Turn[] {
  let state: SagaState | undefined;
  return turns.map((turn) => {
    const events = turn.steps.map(({ event }) => event);
    const decided = decideTurn(definition, state, { saga: origin, at: turn.at, events });
    state = decided.state;
    return { ...turn, saga: origin, steps: decided.steps };
  });
}

/** As a ledger stores it and reads it back. */
const stored = (turns: readonly Turn[]): Turn[] =>
  turns.map((turn) => Turn.parse(JSON.parse(JSON.stringify(toStored(turn)))));

const forkedAt = (turns: readonly Turn[], turn: number): Turn[] =>
  stored(inheritedTurns(turns, fork, { ...order, turn }));

const leaving = (more: Partial<EventOf<"forked">> = {}): EventOf<"forked"> => ({
  ...{ type: "forked", by: "ana", effects: "live", idleMs: 0 },
  ...more,
});

/** The turn in which a fork leaves. */
const leave = (definition: Definition, turns: readonly Turn[], event = leaving()) => {
  const { state } = foldLedger(definition, turns);
  return decideTurn(definition, state, { saga: fork, at: state.updatedAt + 1_000, events: [event] });
};

const tell = defineTool({
  ...{ name: "tell", description: "Tells people.", effect: "idempotent" },
  ...{ input: z.object({ task: TaskNotice }), output: z.object({}), perform: async () => ({}) },
});
const child = agentOf({ name: "below", tools: [] });
const parent = defineAgent({
  ...{ name: "parent", version: 1, description: "Delegates.", model: "scripted", instructions: "Delegate." },
  ...{ input: z.object({ of: z.string() }), output: z.object({ answer: z.string() }) },
  signals: { note: z.object({ text: z.string() }) },
  tools: [hold, reserve],
  agents: [child],
  ask: { to: ["ana"], notify: { tool: tell }, remindEveryMs: 60_000 },
});

const stories: Readonly<Record<string, Story>> = {
  "an agent with retries, a child, a notice and a reminder": given(
    parent,
    started({ of: "x" }),
    replied({ calls: [call("hold"), call("below"), call("ask", { question: "Go?" })] }),
    failed("hold", { code: "NOT_PERFORMED", retry: true }),
    succeeded("hold", { id: "1" }),
    succeeded("tell", {}),
    fired("timer"),
    voted("question", "answer", { by: "ana", answer: "yes" }),
    succeeded("below", { answer: "7" }),
    signalled("note", { text: "hurry" }),
    replied({ calls: [call("undo", { calls: ["1.0"] })] }),
    succeeded("release", {}),
    replied(finish),
  ),
  "a machine that undoes what it did": given(
    weekend,
    started({ guest: "ana", cents: 1 }),
    succeeded("hold_room", {}),
    failed("charge_card", { retry: false }),
    succeeded("release_room", {}),
  ),
};

describe.each(Object.entries(stories))("%s", (_, story) => {
  const turns = asOrigin(story);

  test("folds to the same state after each of its turns when it is forked there, but for who it is", () => {
    for (const { turn } of turns) {
      const { state } = foldLedger(story.definition, turns.slice(0, turn));
      const forked = foldLedger(story.definition, forkedAt(turns, turn)).state;
      expect({ ...forked, saga: origin, fork: undefined, snapshot: 0 }).toEqual({
        ...state,
        fork: undefined,
        snapshot: 0,
      });
      expect(isUnfinishedFork(forked)).toBe(true);
    }
  });

  test("would fold to something else if the fork's id stood in for its origin's", () => {
    const whole = forkedAt(turns, turns.length).map(({ steps, ...turn }) => ({
      ...turn,
      steps: steps.map(({ event, ...step }) => ({
        event: event.type === "start" ? { ...event, fork: undefined } : event,
        ...step,
      })),
    }));
    expect(() => foldLedger(story.definition, whole)).toThrow(/FOLD_DIVERGED/);
  });
});

describe("after it has left, a fork", () => {
  const turns = asOrigin(given(weekend, started({ guest: "ana", cents: 1 })));
  const held = {
    type: "result",
    intent: parseIntentId("1-0"),
    attempt: 1,
    by: "w",
    result: { outcome: "succeeded", output: {} },
  } as const;
  const keys = (state: SagaState) =>
    Object.values(state.open).flatMap(({ intent }) => (intent.kind === "tool" ? [intent.key] : []));

  test("keeps the keys of what it inherited and uses its own lineage for what it decides itself", () => {
    const left = leave(weekend.definition, forkedAt(turns, 1)).state;
    expect(keys(left)[0]).toMatch(/^origin\.1-0\./);
    const at = { saga: fork, at: left.updatedAt + 1, events: [held] };
    expect(keys(decideTurn(weekend.definition, left, at).state)[0]).toMatch(/^fork\.3-0\./);
    expect(isUnfinishedFork(left)).toBe(false);
  });

  test("is nobody's child, and takes no order of a parent of its origin", () => {
    const of = started({ guest: "ana", cents: 1 }, { saga: "above", intent: "1-0" });
    const below = asOrigin(given(weekend, of));
    expect(foldLedger(weekend.definition, forkedAt(below, 1)).state.parent?.saga).toBe("above");
    expect(leave(weekend.definition, forkedAt(below, 1)).state.parent).toBeUndefined();
  });

  test("has as much time left as its origin had", () => {
    const asking = defineSaga({
      ...{ name: "asking", version: 1, input: z.json(), output: z.json(), signals: {} },
      budget: { wallClockMs: 1_000_000 },
      machine: setup({
        actors: toActors({ ask: question({ to: [], answer: z.json(), withinMs: 50_000 }) }),
      }).createMachine({
        id: "asking",
        initial: "asking",
        states: {
          asking: { invoke: { src: "ask", input: { question: "?" } }, after: { 30_000: "over" } },
          over: { type: "final" },
        },
      }),
    });
    const own = asOrigin(given(asking, started({})));
    const before = foldLedger(asking.definition, own).state;
    const { state } = leave(asking.definition, forkedAt(own, 1), leaving({ idleMs: 86_400_000 }));
    const due = (of: SagaState) =>
      Object.values(of.open).map((open) => ["dueAt" in open.intent ? open.intent.dueAt : 0, dueAtOf(open)]);
    const later = (at: unknown) => (typeof at === "number" ? at + 86_400_000 : at);
    expect(due(state)).toEqual(due(before).map((pair) => pair.map(later)));
    expect(state.budget?.deadline).toBe((before.budget?.deadline ?? 0) + 86_400_000);
  });

  test("asks an open decision anew under its own id, counted once, unless its reply is given", () => {
    const helper = agentOf();
    const own = asOrigin(given(helper, started({ of: "x" })));
    const { state, steps } = leave(helper.definition, forkedAt(own, 1), leaving({ model: "other" }));
    expect(steps[0]?.intents).toMatchObject([{ kind: "model", id: "2-0", name: "other" }]);
    expect(Object.keys(state.open)).toEqual(["2-0"]);
    expect(state.spent.steps).toBe(1);
    const answered = ["1-0"] as IntentId[];
    const kept = leave(helper.definition, forkedAt(own, 1), leaving({ answered }));
    expect(Object.keys(kept.state.open)).toEqual(["1-0"]);
    expect(kept.steps[0]?.intents).toEqual([]);
  });

  test("asks a machine's single call of another model, too", () => {
    const plain = defineSaga({
      ...{ name: "plain", version: 1, input: z.json(), output: z.json(), signals: {} },
      machine: setup({
        actors: toActors({
          one: modelCall({ model: "m", instructions: "One." }),
          two: modelCall({ model: "m", instructions: "Two." }),
        }),
      }).createMachine({
        id: "plain",
        type: "parallel",
        states: {
          a: { invoke: { src: "one", input: { prompt: "1?" } } },
          b: { invoke: { src: "two", input: { prompt: "2?" } } },
        },
      }),
    });
    const own = asOrigin(given(plain, started({})));
    const same = leave(plain.definition, forkedAt(own, 1)).steps[0]?.intents ?? [];
    const other = leave(plain.definition, forkedAt(own, 1), leaving({ model: "n" })).steps[0]?.intents ?? [];
    expect(other.map((one) => "name" in one && one.name)).toEqual(["n", "n"]);
    const digests = [...same, ...other].map((one) => (one.kind === "model" ? one.request : ""));
    expect(new Set(digests).size).toBe(4);
  });

  test("asks anew what failed while its origin was paused and waits for its next attempt", () => {
    const helper = agentOf();
    const own = asOrigin(
      given(
        helper,
        started({ of: "x" }),
        signalled("pause", {}),
        failed("model", { code: "MODEL_FAILED", retry: true }),
      ),
    );
    const { state } = leave(helper.definition, forkedAt(own, 3), leaving({ instructions: "Otherwise." }));
    expect(state.held ?? []).toEqual([]);
    expect(Object.values(state.open)).toMatchObject([{ intent: { kind: "model", id: "4-0" }, attempt: 1 }]);
  });

  test("cannot leave anywhere but where its lineage says", () => {
    const own = calling(hold);
    const { state } = foldLedger(own.definition, asOrigin(given(own, started({ of: "x" }))));
    const at = { saga: origin, at: 1, events: [leaving()] };
    expect(() => decideTurn(own.definition, state, at)).toThrow(/INTERNAL/);
  });
});

test("a turn's decider is the nearest ancestor that reaches as far", () => {
  const [a, b] = [parseSagaId("a"), parseSagaId("b")];
  const lineage = { saga: b, turn: 7, head: "", order: "", before: [{ saga: a, turn: 3 }] };
  expect([1, 3, 4, 7, 8].map((turn) => deciderOf(fork, lineage, turn))).toEqual([a, a, b, b, fork]);
  // Of a fork within what its origin inherited, nothing is the origin's own.
  const [first] = asOrigin(given(calling(hold), started({ of: "x" })));
  const inherited = inheritedTurns(first === undefined ? [] : [first], b, { ...order, saga: a, turn: 1 });
  const again = inheritedTurns(inherited, fork, { ...order, saga: b, turn: 1 });
  const start = again[0]?.steps[0]?.event as EventOf<"start">;
  expect(start.type).toBe("start");
  expect(deciderOf(fork, start.fork, 1)).toBe(a);
});

test("people who are told of a fork's task hear whether its effects are simulated", () => {
  const asked = asOrigin(
    given(parent, started({ of: "x" }), replied({ calls: [call("ask", { question: "Go?" })] })),
  );
  const { definition } = given(parent);
  const noticeOf = (effects: "live" | "simulated") => {
    const left = leave(definition, forkedAt(asked, 1), leaving({ effects }));
    const model = Object.values(left.state.open).find(({ intent }) => intent.kind === "model")!.intent.id;
    const output = { model: "scripted", calls: [{ tool: "ask", input: { question: "Go?" } }] };
    const result = {
      type: "result",
      intent: model,
      attempt: 1,
      by: "h",
      result: { outcome: "succeeded", output },
    } as const;
    const { steps } = decideTurn(definition, left.state, {
      saga: fork,
      at: left.state.updatedAt + 1,
      events: [result],
    });
    const told = steps
      .flatMap(({ intents }) => intents)
      .find((one) => one.kind === "tool" && one.name === "tell");
    return z.object({ input: z.object({ task: TaskNotice }) }).parse(told).input.task;
  };
  expect(noticeOf("simulated")).toMatchObject({ about: "question", simulated: true });
  expect(noticeOf("live").simulated).toBeUndefined();
});
