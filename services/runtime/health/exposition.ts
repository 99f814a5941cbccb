/**
 * Exposition: counters, gauges and histograms, and their text as Prometheus reads it (format 0.0.4).
 *
 * The usual package would do; loading it costs a host 20 MB, twice what all of this process's sagas may take.
 *
 * EP1 A metric keeps at most `seriesMax` combinations of labels. What comes beyond is counted under "other", so a
 *     name that the outside chooses can never fill the memory.
 * EP2 Counting is a look-up and an addition. Everything else is done when a reader asks.
 */

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

interface Metric {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  lines(): Iterable<string>;
}

export interface Exposition {
  readonly counter: (name: string, help: string, labels?: Labels) => Counter;
  readonly gauge: (name: string, help: string, labels?: Labels) => Gauge;
  /** `buckets` ascending, without the infinite one. */
  readonly histogram: (name: string, help: string, labels: Labels, buckets: readonly number[]) => Histogram;
  readonly text: () => string;
}

export const contentType = "text/plain; version=0.0.4; charset=utf-8";

export function createExposition(): Exposition {
  const metrics: Metric[] = [];
  return {
    counter: (name, help, labels = []) => {
      const series = createSeries(labels, () => ({ value: 0 }));
      if (labels.length === 0) series.of([]);
      metrics.push({ name, type: "counter", help, lines: () => values(name, series) });
      return { add: (of = [], by = 1) => void (series.of(of).value += by) };
    },
    gauge: (name, help, labels = []) => {
      const series = createSeries(labels, () => ({ value: 0 }));
      metrics.push({ name, type: "gauge", help, lines: () => values(name, series) });
      return {
        set: (of, value) => void (series.of(of).value = value),
        add: (of, by) => void (series.of(of).value += by),
        clear: series.clear,
      };
    },
    histogram: (name, help, labels, buckets) => {
      const series = createSeries(labels, () => ({ counts: buckets.map(() => 0), count: 0, sum: 0 }));
      if (labels.length === 0) series.of([]); // A rate needs a first value, before anything was seen.
      metrics.push({ name, type: "histogram", help, lines: () => bucketLines(name, series, buckets) });
      return {
        observe: (of, value) => {
          const one = series.of(of);
          one.count += 1;
          one.sum += value;
          const bucket = buckets.findIndex((most) => value <= most);
          if (bucket >= 0) one.counts[bucket]! += 1;
        },
      };
    },
    text: () =>
      metrics
        .flatMap((metric) => [
          `# HELP ${metric.name} ${metric.help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`,
          `# TYPE ${metric.name} ${metric.type}`,
          ...metric.lines(),
          "",
        ])
        .join("\n"),
  };
}

interface Series<T> {
  readonly of: (labels: Labels) => T;
  readonly clear: () => void;
  readonly entries: () => Iterable<readonly [string, T]>;
}

function createSeries<T>(names: Labels, empty: () => T): Series<T> {
  const all = new Map<string, { readonly text: string; readonly value: T }>();
  const of = (labels: Labels): T => {
    const key = labels.join("\u0000");
    const found = all.get(key);
    if (found !== undefined) return found.value;
    const isOther = labels.every((label) => label === "other");
    if (all.size >= seriesMax && !isOther) return of(names.map(() => "other")); // EP1
    const text = names.map((name, index) => `${name}="${escaped(labels[index] ?? "")}"`).join(",");
    const value = empty();
    all.set(key, { text, value });
    return value;
  };
  return {
    of,
    clear: () => all.clear(),
    entries: () => [...all.values()].map(({ text, value }) => [text, value] as const),
  };
}

const escaped = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

const braced = (labels: string): string => (labels === "" ? "" : `{${labels}}`);

function* values(name: string, series: Series<{ value: number }>): Iterable<string> {
  for (const [labels, { value }] of series.entries()) yield `${name}${braced(labels)} ${value}`;
}

interface Buckets {
  readonly counts: number[];
  count: number;
  sum: number;
}

function* bucketLines(name: string, series: Series<Buckets>, buckets: readonly number[]): Iterable<string> {
  for (const [labels, { counts, count, sum }] of series.entries()) {
    const before = labels === "" ? "" : `${labels},`;
    let upTo = 0;
    for (const [index, most] of buckets.entries()) {
      upTo += counts[index] ?? 0;
      yield `${name}_bucket{${before}le="${most}"} ${upTo}`;
    }
    yield `${name}_bucket{${before}le="+Inf"} ${count}`;
    yield `${name}_sum${braced(labels)} ${sum}`;
    yield `${name}_count${braced(labels)} ${count}`;
  }
}
