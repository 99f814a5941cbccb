/**
 * Many: the same story with n of each thing, decided turn by turn and nothing else: no host, no ledger. For the tests
 * that run it with three and with thousands, and for the bench that times it.
 */
import { type AnyStateMachine, assign, enqueueActions, setup, spawnChild } from "xstate";
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import type { Definition } from "../../actors/contract/definition.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { type DecidedTurn, decideTurn } from "../../actors/kernel/fold.ts";
import { question, toActors } from "../../actors/machine/callable.ts";
import { defineSaga } from "../../actors/saga/define.ts";
import type { Event } from "../../protocol/event.ts";
import { type IntentId, parseSagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { Result } from "../../protocol/result.ts";
import { hold } from "./workbench.ts";

export const manySaga = parseSagaId("many");

/** One saga as it is decided; each call of `turn` is a turn. */
export interface Decider {
  readonly definition: Definition;
  readonly state: SagaState;
  turn(...events: readonly Event[]): DecidedTurn;
  /** A turn that starts it. */
  start(input?: Json): DecidedTurn;
  /** Ids of the open intents, of one kind if given. */
  open(kind?: string): IntentId[];
}

/** Begins with nothing. */
export function decider(definition: Definition, decide: typeof decideTurn = decideTurn): Decider {
  let state: SagaState | undefined;
  let at = Date.UTC(2026, 0, 1);
  const self: Decider = {
    definition,
    get state() {
      if (state === undefined) throw new Error("not started");
      return state;
    },
    turn(...events) {
      at += 1_000;
      const decided = decide(definition, state, { saga: manySaga, at, events });
      ({ state } = decided);
      return decided;
    },
    start(input = { of: "x" }) {
      const { name, version, hash } = definition;
      return self.turn({ type: "start", definition: { name, version, hash }, input });
    },
    open: (kind) =>
      Object.values(self.state.open).flatMap(({ intent }) =>
        kind === undefined || intent.kind === kind ? [intent.id] : [],
      ),
  };
  return self;
}

export const resultOf = (intent: IntentId, result: Result): Event => ({
  type: "result",
  intent,
  attempt: 1,
  by: "h",
  result,
});
export const success = (intent: IntentId, output: Json = { id: "i" }): Event =>
  resultOf(intent, { outcome: "succeeded", output });
export const signal = (name: string, id: string, data: Json = null): Event => ({
  type: "signal",
  name,
  data,
  id,
  from: "somebody",
  sentAt: Date.UTC(2026, 0, 1),
});

/** A reply with so many calls of `hold`. */
export const replyOf = (calls: number): Json => ({
  model: "scripted",
  stop: "calls",
  calls: Array.from({ length: calls }, (_, k) => ({ tool: "hold", input: { of: `${k}` } })),
});

/** As much as may be allowed. */
const all = { budget: { intentsOpenMax: 10_000 } };

/** An agent that may have as many calls open as there can be. */
export const manyAgent = (bounds: object = { ...all, callsPerReplyMax: 10_000 }): Definition =>
  defineAgent({
    name: "many",
    version: 1,
    description: "Holds many.",
    model: "scripted",
    instructions: "Hold.",
    input: z.object({ of: z.string() }),
    output: z.object({ answer: z.string() }),
    signals: { note: z.json() },
    tools: [hold],
    ...bounds,
  }).definition;

const actors = toActors({ hold, ask: question({ to: [], answer: z.json() }) });
const erased = setup({ actors }) as unknown as { createMachine(config: object): AnyStateMachine };

const sagaOf = (machine: AnyStateMachine, bounds: object): Definition =>
  defineSaga({
    name: "many",
    version: 1,
    input: z.json(),
    output: z.json(),
    signals: { note: z.json(), early: z.json(), go: z.null() },
    whenEarly: "keep",
    machine,
    ...bounds,
  }).definition;

const list = <T>(n: number, of: (k: number) => T): T[] => Array.from({ length: n }, (_, k) => of(k));

/** A machine that invokes n actors in one state; `go` leaves it. */
export const manyInvokes = (n: number, src: "hold" | "ask" = "hold", bounds: object = all): Definition =>
  sagaOf(
    erased.createMachine({
      id: "many",
      initial: "calling",
      states: {
        calling: {
          invoke: list(n, (k) => ({ id: `t${k}`, src, input: { of: `${k}`, question: "?" }, onDone: {} })),
          on: { go: "rest" },
        },
        rest: {},
      },
    }),
    bounds,
  );

/** The same with n regions, each of which invokes one. */
export const manyRegions = (n: number, bounds: object = all): Definition =>
  sagaOf(
    erased.createMachine({
      id: "many",
      type: "parallel",
      states: Object.fromEntries(
        list(n, (k) => [
          `r${k}`,
          {
            initial: "calling",
            states: {
              calling: { invoke: { id: `t${k}`, src: "hold", input: { of: `${k}` }, onDone: "done" } },
              done: {},
            },
          },
        ]),
      ),
    }),
    bounds,
  );

/** The same with actors that one action spawns. */
export const manySpawns = (n: number, bounds: object = all): Definition =>
  sagaOf(
    erased.createMachine({
      id: "many",
      initial: "calling",
      states: {
        calling: {
          entry: enqueueActions(({ enqueue }) => {
            for (let k = 0; k < n; k++) enqueue(spawnChild("hold", { id: `t${k}`, input: { of: `${k}` } }));
          }) as never,
          on: { go: "rest" },
        },
        rest: {},
      },
    }),
    bounds,
  );

/** A machine with n timers in one state; `go` leaves it. */
export const manyTimers = (n: number, bounds: object = all): Definition =>
  sagaOf(
    erased.createMachine({
      id: "many",
      initial: "waiting",
      states: {
        waiting: { after: Object.fromEntries(list(n, (k) => [1_000 + k, {}])), on: { go: "rest" } },
        rest: {},
      },
    }),
    bounds,
  );

const taking = { actions: assign({}) };

/** A machine that takes `note` and takes no `early` where it is; `go` leads where it does. */
export const manySignals = (): Definition =>
  sagaOf(
    erased.createMachine({
      id: "many",
      initial: "here",
      states: { here: { on: { note: taking, go: "there" } }, there: { on: { early: taking } } },
    }),
    {},
  );
