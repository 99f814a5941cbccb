/**
 * Agent: the built-in machine of `defineAgent`. Deciding, acting, waiting, compensating, and three ends.
 *
 * Owns: when a model is asked, what the next message holds, what becomes of its calls. Does not own: how a
 * call becomes an intent (issue.ts), what a reply means (reply.ts).
 *
 * A1 A model is asked when the last reply's calls are settled, or at once when a signal comes.
 * A2 A signal supersedes a decision in flight: the state is entered anew, the old decision is stopped.
 * A3 A message presents the results of a batch in the order of its calls, whatever order they came in.
 * A4 Every call is answered exactly once with its outcome, and once before as pending if it still runs.
 * A5 A wait ends with the first thing that would be said: a signal it waits for, its time, or a late result. So
 *    none is open while a model is asked.
 * A6 While a limit from outside holds, nobody is asked: the agent rests until it is over (`resting`).
 * A7 One that has handed its work over asks nobody any more: it ends as its successor ends (`handedOff`).
 */
import { assign, enqueueActions, setup, type AnyStateMachine } from "xstate";
import { z } from "zod";
import type { Json } from "../protocol/json.ts";
import { limits } from "../protocol/limits.ts";
import { type Message, ModelReply, type Part } from "../protocol/model.ts";
import { forward, say, start, stop } from "./agent-actions.ts";
import { callStates, type CallState, partOf, rewrittenIn, rewrittenOf } from "./agent-calls.ts";
import { type AgentEvent, partOfSignal, type ResultPart, timeOf } from "./agent-events.ts";
import { afterMessage, afterSummary, beforeAsking, type Retained, summarizedCut } from "./agent-retention.ts";
import { sending } from "./between-sagas.ts";
import { type Callable, compensation, question, toActors } from "./callable.ts";
import { chainDigest } from "./conversation.ts";
import type { AgentSpec } from "./definition.ts";
import { type Ended, endBy } from "./hand-off.ts";
import { type Reading, readReply } from "./reply.ts";
import { Asked } from "./request.ts";
import { isReserved } from "./reserved-signals.ts";
import { emptyRetention } from "./retention.ts";

export interface AgentContext extends Retained {
  readonly step: number;
  /** Of the conversation so far. */
  readonly digest: string;
  readonly repairs: number;
  /** For the next message, after the calls' results. */
  readonly parts: readonly Part[];
  readonly calls: Readonly<Record<string, CallState>>;
  /** Calls of the latest reply that are still open. */
  readonly batch: readonly string[];
  readonly wake: boolean;
  readonly paused: boolean;
  /** Nobody is asked before (A6); absent where no limit holds. */
  readonly notBefore?: number;
  /** The call of who took the work over (A7). */
  readonly handedOff?: string;
  readonly ended?: Ended;
}

