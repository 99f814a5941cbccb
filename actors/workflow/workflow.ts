/**
 * Workflow: the built-in machine of `defineWorkflow`. It goes on, undoes, and ends in one of three ways.
 *
 * Owns: which event moves the graph. Does not own: how (workflow-progress.ts), how a run becomes an intent (issue.ts),
 * in what order things are undone (undo.ts).
 *
 * WM1 Everything the graph is stands in the context: any host goes on from it.
 */
import { enqueueActions, setup, type AnyStateMachine } from "xstate";
import { z } from "zod";
import type { Json } from "../../protocol/json.ts";
import type { Invalidation } from "../../protocol/workflow.ts";
import { type CallError, startCall } from "../contract/calls.ts";
import { type Callable, compensation, question, toActors } from "../machine/callable.ts";
import { viewOf } from "./context.ts";
import type { Advanced } from "./step.ts";
import { judgesIn } from "./judgement.ts";
import { judgementSrc, judgeSrc } from "./judging.ts";
import { begin, calledOff, concluded, heard, invalidated, settled, undoneBy } from "./progress.ts";
import type { WorkflowContext, WorkflowSpec } from "./spec.ts";

export type WorkflowEvent =
  | { type: "sagamesh.result"; call: string; output?: unknown; error?: CallError; at: number }
  | { type: "sagamesh.undone"; call: string; output: Json; at: number }
  | { type: "sagamesh.signal"; name: string; data: Json; at: number; from: string; now: number }
  | { type: "sagamesh.cancel"; reason: string; at: number }
  | { type: "sagamesh.closed"; at: number };

/** How a workflow's machine ends. */
interface WorkflowEnded {
  readonly status: "completed" | "failed" | "cancelled";
  readonly output?: Json;
  readonly code?: string;
  readonly reason?: string;
}

const closing = "open";

export function workflowMachine(spec: WorkflowSpec): AnyStateMachine {
  return setup({
    types: {
      context: {} as WorkflowContext & { readonly begun?: Advanced["starts"] },
      events: {} as WorkflowEvent,
      input: {} as { input: Json; at: number; hearsOnce?: true },
      output: {} as WorkflowEnded,
    },
    actors: {
      ...toActors(Object.fromEntries(spec.catalogue)),
      ...toActors({ "sagamesh.compensation": compensation }),
      ...toActors(judgesAsActors(spec)),
    },
    actions: {
      "sagamesh.start": (_, _params: { id: string; src: string; input: Json }) => undefined,
      /** What the first step of all decided is carried out once the machine stands. */
      begin: enqueueActions(({ context, enqueue }) => {
        for (const run of context.begun ?? []) enqueue(startCall(run));
        enqueue.assign({ begun: undefined });
      }),
      advance: enqueueActions(({ context, event, enqueue }) => {
        const { context: next, starts } = advanced(spec, context, event);
        // A member that is gone must be said to be: an assign adds to what there is.
        enqueue.assign({ ...gone(context), ...next });
        for (const run of starts) enqueue(startCall(run));
        if (context.standby === true && next.standby !== true) enqueue.cancel(closing);
        if (context.standby !== true && next.standby === true)
          enqueue.raise(
            { type: "sagamesh.closed", at: 0 },
            { delay: openMsOf(spec, next, event), id: closing },
          );
      }),
    },
    guards: {
      completed: ({ context }) => context.over === "completed",
      failed: ({ context }) => context.over === "failed",
      cancelled: ({ context }) => context.over === "cancelled",
    },
  }).createMachine({
    id: spec.name,
    initial: "going",
    context: ({ input }) => {
      const { context, starts } = begin(spec, input.input, input.at, input.hearsOnce);
      return { ...context, begun: starts };
    },
    states: {
      going: {
        entry: "begin",
        always: [
          { guard: "completed", target: "completed" },
          { guard: "failed", target: "failed" },
          { guard: "cancelled", target: "cancelled" },
        ],
        on: {
          "sagamesh.result": { actions: "advance" },
          "sagamesh.undone": { actions: "advance" },
          "sagamesh.signal": { actions: "advance" },
          "sagamesh.cancel": { actions: "advance" },
          "sagamesh.closed": { actions: "advance" },
        },
      },
      completed: { type: "final" },
      failed: { type: "final", tags: "failed" },
      cancelled: { type: "final", tags: "cancelled" },
    },
    output: ({ context }) => endedOf(context),
  });
}

function advanced(spec: WorkflowSpec, context: WorkflowContext, event: WorkflowEvent): Advanced {
  switch (event.type) {
    case "sagamesh.result":
      return settled(spec, context, event);
    case "sagamesh.undone":
      return undoneBy(spec, context, event);
    case "sagamesh.signal":
      return takeSignal(spec, context, event);
    case "sagamesh.cancel":
      return calledOff(spec, context, event.reason, event.at);
    case "sagamesh.closed":
      return concluded(spec, context, event.at);
  }
}

function takeSignal(
  spec: WorkflowSpec,
  context: WorkflowContext,
  { name, data, now }: Extract<WorkflowEvent, { type: "sagamesh.signal" }>,
): Advanced {
  if (name === "conclude") return concluded(spec, context, now);
  if (name !== "invalidate") return heard(spec, context, { name, data, at: now });
  return invalidated(spec, context, [data as unknown as Invalidation], now); // Proof: the door has read it.
}

/** Who judges, and who is asked where they cannot say. */
function judgesAsActors({ judging }: WorkflowSpec): Record<string, Callable> {
  if (judging === undefined) return {};
  const judges = judgesIn(judging).map((judge): [string, Callable] => [judgeSrc(judge), judge]);
  return {
    ...Object.fromEntries(judges),
    [judgementSrc]: question({ ...judging.asking, answer: z.boolean() }),
  };
}

const gone = (context: WorkflowContext): Partial<Record<keyof WorkflowContext, undefined>> =>
  Object.fromEntries(Object.keys(context).map((key) => [key, undefined]));

function openMsOf(
  { openForMs, ...spec }: WorkflowSpec,
  context: WorkflowContext,
  event: WorkflowEvent,
): number {
  const at = "now" in event ? event.now : event.at;
  return typeof openForMs === "number" ? openForMs : openForMs(viewOf(spec, context, at));
}

function endedOf({ over = "failed", ending, output }: WorkflowContext): WorkflowEnded {
  if (over === "completed") return { status: over, output: output ?? null };
  return { status: over, code: ending?.code ?? "", reason: ending?.reason ?? "" };
}
