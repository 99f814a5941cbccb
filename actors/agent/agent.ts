/**
 * Agent: the built-in machine of `defineAgent`. Deciding, acting, waiting, compensating, and three ends.
 *
 * Owns: when a model is asked, what the next message holds, what becomes of its calls. Does not own: how a
 * call becomes an intent (issue.ts), what a reply means (reply.ts).
 *
 * AG1 A model is asked when the last reply's calls are settled, or at once when a signal comes.
 * AG2 A signal supersedes a decision in flight: the state is entered anew, the old decision is stopped.
 * AG3 A message presents the results of a batch in the order of its calls, whatever order they came in.
 * AG4 Every call is answered exactly once with its outcome, and once before as pending if it still runs.
 * AG5 A wait ends with the first thing that would be said: a signal it waits for, its time, or a late result. So
 *     none is open while a model is asked.
 * AG6 While a limit from outside holds, the model is not asked: the agent rests until it is over (`resting`).
 * AG7 One that has handed its work over asks its model no more: it ends as its successor ends (`handedOff`).
 * AG8 The last step that a budget allows, once asked for, is superseded by nothing but a cancel or a raise.
 * AG9 One that is called off is asked once more, if it wants that (`parting`), and undone in any case.
 */
import { assign, enqueueActions, setup, type AnyStateMachine } from "xstate";
import { z } from "zod";
import type { Json } from "../../protocol/json.ts";
import { type ModelMessage, ModelReply, type MessagePart } from "../../protocol/model.ts";
import { forward, say, startCall, stopCall } from "../contract/calls.ts";
import { partOf, restingOf, rewrittenIn } from "./calls.ts";
import {
  afterNews,
  type AgentContext,
  compose,
  endWaits,
  onlyWaits,
  openWaits,
  settleCall,
  takeReply,
  wants,
} from "./context.ts";
import { type AgentEvent, partOfSignal, timeOf } from "./events.ts";
import { afterMessage, afterSummary, beforeAsking, summarizedCut } from "./retention.ts";
import { sending } from "../request/between-sagas.ts";
import type { AgentSpec } from "../request/agent-spec.ts";
import { type Callable, compensation, question, raiseSrc, toActors } from "../machine/callable.ts";
import { chainDigest } from "../request/conversation.ts";
import { type Ended, endBy } from "./hand-off.ts";
import { lastStepOf } from "./last-step.ts";
import { mayPart, partingOf, partingParts } from "./final-reply.ts";
import { withLast } from "../values/draft.ts";
import { readReply } from "./reply.ts";
import { Asked } from "../request/request.ts";
import { emptyRetention } from "../request/retention.ts";

/** What the machine invokes to have the model decide: the conversation's digest goes in, its reply comes out. */
const decision = {
  kind: "model",
  name: "decision",
  input: Asked.extend({ digest: z.string(), last: z.enum(["told", "asked"]).optional() }),
  output: ModelReply,
} as const satisfies Callable;
const summary = { ...decision, name: "summary" } as const satisfies Callable;

/** While the model is asked, or may not be: news is kept for the next message. */
const noting = {
  "sagamesh.result": { actions: "note" },
  "sagamesh.corrected": { actions: "note" },
} as const;

/** While the model is not asked: news may be what the agent waits for. */
const settling = {
  "sagamesh.result": { actions: "settle" },
  "sagamesh.corrected": { actions: "settle" },
  "sagamesh.signal": { actions: "hear" },
  "sagamesh.wake": { actions: "wake" },
} as const;

/** Whatever became of the summary, the decision follows. */
const summarized = [
  { guard: "limited", target: "resting", actions: "summarize" },
  { target: "deciding", actions: "summarize" },
] as const;

