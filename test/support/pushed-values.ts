/**
 * Pushed metrics as a scraper would have read them: values by name and labels as Prometheus writes them, by the specification's own
 * rules for the way from one to the other. It reads what comes over the wire, so it takes a parsed body.
 */

interface Point {
  readonly attributes?: readonly {
    readonly key: string;
    readonly value: { readonly stringValue?: string };
  }[];
  readonly asDouble?: number;
  readonly count?: string;
  readonly sum?: number;
  readonly bucketCounts?: readonly string[];
  readonly explicitBounds?: readonly number[];
}

interface Metric {
  readonly name: string;
  readonly unit?: string;
  readonly sum?: { readonly dataPoints: readonly Point[] };
  readonly gauge?: { readonly dataPoints: readonly Point[] };
  readonly histogram?: { readonly dataPoints: readonly Point[] };
}

export interface MetricsBody {
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly Metric[] }[];
  }[];
}

export function pushedValues(body: MetricsBody): Map<string, number> {
  const values = new Map<string, number>();
  for (const { scopeMetrics } of body.resourceMetrics ?? [])
    for (const { metrics } of scopeMetrics)
      for (const { name, sum, gauge, histogram } of metrics) {
        for (const point of [...(sum?.dataPoints ?? []), ...(gauge?.dataPoints ?? [])])
          values.set(keyOf(name, point), point.asDouble ?? 0);
        for (const point of histogram?.dataPoints ?? []) addBuckets(values, name, point);
      }
  return values;
}

function addBuckets(values: Map<string, number>, name: string, point: Point): void {
  const bounds = [...(point.explicitBounds ?? []).map(String), "+Inf"];
  let upTo = 0;
  for (const [k, le] of bounds.entries()) {
    upTo += Number(point.bucketCounts?.[k] ?? 0);
    values.set(keyOf(`${name}_bucket`, point, `le="${le}"`), upTo);
  }
  values.set(keyOf(`${name}_sum`, point), point.sum ?? 0);
  values.set(keyOf(`${name}_count`, point), Number(point.count ?? 0));
}

function keyOf(name: string, { attributes = [] }: Point, ...more: string[]): string {
  const pairs = attributes.map(({ key, value: { stringValue = "" } }) => {
    const text = stringValue.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
    return `${key}="${text}"`;
  });
  const labels = [...pairs, ...more].join(",");
  return labels === "" ? name : `${name}{${labels}}`;
}
