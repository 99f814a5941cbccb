/**
 * Intent span: what an intent is called as a span, and what is told of it.
 */
import type { SpanAttributes, SpanDocument, SpanLink, SpanValue } from "../../protocol/documents/trace.ts";
import { answeredIn } from "../../protocol/fork.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { Usage } from "../../protocol/result.ts";
import { spanIdOf, type TracePlace, traceOfForked } from "../../protocol/trace.ts";
import type { Account, DecidedIntent, Ended, ToldIntent } from "../ledger/account.ts";
import {
  attributesOf,
  codeShown,
  modelShown,
  providerOf,
  signalShown,
  usageAttributes,
} from "./attributes.ts";
import { attribute, linkAttribute, linked, operations, ownSpans } from "./names.ts";

/** What of an intent its span has besides its times and its place. */
export type Told = Pick<SpanDocument, "name" | "kind" | "status" | "message" | "attributes" | "links">;

/** Kinds that take time. What is over as it is decided, and how a saga ended, are told otherwise. */
export type SpannedKind = "tool" | "model" | "saga" | "timer" | "task" | "signal";
export const isSpanned = (intent: DecidedIntent): intent is Extract<DecidedIntent, { kind: SpannedKind }> =>
  intent.kind !== "end" && intent.kind !== "pause" && intent.kind !== "denied";

/** What an intent's span tells. `usage` is that of all attempts; `ended` is undefined while it is open. */
export function toldOf(
  account: Account,
  place: TracePlace,
  told: ToldIntent,
  { usage, ended }: { readonly usage: Usage | undefined; readonly ended: Ended | undefined },
): Told {
  const { intent } = told;
  const simulated = ended?.from === undefined ? undefined : ended.from.startsWith("simulated:") || undefined;
  const status = statusOf(intent, ended);
  return {
    ...namedAs(intent),
    ...status,
    attributes: {
      ...attributesOf({
        [attribute.saga]: account.saga,
        [attribute.intent]: intent.id,
        [attribute.kind]: intent.kind,
        [attribute.outcome]: ended === undefined ? undefined : outcomeOf(ended),
        [attribute.because]: ended?.because,
        [attribute.attempts]: told.attempt === 1 ? undefined : told.attempt,
        [attribute.simulated]: simulated,
        [attribute.errorType]: status.message,
        ...ownAttributes(account, intent),
      }),
      ...(intent.kind === "model" ? { ...usageAttributes(usage), ...replyAttributes(ended) } : {}),
    },
    links: [...undoLinks(intent, account, place), ...answerLinks(account, ended)],
  };
}

/** A deferred call that was given up before its answer came may have happened. */
const outcomeOf = ({ as, stands }: Ended): string =>
  as === "cancelled" && stands === true ? "in_doubt" : as;

function namedAs(intent: DecidedIntent): Pick<Told, "name" | "kind"> {
  switch (intent.kind) {
    case "model":
      return { name: `${operations.chat} ${intent.name}`, kind: "client" };
    case "tool":
    case "saga":
      return { name: `${operations.tool} ${intent.name}`, kind: "internal" };
    case "task":
      return { name: ownSpans.ask, kind: "internal" };
    case "signal":
      return { name: ownSpans.send, kind: "internal" };
    default:
      return { name: ownSpans.wait, kind: "internal" };
  }
}

/** That a person said no, or that nobody waits any more, is no error; a doubt is one until it is settled. */
function statusOf({ kind }: DecidedIntent, ended: Ended | undefined): Pick<Told, "status" | "message"> {
  if (ended === undefined) return { status: "unset" };
  const outcome = outcomeOf(ended);
  const isError = outcome === "in_doubt" || outcome === "failed" || (outcome === "denied" && kind !== "task");
  if (!isError) return { status: "unset" };
  return { status: "error", message: errorType(ended) };
}

const errorType = (ended: Ended): string =>
  ended.code === undefined ? outcomeOf(ended).toUpperCase() : codeShown(ended.code);

function ownAttributes(
  { saga, numbers }: Account,
  intent: DecidedIntent,
): Readonly<Record<string, SpanValue | undefined>> {
  switch (intent.kind) {
    case "model":
      return {
        [attribute.operation]: operations.chat,
        [attribute.provider]: providerOf(intent.name),
        [attribute.conversation]: saga,
        [attribute.requestModel]: intent.name,
        [attribute.requestTokensMax]: intent.outputTokensMax,
        [attribute.decision]: numbers.get(intent.id),
      };
    case "tool":
    case "saga":
      return {
        [attribute.operation]: operations.tool,
        [attribute.toolName]: intent.name,
        [attribute.toolType]: "function",
        [attribute.toolCall]: intent.call ?? intent.id,
        [attribute.undoes]: intent.undoes,
        [attribute.serves]: intent.for,
        ...(intent.kind === "tool" ? { [attribute.key]: intent.key } : { [attribute.child]: intent.saga }),
      };
    case "timer":
      return { [attribute.dueAt]: intent.dueAt, [attribute.serves]: intent.for };
    case "task":
      return {
        [attribute.about]: intent.about,
        [attribute.dueAt]: intent.dueAt,
        [attribute.toolName]: intent.tool,
      };
    case "signal":
      return { [attribute.child]: intent.saga, [attribute.signal]: signalShown(intent.name) };
    default:
      return {};
  }
}

function replyAttributes(ended: Ended | undefined): SpanAttributes {
  const reply = ModelReply.safeParse(ended?.output).data;
  if (reply === undefined) return {};
  return attributesOf({
    [attribute.responseModel]: modelShown(reply.model),
    [attribute.finishReasons]: reply.stop === undefined ? undefined : [reply.stop],
  });
}

/** What it undoes: of a child, the child's own span. */
function undoLinks(intent: DecidedIntent, { saga, intents }: Account, { traceId }: TracePlace): SpanLink[] {
  const undoes = (intent.kind === "tool" || intent.kind === "saga") && intent.undoes;
  if (undoes === undefined || undoes === false) return [];
  const undone = intents.get(undoes)?.intent;
  const spanId = undone?.kind === "saga" ? spanIdOf(undone.saga) : spanIdOf(saga, undoes);
  return [{ traceId, spanId, attributes: { [linkAttribute]: linked.undoes } }];
}

/** In a fork: the call of the origin that answered in its place. */
function answerLinks({ start }: Account, ended: Ended | undefined): SpanLink[] {
  const answered: IntentId | undefined = ended?.from === undefined ? undefined : answeredIn(ended.from);
  if (start.fork === undefined || answered === undefined) return [];
  const { traceId } = traceOfForked(start.fork, start);
  const spanId = spanIdOf(start.fork.saga, answered);
  return [{ traceId, spanId, attributes: { [linkAttribute]: linked.answeredBy } }];
}

/** A call that was refused before it became any other intent. A signal's name may be anybody's. */
export function refusedAs({ id, name, code }: IntentOf<"denied">, saga: string): Told {
  const shown = code.startsWith("SIGNAL_") ? signalShown(name) : name;
  return {
    name: `${operations.tool} ${shown}`,
    ...{ kind: "internal", status: "error", message: codeShown(code), links: [] },
    attributes: {
      [attribute.saga]: saga,
      [attribute.intent]: id,
      [attribute.kind]: "denied",
      [attribute.operation]: operations.tool,
      [attribute.toolName]: shown,
      [attribute.toolType]: "function",
      [attribute.outcome]: "denied",
      [attribute.errorType]: codeShown(code),
    },
  };
}
