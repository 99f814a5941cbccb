/**
 * Agent context: what the machine of an agent remembers, and how that changes. Pure functions; agent.ts says when.
 */
import { placeOfCall } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { MessagePart } from "../../protocol/model.ts";
import { callStates, type CallState, partOf, rewrittenOf } from "./calls.ts";
import type { AgentEvent, ResultPart } from "./events.ts";
import type { Retained } from "./retention.ts";
import { chainDigest } from "../request/conversation.ts";
import { withKey, withLast, withoutAt } from "../values/draft.ts";
import type { AgentSpec } from "../request/agent-spec.ts";
import type { Ended } from "./hand-off.ts";
import type { Reading } from "./reply.ts";
import { isReserved } from "../contract/reserved-signals.ts";

export interface AgentContext extends Retained {
  readonly step: number;
  /** Of the conversation so far. */
  readonly digest: string;
  readonly repairs: number;
  /** Why each of these replies could not be taken; absent where the last one was. */
  readonly refused?: readonly string[] | undefined;
  /** For the next message, after the calls' results. */
  readonly parts: readonly MessagePart[];
  readonly calls: Readonly<Record<string, CallState>>;
  /** Calls of the latest reply that are still open. */
  readonly batch: readonly string[];
  readonly wake: boolean;
  readonly paused: boolean;
  /** The model was told that this is its last step; `asked`: and has made it. */
  readonly last?: "told" | "asked" | undefined;
  /** The model is not asked before (agent.ts, AG6); absent where no limit holds. */
  readonly notBefore?: number;
  /** The call of the agent that took the work over (agent.ts, AG7). */
  readonly handedOff?: string;
  readonly ended?: Ended;
}

/** The next message's parts: settled calls in their order, calls first shown as pending, then the rest. */
export function compose(context: AgentContext): { parts: MessagePart[]; calls: Record<string, CallState> } {
  const parts: MessagePart[] = [];
  const calls: Record<string, CallState> = {};
  for (const [call, state] of Object.entries(context.calls)) {
    if (state.part !== undefined) parts.push(state.part);
    else calls[call] = { ...state, pendingShown: true };
    if (state.part === undefined && !state.pendingShown)
      parts.push({ type: "result", call, tool: state.tool, outcome: "pending", ...rewrittenOf(state) });
  }
  return { parts: [...parts, ...context.parts], calls };
}

const isWait = (context: AgentContext, call: string): boolean => context.calls[call]?.wait !== undefined;

/** Records a call's outcome. A late one of an earlier batch wakes an agent that only waits. */
export function settleCall(context: AgentContext, call: string, part: ResultPart): Partial<AgentContext> {
  const state = context.calls[call];
  if (state === undefined || state.part !== undefined) return {};
  const calls = withKey(context.calls, call, { ...state, part: { ...part, ...rewrittenOf(state) } });
  const at = placeIn(context.batch, call);
  const batch = at === undefined ? context.batch : withoutAt(context.batch, at);
  const next = { ...context, calls, batch };
  return onlyWaits(next) && hasNews(next) ? wakeUp(next) : { calls, batch };
}

/** A batch is in the order of its calls' numbers, so one of thousands is found without looking at each; most end in that order. */
function placeIn(batch: readonly string[], call: string): number | undefined {
  if (batch[0] === call) return 0;
  let [low, high] = [0, batch.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (placeOfCall(batch[middle] ?? "") < placeOfCall(call)) low = middle + 1;
    else high = middle;
  }
  return batch[low] === call ? low : undefined;
}

/** Whether a call of an earlier reply is settled and the model was not told yet. */
const hasNews = ({ calls, step }: AgentContext): boolean =>
  Object.entries(calls).some(([call, { part }]) => part !== undefined && !call.startsWith(`${step}.`));

/** Something is to be said before the waits are over. */
const wakeUp = (context: AgentContext): Partial<AgentContext> => ({
  ...endWaits(context, { woke: "result" }),
  wake: true,
});

export const onlyWaits = ({ calls, batch }: AgentContext): boolean =>
  batch.length > 0 &&
  calls[batch.at(-1) ?? ""]?.wait !== undefined &&
  batch.every((call) => calls[call]?.wait !== undefined);

