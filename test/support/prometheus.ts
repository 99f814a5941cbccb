/**
 * A strict reader of Prometheus text, format 0.0.4: what a scraper would refuse or misread is thrown.
 */
export interface Scrape {
  /** By name and labels as written, for example `x_total{a="b"}`. */
  readonly values: ReadonlyMap<string, number>;
  readonly types: ReadonlyMap<string, string>;
  /** The sum over all label sets of a name that hold these labels. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number;
}

const sample = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const label = /^([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/;

export function parsePrometheus(text: string): Scrape {
  if (!text.endsWith("\n")) throw new Error("the text does not end with a line break");
  const types = new Map<string, string>();
  const helped = new Set<string>();
  const values = new Map<string, number>();
  const series: { name: string; labels: Record<string, string>; value: number }[] = [];
  let family = "";
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [, word, of = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (word === "HELP") {
      if (helped.has(of)) throw new Error(`${of} is explained twice`);
      helped.add(of);
    } else if (word === "TYPE") {
      if (types.has(of)) throw new Error(`${of} has its type twice`);
      if (!["counter", "gauge", "histogram"].includes(rest)) throw new Error(`${of} is no ${rest}`);
      types.set(of, rest);
      family = of;
    } else {
      const [, name = "", labelText = "", valueText = ""] = sample.exec(line) ?? [];
      if (name === "") throw new Error(`not a sample: ${line}`);
      const base = types.get(family) === "histogram" ? name.replace(/_(bucket|sum|count)$/, "") : name;
      if (base !== family || !helped.has(family)) throw new Error(`${name} stands outside its family`);
      const value = valueText === "+Inf" ? Number.POSITIVE_INFINITY : Number(valueText);
      if (Number.isNaN(value)) throw new Error(`not a number: ${line}`);
      if (types.get(family) === "counter" && value < 0) throw new Error(`a counter below zero: ${line}`);
      const key = `${name}${labelText === "" ? "" : `{${labelText}}`}`;
      if (values.has(key)) throw new Error(`twice: ${key}`);
      values.set(key, value);
      series.push({ name, labels: readLabels(labelText, line), value });
    }
  }
  for (const [name, type] of types) if (type === "histogram") checkHistogram(name, series);
  const sum: Scrape["sum"] = (name, labels = {}) =>
    series
      .filter((one) => one.name === name && Object.entries(labels).every(([k, v]) => one.labels[k] === v))
      .reduce((total, one) => total + one.value, 0);
  return { values, types, sum };
}

function readLabels(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (let rest = text; rest !== "";) {
    const [whole, name, value = ""] = label.exec(rest) ?? [];
    if (whole === undefined || name === undefined || name in labels) throw new Error(`bad labels: ${line}`);
    labels[name] = value.replaceAll(/\\(.)/g, (_, c: string) => (c === "n" ? "\n" : c));
    rest = rest.slice(whole.length);
  }
  return labels;
}

/** Buckets grow, end with +Inf, and that equals the count. */
function checkHistogram(
  name: string,
  series: readonly { name: string; labels: Record<string, string>; value: number }[],
): void {
  const groups = new Map<string, { le: number; value: number }[]>();
  const keyOf = ({ le: _, ...labels }: Record<string, string>) => JSON.stringify(labels);
  for (const one of series)
    if (one.name === `${name}_bucket`) {
      const le = one.labels["le"] === "+Inf" ? Number.POSITIVE_INFINITY : Number(one.labels["le"]);
      groups.set(keyOf(one.labels), [...(groups.get(keyOf(one.labels)) ?? []), { le, value: one.value }]);
    }
  for (const [key, buckets] of groups) {
    const count = series.find((one) => one.name === `${name}_count` && keyOf(one.labels) === key)?.value;
    const last = buckets.at(-1);
    if (last?.le !== Number.POSITIVE_INFINITY || last.value !== count)
      throw new Error(`${name}${key}: its last bucket is not its count`);
    for (const [index, { le, value }] of buckets.entries()) {
      const next = buckets[index + 1];
      if (next !== undefined && (next.le <= le || next.value < value))
        throw new Error(`${name}${key}: buckets out of order`);
    }
  }
}
