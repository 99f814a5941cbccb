/**
 * Goal: no panel of the dashboard and no alert asks for what no process shows, and whoever is woken finds a line in the runbook.
 * Method: every metric is registered as a process does, with its labels; what queries name is held against that. Alerts are held
 * against the runbook's table, word by word.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createExposition, type Exposition } from "../../services/runtime/health/exposition.ts";
import { partGauges } from "../../services/runtime/health/gathered.ts";
import { createMeshGauges } from "../../services/runtime/health/mesh-gauges.ts";
import { createMetrics } from "../../services/runtime/health/metrics.ts";
import { createProcessGauges } from "../../services/runtime/health/process-gauges.ts";

const read = (file: string) => readFileSync(new URL(`../../deploy/${file}`, import.meta.url), "utf8");

/** Every metric with its labels, under each name that it has in a query. */
function shown(): Map<string, readonly string[]> {
  const names = new Map<string, readonly string[]>([["sagamesh_ready", []]]); // Of gathered.ts itself.
  const real = createExposition();
  const noting: Exposition = {
    ...real,
    counter: (name, help, labels = []) => (names.set(name, labels), real.counter(name, help, labels)),
    gauge: (name, help, labels = []) => (names.set(name, labels), real.gauge(name, help, labels)),
    histogram: (name, help, labels, buckets) => {
      names
        .set(`${name}_bucket`, [...labels, "le"])
        .set(`${name}_sum`, labels)
        .set(`${name}_count`, labels);
      return real.histogram(name, help, labels, buckets);
    },
  };
  createMetrics(noting);
  createMeshGauges(noting, () => Promise.reject(new Error("no server")), Date.now);
  partGauges(noting);
  createProcessGauges(noting, () => 0).close();
  return names;
}

const metrics = shown();
/** What a scraper adds. */
const scraped = ["instance", "job"];

/** Metrics of a query with the labels that it selects by, and the labels that it keeps. */
function asked(query: string) {
  const found = [...query.matchAll(/\b((?:sagamesh|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)];
  const selected = found.map(([, name = "", labels = ""]) => ({
    name,
    labels: [...labels.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label!),
  }));
  const kept = [...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = ""]) => labels.split(/,\s*/));
  return { selected, kept };
}

function assertShown(query: string): void {
  const { selected, kept } = asked(query);
  expect(selected.length, query).toBeGreaterThan(0);
  for (const { name, labels } of selected) {
    expect([...metrics.keys()], query).toContain(name);
    for (const label of [...labels, ...kept])
      expect([...(metrics.get(name) ?? []), ...scraped], query).toContain(label);
  }
  expect(query.split("(").length).toBe(query.split(")").length);
}

test("no metric has a label that is kept for another kind: who reads by the type would read it wrong", () => {
  const kept = [...metrics].filter(
    ([name, labels]) => labels.includes("quantile") || (labels.includes("le") && !name.endsWith("_bucket")),
  );
  expect(kept).toEqual([]);
});

interface Dashboard {
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly y: number };
    readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
}

describe("the dashboard", () => {
  const { panels } = JSON.parse(read("grafana/sagamesh.json")) as Dashboard;

  test("asks only for metrics and labels that a process shows", () => {
    expect(panels.length).toBeGreaterThan(10);
    for (const { targets } of panels) for (const { expr } of targets) assertShown(expr);
  });

  test("names in its legends only what its queries keep", () => {
    for (const { targets } of panels)
      for (const { expr, legendFormat } of targets) {
        const { selected, kept } = asked(expr);
        const isSum = /\b(sum|max|min|count)\b/.test(expr);
        const all = isSum ? kept : [...selected.flatMap(({ name }) => metrics.get(name) ?? []), ...scraped];
        for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) expect(all, expr).toContain(label);
      }
  });

  test("has each panel once, at a place of its own", () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    expect(new Set(panels.map(({ gridPos: { x, y } }) => `${x} ${y}`)).size).toBe(panels.length);
  });
});

describe("the alerts", () => {
  /** The file is a list of these members, one a line: read as such, no more of YAML is needed. */
  const rules = read("prometheus/alerts.yaml")
    .split("      - alert: ")
    .slice(1)
    .map((text) => ({
      name: text.split("\n")[0]!,
      expr: /^ +expr: (.+)$/m.exec(text)?.[1] ?? "",
      minutes: /^ +for: (\d+)m$/m.exec(text)?.[1],
      runbook: /^ +runbook: "(.+)"$/m.exec(text)?.[1],
    }));
  const rows = (read("runbook.md").split("| alert ")[1] ?? "")
    .split("\n\n")[0]!
    .split("\n")
    .slice(2)
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .map(([, alert = "", means = ""]) => ({
      expr: /^`(.+?)`/.exec(alert)?.[1] ?? "",
      minutes: / for (\d+) minutes?$/.exec(alert)?.[1],
      runbook: means,
    }));

  test("are the rows of the runbook, each with its time and what it says to do", () => {
    const own = "sum(rate(sagamesh_spent_usd_total[1h])) * 3600"; // The row leaves the sum to the reader.
    const told = rules.map(({ expr, minutes, runbook }) => ({
      ...{ expr: expr.startsWith(own) ? own : expr, minutes, runbook },
    }));
    expect(told).toEqual(rows);
    expect(rows.length).toBeGreaterThan(10);
    expect(new Set(rules.map(({ name }) => name)).size).toBe(rules.length);
  });

  test("ask only for metrics and labels that a process shows", () => {
    for (const { expr } of rules) assertShown(expr);
  });
});
