/**
 * The workload of the benchmarks: a saga that calls a tool which does nothing, so many times, and ends, or
 * waits for signals where it was told to stay.
 *
 * Each step is one turn: the result of one call comes in and the next call is decided from it.
 */
import { assign, setup } from "xstate";
import { z } from "zod";
import { toActors } from "../../actors/machine/callable.ts";
import { defineSaga } from "../../actors/saga/define.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import { type App, defineApp } from "../../services/app/app.ts";

export type Placement = "host" | "worker";
export type NoopEffect = "read" | "idempotent";

interface NoopOptions {
  /** `idempotent` effects stand, and are part of the state for ever; `read` leaves nothing behind. */
  readonly effect?: NoopEffect;
  /** How long the tool takes; a timer, not work. */
  readonly toolMs?: number;
}

/** An application with both placements: `noop-host` performs in the host, `noop-worker` through WORK. */
export const noopApp = (options: NoopOptions = {}): App =>
  defineApp({ sagas: [noopSaga("host", options), noopSaga("worker", options)] });

/** The name of a placement's saga, for its start message. */
export const noopName = (placement: Placement): string => `noop-${placement}`;

/** The signal that a saga which stays answers with one turn. */
export const noopSignal = "more";

/** One of them, for an application that serves others beside it. */
export function noopSaga(placement: Placement, { effect = "idempotent", toolMs = 0 }: NoopOptions = {}) {
  const noop = defineTool({
    name: `noop_${placement}`,
    description: "does nothing",
    effect,
    placement,
    input: z.object({}),
    output: z.object({}),
    perform: async () => {
      if (toolMs > 0) await new Promise((resolve) => setTimeout(resolve, toolMs));
      return {};
    },
  });
  const machine = setup({
    types: {
      context: {} as { left: number; stays: boolean },
      input: {} as { steps: number; stays: boolean },
    },
    actors: toActors({ noop }),
    guards: {
      isLast: ({ context }) => context.left <= 1 && !context.stays,
      rests: ({ context }) => context.left <= 1,
    },
    actions: { count: assign({ left: ({ context }) => context.left - 1 }) },
  }).createMachine({
    id: "noop",
    context: ({ input }) => ({ left: input.steps, stays: input.stays }),
    initial: "working",
    states: {
      working: {
        invoke: {
          id: "call",
          src: "noop",
          input: {},
          onDone: [
            { guard: "isLast", target: "done" },
            { guard: "rests", target: "resting" },
            { target: "working", reenter: true, actions: "count" },
          ],
        },
      },
      resting: { on: { [noopSignal]: { target: "resting", reenter: true } } },
      done: { type: "final" },
    },
    output: {},
  });
  return defineSaga({
    name: noopName(placement),
    version: 1,
    input: z.object({ steps: z.int().positive(), stays: z.boolean().default(false) }),
    output: z.object({}),
    signals: { [noopSignal]: z.object({}) },
    machine,
  });
}
