/**
 * Foreign: logic of XState's own that a machine names where only what `toActors` bound may stand, and the way out of each.
 *
 * XF1 To tell them apart no function of the author's is called. Their shapes are those of the pinned version, which
 *     foreign.test.ts holds.
 */
import type { AnyActorLogic, AnyStateMachine, PromiseActorLogic } from "xstate";

/** What `fromPromise` makes. */
export type PromiseLogic<O, I> = PromiseActorLogic<O, I>;

/** Of which of XState's creators a logic is. */
export type Foreign = "machine" | "promise" | "callback" | "observable" | "transition" | "unknown";

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

/** Whether it is a machine. */
export const isMachine = (value: unknown): value is AnyStateMachine =>
  isObject(value) && "implementations" in value && "getInitialSnapshot" in value;

/** XF1. Of which of XState's creators a logic is. */
export function foreignKind(logic: unknown): Foreign {
  if (isMachine(logic)) return "machine";
  if (!isObject(logic) || typeof logic["config"] !== "function" || typeof logic["transition"] !== "function")
    return "unknown";
  if (logic["start"] === undefined) return "transition";
  // With `start` it is of XState's own, and its transition calls nothing of the author's.
  const { transition } = logic as unknown as AnyActorLogic;
  try {
    const event = { type: "xstate.promise.resolve", data: undefined };
    const after: unknown = transition({ status: "active" }, event, { self: {} } as never);
    return isObject(after) && after["status"] === "done" ? "promise" : "observable";
  } catch {
    return "callback"; // It looks for what listens to it, and nothing does.
  }
}

/** What to do with a logic that would run unrecorded, with its name in the machine. */
export function wayOutOf(logic: unknown, name: string): string {
  switch (foreignKind(logic)) {
    case "machine":
      return `a machine in a machine is a saga of its own: toActors({ ${name}: defineSaga({ name, version, input, output, machine }) })`;
    case "promise":
      return `say what its effect is, and bind it as it is: toActors(toolsOf({ ${name}: { effect: "once", perform: fromPromise(...) } }))`;
    case "callback":
      return (
        "for an interval raise an event with a delay (`after`, or raise({ type }, { delay })), for a prompt bind question({ to, answer }), " +
        "and what it hears from outside is a signal of the saga"
      );
    case "observable":
      return "what it hears from outside is a signal of the saga";
    case "transition":
      return "keep its state in the context, with assign";
    case "unknown":
      return "bind a tool, saga or agent with toActors";
  }
}

/** What the function in `fromPromise(...)` is given. */
interface Given {
  readonly input: unknown;
  readonly signal: AbortSignal;
  readonly emit: () => void;
  readonly self: unknown;
  readonly system: unknown;
}

/**
 * The function within what `fromPromise` made, undefined of any other logic. Called with an input and a signal it runs as
 * in XState, but that `self` and `system` are not there and nothing hears what it emits.
 */
export function promiseWithin(
  logic: unknown,
): ((input: unknown, signal: AbortSignal) => unknown) | undefined {
  if (foreignKind(logic) !== "promise") return undefined;
  const { config } = logic as { readonly config: (given: Given) => unknown }; // XF1: of the pinned version.
  return (input, signal) =>
    config({ input, signal, emit: () => undefined, self: notThere("self"), system: notThere("system") });
}

/** Stands for what an actor of XState is given and a tool is not; says so as soon as it is used. */
export const notThere = (name: string): unknown =>
  new Proxy(Object.freeze({}), {
    get: () => {
      throw new Error(
        `a tool has no \`${name}\`: what it is to know is its input, what it has to say its output`,
      );
    },
  });
