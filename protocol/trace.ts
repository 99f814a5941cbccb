/**
 * Trace: by which ids a saga's spans are known to tracing systems, and the W3C `traceparent` in which they travel.
 *
 * YP1 Ids are hashes of what the ledger says, so whoever makes a span of it, now or in a year, makes the same one.
 * YP2 A tree of sagas is one trace: of the root, or the one that the root was started in. A fork is a trace of its own.
 * YP3 What is no traceparent is none, and refuses nothing: the saga then has a trace of its own.
 */
import { z } from "zod";
import { sha256 } from "./digest.ts";
import type { IntentId, SagaId } from "./ids.ts";

const traceIdDigits = 32;
const spanIdDigits = 16;

/** The trace of a saga that was started in no other: made of its id, 32 hexadecimal digits. */
export const traceIdOf = (saga: SagaId): string => sha256(saga).slice(0, traceIdDigits);

/**
 * The span of a part of a saga, 16 hexadecimal digits: of an intent by its id, and of the saga itself where none is named.
 * All attempts of an intent are one span.
 */
export const spanIdOf = (saga: SagaId, part: IntentId | "saga" | `${string}#${string}` = "saga"): string =>
  sha256(`${saga}/${part}`).slice(0, spanIdDigits);

/** A place in a trace. `flags` are the W3C ones, two hexadecimal digits; an odd number means sampled. */
export interface TracePlace {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: string;
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Reads a `traceparent`; undefined for what is none (YP3). Later versions of the format are read as far as this one goes. */
export function readTraceparent(text: string | undefined): TracePlace | undefined {
  const [, version, traceId = "", spanId = "", flags = "", more] = form.exec(text ?? "") ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  return /[1-9a-f]/.test(traceId) && /[1-9a-f]/.test(spanId) ? { traceId, spanId, flags } : undefined;
}

/** A `traceparent`, of version 00. */
export const traceparentOf = ({ traceId, spanId, flags }: TracePlace): string =>
  `00-${traceId}-${spanId}-${flags}`;

/** What stands in a header, as a `traceparent` of version 00; undefined for what is none (YP3). */
export function traceparentIn(text: string | undefined): string | undefined {
  const place = readTraceparent(text);
  return place === undefined ? undefined : traceparentOf(place);
}

/** A `traceparent` as a start records it, normalised; see `recordedTrace`. */
export const Traceparent = z.string().max(55);

/** What a saga's trace follows from. */
export interface TraceOrigin {
  readonly saga: SagaId;
  /** As its start recorded it. */
  readonly traceparent?: string | undefined;
  readonly parent?: { readonly saga: SagaId; readonly intent: IntentId } | undefined;
  readonly tree?: { readonly root: SagaId } | undefined;
}

/** Without a word from outside a trace is sampled: its spans are made of what is stored anyway. */
const sampledFlags = "01";

/** The trace that a saga is in, and its own span there; `parentSpanId` is absent of a trace's first span. */
export function traceOf(origin: TraceOrigin): TracePlace & { readonly parentSpanId?: string } {
  const { saga, traceparent, parent } = origin;
  const place = { ...lineOf(origin), spanId: spanIdOf(saga) };
  const told = readTraceparent(traceparent);
  if (told !== undefined) return { ...place, parentSpanId: told.spanId };
  return parent === undefined ? place : { ...place, parentSpanId: spanIdOf(parent.saga, parent.intent) };
}

/** What all spans of a saga have alike. */
function lineOf({ saga, traceparent, tree }: TraceOrigin): Pick<TracePlace, "traceId" | "flags"> {
  const told = readTraceparent(traceparent);
  return told === undefined
    ? { traceId: traceIdOf(tree?.root ?? saga), flags: sampledFlags }
    : { traceId: told.traceId, flags: told.flags };
}

/** The origin that a start records. A fork's start is its origin's: nothing of it counts for the fork's own trace (YP2). */
export const originOf = (
  saga: SagaId,
  { fork, traceparent, parent, tree }: Omit<TraceOrigin, "saga"> & { readonly fork?: unknown },
): TraceOrigin => (fork === undefined ? { saga, traceparent, parent, tree } : { saga });

/**
 * Where a fork's origin is traced, by what the fork's start has of it; an origin that was a fork has a trace of its own. A trace
 * that an origin was started in is not copied with its start, so of such a one this is the trace that it would have had.
 */
export const traceOfForked = (
  fork: { readonly saga: SagaId; readonly before?: readonly unknown[] | undefined },
  { parent, tree }: Pick<TraceOrigin, "parent" | "tree">,
): TracePlace => traceOf(fork.before === undefined ? { saga: fork.saga, parent, tree } : { saga: fork.saga });

/** The `traceparent` under which one intent of a saga is handed on: whatever is traced behind it lies below its span. */
export function traceparentOfIntent(origin: TraceOrigin, intent: IntentId): string {
  return traceparentOf({ ...lineOf(origin), spanId: spanIdOf(origin.saga, intent) });
}

/**
 * What a start's header adds to the ledger: nothing where the trace follows from parent and tree, as it does of every child
 * whose root was started in no other trace.
 */
export function recordedTrace(
  header: string | undefined,
  origin: TraceOrigin,
): { readonly traceparent?: string } {
  const told = readTraceparent(header);
  if (told === undefined) return {};
  const known = traceOf({ ...origin, traceparent: undefined });
  const isKnown =
    known.traceId === told.traceId && known.parentSpanId === told.spanId && known.flags === told.flags;
  return isKnown ? {} : { traceparent: traceparentOf(told) };
}
