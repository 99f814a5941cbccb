/**
 * Goal: what is pushed is what is scraped: the same names, labels and values, and each as its kind is told.
 * Method: the two forms of one exposition are read and held against each other, for counts by chance and for a process that did
 * something of each kind; what other people's readers make of it is collector.e2e.test.ts's matter.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { keyValues } from "../../../services/otlp/encode.ts";
import { metricsRequest } from "../../../services/otlp/metrics.ts";
import { createExposition, type Exposition } from "../../../services/runtime/health/exposition.ts";
import { countingMuch } from "../../support/counted-much.ts";
import { parsePrometheus } from "../../support/prometheus.ts";
import { pushedValues } from "../../support/pushed-values.ts";

const telling = { resource: { "service.name": "desk", "service.instance.id": "a" }, version: "0.1.0" };
const times = { since: 1_767_225_600_000, at: 1_767_225_660_000 };
const requestOf = (exposition: Exposition) => metricsRequest(exposition.read(), telling, times);

/** As a scraper reads it: by name and labels. */
const scraped = (exposition: Exposition) => parsePrometheus(exposition.text()).values;

test("a process that did something of each kind pushes what it shows", () => {
  const exposition = countingMuch();
  expect(pushedValues(requestOf(exposition))).toEqual(scraped(exposition));
});

test("whatever is counted, in whatever order, both forms say the same", () => {
  const act = fc.record({
    kind: fc.constantFrom("counter", "gauge", "histogram"),
    label: fc.constantFrom("", "a", 'b\\n"c"', "d\ne"),
    value: fc.oneof(fc.nat(200), fc.double({ min: 0, max: 1e9, noNaN: true })),
  });
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
      const exposition = createExposition();
      const counter = exposition.counter("c_total", "C.", ["x"]);
      const gauge = exposition.gauge("g_bytes", "G.", ["x"]);
      const histogram = exposition.histogram("h_seconds", "H.", ["x"], [0.5, 1, 100]);
      for (const { kind, label, value } of acts)
        if (kind === "counter") counter.add([label], value);
        else if (kind === "gauge") gauge.set([label], value);
        else histogram.observe([label], value);
      expect(pushedValues(requestOf(exposition))).toEqual(scraped(exposition));
    }),
  );
});

describe("a request", () => {
  const metricsIn = (exposition: Exposition) =>
    requestOf(exposition).resourceMetrics[0]!.scopeMetrics[0]!.metrics;

  test("has counters as sums that only grow, with their unit, since the process began", () => {
    const exposition = createExposition();
    exposition.counter("busy_seconds_total", "Busy.", ["x"]).add(["a"], 2);
    expect(metricsIn(exposition)).toEqual([
      {
        ...{ name: "busy_seconds_total", description: "Busy.", unit: "s" },
        sum: {
          ...{ aggregationTemporality: 2, isMonotonic: true },
          dataPoints: [
            {
              attributes: [{ key: "x", value: { stringValue: "a" } }],
              ...{ startTimeUnixNano: "1767225600000000000", timeUnixNano: "1767225660000000000" },
              asDouble: 2,
            },
          ],
        },
      },
    ]);
  });

  test("has a histogram's buckets each for itself, the last one above all bounds", () => {
    const exposition = createExposition();
    const histogram = exposition.histogram("h", "H.", [], [1, 2, 5]);
    for (const value of [1, 1.5, 3, 99, 100]) histogram.observe([], value);
    expect(metricsIn(exposition)).toMatchObject([
      {
        unit: "",
        histogram: {
          aggregationTemporality: 2,
          dataPoints: [
            { count: "5", sum: 204.5, bucketCounts: ["1", "1", "1", "2"], explicitBounds: [1, 2, 5] },
          ],
        },
      },
    ]);
  });

  test.each([
    ["sagamesh_stream_bytes", "By"],
    ["sagamesh_spent_usd_total", "{USD}"],
    ["sagamesh_attempt_seconds", "s"],
    ["sagamesh_turns_total", ""],
  ])("says of %s that its unit is %j", (name, unit) => {
    const exposition = createExposition();
    exposition.gauge(name, "X.").set([], 1);
    expect(metricsIn(exposition)).toMatchObject([{ name, unit }]);
  });

  test("leaves out what has no value, and says whose it is", () => {
    const exposition = createExposition();
    exposition.gauge("g", "G.", ["x"]);
    expect(requestOf(exposition).resourceMetrics).toEqual([
      {
        resource: { attributes: keyValues(telling.resource) },
        scopeMetrics: [{ scope: { name: "sagamesh", version: "0.1.0" }, metrics: [] }],
      },
    ]);
  });
});
