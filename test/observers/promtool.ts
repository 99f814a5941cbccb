/**
 * Prometheus' own tool, promtool: what it says of the alerts, of the metrics and of the dashboard's queries.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { GoRecipe } from "../support/go-program.ts";

const prometheus = "github.com/prometheus/prometheus";
export const prometheusVersion = "v0.307.3";

export const promtoolRecipe: GoRecipe = {
  name: "promtool",
  files: { "main.go": "package main\n\nfunc main() {}\n" },
  packages: [`${prometheus}/cmd/promtool@${prometheusVersion}`],
  target: `${prometheus}/cmd/promtool`,
};

const file = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** What it said. */
export interface Said {
  readonly what: string;
  readonly ok: boolean;
  readonly words: string;
}

interface Dashboard {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
}

/** `metrics`: the text of a process's /metrics. */
export function askPromtool(promtool: string, metrics: string): Said[] {
  const ask = (what: string, args: readonly string[], input?: string): Said => {
    const { status, stdout, stderr, error } = spawnSync(promtool, args, { encoding: "utf8", input });
    const words = `${stdout}${stderr}${error === undefined ? "" : String(error)}`.trim();
    return { what, ok: status === 0, words: words.replaceAll(file(""), "") };
  };
  const { panels } = JSON.parse(readFileSync(file("deploy/grafana/sagamesh.json"), "utf8")) as Dashboard;
  const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const unread = queries.filter((expr) => !ask("", ["--experimental", "promql", "format", "--", expr]).ok);
  return [
    ask("promtool check rules deploy/prometheus/alerts.yaml", [
      "check",
      "rules",
      file("deploy/prometheus/alerts.yaml"),
    ]),
    ask("promtool test rules test/observers/alerts.yaml", [
      "test",
      "rules",
      file("test/observers/alerts.yaml"),
    ]),
    ask("promtool check metrics, of a host's /metrics", ["check", "metrics"], metrics),
    {
      what: "promtool promql format, of each query of deploy/grafana/sagamesh.json",
      ok: unread.length === 0,
      words: `${queries.length} queries, ${unread.length} that cannot be read${unread.map((one) => `\n${one}`).join("")}`,
    },
  ];
}