/** Ends every open wait, saying what ended it. */
export function endWaits(context: AgentContext, woke: Json): Pick<AgentContext, "calls" | "batch" | "parts"> {
  const entries = Object.entries(context.calls).map(([call, state]) =>
    state.wait === undefined || state.part !== undefined
      ? [call, state]
      : [
          call,
          {
            ...state,
            part: {
              type: "result",
              call,
              tool: "wait",
              outcome: "succeeded",
              output: woke,
            } satisfies MessagePart,
          },
        ],
  );
  const batch = context.batch.filter((call) => !isWait(context, call));
  return { calls: Object.fromEntries(entries) as Record<string, CallState>, batch, parts: context.parts };
}

export const openWaits = (context: AgentContext): string[] =>
  Object.keys(context.calls).filter(
    (call) => isWait(context, call) && context.calls[call]?.part === undefined,
  );

/** What people and evaluators say of the agent itself ends every wait. */
export const wants = (context: AgentContext, name: string): boolean => {
  const waits = openWaits(context);
  return (
    waits.length === 0 ||
    isReserved(name) ||
    waits.some((call) => context.calls[call]?.wait?.signals?.includes(name) ?? true)
  );
};

/**
 * The context after a reply. What came in while the model was asked is still unsaid: a reply that only waits
 * waits for nothing then, and a correction is said at once.
 */
export function takeReply(
  { repairsMax }: AgentSpec,
  context: AgentContext,
  reading: Reading,
  isPause: boolean,
): Partial<AgentContext> {
  const repairs = reading.repair ? context.repairs + 1 : 0;
  const refused = reading.repair ? [...(context.refused ?? []), whyRefused(reading)] : undefined;
  const next: AgentContext = {
    ...context,
    digest: chainDigest(context.digest, reading.message),
    repairs,
    refused,
    calls: { ...context.calls, ...callStates(reading) },
    batch: reading.started.map((call) => call.call),
    parts: [...context.parts, ...reading.answers.filter((part) => part.type !== "result")],
    paused: isPause && reading.started.length === 0,
    last: context.last === undefined ? undefined : "asked",
    ...(reading.handsOff === undefined ? {} : { handedOff: reading.handsOff }),
    ...endedBy(reading, repairs, { repairsMax, refused }),
  };
  // What the memory has become meanwhile is no reason to talk: it is shown when there is one.
  const isCorrected = context.parts.some((part) => part.type !== "memory");
  return isCorrected || (onlyWaits(next) && hasNews(next)) ? { ...next, ...wakeUp(next) } : next;
}

/** The context after news of a call that came while the model is not asked. */
export function afterNews(context: AgentContext, event: AgentEvent): Partial<AgentContext> {
  if (event.type === "sagamesh.corrected")
    return wakeUp({ ...context, parts: withLast(context.parts, event.part) });
  return event.type === "sagamesh.result"
    ? settleCall(context, event.call, partOf(context.calls, event))
    : {};
}

/** Why a reply could not be taken, in the words that its model was told. */
const whyRefused = ({ answers }: Reading): string =>
  answers
    .flatMap((part) => {
      if (part.type === "text") return [part.text];
      return part.type === "result" ? [`${part.tool}: [${part.code ?? ""}] ${part.reason ?? ""}`] : [];
    })
    .join("; ")
    .replaceAll(/\s*\n\s*/g, " ");

const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;

/** The end that a reply brings, if any: its finish, its failure, or one repair too many. */
function endedBy(
  reading: Reading,
  repairs: number,
  {
    repairsMax = limits.repairsMax,
    refused = [],
  }: { repairsMax?: number | undefined; refused?: readonly string[] | undefined },
): { ended?: Ended } {
  if (reading.finish !== undefined) return { ended: { status: "completed", output: reading.finish.output } };
  if (reading.fail !== undefined) return { ended: { status: "failed", ...reading.fail } };
  if (repairs <= repairsMax) return {};
  return {
    ended: {
      status: "failed",
      code: "MODEL_REPLY_INVALID",
      reason: cut(
        [
          `${repairs} replies in a row could not be taken`,
          ...refused.map(
            (why, k) => `${k + 1}. ${cut(why, Math.floor(limits.reasonLengthMax / (repairs + 1)))}`,
          ),
        ].join("\n"),
        limits.reasonLengthMax,
      ),
    },
  };
}
