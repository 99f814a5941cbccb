/**
 * The runbook against the code: what it says of the log, of commands and of metrics is there.
 *
 * Method: the calls of loggers are collected from the source by the compiler's parser, commands from the help,
 * metrics from an exposition with everything registered.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createExposition } from "../../services/runtime/health/exposition.ts";
import { createMeshGauges } from "../../services/runtime/health/mesh-gauges.ts";
import { createMetrics } from "../../services/runtime/health/metrics.ts";
import { runHere } from "../support/cli.ts";
import { collectLogEvents } from "../support/log-events.ts";

const runbook = readFileSync(new URL("../../deploy/runbook.md", import.meta.url), "utf8");

interface Row {
  readonly event: string;
  readonly levels: readonly string[];
  readonly fields: readonly string[];
}

const words = (text: string): string[] =>
  text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "")
    .sort();

/** The table of the section "The log". */
function tableRows(): Row[] {
  const section = runbook.split("## The log")[1] ?? "";
  return section
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .slice(2)
    .map((line) => line.split("|").slice(1, -1))
    .map(([event = "", level = "", fields = ""]) => ({
      event: event.trim(),
      levels: words(level),
      fields: words(fields),
    }));
}

/** One row for each event of the source, its levels and fields of all places together. */
function sourceRows(): Row[] {
  const rows = new Map<string, { levels: Set<string>; fields: Set<string> }>();
  for (const { event, levels, fields } of collectLogEvents("services")) {
    const row = rows.get(event) ?? { levels: new Set(), fields: new Set() };
    for (const level of levels) row.levels.add(level);
    for (const field of fields) row.fields.add(field);
    rows.set(event, row);
  }
  return [...rows].map(([event, { levels, fields }]) => ({
    event,
    levels: [...levels].sort(),
    fields: [...fields].sort(),
  }));
}

const byEvent = (a: Row, b: Row): number => (a.event < b.event ? -1 : 1);

describe("the runbook", () => {
  test("its table of log events has every event of the source with its levels and fields, and no other", () => {
    expect(tableRows().sort(byEvent)).toEqual(sourceRows().sort(byEvent));
  });

  test("names only commands that exist", async () => {
    const { stdout } = await runHere(["--help"]);
    const existing = new Set([...stdout.matchAll(/^ {2}([a-z]+) {2,}\S/gm)].map(([, name]) => name));
    const named = [...runbook.matchAll(/`sagamesh ([a-z]+)/g)].map(([, name]) => name ?? "");
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !existing.has(name))).toEqual([]);
  });

  test("names only metrics that a process shows", () => {
    const exposition = createExposition();
    createMetrics(exposition);
    createMeshGauges(exposition, () => Promise.reject(new Error("no server")), Date.now);
    const shown = [...exposition.text().matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name ?? "");
    const own = [
      "ready",
      "sagas_waiting_for_host",
      "event_loop_delay_seconds",
      "lines_lost_total",
      "storage_left_bytes",
      "storage_bytes",
    ].map((one) => `sagamesh_${one}`); // Of health.ts and process-gauges.ts.
    const named = [...runbook.matchAll(/\b(sagamesh_\w+?)(?:_\*|\b)/g)].map(([, name]) => name ?? "");
    const unknown = named.filter(
      (name) => ![...shown, ...own].some((one) => one === name || one.startsWith(`${name}_`)),
    );
    expect(unknown).toEqual([]);
  });

  test("sends the reader only to sections it has", () => {
    const bold = [...runbook.matchAll(/^\*\*(.+?)\*\*/gm)].map(([, title]) => (title ?? "").toLowerCase());
    const asked = [...runbook.matchAll(/\bsee ((?:[A-Z][^.,:|;]*)(?:, [A-Z][^.,:|;]*)*)/gi)].flatMap(
      ([, titles]) => (titles ?? "").split(", ").map((title) => title.trim().toLowerCase()),
    );
    expect(asked.length).toBeGreaterThan(5);
    expect(asked.filter((title) => !bold.some((one) => one.includes(title.replace(/^an? /, ""))))).toEqual(
      [],
    );
  });
});
