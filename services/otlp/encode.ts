/**
 * Encode: spans as a request of the OpenTelemetry protocol has them, in its JSON.
 *
 * YE1 Ids are hexadecimal, 64-bit numbers are texts and kinds are numbers: where OTLP's JSON differs from Protocol Buffers' own.
 */
import type { SpanAttributes, SpanDocument, SpanValue } from "../../protocol/documents/trace.ts";

/** Who tells: attributes of the resource, and the version of this package. */
export interface Telling {
  readonly resource: Readonly<Record<string, string>>;
  readonly version: string;
}

interface AnyValue {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly intValue?: string;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values: readonly AnyValue[] };
}

/** One attribute, as OTLP has it. */
export interface KeyValue {
  readonly key: string;
  readonly value: AnyValue;
}

const kinds = { internal: 1, client: 3 } as const;
const statusError = 2;

/** The body of a request that hands over these spans. Those that are not over are left out. */
export const tracesRequest = (spans: readonly SpanDocument[], { resource, version }: Telling) => ({
  resourceSpans: [
    {
      resource: { attributes: keyValues(resource) },
      scopeSpans: [{ scope: { name: "sagamesh", version }, spans: spans.flatMap(encodeSpan) }],
    },
  ],
});

function encodeSpan(span: SpanDocument) {
  const { end, parentSpanId, droppedEvents, status, message } = span;
  if (end === undefined) return [];
  return [
    {
      ...{ traceId: span.traceId, spanId: span.spanId },
      ...(parentSpanId === undefined ? {} : { parentSpanId }),
      flags: Number.parseInt(span.flags, 16),
      ...{ name: span.name, kind: kinds[span.kind] },
      ...{ startTimeUnixNano: nanos(span.start), endTimeUnixNano: nanos(end) },
      attributes: keyValues(span.attributes),
      events: span.events.map(({ name, at, attributes }) => ({
        ...{ name, timeUnixNano: nanos(at), attributes: keyValues(attributes) },
      })),
      ...(droppedEvents === undefined ? {} : { droppedEventsCount: droppedEvents }),
      links: span.links.map(({ traceId, spanId, attributes }) => ({
        ...{ traceId, spanId, attributes: keyValues(attributes) },
      })),
      status: status === "error" ? { code: statusError, ...(message === undefined ? {} : { message }) } : {},
    },
  ];
}

/** Milliseconds as nanoseconds, to the microsecond: a number of milliseconds since the epoch holds no more. */
export function nanos(ms: number): string {
  const whole = Math.floor(ms);
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1e3)) * 1_000n);
}

/** Attributes as OTLP has them. */
export const keyValues = (attributes: SpanAttributes): KeyValue[] =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(key, value) }));

/** One name has one type, whatever its value: money is a fraction also where it is whole. */
function anyValue(key: string, value: SpanValue): AnyValue {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value !== "number")
    return { arrayValue: { values: value.map((one) => ({ stringValue: one })) } };
  return Number.isSafeInteger(value) && !/(?:usd|cost)$/.test(key)
    ? { intValue: String(value) }
    : { doubleValue: value };
}
