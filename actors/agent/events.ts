/**
 * Agent events: what the machine of an agent takes, and how a model is told of it.
 */
import type { Json } from "../../protocol/json.ts";
import type { ModelReply, MessagePart } from "../../protocol/model.ts";
import type { CallError } from "../contract/calls.ts";
import type { ReservedData } from "../contract/reserved-signals.ts";

export type ResultPart = Extract<MessagePart, { type: "result" }>;

export type AgentEvent =
  | { type: "xstate.done.actor.decision"; output: ModelReply; at: number }
  | { type: "xstate.error.actor.decision"; error: CallError; at: number }
  | { type: "sagamesh.result"; call: string; output?: Json; error?: CallError; at: number }
  /**
   * `at` is when it came, `now` when it is heard: a pause may lie between. `free`: the model was not asked yet, so to
   * decide anew costs nothing.
   */
  | {
      type: "sagamesh.signal";
      name: string;
      data: Json;
      at: number;
      from: string;
      now: number;
      free: boolean;
    }
  | { type: "sagamesh.limited"; until: number; at: number }
  | { type: "sagamesh.corrected"; call: string; tool: string; part: ResultPart; at: number }
  /** With `by` a human did it, else a policy. */
  | { type: "sagamesh.rewritten"; call: string; instead: Json; by?: string; at: number }
  | { type: "xstate.error.actor.raise"; error: CallError; at: number }
  | { type: "sagamesh.budget"; last: boolean; text: string; at: number }
  | { type: "sagamesh.cancel"; reason: string; from?: string; at: number }
  | { type: "sagamesh.memory"; by: string; memory?: Json; code?: string; reason?: string; at: number }
  | { type: "xstate.done.actor.summary"; output: ModelReply; at: number }
  | { type: "xstate.error.actor.summary"; error: CallError; at: number }
  | { type: "sagamesh.wake"; call: string; at: number };

/** A call that did not succeed, as the model is told of it. */
export const errorPart = (call: string, tool: string, error: CallError): ResultPart => ({
  type: "result",
  call,
  tool,
  outcome: error.outcome ?? "failed",
  code: error.code,
  reason: error.reason,
  ...(error.standing === undefined ? {} : { standing: [...error.standing] }),
});

/** The first decision's event is XState's own start, which carries the input. */
export const timeOf = (event: { now?: number; at?: number; input?: { at?: number } }): number =>
  event.now ?? event.at ?? event.input?.at ?? 0;

/** Instructions are the model's to follow, any other signal is data. */
export function partOfSignal(name: string, data: Json, said: { at: number; from: string }): MessagePart {
  if (name !== "instruct") return { type: "signal", name, data, ...said };
  return { type: "instructions", text: (data as ReservedData<"instruct">).text, ...said };
}
