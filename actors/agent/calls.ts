/**
 * Agent calls: what an agent's machine keeps of its model's calls, and how their ends are told.
 */
import { placeOfCall } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { ModelReply, MessagePart } from "../../protocol/model.ts";
import type { CallError } from "../contract/calls.ts";
import { type AgentEvent, errorPart, type ResultPart } from "./events.ts";
import { withKey } from "../values/draft.ts";
import type { Reading, StartedCall } from "./reply.ts";

export interface CallState {
  readonly tool: string;
  readonly pendingShown: boolean;
  /** What a policy put in the place of the model's arguments. */
  readonly rewritten?: Json;
  /** What a human did, and who; told with the result. */
  readonly edited?: { readonly by: string; readonly input: Json };
  /** Set once the call is settled; shown in the next message, then forgotten. */
  readonly part?: MessagePart;
  /** A wait: the signals that end it (undefined: any). */
  readonly wait?: { readonly signals: readonly string[] | undefined };
}

/** What a call of a reply rests on, where the reply says so. */
export const restingOf = ({ calls }: ModelReply, call: string): readonly string[] | undefined =>
  calls[placeOfCall(call)]?.dependsOn;

/** A reply's calls in its order, refused ones with their answer (agent.ts, AG3). */
export function callStates(reading: Reading): Record<string, CallState> {
  const refusals = new Map(
    reading.answers.flatMap((part) => (part.type === "result" ? [[part.call, part] as const] : [])),
  );
  const started = new Map(reading.started.map((call) => [call.call, call]));
  const calls = reading.message.role === "assistant" ? reading.message.calls : [];
  return Object.fromEntries(
    calls.flatMap(({ id, tool }) => {
      const part = refusals.get(id);
      if (part !== undefined) return [[id, { tool, pendingShown: false, part }]];
      const call = started.get(id);
      return call === undefined ? [] : [[id, callState(call)]];
    }),
  );
}

const callState = (call: StartedCall): CallState =>
  call.type === "wait"
    ? { tool: "wait", pendingShown: false, wait: { signals: call.signals } }
    : { tool: call.tool, pendingShown: false };

/** The calls once the arguments of one were changed: by a policy, or `by` a human. The latest change is told. */
export function rewrittenIn(
  calls: Readonly<Record<string, CallState>>,
  { call, instead, by }: Extract<AgentEvent, { type: "sagamesh.rewritten" }>,
): Readonly<Record<string, CallState>> {
  const state = calls[call];
  if (state === undefined) return calls;
  const { rewritten: _before, ...rest } = state;
  const told = by === undefined ? { rewritten: instead } : { edited: { by, input: instead } };
  return withKey(calls, call, { ...rest, ...told });
}

/** What the model is told beside an outcome: whose arguments the call was made with. */
export const rewrittenOf = ({ rewritten, edited }: CallState) => ({
  ...(rewritten === undefined ? {} : { rewritten }),
  ...(edited === undefined ? {} : { edited }),
});

/** How a call ended, as the model is told. */
export function partOf(
  calls: Readonly<Record<string, CallState>>,
  { call, error, output }: { readonly call: string; readonly output?: Json; readonly error?: CallError },
): ResultPart {
  const tool = calls[call]?.tool ?? "";
  if (error !== undefined) return errorPart(call, tool, error);
  return { type: "result", call, tool, outcome: "succeeded", output: output ?? null };
}
