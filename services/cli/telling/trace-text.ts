/**
 * Trace text: spans as a person reads them, those below a span behind it and further in, in the order in which they began.
 */
import type { SpanDocument, TraceDocument } from "../../../protocol/documents/trace.ts";
import { unreadableText } from "../frame/unreadable.ts";
import { table } from "../frame/table.ts";
import { attribute } from "../../traces/names.ts";

/** The whole of it: a line for each span, then what there is of how many. */
export function traceText(
  spans: readonly SpanDocument[],
  { trace: { traceId, spans: over, open, unreadable } }: TraceDocument,
): string {
  const rows = inOrder(spans).map(({ span, depth }) => [
    `${"  ".repeat(depth)}${span.name}`,
    span.saga,
    span.intent ?? "",
    span.end === undefined ? "" : lasting(span.end - span.start),
    outcomeOf(span),
    tokensOf(span),
  ]);
  const counts = `${over} ${over === 1 ? "span" : "spans"}${open > 0 ? `, ${open} not over` : ""}`;
  return [
    table(["SPAN", "SAGA", "INTENT", "TOOK", "OUTCOME", "TOKENS"], rows),
    `trace ${traceId}: ${counts}`,
    ...(unreadable.length === 0 ? [] : [unreadableText(unreadable)]),
  ].join("\n");
}

/** Each span behind its parent; one whose parent is not among them stands at the top. */
function inOrder(spans: readonly SpanDocument[]): { span: SpanDocument; depth: number }[] {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const below = new Map<string | undefined, SpanDocument[]>();
  for (const span of spans) {
    const above = span.parentSpanId;
    const parent = above !== undefined && known.has(above) ? above : undefined;
    const all = below.get(parent);
    if (all === undefined) below.set(parent, [span]);
    else all.push(span);
  }
  for (const all of below.values()) all.sort((one, other) => one.start - other.start);
  const told: { span: SpanDocument; depth: number }[] = [];
  const stack = (below.get(undefined) ?? []).toReversed().map((span) => ({ span, depth: 0 }));
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    told.push(next);
    const { span, depth } = next;
    for (const child of (below.get(span.spanId) ?? []).toReversed())
      stack.push({ span: child, depth: depth + 1 });
  }
  return told;
}

/** As it was recorded, with the code of what went wrong and how often it was tried. */
function outcomeOf({ attributes, end, message }: SpanDocument): string {
  const outcome = attributes[attribute.outcome];
  if (end === undefined || typeof outcome !== "string") return end === undefined ? "open" : "";
  const attempts = attributes[attribute.attempts];
  return [
    outcome.replaceAll("_", " "),
    ...(message === undefined ? [] : [message]),
    ...(attempts === undefined ? [] : [`${String(attempts)} attempts`]),
  ].join(", ");
}

function tokensOf({ attributes }: SpanDocument): string {
  const input = attributes[attribute.inputTokens] ?? attributes[attribute.spentInput];
  const output = attributes[attribute.outputTokens] ?? attributes[attribute.spentOutput];
  const usd = attributes[attribute.usd] ?? attributes[attribute.spentUsd];
  if (typeof input !== "number" || typeof output !== "number" || input + output === 0) return "";
  const money = typeof usd === "number" && usd > 0 ? `, $${usd.toFixed(4)}` : "";
  return `${input.toLocaleString("en-US")} + ${output.toLocaleString("en-US")}${money}`;
}

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
] as const;

/** A duration: in its two largest units from a minute on. */
function lasting(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const first = units.findIndex(([, size]) => ms >= size);
  const [unit, size] = units[first]!; // Of what is a minute or more there is one.
  const [below, smaller] = units[first + 1] ?? (["s", 1_000] as const);
  const rest = Math.floor((ms % size) / smaller);
  return `${Math.floor(ms / size)} ${unit}${rest > 0 ? ` ${rest} ${below}` : ""}`;
}