/** The next message's parts: settled calls in their order, calls first shown as pending, then the rest. */
function compose(context: AgentContext): { parts: Part[]; calls: Record<string, CallState> } {
  const parts: Part[] = [];
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
function settleCall(context: AgentContext, call: string, part: ResultPart): Partial<AgentContext> {
  const state = context.calls[call];
  if (state === undefined || state.part !== undefined) return {};
  const calls = { ...context.calls, [call]: { ...state, part: { ...part, ...rewrittenOf(state) } } };
  const batch = context.batch.filter((open) => open !== call);
  const next = { ...context, calls, batch };
  return hasNews(next) && onlyWaits(next) ? wakeUp(next) : { calls, batch };
}

/** Whether a call of an earlier reply is settled and the model was not told yet. */
const hasNews = ({ calls, step }: AgentContext): boolean =>
  Object.entries(calls).some(([call, { part }]) => part !== undefined && !call.startsWith(`${step}.`));

/** Something is to be said before the waits are over. */
const wakeUp = (context: AgentContext): Partial<AgentContext> => ({
  ...endWaits(context, { woke: "result" }),
  wake: true,
});

const onlyWaits = ({ calls, batch }: AgentContext): boolean =>
  batch.length > 0 && batch.every((call) => calls[call]?.wait !== undefined);

/** Ends every open wait, saying what ended it. */
function endWaits(context: AgentContext, woke: Json): Pick<AgentContext, "calls" | "batch" | "parts"> {
  const entries = Object.entries(context.calls).map(([call, state]) =>
    state.wait === undefined || state.part !== undefined
      ? [call, state]
      : [
          call,
          {
            ...state,
            part: { type: "result", call, tool: "wait", outcome: "succeeded", output: woke } satisfies Part,
          },
        ],
  );
  const batch = context.batch.filter((call) => !isWait(context, call));
  return { calls: Object.fromEntries(entries) as Record<string, CallState>, batch, parts: context.parts };
}

const openWaits = (context: AgentContext): string[] =>
  Object.keys(context.calls).filter(
    (call) => isWait(context, call) && context.calls[call]?.part === undefined,
  );

/** What people and evaluators say of the agent itself ends every wait. */
const wants = (context: AgentContext, name: string): boolean => {
  const waits = openWaits(context);
  return (
    waits.length === 0 ||
    isReserved(name) ||
    waits.some((call) => context.calls[call]?.wait?.signals?.includes(name) ?? true)
  );
};

/** What the machine invokes to have the model decide: the conversation's digest goes in, its reply comes out. */
const decision = {
  kind: "model",
  name: "decision",
  input: Asked.extend({ digest: z.string() }),
  output: ModelReply,
} as const satisfies Callable;
const summary = { ...decision, name: "summary" } as const satisfies Callable;

/** The machine of an agent. The kernel gives it what a model, a tool or a human said as events. */
export function agentMachine(spec: AgentSpec): AnyStateMachine {
  const ready = ({ context }: { context: AgentContext }) => context.wake || context.batch.length === 0;
  const policy = spec.context;
  return setup({
    types: {
      context: {} as AgentContext,
      events: {} as AgentEvent,
      input: {} as { input: unknown; at: number },
      output: {} as Ended,
    },
    actors: {
      ...toActors(
        Object.fromEntries(
          [...spec.tools, ...spec.agents, ...spec.handsOffTo].map((callable) => [callable.name, callable]),
        ),
      ),
      ...toActors({
        "sagamesh.decision": decision,
        "sagamesh.summary": summary,
        "sagamesh.question": question({ to: [], ...spec.ask, answer: z.json() }),
        "sagamesh.compensation": compensation,
        "sagamesh.send": sending,
      }),
    },
    actions: {
      /** The kernel collects what is said; the machine keeps only its digest. */
      "sagamesh.say": (_, _params: { message: Message }) => undefined,
      "sagamesh.start": (_, _params: { id: string; src: string; input: Json }) => undefined,
      "sagamesh.stop": (_, _params: { id: string }) => undefined,
      "sagamesh.forward": (_, _params: { id: string; name: string; data: Json }) => undefined,
      ask: enqueueActions(({ context, event, enqueue }) => {
        const { parts, calls } = compose(context);
        const message: Message = { role: "user", at: timeOf(event), parts };
        const silent = parts.length === 0 && context.paused;
        enqueue.assign({
          step: context.step + 1,
          digest: silent ? context.digest : chainDigest(context.digest, message),
          calls,
          parts: [],
          batch: [],
          wake: false,
          paused: false,
          ...(silent ? {} : beforeAsking(policy, context, message)),
          notBefore: undefined,
        });
        if (!silent) enqueue(say(message));
      }),
      take: enqueueActions(({ context, event, enqueue }) => {
        if (event.type !== "xstate.done.actor.decision") return;
        const reading = readReply(spec, context.step, event.output);
        const taken = takeReply(spec, context, reading, event.output.stop === "pause");
        enqueue.assign({ ...taken, ...afterMessage(policy, context, reading.message) });
        enqueue(say(reading.message));
        for (const call of reading.started) {
          if (call.type === "actor") enqueue(start(call));
          else if (call.forMs !== undefined && taken.calls?.[call.call]?.part === undefined)
            enqueue.raise(
              { type: "sagamesh.wake", call: call.call, at: 0 },
              { delay: call.forMs, id: call.call },
            );
        }
      }),
      settle: enqueueActions(({ context, event, enqueue }) => {
        const settled = afterNews(context, event);
        if (settled.wake === true) for (const call of openWaits(context)) enqueue.cancel(call);
        enqueue.assign(settled);
      }),
      /** What the model is told of its memory waits for the next message: only the latest counts. */
      learn: assign(({ context, event }) => {
        if (event.type !== "sagamesh.memory") return {};
        const { type: _type, at: _at, ...said } = event;
        const isLeft = (part: Part) => part.type !== "memory" || part.memory === undefined;
        const parts = said.memory === undefined ? context.parts : context.parts.filter(isLeft);
        return { parts: [...parts, { type: "memory" as const, ...said }] };
      }),
      summarize: assign(({ context, event }) => {
        if (event.type === "xstate.done.actor.summary")
          return afterSummary(policy, context, { reply: event.output });
        return event.type === "xstate.error.actor.summary" ? afterSummary(policy, context, event.error) : {};
      }),
      /** While the model is asked: what comes in is shown to it after its reply. */
      note: assign(({ context, event }) => {
        if (event.type === "sagamesh.corrected") return { parts: [...context.parts, event.part] };
        return event.type === "sagamesh.result"
          ? settleCall(context, event.call, partOf(context.calls, event))
          : {};
      }),
      /** Nothing to be said by itself: it is told with the call's outcome. */
      rewrite: assign(({ context, event }) =>
        event.type === "sagamesh.rewritten" ? { calls: rewrittenIn(context.calls, event) } : {},
      ),
      hear: enqueueActions(({ context, event, enqueue }) => {
        if (event.type !== "sagamesh.signal") return;
        const { name, data, at, from } = event;
        const parts: Part[] = [...context.parts, partOfSignal(name, data, { at, from })];
        if (!wants(context, name)) {
          enqueue.assign({ parts });
          return;
        }
        for (const call of openWaits(context)) enqueue.cancel(call);
        enqueue.assign({ ...endWaits(context, { woke: "signal", signal: name }), parts, wake: true });
      }),
      wake: enqueueActions(({ context, event, enqueue }) => {
        if (event.type !== "sagamesh.wake" || !openWaits(context).includes(event.call)) return;
        for (const call of openWaits(context)) enqueue.cancel(call);
        enqueue.assign({ ...endWaits(context, { woke: "time" }), wake: true });
      }),
      limit: assign(({ event }) => (event.type === "sagamesh.limited" ? { notBefore: event.until } : {})),
      forward: enqueueActions(({ context: { handedOff = "" }, event, enqueue }) => {
        if (event.type === "sagamesh.signal") enqueue(forward(handedOff, event.name, event.data));
        if (event.type === "sagamesh.limited")
          enqueue(forward(handedOff, "rate_limited", { forMs: Math.max(0, event.until - event.at) }));
      }),
      keep: assign({ handedOff: undefined }),
      succeed: assign(({ event }) => (event.type === "sagamesh.result" ? { ended: endBy(spec, event) } : {})),
      stopAll: enqueueActions(({ context, enqueue }) => {
        for (const [call, state] of Object.entries(context.calls)) {
          if (state.part !== undefined) continue;
          if (state.wait === undefined) enqueue(stop(call));
          else enqueue.cancel(call);
        }
      }),
      fail: assign(({ event }) =>
        event.type === "xstate.error.actor.decision"
          ? { ended: { status: "failed" as const, code: event.error.code, reason: event.error.reason } }
          : {},
      ),
      cancel: assign(({ event }) =>
        event.type === "sagamesh.cancel"
          ? { ended: { status: "cancelled" as const, code: "CANCELLED", reason: event.reason } }
          : {},
      ),
    },
    guards: {
      ready,
      /** T2 of agent-retention.ts. */
      summaryDue: ({ context }) =>
        ready({ context }) && !context.paused && summarizedCut(policy, context) !== undefined,
      onlyWaits: ({ context }) => onlyWaits(context),
      limited: ({ context, event }) => (context.notBefore ?? 0) > timeOf(event),
      limitedAndReady: ({ context, event }) => ready({ context }) && (context.notBefore ?? 0) > timeOf(event),
      isHandedOff: ({ context }) => context.handedOff !== undefined,
      // A policy or a human said no: nobody has the work, and the model hears why.
      isNotHandedOff: ({ context, event }) =>
        event.type === "sagamesh.result" &&
        event.call === context.handedOff &&
        event.error?.outcome === "denied",
      isSuccessors: ({ context, event }) =>
        event.type === "sagamesh.result" && event.call === context.handedOff,
      finished: ({ context }) => context.ended?.status === "completed",
      broken: ({ context }) => context.ended?.status === "failed",
      wasCancelled: ({ context }) => context.ended?.status === "cancelled",
    },
    delays: {
      limit: ({ context, event }) => Math.max(0, (context.notBefore ?? 0) - timeOf(event)),
    },
  }).createMachine({
    id: spec.name,
    initial: "deciding",
    context: ({ input }) => ({
      step: 0,
      digest: "",
      repairs: 0,
      parts: [
        { type: "text", text: spec.prompt(input.input) },
        ...(spec.memory === undefined
          ? []
          : [{ type: "memory" as const, by: "start", memory: spec.memory.initial }]),
      ],
      calls: {},
      batch: [],
      wake: false,
      paused: false,
      ...(policy === undefined ? {} : { retention: emptyRetention }),
    }),
    on: {
      "sagamesh.rewritten": { actions: "rewrite" },
      "sagamesh.cancel": { target: ".compensating", actions: ["cancel", "stopAll"] },
      "sagamesh.memory": { actions: "learn" },
      "sagamesh.limited": { actions: "limit" },
    },
    states: {
      deciding: {
        entry: "ask",
        invoke: {
          id: "decision",
          src: "sagamesh.decision",
          input: ({ context }) => asked(context),
        },
        on: {
          "xstate.done.actor.decision": { target: "judging", actions: "take" },
          "xstate.error.actor.decision": { target: "compensating", actions: ["fail", "stopAll"] },
          "sagamesh.result": { actions: "note" },
          "sagamesh.corrected": { actions: "note" },
          "sagamesh.signal": [
            { guard: "limited", target: "resting", actions: "hear" },
            { target: "deciding", reenter: true, actions: "hear" },
          ],
        },
      },
      resting: {
        after: { limit: "deciding" },
        on: {
          "sagamesh.result": { actions: "note" },
          "sagamesh.corrected": { actions: "note" },
          "sagamesh.signal": { actions: "hear" },
          "sagamesh.limited": { target: "resting", reenter: true, actions: "limit" },
        },
      },
      summarizing: {
        invoke: {
          id: "summary",
          src: "sagamesh.summary",
          input: ({ context }) => ({ ...asked(context), summarize: summarizedCut(policy, context)?.from }),
        },
        on: {
          "xstate.done.actor.summary": [
            { guard: "limited", target: "resting", actions: "summarize" },
            { target: "deciding", actions: "summarize" },
          ],
          "xstate.error.actor.summary": [
            { guard: "limited", target: "resting", actions: "summarize" },
            { target: "deciding", actions: "summarize" },
          ],
          "sagamesh.result": { actions: "note" },
          "sagamesh.corrected": { actions: "note" },
          "sagamesh.signal": { actions: "hear" },
        },
      },
      judging: {
        always: [
          { guard: "finished", target: "completed" },
          { guard: "broken", target: "compensating", actions: "stopAll" },
          { guard: "isHandedOff", target: "handedOff" },
          { target: "acting" },
        ],
      },
      handedOff: {
        on: {
          "sagamesh.result": [
            { guard: "isNotHandedOff", target: "acting", actions: ["settle", "keep"] },
            { guard: "isSuccessors", target: "judging", actions: "succeed" },
            { actions: "note" },
          ],
          "sagamesh.signal": { actions: "forward" },
          "sagamesh.limited": { actions: "forward" },
        },
      },
      acting: {
        always: [
          { guard: "limitedAndReady", target: "resting" },
          { guard: "summaryDue", target: "summarizing" },
          { guard: "ready", target: "deciding" },
          { guard: "onlyWaits", target: "waiting" },
        ],
        on: {
          "sagamesh.result": { actions: "settle" },
          "sagamesh.corrected": { actions: "settle" },
          "sagamesh.signal": { actions: "hear" },
          "sagamesh.wake": { actions: "wake" },
        },
      },
      waiting: {
        always: [
          { guard: "limitedAndReady", target: "resting" },
          { guard: "summaryDue", target: "summarizing" },
          { guard: "ready", target: "deciding" },
        ],
        on: {
          "sagamesh.result": { actions: "settle" },
          "sagamesh.corrected": { actions: "settle" },
          "sagamesh.signal": { actions: "hear" },
          "sagamesh.wake": { actions: "wake" },
        },
      },
      compensating: {
        on: { "sagamesh.cancel": {} },
        invoke: {
          id: "compensation",
          src: "sagamesh.compensation",
          input: ({ context }) => ({ because: context.ended?.reason ?? "" }),
          onDone: [{ guard: "wasCancelled", target: "cancelled" }, { target: "failed" }],
        },
      },
      completed: { type: "final" },
      failed: { type: "final", tags: "failed" },
      cancelled: { type: "final", tags: "cancelled" },
    },
    output: ({ context }) => context.ended ?? { status: "failed" },
  });
}

/** What a model is asked with; the cut only where a policy makes one. */
const asked = ({ step, digest, retention }: AgentContext) => ({
  step,
  digest,
  ...(retention === undefined ? {} : { cut: retention.cut }),
});

/**
 * The context after a reply. What came in while the model was asked is still unsaid: a reply that only waits
 * waits for nothing then, and a correction is said at once.
 */
function takeReply(
  { repairsMax }: AgentSpec,
  context: AgentContext,
  reading: Reading,
  isPause: boolean,
): Partial<AgentContext> {
  const repairs = reading.repair ? context.repairs + 1 : 0;
  const next: AgentContext = {
    ...context,
    digest: chainDigest(context.digest, reading.message),
    repairs,
    calls: { ...context.calls, ...callStates(reading) },
    batch: reading.started.map((call) => call.call),
    parts: [...context.parts, ...reading.answers.filter((part) => part.type !== "result")],
    paused: isPause && reading.started.length === 0,
    ...(reading.handsOff === undefined ? {} : { handedOff: reading.handsOff }),
    ...endedBy(reading, repairs, repairsMax),
  };
  // What the memory has become meanwhile is no reason to talk: it is shown when there is one.
  const isCorrected = context.parts.some((part) => part.type !== "memory");
  return isCorrected || (hasNews(next) && onlyWaits(next)) ? { ...next, ...wakeUp(next) } : next;
}

/** The context after news of a call that came while nobody is asked. */
function afterNews(context: AgentContext, event: AgentEvent): Partial<AgentContext> {
  if (event.type === "sagamesh.corrected")
    return wakeUp({ ...context, parts: [...context.parts, event.part] });
  return event.type === "sagamesh.result"
    ? settleCall(context, event.call, partOf(context.calls, event))
    : {};
}

/** The end that a reply brings, if any: its finish, its failure, or one repair too many. */
function endedBy(
  reading: ReturnType<typeof readReply>,
  repairs: number,
  repairsMax: number = limits.repairsMax,
): { ended?: Ended } {
  if (reading.finish !== undefined) return { ended: { status: "completed", output: reading.finish.output } };
  if (reading.fail !== undefined) return { ended: { status: "failed", ...reading.fail } };
  if (repairs <= repairsMax) return {};
  return {
    ended: {
      status: "failed",
      code: "MODEL_REPLY_INVALID",
      reason: `${repairs} replies in a row could not be taken`,
    },
  };
}
