/**
 * Calls: what a built-in machine asks the kernel for by named actions, and what it hears of it.
 *
 * A call is an actor of the machine whose id holds a dot (`<step>.<k>` of an agent, `<node>.<try>` of a workflow). It is
 * no child of XState's: those stay in the snapshot when they are done, and their event types in XState's caches.
 */
import type { Json } from "../../protocol/json.ts";
import type { ModelMessage } from "../../protocol/model.ts";

/** Why an actor's intent did not succeed, as its machine hears it. */
export interface CallError {
  readonly outcome?: "failed" | "denied" | "in_doubt" | "cancelled";
  readonly code: string;
  readonly reason: string;
  /** What a child that failed could not undo, `<tool> <key>`. */
  readonly standing?: readonly string[];
}

/** A call to be started. `dependsOn` names all calls it rests on, directly or not; `inputFrom` those whose outputs it was given. */
export interface NewCall {
  readonly call: string;
  readonly src: string;
  readonly input: Json;
  readonly dependsOn?: readonly string[] | undefined;
  readonly inputFrom?: readonly string[] | undefined;
  /** Which decision it is, where the number in its id depends on what else was called before (keys.ts). */
  readonly decides?: string;
}

/** The parameters of `sagamesh.start`. */
export interface StartParams {
  readonly id: string;
  readonly src: string;
  readonly input: Json;
  readonly dependsOn?: readonly string[];
  readonly inputFrom?: readonly string[];
  readonly decides?: string;
}

/** What a call rests on, as its intent says it. */
export const restingOf = ({ dependsOn, inputFrom }: Pick<StartParams, "dependsOn" | "inputFrom">) => ({
  ...(dependsOn === undefined ? {} : { dependsOn: [...dependsOn] }),
  ...(inputFrom === undefined ? {} : { inputFrom: [...inputFrom] }),
});

/** The parameters of `sagamesh.forward`. */
export interface ForwardParams {
  readonly id: string;
  readonly name: string;
  readonly data: Json;
}

// Every action is typed `never`: `setup` cannot type an action that names its sibling. The kernel reads them by name.

/** Adds a message to the conversation. */
export const say = (message: ModelMessage): never => ({ type: "sagamesh.say", params: { message } }) as never;

/** Starts a call. */
export const startCall = ({ call, src, input, dependsOn, inputFrom, decides }: NewCall): never =>
  ({
    type: "sagamesh.start",
    params: {
      id: call,
      src,
      input,
      ...(dependsOn === undefined ? {} : { dependsOn }),
      ...(inputFrom === undefined ? {} : { inputFrom }),
      ...(decides === undefined ? {} : { decides }),
    } satisfies StartParams,
  }) as never;

/** Stops waiting for a call. */
export const stopCall = (id: string): never => ({ type: "sagamesh.stop", params: { id } }) as never;

/** Hands a signal on to the saga that a call has started. */
export const forward = (id: string, name: string, data: Json): never =>
  ({ type: "sagamesh.forward", params: { id, name, data } satisfies ForwardParams }) as never;
