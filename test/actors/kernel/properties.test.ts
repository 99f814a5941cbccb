/**
 * Goal: what must hold for every ledger holds for thousands of random ones. Method: fast-check with a fixed seed
 * walks a saga through events chosen from what is open, odd and hostile ones among them; the walk goes through the
 * door like any input.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assign, setup } from "xstate";
import { z } from "zod";
import { accept } from "../../../actors/kernel/accept.ts";
import { compensation, question, toActors } from "../../../actors/machine/callable.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import type { Definition } from "../../../actors/contract/definition.ts";
import { decideTurn } from "../../../actors/kernel/fold.ts";
import { callsAtMost } from "../../../actors/policies/ready-made.ts";
import { layBy, partOf, PastNeeded, type PastPart, pastWith, recall } from "../../../actors/kernel/past.ts";
import { foldLedger, foldTurn, stateFromJson, stateToJson } from "../../../actors/kernel/replay.ts";
import type { SagaState } from "../../../actors/contract/state.ts";
import { contentTypes, decode, encodeMsgpack } from "../../../protocol/codec.ts";
import type { Event } from "../../../protocol/event.ts";
import { type IntentId, parseSagaId } from "../../../protocol/ids.ts";
import { canonicalJson, type Json, toJson } from "../../../protocol/json.ts";
import type { Result } from "../../../protocol/result.ts";
import { createAccountReader } from "../../../services/ledger/account-reader.ts";
import { expectSame } from "../../support/accounts.ts";
import { frozenState } from "../../support/frozen.ts";
import { ledgerVersion, toStored, Turn } from "../../../protocol/turn.ts";
import {
  agentOf,
  call,
  calling,
  chargeAsk,
  chargeCompensate,
  chargeModel,
  finish,
  hold,
  look,
  Of,
  reserve,
  send,
} from "../../support/workbench.ts";

const seed = 20261121;
const saga = parseSagaId("saga-1");

/** A machine with something of everything, in parallel and entered anew. */
const busy = defineSaga({
  name: "busy",
  version: 1,
  input: z.json(),
  output: z.json(),
  signals: { again: z.null(), end: z.null(), note: z.object({ text: z.string() }), undo: z.null() },
  machine: setup({
    types: {
      context: {} as { rounds: number; notes: string[] },
      events: {} as { type: "note"; data: { text: string } } | { type: "again" | "end" | "undo" },
    },
    actors: toActors({
      hold,
      reserve,
      look,
      chargeAsk,
      chargeCompensate,
      compensation,
      child: calling(hold),
      ask: question({ to: [], answer: z.number() }),
    }),
  }).createMachine({
    type: "parallel",
    context: { rounds: 0, notes: [] },
    states: {
      work: {
        initial: "on",
        states: {
          on: {
            entry: assign({ rounds: ({ context }) => context.rounds + 1 }),
            invoke: [
              { id: "h", src: "hold", input: ({ context }) => ({ of: `${context.rounds}` }) },
              { id: "r", src: "reserve", input: { of: "r" } },
              {
                id: "c",
                src: "chargeAsk",
                input: ({ context }) => ({ of: `c${context.rounds}` }),
                onError: "off",
              },
              { id: "k", src: "child", input: { of: "k" } },
            ],
            after: { 1_000: "off" },
            on: { again: { target: "on", reenter: true }, undo: "undoing" },
          },
          undoing: { invoke: { src: "compensation", input: { because: "asked" }, onDone: "off" } },
          off: {
            invoke: {
              id: "d",
              src: "chargeCompensate",
              input: ({ context }) => ({ of: `d${context.rounds}` }),
              onDone: "over",
              onError: "over",
            },
            on: {
              again: "on",
              note: {
                actions: assign({ notes: ({ context, event }) => [...context.notes, event.data.text] }),
              },
            },
          },
          over: { type: "final" },
        },
      },
      talk: {
        initial: "asking",
        states: {
          asking: {
            invoke: { id: "q", src: "ask", input: { question: "?" }, onDone: "end", onError: "asking" },
            on: { end: "end" },
          },
          end: { type: "final" },
        },
      },
    },
  }),
}).definition;

const agent = agentOf({
  tools: [look, hold, send, chargeModel, chargeAsk, reserve],
  agents: [calling(hold)],
  policies: [callsAtMost(send, 2)],
  budget: { steps: 30 },
}).definition;

