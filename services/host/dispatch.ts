/**
 * Dispatch: ⑤ an acked turn's intents are handed on to others. Publishing is idempotent by Msg-Id, so everything open
 * may be handed on again by the host that takes a saga over.
 *
 * DI1 Only what stands in an acked turn is handed on.
 */
import { treeOfChild } from "../../actors/kernel/slices.ts";
import { dueAtOf, isDeferred, notBeforeOf, type OpenIntent } from "../../actors/contract/state.ts";
import type { EventOf } from "../../protocol/event.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import { limits } from "../../protocol/limits.ts";
import { headers } from "../../protocol/subjects.ts";
import { traceparentOfIntent } from "../../protocol/trace.ts";
import type { WorkMessage } from "../../protocol/tool.ts";
import { describeFault, faultOfValue, ownLimits } from "../../protocol/value.ts";
import { makeHeaders } from "../wire/messages.ts";
import { patiently } from "../wire/patience.ts";
import { send } from "../wire/send.ts";
import type { Loaded } from "./load.ts";
import {
  type DispatchDeps,
  msgIdOf,
  publishEnd,
  publishSignal,
  publishStart,
  publishUndo,
  type Sender,
} from "./tell-sagas.ts";

/**
 * Hands on what this host does not perform itself: work to workers, waits to the server, starts and signals to other
 * sagas. Resolves once it is stored. Undefined where there is nothing to hand on.
 */
export function dispatch(
  deps: DispatchDeps,
  { definition, state }: Pick<Loaded, "definition" | "state">,
  open: OpenIntent,
): Promise<void> | undefined {
  const from = { saga: state.saga, agent: definition.name };
  const { intent } = open;
  switch (intent.kind) {
    case "tool":
      return isDeferred(open)
        ? arm(deps, from, open, open.dueAt ?? 0)
        : publishWork(deps, from, open, intent, traceparentOfIntent(state, intent.id));
    case "saga": {
      if (intent.undoes !== undefined && intent.starts !== true) return publishUndo(deps, from, open, intent);
      const child = definition.sagas.get(intent.name);
      if (child === undefined) return undefined;
      const tree = treeOfChild(state, definition, intent);
      return publishStart(deps, from, open, intent, {
        child,
        tree,
        traceparent: traceparentOfIntent(state, intent.id),
      });
    }
    case "timer":
    case "task":
      return arm(deps, from, open, dueAtOf(open) ?? 0);
    case "signal":
      return publishSignal(deps, from, open, intent);
    case "end":
      return state.parent === undefined ? undefined : publishEnd(deps, from, state, intent, open);
    case "model":
      return undefined;
  }
}

/** What a start's reader takes: the message lies around the input. */
const startLimits = { ...ownLimits, depthMax: limits.toldDepthMax };

/** The result of a child whose start no host could read: it never begins, and its parent hears it at once. */
export function cannotStart(
  { intent, attempt, input }: OpenIntent,
  by: string,
): EventOf<"result"> | undefined {
  const fault = intent.kind === "saga" ? faultOfValue(input, startLimits) : undefined;
  if (fault === undefined) return undefined;
  const reason = `its input cannot be sent: ${describeFault(fault)}`;
  const result = { outcome: "failed", code: "VALUE_REFUSED", reason, retry: false } as const;
  return { type: "result", intent: intent.id, attempt, by, result };
}

/** A tool intent's present attempt, to the workers that serve the contract it was decided under. */
function publishWork(
  deps: DispatchDeps,
  from: Sender,
  open: OpenIntent,
  intent: IntentOf<"tool">,
  traceparent: string,
): Promise<void> {
  const { saga, agent } = from;
  const { attempt, input, decidedAt } = open;
  const notBefore = notBeforeOf(open);
  const work: WorkMessage = {
    saga,
    intent: intent.id,
    attempt,
    tool: intent.name,
    contract: intent.contract,
    key: intent.key,
    input,
    ...(notBefore === undefined ? {} : { notBefore }),
    ...(decidedAt === undefined ? {} : { decidedAt }),
  };
  return send(deps, work, (data, contentType) =>
    deps.ports.work.publish(intent, {
      data,
      headers: makeHeaders({
        [headers.saga]: saga,
        [headers.agent]: agent,
        [headers.intent]: intent.id,
        [headers.attempt]: String(attempt),
        [headers.trace]: traceparent,
        [headers.contentType]: contentType,
      }),
      msgId: msgIdOf(deps, `${saga}:${intent.id}:${attempt}`, open),
    }),
  );
}

/** Arms the durable timer under an intent's own id: a timer, a task's deadline, a deferred call's limit. */
function arm(deps: DispatchDeps, from: Sender, open: OpenIntent, dueAt: number): Promise<void> {
  const timer = {
    saga: from.saga,
    intent: open.intent.id,
    dueAt,
    headers: makeHeaders({
      [headers.saga]: from.saga,
      [headers.agent]: from.agent,
      [headers.intent]: open.intent.id,
    }),
  };
  const forever = { patienceMs: Number.POSITIVE_INFINITY, signal: deps.signal };
  return patiently(deps.clock, () => deps.ports.inbox.schedule(timer), forever);
}
