/**
 * Goal: what we send is read by others as it was meant, field by field.
 * Method: the OpenTelemetry Collector's own reader, which we did not write (support/otlp-decoder.ts), reads the requests for the spans
 * of all examples and for the metrics of a process that did much; what it read is held against what was sent. A field that the
 * protocol does not know would be missing. What a whole Collector makes of them is `npm run observers`' matter.
 */
import { spawnSync } from "node:child_process";
import { beforeAll, expect, test, vi } from "vitest";
import { tracesRequest } from "../../../services/otlp/encode.ts";
import { metricsRequest } from "../../../services/otlp/metrics.ts";
import { createSpanReader } from "../../../services/traces/spans.ts";
import { countedMuch } from "../../support/counted-much.ts";
import type { GoProgram } from "../../support/go-program.ts";
import { ensureOtlpDecoder } from "../../support/otlp-decoder.ts";
import { toldLedgers, type ToldLedger } from "../../support/told-ledgers.ts";

let decoder: GoProgram;
let ledgers: Readonly<Record<string, ToldLedger>>;
beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined); // The examples' outside world speaks there.
  ledgers = await toldLedgers();
  vi.restoreAllMocks();
  decoder = await ensureOtlpDecoder();
}, 10 * 60_000);

function decode(path: string, signal: "traces" | "metrics", body: string): unknown {
  const options = { input: body, encoding: "utf8", maxBuffer: 2 ** 28 } as const;
  const { stdout, stderr, status } = spawnSync(path, [signal], options);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout) as unknown;
}

/** Without what is empty, which the reader leaves out. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value)
    .map(([name, one]) => [name, plain(one)] as const)
    .filter(([, one]) => one !== undefined && !isEmpty(one));
  return Object.fromEntries(members);
}

const isEmpty = (value: unknown): boolean =>
  value === "" || (typeof value === "object" && value !== null && Object.keys(value).length === 0);

const telling = {
  resource: { "service.name": "desk", "deployment.environment.name": "test" },
  version: "0.1.0",
};

test("the Collector reads the spans of every example as they are", ({ skip }) => {
  if ("missing" in decoder) return skip(decoder.missing);
  for (const [name, { turns }] of Object.entries(ledgers)) {
    const reader = createSpanReader({ content: true });
    const spans = turns.flatMap((turn) => reader.take(turn));
    expect(spans.length, name).toBeGreaterThan(0);
    const request = tracesRequest(spans, telling);
    const read = decode(decoder.path, "traces", JSON.stringify(request));
    expect(plain(read), name).toEqual(plain(request));
  }
});

test("the Collector reads the metrics of a process as they are", ({ skip }) => {
  if ("missing" in decoder) return skip(decoder.missing);
  const metrics = countedMuch();
  expect(new Set(metrics.map(({ type }) => type)).size).toBe(3);
  const request = metricsRequest(metrics, telling, { since: 1_767_225_600_000, at: 1_767_225_660_000.5 });
  const read = decode(decoder.path, "metrics", JSON.stringify(request));
  expect(plain(read)).toEqual(plain(request));
});

test("the Collector refuses what is none of its protocol's ids", ({ skip }) => {
  if ("missing" in decoder) return skip(decoder.missing);
  const bad = { resourceSpans: [{ scopeSpans: [{ spans: [{ traceId: "not hexadecimal" }] }] }] };
  expect(spawnSync(decoder.path, ["traces"], { input: JSON.stringify(bad) }).status).toBe(1);
});