const definitions: Record<string, Definition> = { busy, agent };

/** One move of a walk: numbers that choose among what is possible when it is made. */
interface Move {
  readonly kind: number;
  readonly which: number;
  readonly how: number;
  readonly batch: boolean;
  readonly afterMs: number;
}
const move: fc.Arbitrary<Move> = fc.record({
  kind: fc.integer({ min: 0, max: 99 }),
  which: fc.nat(1_000),
  how: fc.nat(1_000),
  batch: fc.constantFrom(false, false, false, true),
  afterMs: fc.constantFrom(0, 1, 500, 90_000),
});
const walk = fc.array(move, { minLength: 10, maxLength: 60, size: "max" });

const pick = <T>(all: readonly T[], n: number): T | undefined => all[n % Math.max(1, all.length)];
const oddIds = ["__proto__", "constructor", "7", "", "toString", "a.b", "ü"];

function resultOf(how: number, kind: string): Result {
  if (kind === "model") {
    const replies = [
      { calls: [call("look"), call("hold", { of: `${how}` }), call("send")] },
      { calls: [call("charge_model"), call("charge_ask"), call("reserve")] },
      { calls: [call("wait", { forMs: 100 }), call("look")] },
      { calls: [call("undo", { calls: ["1.1", "1.0"].slice(0, 1 + (how % 2)) })] },
      { calls: [call("undo", { calls: [`${1 + (how % 4)}.1`] })] },
      { calls: [call("calling"), call("ask", { question: "?" })] },
      { calls: [call("wait", { signals: ["hint"] })] },
      { calls: [call("__proto__"), call("constructor", { __proto__: 1 })] },
      { text: "hm" },
      { text: "long", stop: "length" as const },
      ...(how % 7 === 0 ? [finish] : []),
      { calls: "none" },
    ];
    return { outcome: "succeeded", output: { model: "m", ...pick(replies, how) } as Json };
  }
  const results: Result[] = [
    { outcome: "succeeded", output: { id: "i" } },
    { outcome: "succeeded", output: { id: "i" } },
    { outcome: "succeeded", output: 7 },
    { outcome: "failed", code: "X", reason: "r" },
    { outcome: "failed", code: "X", reason: "r", retry: true },
    { outcome: "failed", code: "NOT_PERFORMED", reason: "r", retry: false },
    { outcome: "in_doubt", code: "X", reason: "r" },
    { outcome: "cancelled", code: "X", reason: "r", usage: { inputTokens: 1, outputTokens: 1 } },
    { outcome: "denied", code: "X", reason: "r" },
  ];
  return pick(results, how) ?? { outcome: "failed", code: "X", reason: "r" };
}

/** The event of a move: mostly what could come now, sometimes what never should. */
function eventOf(state: SagaState, definition: Definition, { kind, which, how }: Move, now: number): Event {
  const open = Object.values(state.open);
  const one = pick(open, which);
  const intent = one?.intent.id ?? ("1-0" as IntentId);
  if (kind < 55) {
    const settled = [...Object.keys(state.doubts), ...state.unpaid] as IntentId[];
    const late = kind < 6 ? pick(settled, which) : undefined;
    return {
      type: "result",
      intent: late ?? intent,
      attempt:
        (late === undefined ? (one?.attempt ?? 1) : (state.doubts[late]?.attempt ?? 1)) +
        (how % 11 === 0 ? -1 : 0),
      by: "w",
      result: resultOf(how, late === undefined ? (one?.intent.kind ?? "tool") : "tool"),
    };
  }
  if (kind < 60) return { type: "timer", intent };
  if (kind < 65) return { type: "deferred", intent, attempt: one?.attempt ?? 1, dueAt: now + 50 };
  if (kind < 72) {
    const answers: Json[] = [
      3,
      "x",
      { outcome: "did_not_happen" },
      { outcome: "happened", output: { id: "i" } },
      null,
    ];
    const vote = pick(["approve", "deny", "answer", "answer"] as const, how) ?? "deny";
    const tasks = open.filter((other) => other.intent.kind === "task");
    const task = pick(tasks, which)?.intent.id ?? intent;
    return {
      type: "task",
      intent: task,
      id: pick([`v${which}`, ...oddIds], how) ?? "v",
      vote: { vote, by: `p${how % 3}`, answer: pick(answers, how + which) ?? null },
    };
  }
  if (kind < 73) return { type: "adopted" };
  if (kind < 74)
    return { type: "signal", name: "cancel", data: "enough", id: `cancel-${which}`, from: "f", sentAt: now };
  if (kind < 82) {
    const ids = ["1-0", "1-99", "2-0", "99999-0", "__proto__", "constructor", "1-1"] as IntentId[];
    return {
      type: "result",
      intent: pick(ids, which) ?? intent,
      attempt: how % 3,
      by: "w",
      result: resultOf(how, "tool"),
    };
  }
  const names = [...Object.keys(definition.signals), ...(how % 5 === 0 ? oddIds : [])];
  const data: Json[] = [null, { text: "t" }, "t", 7, JSON.parse('{"__proto__":1}') as Json];
  return {
    type: "signal",
    name: pick(names, which) ?? "",
    data: pick(data, how) ?? null,
    id: how % 9 === 0 ? (pick(oddIds, which) ?? "") : `s${which}-${how}`,
    from: "f",
    sentAt: now,
  };
}