/** Where an agent goes that has something to ask. */
const onceReady = [
  { guard: "limitedAndReady", target: "resting" },
  { guard: "summaryDue", target: "summarizing" },
  { guard: "ready", target: "deciding" },
] as const;

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
        [raiseSrc]: question({ to: [], answer: z.json() }),
      }),
    },
    actions: {
      /** The kernel collects what is said; the machine keeps only its digest. */
      "sagamesh.say": (_, _params: { message: ModelMessage }) => undefined,
      "sagamesh.start": (_, _params: { id: string; src: string; input: Json }) => undefined,
      "sagamesh.stop": (_, _params: { id: string }) => undefined,
      "sagamesh.forward": (_, _params: { id: string; name: string; data: Json }) => undefined,
      ask: enqueueActions(({ context, event, enqueue }) => {
        const { parts, calls } = compose(context);
        const message: ModelMessage = { role: "user", at: timeOf(event), parts };
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
        const read = readReply(spec, context.step, event.output);
        const allowed = context.last === undefined ? read : lastStepOf(read);
        const reading = context.ended === undefined ? allowed : partingOf(allowed);
        const taken = takeReply(spec, context, reading, event.output.stop === "pause");
        enqueue.assign({ ...taken, ...afterMessage(policy, context, reading.message) });
        enqueue(say(reading.message));
        for (const call of reading.started) {
          if (call.type === "actor")
            enqueue(startCall({ ...call, dependsOn: restingOf(event.output, call.call) }));
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
        const isLeft = (part: MessagePart) => part.type !== "memory" || part.memory === undefined;
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
        if (event.type === "sagamesh.corrected") return { parts: withLast(context.parts, event.part) };
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
        const parts: MessagePart[] = withLast(context.parts, partOfSignal(name, data, { at, from }));
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
          if (state.wait === undefined) enqueue(stopCall(call));
          else enqueue.cancel(call);
        }
      }),
      /** The budget's news for the model: that this is the last step, or that it is not. */
      hearBudget: assign(({ context, event }) =>
        event.type === "sagamesh.budget"
          ? {
              last: event.last ? ("told" as const) : undefined,
              parts: [...context.parts, { type: "text" as const, text: event.text }],
            }
          : {},
      ),
      fail: assign(({ event }) =>
        event.type === "xstate.error.actor.decision" || event.type === "xstate.error.actor.raise"
          ? { ended: { status: "failed" as const, code: event.error.code, reason: event.error.reason } }
          : {},
      ),
      /** What the agent still waits for ends, what it has begun goes on. */
      part: enqueueActions(({ context, event, enqueue }) => {
        if (event.type !== "sagamesh.cancel") return;
        for (const call of openWaits(context)) enqueue.cancel(call);
        const waited = endWaits(context, { woke: "signal", signal: "cancel" });
        enqueue.assign({ ...waited, parts: [...context.parts, ...partingParts(event)] });
      }),
      cancel: assign(({ event }) =>
        event.type === "sagamesh.cancel"
          ? { ended: { status: "cancelled" as const, code: "CANCELLED", reason: event.reason } }
          : {},
      ),
    },
    guards: {
      ready,
      /** RT2 of retention.ts. */
      summaryDue: ({ context }) =>
        ready({ context }) && !context.paused && summarizedCut(policy, context) !== undefined,
      onlyWaits: ({ context }) => onlyWaits(context),
      limited: ({ context, event }) => (context.notBefore ?? 0) > timeOf(event),
      limitedAndReady: ({ context, event }) => ready({ context }) && (context.notBefore ?? 0) > timeOf(event),
      isHandedOff: ({ context }) => context.handedOff !== undefined,
      // A policy or a human said no: the work stays here, and the model hears why.
      isNotHandedOff: ({ context, event }) =>
        event.type === "sagamesh.result" &&
        event.call === context.handedOff &&
        event.error?.outcome === "denied",
      isSuccessors: ({ context, event }) =>
        event.type === "sagamesh.result" && event.call === context.handedOff,
      isLast: ({ context, event }) =>
        context.last !== undefined && event.type === "sagamesh.signal" && !event.free,
      isNews: ({ context, event }) =>
        event.type === "sagamesh.budget" && event.last === (context.last === undefined),
      asksForMore: ({ event }) =>
        spec.asksForMore &&
        event.type === "xstate.error.actor.decision" &&
        event.error.code === "BUDGET_EXCEEDED",
      mayPart: ({ context }) => mayPart(spec, context), // AG9
      parted: ({ context }) => context.batch.length === 0,
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
      "sagamesh.cancel": [
        { guard: "mayPart", target: ".parting", actions: ["cancel", "part"] },
        { target: ".compensating", actions: ["cancel", "stopAll"] },
      ],
      "sagamesh.memory": { actions: "learn" },
      "sagamesh.limited": { actions: "limit" },
    },
    states: {
      deciding: {
        entry: "ask",
        invoke: {
          id: "decision",
          src: "sagamesh.decision",
          input: ({ context }) => toDecide(context),
        },
        on: {
          "xstate.done.actor.decision": { target: "judging", actions: "take" },
          "xstate.error.actor.decision": [
            { guard: "asksForMore", target: "suspended" },
            { target: "compensating", actions: ["fail", "stopAll"] },
          ],
          ...noting,
          "sagamesh.budget": { guard: "isNews", target: "deciding", reenter: true, actions: "hearBudget" },
          "sagamesh.signal": [
            { guard: "isLast", actions: "hear" },
            { guard: "limited", target: "resting", actions: "hear" },
            { target: "deciding", reenter: true, actions: "hear" },
          ],
        },
      },
      resting: {
        after: { limit: [{ guard: "summaryDue", target: "summarizing" }, { target: "deciding" }] },
        on: {
          ...noting,
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
          "xstate.done.actor.summary": summarized,
          "xstate.error.actor.summary": summarized,
          ...noting,
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
        always: [...onceReady, { guard: "onlyWaits", target: "waiting" }],
        on: settling,
      },
      waiting: {
        always: [...onceReady],
        on: settling,
      },
      /** The budget is used up and a human is asked; what comes in meanwhile is told afterwards. */
      suspended: {
        invoke: { id: "raise", src: raiseSrc, input: { question: "" } },
        on: {
          "xstate.done.actor.raise": [{ guard: "limited", target: "resting" }, { target: "deciding" }],
          "xstate.error.actor.raise": { target: "compensating", actions: ["fail", "stopAll"] },
          ...noting,
          "sagamesh.signal": { actions: "hear" },
          "sagamesh.budget": { actions: "hearBudget" },
        },
      },
      parting: {
        initial: "asking",
        on: {
          // Recorded, and too late to change anything.
          "sagamesh.signal": {},
        },
        states: {
          asking: {
            entry: "ask",
            invoke: { id: "decision", src: "sagamesh.decision", input: ({ context }) => toDecide(context) },
            on: {
              "xstate.done.actor.decision": { target: "acting", actions: "take" },
              "xstate.error.actor.decision": { target: "#compensating", actions: "stopAll" },
              ...noting,
              "sagamesh.budget": { guard: "isNews", target: "asking", reenter: true, actions: "hearBudget" },
            },
          },
          acting: {
            always: { guard: "parted", target: "#compensating", actions: "stopAll" },
            on: { "sagamesh.result": { actions: "settle" }, "sagamesh.corrected": { actions: "settle" } },
          },
        },
      },
      compensating: {
        id: "compensating",
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

/** The same for a decision, which may be the last that a budget allows. */
const toDecide = (context: AgentContext) => ({
  ...asked(context),
  ...(context.last === undefined ? {} : { last: context.last }),
});
