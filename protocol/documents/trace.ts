/**
 * Trace document: what a saga did as spans, as `trace --json` prints it, a line for each, and as they are exported.
 */
import { z } from "zod";
import { IntentId, SagaId } from "../ids.ts";
import { UnreadableSaga } from "./unreadable.ts";

/** What an attribute may hold. */
export const SpanValue = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);
export type SpanValue = z.infer<typeof SpanValue>;

/** By the names of services/traces/names.ts. */
export const SpanAttributes = z.record(z.string(), SpanValue);
export type SpanAttributes = z.infer<typeof SpanAttributes>;

const spanId = z.string().regex(/^[0-9a-f]{16}$/);
const traceId = z.string().regex(/^[0-9a-f]{32}$/);

/** Something that happened while a span lasted. Times are milliseconds since the epoch. */
export const SpanEvent = z.object({ name: z.string(), at: z.number(), attributes: SpanAttributes });
export type SpanEvent = z.infer<typeof SpanEvent>;

/** Another span that this one follows from, and is not below: what it undoes, the origin of a fork. */
export const SpanLink = z.object({ traceId, spanId, attributes: SpanAttributes });
export type SpanLink = z.infer<typeof SpanLink>;

/** One thing that took time: a saga, or an intent with all its attempts. Times are milliseconds since the epoch. */
export const SpanDocument = z.object({
  traceId,
  spanId,
  /** Absent of a trace's first span. */
  parentSpanId: spanId.optional(),
  /** Two digits, as W3C has them; odd: sampled. */
  flags: z.string(),
  name: z.string(),
  kind: z.enum(["internal", "client"]),
  saga: SagaId,
  /** Absent of the saga's own span. */
  intent: IntentId.optional(),
  start: z.number(),
  /** Absent while it is not over; such a span is shown and never exported. */
  end: z.number().optional(),
  /** `error`: it failed, was refused, or nobody knows whether it happened. */
  status: z.enum(["unset", "error"]),
  /** Of an error: its code. */
  message: z.string().optional(),
  attributes: SpanAttributes,
  events: z.array(SpanEvent),
  /** Events beyond those that a span keeps. */
  droppedEvents: z.int().optional(),
  links: z.array(SpanLink),
});
export type SpanDocument = z.infer<typeof SpanDocument>;

/** The last line of `trace --json`. */
export const TraceDocument = z.object({
  trace: z.object({
    saga: SagaId,
    traceId,
    /** Spans that are over, and that are not. */
    spans: z.int(),
    open: z.int(),
    /** How many of them the receiver took; with `--otlp` only. */
    exported: z.int().optional(),
    /** Sagas of the tree whose ledgers could not be read. */
    unreadable: z.array(UnreadableSaga),
  }),
});
export type TraceDocument = z.infer<typeof TraceDocument>;