interface Walked {
  readonly turns: Turn[];
  readonly states: SagaState[];
}

/** Walks a saga. Every turn is recorded as text and read back, as the ledger does. */
function walkThrough(definition: Definition, moves: readonly Move[]): Walked {
  const turns: Turn[] = [];
  const states: SagaState[] = [];
  let state: SagaState | undefined;
  let at = 0;
  const append = (events: readonly Event[]) => {
    const decided = decideTurn(definition, state, { saga, at, events });
    state = frozenState(decided.state); // No turn writes into what was before it (FG1).
    states.push(state);
    const { steps } = decided;
    const stored = toStored({ v: ledgerVersion, saga, turn: state.turn, at, host: "h", prev: "", steps });
    turns.push(Turn.parse(JSON.parse(JSON.stringify(stored))));
    return state;
  };
  const { name, version, hash } = definition;
  const keys = moves.length % 4 === 0 ? {} : { keys: "decided" as const };
  let now = append([{ type: "start", definition: { name, version, hash }, input: { of: "x" }, ...keys }]);
  let batch: Event[] = [];
  for (const one of moves) {
    at += one.afterMs;
    const judged = accept(definition, now, eventOf(now, definition, one, at), at);
    if (judged.type === "new") batch.push(judged.event);
    if (one.batch || batch.length === 0) continue;
    now = append(batch);
    batch = [];
  }
  return { turns, states };
}

const text = (definition: Definition, state: SagaState): string =>
  canonicalJson(stateToJson(definition, state));
const throughJson = (value: Json): unknown => JSON.parse(JSON.stringify(value));
const throughMsgpack = (value: Json): unknown => decode(encodeMsgpack(value), contentTypes.msgpack);

