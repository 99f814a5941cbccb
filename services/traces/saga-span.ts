/**
 * Saga span: what a saga is called as a span, what is told of it, and what came to it from outside as events of it.
 */
import type { SpanAttributes, SpanEvent, SpanLink } from "../../protocol/documents/trace.ts";
import { briefDefinition } from "../../protocol/definition-text.ts";
import { spanIdOf, traceOfForked } from "../../protocol/trace.ts";
import type { Account, StepPlace } from "../ledger/account.ts";
import { attributesOf, codeShown, contentOf, signalShown } from "./attributes.ts";
import type { Told } from "./intent-span.ts";
import {
  attribute,
  contentAttribute,
  event as eventName,
  linkAttribute,
  linked,
  operations,
  ownSpans,
} from "./names.ts";
import type { Drawn, Spanning } from "./spanning.ts";

/** The saga's own span, from its start to its first end. */
export function sagaSpan(
  { reader: { account }, place, startedAt = account.startedAt, content }: Spanning,
  { events, dropped }: { readonly events: readonly SpanEvent[]; readonly dropped: number },
): Drawn {
  // From the ledger alone: what a model decides has asked one.
  const isAgent = account.numbers.size > 0;
  const { name, version } = account.definition;
  const operation = isAgent ? operations.agent : operations.workflow;
  const status = statusOf(account);
  return {
    ...{ name: `${operation} ${name}`, kind: "internal", ...status },
    ...{ spanId: place.spanId, start: startedAt, events: [...events], dropped, links: forkLinks(account) },
    attributes: {
      [attribute.operation]: operation,
      ...(isAgent
        ? { [attribute.agentName]: name, [attribute.agentVersion]: String(version) }
        : { [attribute.workflowName]: name }),
      [attribute.conversation]: account.saga,
      ...commonOf(account, status),
      ...(content ? contentOfSaga(account) : {}),
    },
  };
}

/** What a saga did after its end, up to the next one: it was told to undo, or what it had not known came. */
export function againSpan({ reader: { account }, againAt = account.updatedAt }: Spanning): Drawn {
  const status = statusOf(account);
  return {
    ...{ name: ownSpans.again, kind: "internal", ...status, links: [] },
    ...{ spanId: spanIdOf(account.saga, `saga#${account.turns}`), start: againAt, events: [] },
    attributes: commonOf(account, status),
  };
}

const commonOf = (account: Account, { message }: Pick<Told, "message">): SpanAttributes => {
  const { spent, end } = account;
  return attributesOf({
    [attribute.saga]: account.saga,
    [attribute.definition]: briefDefinition(account.definition),
    [attribute.turns]: account.turns,
    [attribute.outcome]: end?.intent.status,
    [attribute.standing]:
      end === undefined || end.intent.standing.length === 0 ? undefined : end.intent.standing.length,
    [attribute.errorType]: message,
    [attribute.spentSteps]: spent.steps,
    [attribute.spentInput]: spent.inputTokens,
    [attribute.spentOutput]: spent.outputTokens,
    [attribute.spentUsd]: spent.usd,
    [attribute.forkedAt]: account.fork?.turn,
  });
};

/** That it was cancelled is what somebody wanted. */
function statusOf({ end }: Account): Pick<Told, "status" | "message"> {
  if (end?.intent.status !== "failed") return { status: "unset" };
  return { status: "error", message: codeShown(end.intent.code ?? "FAILED") };
}

const contentOfSaga = ({ start, end }: Account): SpanAttributes =>
  attributesOf({
    [contentAttribute.sagaInput]: contentOf(start.input),
    [contentAttribute.sagaOutput]: contentOf(end?.intent.output),
    [contentAttribute.reason]: end?.intent.reason,
  });

function forkLinks({ start }: Account): SpanLink[] {
  if (start.fork === undefined) return [];
  const { traceId, spanId } = traceOfForked(start.fork, start);
  const attributes = { [linkAttribute]: linked.forkOf, [attribute.saga]: start.fork.saga };
  return [{ traceId, spanId, attributes }];
}

/** What came to the saga with a step, or became of it, that is no intent's. */
export function* sagaEventOf(
  { host, content }: Pick<Spanning, "host" | "content">,
  { event, intents, at, host: now, step }: StepPlace,
): Generator<SpanEvent> {
  const of = (name: string, attributes: SpanAttributes = {}): SpanEvent => ({ name, at, attributes });
  if (step === 0 && host !== undefined && host !== now)
    yield of(eventName.takenOver, { [attribute.host]: now });
  if (event.type === "signal")
    yield of(eventName.signal, {
      [attribute.signal]: content ? event.name : signalShown(event.name),
      ...(content
        ? attributesOf({ [contentAttribute.data]: contentOf(event.data), [contentAttribute.by]: event.from })
        : {}),
    });
  if (event.type === "migrated")
    yield of(eventName.moved, { [attribute.definition]: briefDefinition(event.to) });
  if (event.type === "forked") yield of(eventName.forked);
  for (const intent of intents) if (intent.kind === "pause") yield of(eventName.paused);
}
