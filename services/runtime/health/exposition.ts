/**
 * Exposition: counters, gauges and histograms, what they hold, and that as the text that Prometheus reads (format 0.0.4).
 *
 * The usual package would do; loading it costs a host 20 MB, twice what all of this process's sagas may take.
 *
 * EP1 A metric keeps at most `seriesMax` combinations of labels. What comes beyond is counted under "other", so a
 *     name that the outside chooses can never fill the memory.
 * EP2 Counting is a look-up and an addition. Everything else is done when a reader asks.
 */
import type { HistogramPoint, MetricRead, NumberPoint } from "../../otlp/metrics.ts";

const seriesMax = 500;

type Labels = readonly string[];

export interface Counter {
  add(labels?: Labels, by?: number): void;
}

export interface Gauge {
  set(labels: Labels, value: number): void;
  add(labels: Labels, by: number): void;
  /** Forgets every series: for what is read anew each time. */
  readonly clear: () => void;
}

export interface Histogram {
  observe(labels: Labels, value: number): void;
}

export interface Exposition {
  readonly counter: (name: string, help: string, labels?: Labels) => Counter;
  readonly gauge: (name: string, help: string, labels?: Labels) => Gauge;
  /** `buckets` ascending, without the infinite one. */
  readonly histogram: (name: string, help: string, labels: Labels, buckets: readonly number[]) => Histogram;
  /** All of them as they stand. */
  readonly read: () => MetricRead[];
  /** The same for Prometheus. */
  readonly text: () => string;
}

export const contentType = "text/plain; version=0.0.4; charset=utf-8";

export function createExposition(): Exposition {
  const metrics: (() => MetricRead)[] = [];
  const read = () => metrics.map((one) => one());
  return {
    counter: (name, help, labels = []) => {
      const series = createSeries(labels, () => ({ value: 0 }));
      if (labels.length === 0) series.of([]);
      metrics.push(() => ({
        type: "counter",
        name,
        help,
        points: series.points(({ value }) => ({ value })),
      }));
      return { add: (of = [], by = 1) => void (series.of(of).value += by) };
    },
    gauge: (name, help, labels = []) => {
      const series = createSeries(labels, () => ({ value: 0 }));
      metrics.push(() => ({ type: "gauge", name, help, points: series.points(({ value }) => ({ value })) }));
      return {
        set: (of, value) => void (series.of(of).value = value),
        add: (of, by) => void (series.of(of).value += by),
        clear: series.clear,
      };
    },
    histogram: (name, help, labels, bounds) => {
      const series = createSeries(labels, () => ({ counts: bounds.map(() => 0), count: 0, sum: 0 }));
      if (labels.length === 0) series.of([]); // A rate needs a first value, before anything was seen.
      metrics.push(() => {
        const points = series.points(({ counts, count, sum }) => ({ counts: [...counts], count, sum }));
        return { type: "histogram", name, help, bounds, points };
      });
      return {
        observe: (of, value) => {
          const one = series.of(of);
          one.count += 1;
          one.sum += value;
          const bucket = bounds.findIndex((most) => value <= most);
          if (bucket >= 0) one.counts[bucket]! += 1;
        },
      };
    },
    read,
    text: () => read().flatMap(linesOf).join("\n"),
  };
}

interface Series<T> {
  readonly of: (labels: Labels) => T;
  readonly clear: () => void;
  readonly points: <P>(of: (value: T) => P) => (P & Pick<NumberPoint, "labels">)[];
}

function createSeries<T>(names: Labels, empty: () => T): Series<T> {
  const all = new Map<string, { readonly labels: Readonly<Record<string, string>>; readonly value: T }>();
  const of = (labels: Labels): T => {
    const key = labels.join("\u0000");
    const found = all.get(key);
    if (found !== undefined) return found.value;
    const isOther = labels.every((label) => label === "other");
    if (all.size >= seriesMax && !isOther) return of(names.map(() => "other")); // EP1
    const value = empty();
    all.set(key, {
      labels: Object.fromEntries(names.map((name, k) => [name, labels[k] ?? ""])),
      value,
    });
    return value;
  };
  return {
    of,
    clear: () => all.clear(),
    points: (pointOf) => [...all.values()].map(({ labels, value }) => ({ labels, ...pointOf(value) })),
  };
}

/** A metric in Prometheus's text, and an empty line. */
function linesOf(metric: MetricRead): string[] {
  const { name, help, type } = metric;
  return [
    `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`,
    `# TYPE ${name} ${type}`,
    ...(metric.type === "histogram"
      ? metric.points.flatMap((point) => bucketLines(name, point, metric.bounds))
      : metric.points.map(({ labels, value }) => `${name}${braced(pairsOf(labels))} ${value}`)),
    "",
  ];
}

const pairsOf = (labels: NumberPoint["labels"]): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(",");

const escaped = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

const braced = (pairs: string): string => (pairs === "" ? "" : `{${pairs}}`);

/** Each bucket has those below it in it, here. */
function bucketLines(
  name: string,
  { labels, counts, count, sum }: HistogramPoint,
  bounds: readonly number[],
): string[] {
  const pairs = pairsOf(labels);
  const before = pairs === "" ? "" : `${pairs},`;
  let upTo = 0;
  const buckets = bounds.map((most, index) => {
    upTo += counts[index] ?? 0;
    return `${name}_bucket{${before}le="${most}"} ${upTo}`;
  });
  return [
    ...buckets,
    `${name}_bucket{${before}le="+Inf"} ${count}`,
    `${name}_sum${braced(pairs)} ${sum}`,
    `${name}_count${braced(pairs)} ${count}`,
  ];
}