describe.each(Object.entries(definitions))("any ledger of %s", (_, definition) => {
  test("can be read by the ledger's schema, and folds again to the same state and the same intents", () => {
    fc.assert(
      fc.property(walk, (moves) => {
        const { turns, states } = walkThrough(definition, moves);
        const { state } = foldLedger(definition, turns);
        expect(text(definition, state)).toBe(text(definition, states.at(-1) as SagaState));
      }),
      { numRuns: 400, seed },
    );
  });

  test.each([
    ["JSON", throughJson],
    ["MessagePack", throughMsgpack],
  ])("folds to the same state from a snapshot taken at any turn, at rest as %s", (_format, through) => {
    fc.assert(
      fc.property(walk, fc.nat(1_000), (moves, cut) => {
        const { turns, states } = walkThrough(definition, moves);
        const at = cut % states.length;
        const rested = stateFromJson(definition, through(stateToJson(definition, states[at] as SagaState)));
        const rest = turns.slice(at + 1);
        const state = rest.length === 0 ? rested : foldLedger(definition, rest, rested).state;
        expect(text(definition, state)).toBe(text(definition, states.at(-1) as SagaState));
      }),
      { numRuns: 200, seed },
    );
  });

  test("has an account that says after each turn what the fold says", () => {
    fc.assert(
      fc.property(walk, (moves) => {
        const { turns, states } = walkThrough(definition, moves);
        const reader = createAccountReader();
        for (const [k, turn] of turns.entries()) {
          reader.take(turn);
          expectSame(reader.account, states[k]!);
        }
      }),
      { numRuns: 200, seed },
    );
  });

  test("folds to the same state whatever was laid by before any of its turns", () => {
    let recalled = 0;
    fc.assert(
      fc.property(walk, fc.infiniteStream(fc.boolean()), (moves, choices) => {
        const { turns, states } = walkThrough(definition, moves);
        let state: SagaState | undefined;
        let parts: PastPart[] = [];
        const whole = (of: SagaState): SagaState => recall(of, parts);
        for (const [index, turn] of turns.entries()) {
          const part = state === undefined || choices.next().value !== true ? undefined : partOf(state, 1);
          if (state !== undefined && part !== undefined) {
            state = layBy(state, part, pastWith(state.past, part, `part-${parts.length + 1}`));
            parts = [...parts, throughMsgpack(toJson(part)) as PastPart];
          }
          try {
            state = foldTurn(definition, state, turn).state;
          } catch (error) {
            if (!(error instanceof PastNeeded)) throw error;
            recalled += 1;
            state = foldTurn(definition, whole(state as SagaState), turn).state;
            parts = [];
          }
          expect(text(definition, whole(state))).toBe(text(definition, states[index] as SagaState));
        }
      }),
      { numRuns: 200, seed },
    );
    expect(recalled).toBeGreaterThan(20);
  });

  test("gives each effect a key of its own, which its retries keep", () => {
    fc.assert(
      fc.property(walk, (moves) => {
        const { turns, states } = walkThrough(definition, moves);
        const keys = new Map<string, string>();
        for (const intent of turns.flatMap(({ steps }) => steps.flatMap(({ intents }) => intents)))
          if (intent.kind === "tool") {
            expect(keys.has(intent.key)).toBe(false);
            keys.set(intent.key, intent.id);
          }
        for (const state of states)
          for (const { intent } of Object.values(state.open))
            if (intent.kind === "tool") expect(keys.get(intent.key)).toBe(intent.id);
      }),
      { numRuns: 200, seed },
    );
  });

  test("uses no intent id twice but for a retry, and never ends with something open that would still act", () => {
    fc.assert(
      fc.property(walk, (moves) => {
        const { turns, states } = walkThrough(definition, moves);
        const born = turns.flatMap(({ steps }) =>
          steps.flatMap(({ intents }) => intents.filter(({ kind }) => kind !== "retry").map(({ id }) => id)),
        );
        expect(new Set(born).size).toBe(born.length);
        for (const { phase, open, plans } of states)
          if (phase.kind === "ended") expect([Object.keys(open), plans]).toEqual([[], []]);
      }),
      { numRuns: 200, seed },
    );
  });

  test("comes to an end after a cancel, once every open intent is settled", () => {
    fc.assert(
      fc.property(walk, (moves) => {
        const { states } = walkThrough(definition, moves);
        let state = states.at(-1) as SagaState;
        const turn = (event: Event) => {
          const judged = accept(definition, state, event, 1e9);
          if (judged.type === "new")
            state = decideTurn(definition, state, { saga, at: 1e9, events: [judged.event] }).state;
        };
        turn({ type: "signal", name: "cancel", data: null, id: "the-last", from: "f", sentAt: 1e9 });
        for (let moved = 0; moved < 500 && state.phase.kind !== "ended"; moved++) {
          const [one] = Object.values(state.open);
          if (one === undefined) break;
          const { id, kind } = one.intent;
          if (kind === "task") turn({ type: "timer", intent: id });
          else {
            const output: Json = kind === "tool" && one.intent.name === "release" ? {} : { id: "i" };
            turn({
              type: "result",
              intent: id,
              attempt: one.attempt,
              by: "w",
              result: { outcome: "succeeded", output },
            });
          }
        }
        expect(state.phase.kind, canonicalJson(state.open)).toBe("ended");
        // Nothing that could be undone stands unsaid: it is undone, or a human left it standing.
        if (state.phase.kind === "ended" && state.phase.ending.status === "cancelled")
          for (const effect of state.effects)
            expect([undefined, true]).toContain(effect.undo && effect.stuck);
      }),
      { numRuns: 200, seed },
    );
  });
});

