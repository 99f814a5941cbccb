/**
 * Metrics: what a process counts of itself, as a request of the OpenTelemetry protocol has it, in its JSON.
 *
 * YM1 A metric has the name here that it has for Prometheus, suffixes of its unit included: what is asked of the one is asked of the other.
 * YM2 All is counted since the process began, so a request that is lost costs nothing but its moment.
 */
import { keyValues, nanos, type Telling } from "./encode.ts";

/** A value with its labels. */
export interface NumberPoint {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** How often what was observed lay in which bucket. */
export interface HistogramPoint extends Pick<NumberPoint, "labels"> {
  /** In each bucket alone, those below it not counted; what lies above the last bound is in `count` alone. */
  readonly counts: readonly number[];
  readonly count: number;
  readonly sum: number;
}

/** A metric as it stands. */
export type MetricRead = {
  readonly name: string;
  readonly help: string;
} & (
  | { readonly type: "counter" | "gauge"; readonly points: readonly NumberPoint[] }
  /** `bounds`: the most that lies in each bucket, ascending, without the infinite one. */
  | {
      readonly type: "histogram";
      readonly bounds: readonly number[];
      readonly points: readonly HistogramPoint[];
    }
);

/** When it was read, and since when it counts: milliseconds since the epoch. */
export interface ReadAt {
  readonly since: number;
  readonly at: number;
}

/** AGGREGATION_TEMPORALITY_CUMULATIVE (YM2). */
const cumulative = 2;

/** The body of a request that hands these over. What has no value yet is left out. */
export const metricsRequest = (
  metrics: readonly MetricRead[],
  { resource, version }: Telling,
  read: ReadAt,
) => ({
  resourceMetrics: [
    {
      resource: { attributes: keyValues(resource) },
      scopeMetrics: [
        {
          scope: { name: "sagamesh", version },
          metrics: metrics
            .filter(({ points }) => points.length > 0)
            .map((metric) => ({
              ...{ name: metric.name, description: metric.help, unit: unitOf(metric.name) },
              ...dataOf(metric, read),
            })),
        },
      ],
    },
  ],
});

function dataOf(metric: MetricRead, { since, at }: ReadAt) {
  const now = { timeUnixNano: nanos(at) };
  const whole = { startTimeUnixNano: nanos(since), ...now };
  if (metric.type === "histogram")
    return {
      histogram: {
        aggregationTemporality: cumulative,
        dataPoints: metric.points.map((point) => ({
          ...{ attributes: keyValues(point.labels), ...whole },
          ...{ count: String(point.count), sum: point.sum },
          ...{ bucketCounts: bucketsOf(point).map(String), explicitBounds: metric.bounds },
        })),
      },
    };
  const of = (times: object) =>
    metric.points.map(({ labels, value }) => ({ attributes: keyValues(labels), ...times, asDouble: value }));
  if (metric.type === "gauge") return { gauge: { dataPoints: of(now) } };
  return { sum: { aggregationTemporality: cumulative, isMonotonic: true, dataPoints: of(whole) } };
}

/** The protocol's last bucket is what lies above all bounds. */
const bucketsOf = ({ counts, count }: HistogramPoint): number[] => [
  ...counts,
  count - counts.reduce((sum, one) => sum + one, 0),
];

/** By the unified code for units of measure. Of what is only counted there is none: `1` would be taken for a ratio. */
const units: readonly (readonly [RegExp, string])[] = [
  [/_seconds(?:_total)?$/, "s"],
  [/_bytes$/, "By"],
  [/_usd_total$/, "{USD}"],
];

const unitOf = (name: string): string => units.find(([ending]) => ending.test(name))?.[1] ?? "";
