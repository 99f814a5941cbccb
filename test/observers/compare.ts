/**
 * Compare: what a Collector wrote beside what the processes say themselves.
 */
import type { SpanDocument } from "../../protocol/documents/trace.ts";
import { nanos } from "../../services/otlp/encode.ts";
import { type MetricsBody, pushedValues } from "../support/pushed-values.ts";
import type { Collected, CollectedSpan } from "./collector.ts";
import type { Said } from "./promtool.ts";
import type { Shown } from "./stage.ts";

/** What differs is told by name; the first lines of it. */
const toldMax = 20;

const judged = (what: string, count: string, faults: readonly string[]): Said => ({
  what,
  ok: faults.length === 0,
  words: [`${count}, ${faults.length} that differ`, ...faults.slice(0, toldMax)].join("\n"),
});

export function compareAll(shown: Shown, collected: Collected): Said[] {
  return [
    compareSpans(shown.spans, collected.spans),
    compareParents(collected.spans),
    ...compareMetrics(shown, collected.metrics),
  ];
}

/** Name, times, parent, status, links and the number of attributes of each span, in any order. */
function compareSpans(told: readonly SpanDocument[], written: readonly CollectedSpan[]): Said {
  const expected = new Map(told.map((span) => [span.spanId, describeTold(span)]));
  const had = new Map(written.map((span) => [span.spanId, describeWritten(span)]));
  const ids = new Set([...expected.keys(), ...had.keys()]);
  const faults = [...ids]
    .filter((id) => expected.get(id) !== had.get(id))
    .map((id) => `${id}: told ${expected.get(id) ?? "nothing"}, written ${had.get(id) ?? "nothing"}`);
  return judged("spans: names, times, parents, status, links, attributes", `${ids.size} spans`, faults);
}

const describeTold = (span: SpanDocument): string =>
  JSON.stringify([
    ...[span.traceId, span.parentSpanId ?? "", span.name, nanos(span.start), nanos(span.end ?? 0)],
    ...[span.status === "error" ? 2 : 0, span.message ?? ""],
    ...[span.links.map((link) => `${link.traceId} ${link.spanId}`), Object.keys(span.attributes).sort()],
  ]);

const describeWritten = (span: CollectedSpan): string =>
  JSON.stringify([
    ...[span.traceId, span.parentSpanId ?? "", span.name, span.startTimeUnixNano, span.endTimeUnixNano],
    ...[span.status?.code ?? 0, span.status?.message ?? ""],
    (span.links ?? []).map((link) => `${link.traceId} ${link.spanId}`),
    (span.attributes ?? []).map(({ key }) => key).sort(),
  ]);

/** Each span but the roots has its parent in the same trace, and a fork's link leads to a span that is there. */
function compareParents(written: readonly CollectedSpan[]): Said {
  const traces = Map.groupBy(written, ({ traceId }) => traceId);
  const all = new Set(written.map(({ traceId, spanId }) => `${traceId} ${spanId}`));
  const roots = written.filter(({ parentSpanId }) => (parentSpanId ?? "") === "");
  const lost = written.filter(
    ({ traceId, parentSpanId = "" }) => parentSpanId !== "" && !all.has(`${traceId} ${parentSpanId}`),
  );
  const links = written.flatMap((span) => span.links ?? []);
  const dangling = links.filter(({ traceId, spanId }) => !all.has(`${traceId} ${spanId}`));
  return judged(
    "one tree for each trace, and every link leads to a span",
    `${traces.size} traces with ${roots.length} roots, ${links.length} links`,
    [
      ...lost.map(({ spanId }) => `${spanId} has no parent there`),
      ...dangling.map(({ spanId }) => `a link leads to ${spanId}, which is not there`),
      ...(roots.length === traces.size ? [] : ["a trace has more than one root"]),
      ...(links.length > 0 ? [] : ["there is no link"]),
    ],
  );
}

/** Numbers that go on between a scrape and the last push. */
const passing =
  /^(process|nodejs|sagamesh_(work|inbox|storage|stream|event_loop|mesh|clock|ready|partitions|sagas_resident|attempts_in))/;

function compareMetrics({ values }: Shown, bodies: readonly MetricsBody[]): Said[] {
  const last = bodies.findLast((body) => pushedValues(body).get("sagamesh_turns_total") !== 0); // The worker has none.
  const pushed = last === undefined ? new Map<string, number>() : pushedValues(last);
  const counted = [...values].filter(([name]) => !passing.test(name));
  const faults = counted
    .filter(([name, value]) => pushed.get(name) !== value)
    .map(([name, value]) => `${name}: scraped ${value}, written ${pushed.get(name) ?? "nothing"}`);
  const units = unitsIn(last);
  const wrong = Object.entries(unitsExpected).filter(([name, unit]) => units.get(name) !== unit);
  return [
    judged("metrics: each counted value of a host's last scrape", `${counted.length} values`, faults),
    judged(
      "metrics: units",
      `${units.size} metrics`,
      wrong.map(([name, unit]) => `${name}: expected ${unit}, written ${units.get(name) ?? "nothing"}`),
    ),
  ];
}

const unitsExpected: Readonly<Record<string, string>> = {
  process_cpu_seconds_total: "s",
  sagamesh_recovery_seconds: "s",
  process_resident_memory_bytes: "By",
  sagamesh_stream_bytes: "By",
  sagamesh_turns_total: "",
};

const unitsIn = (body: MetricsBody | undefined): Map<string, string> =>
  new Map(
    (body?.resourceMetrics ?? []).flatMap(({ scopeMetrics }) =>
      scopeMetrics.flatMap(({ metrics }) => metrics.map(({ name, unit = "" }) => [name, unit] as const)),
    ),
  );