describe("a batch of an agent's calls", () => {
  const tools = ["look", "hold", "send", "charge_model"];
  const results: Result[] = [
    { outcome: "succeeded", output: { id: "i" } },
    { outcome: "failed", code: "X", reason: "r", retry: false },
    { outcome: "in_doubt", code: "X", reason: "r" },
    { outcome: "cancelled", code: "X", reason: "r" },
  ];
  const settled = fc.array(fc.record({ tool: fc.constantFrom(...tools), how: fc.nat(3) }), {
    minLength: 1,
    maxLength: 12,
  });

  test("leads to the same request and the same next calls in whatever order and turns its results come", () => {
    fc.assert(
      fc.property(
        settled.chain((calls) =>
          fc.record({
            calls: fc.constant(calls),
            order: fc.shuffledSubarray(
              calls.map((_, k) => k),
              { minLength: calls.length, maxLength: calls.length },
            ),
            cuts: fc.array(fc.boolean(), { minLength: calls.length, maxLength: calls.length }),
          }),
        ),
        ({ calls, order, cuts }) => {
          const inOrder = settleBatch(
            calls,
            calls.map((_, k) => k),
            calls.map(() => false),
          );
          const shuffled = settleBatch(calls, order, cuts);
          expect(shuffled).toEqual(inOrder);
        },
      ),
      { numRuns: 300, seed },
    );
  });

  /** What the model is sent after the batch, and what its next reply leads to. */
  function settleBatch(
    calls: readonly { tool: string; how: number }[],
    order: readonly number[],
    cuts: readonly boolean[],
  ) {
    const { name, version, hash } = agent;
    const turns: Turn[] = [];
    let state: SagaState | undefined;
    const append = (...events: Event[]) => {
      const decided = decideTurn(agent, state, { saga, at: 0, events });
      state = decided.state;
      turns.push({
        v: ledgerVersion,
        saga,
        turn: state.turn,
        at: 0,
        host: "h",
        prev: "",
        steps: decided.steps,
      });
      return { state, intents: decided.steps.flatMap(({ intents }) => intents) };
    };
    const reply = (of: SagaState, said: object): Event => {
      const model =
        Object.values(of.open).find(({ intent }) => intent.kind === "model")?.intent.id ??
        ("1-0" as IntentId);
      return {
        type: "result",
        intent: model,
        attempt: 1,
        by: "m",
        result: { outcome: "succeeded", output: { model: "m", ...said } as Json },
      };
    };
    const begun = append({ type: "start", definition: { name, version, hash }, input: { of: "x" } });
    const asked = append(
      reply(begun.state, { calls: calls.map(({ tool }, k) => call(tool, { of: `${k}` })) }),
    );
    const open = asked.intents.filter(({ kind }) => kind === "tool").map(({ id }) => id);
    const started = asked.intents.map(({ kind, id }) => [kind, id]);
    let pending: Event[] = [];
    order.forEach((k, index) => {
      const id = open[k];
      if (id === undefined) return;
      pending.push({
        type: "result",
        intent: id,
        attempt: 1,
        by: "w",
        result: results[calls[k]?.how ?? 0] as Result,
      });
      if (cuts[index] !== true) return;
      append(...pending);
      pending = [];
    });
    const last = pending.length === 0 ? (state as unknown as SagaState) : append(...pending).state;
    const { messages } = foldLedger(agent, turns);
    const decision = Object.values(last.open).find(({ intent }) => intent.kind === "model");
    const next =
      decision === undefined
        ? []
        : append(reply(last, { calls: [call("look"), call("hold", { of: "next" })] })).intents;
    return {
      started,
      messages,
      request: decision?.intent.kind === "model" ? decision.intent.request : undefined,
      next: next.map((intent) => [intent.kind, "call" in intent ? intent.call : undefined]),
    };
  }
});

test("a turn whose intents were changed by one character does not fold", () => {
  const { turns } = walkThrough(busy, []);
  const [first] = turns;
  const forged = JSON.parse(JSON.stringify(first).replace('"of":"1"', '"of":"2"')) as Turn;
  expect(() => foldTurn(busy, undefined, forged)).toThrow(/FOLD_DIVERGED.*turn 1.*expected.*got/s);
  expect(Of.safeParse({ of: "x" }).success).toBe(true);
});
