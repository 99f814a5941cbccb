/**
 * Exposition and the metrics on it. Method: what is shown is read by a strict reader of the format, and what a
 * host's observer is told comes from real decided turns.
 */
import { describe, expect, test } from "vitest";
import { oneShard } from "../../../../protocol/shards.ts";
import { createExposition } from "../../../../services/runtime/health/exposition.ts";
import { createMeshGauges } from "../../../../services/runtime/health/mesh-gauges.ts";
import { createMetrics } from "../../../../services/runtime/health/metrics.ts";
import { createProcessGauges } from "../../../../services/runtime/health/process-gauges.ts";
import { parsePrometheus } from "../../../support/prometheus.ts";

describe("exposition", () => {
  test("labels with quotes, backslashes and line breaks come back as they were", () => {
    const exposition = createExposition();
    exposition
      .counter("c_total", "A \\ and\na break.", ["a", "b"])
      .add(['say "hi"', "back\\slash\nbreak"], 2);
    const { sum } = parsePrometheus(exposition.text());
    expect(sum("c_total", { a: 'say "hi"', b: "back\\slash\nbreak" })).toBe(2);
  });

  test("a value stands in every bucket that is not below it, and in the infinite one", () => {
    const exposition = createExposition();
    const histogram = exposition.histogram("h", "H.", ["x"], [1, 2, 5]);
    for (const value of [1, 1.5, 3, 99]) histogram.observe(["k"], value);
    const { values } = parsePrometheus(exposition.text());
    const buckets = ["1", "2", "5", "+Inf"].map((le) => values.get(`h_bucket{x="k",le="${le}"}`));
    expect(buckets).toEqual([1, 2, 3, 4]);
    expect(values.get('h_sum{x="k"}')).toBe(104.5);
  });

  test("names beyond the bound are counted together, and none is lost", () => {
    const exposition = createExposition();
    const counter = exposition.counter("c_total", "C.", ["name"]);
    for (let i = 0; i < 2_000; i++) counter.add([`n${i}`]);
    const { sum, values } = parsePrometheus(exposition.text());
    expect(sum("c_total")).toBe(2_000);
    expect(values.size).toBeLessThan(600);
    expect(sum("c_total", { name: "other" })).toBeGreaterThan(1_000);
  });

  test("a counter without labels is shown as zero before anything was counted", () => {
    const exposition = createExposition();
    createMetrics(exposition);
    const { values } = parsePrometheus(exposition.text());
    expect(values.get("sagamesh_turns_total")).toBe(0);
    expect(values.get('sagamesh_appends_total{outcome="fenced"}')).toBe(0);
    expect(values.get("sagamesh_recovery_seconds_count")).toBe(0);
  });
});

test("who reads a process's gauges just after another sees how late its loop was, as that one did", async () => {
  const exposition = createExposition();
  let now = 0;
  const gauges = createProcessGauges(
    exposition,
    () => 0,
    () => now,
  );
  const late = () => {
    gauges.refresh();
    return parsePrometheus(exposition.text()).values.get(
      'sagamesh_event_loop_delay_seconds{percentile="100"}',
    );
  };
  const busy = () => {
    for (const until = performance.now() + 200; performance.now() < until;);
  };
  await new Promise((resolve) => setTimeout(resolve, 100)); // It looks every 20 ms.
  busy();
  await new Promise((resolve) => setTimeout(resolve, 100));
  const first = late();
  expect(first).toBeGreaterThan(0.1);
  now += 1_000;
  expect(late()).toBe(first);
  gauges.close();
});

describe("mesh gauges", () => {
  const consumer = { missing: false, waiting: 3, held: 1, redelivered: 0, pulled: true, paused: false };
  const partition = { ...consumer, name: "0", deliveredSeq: 1, differences: [] };
  const health = {
    version: "",
    apiLevel: 4,
    streams: [],
    shards: oneShard,
    tools: [],
    clockOffsetMs: 250,
    partitions: [partition],
  };

  test("a silent server takes the last numbers away instead of repeating them", async () => {
    const exposition = createExposition();
    let now = 0;
    let isSilent = false;
    const read = async () => {
      if (isSilent) throw new Error("silent");
      return health;
    };
    const gauges = createMeshGauges(exposition, read, () => now);
    await gauges.refresh();
    expect(parsePrometheus(exposition.text()).values.get('sagamesh_inbox_waiting{partition="0"}')).toBe(3);
    isSilent = true;
    now += 60_000;
    await gauges.refresh();
    const { values } = parsePrometheus(exposition.text());
    expect(values.get('sagamesh_inbox_waiting{partition="0"}')).toBeUndefined();
    expect(values.get("sagamesh_mesh_read")).toBe(0);
  });

  test("many scrapes at once cost the server one look", async () => {
    let looks = 0;
    const read = async () => {
      looks += 1;
      return health;
    };
    const gauges = createMeshGauges(createExposition(), read, () => 1_000);
    await Promise.all([gauges.refresh(), gauges.refresh(), gauges.refresh()]);
    expect(looks).toBe(1);
  });
});
