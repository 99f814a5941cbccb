/**
 * Goal: what we send is read by others as it was meant, field by field.
 * Method: the OpenTelemetry Collector's own reader, which we did not write (support/otlp-decoder.ts), reads the requests for the spans
 * of all examples; what it read is held against what was sent. A field that the protocol does not know would be missing.
 */
import { spawnSync } from "node:child_process";
import { beforeAll, expect, test, vi } from "vitest";
import { tracesRequest } from "../../../services/otlp/encode.ts";
import { createSpanReader } from "../../../services/traces/spans.ts";
import { ensureOtlpDecoder, type OtlpDecoder } from "../../support/otlp-decoder.ts";
import { toldLedgers, type ToldLedger } from "../../support/told-ledgers.ts";

let decoder: OtlpDecoder;
let ledgers: Readonly<Record<string, ToldLedger>>;
beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined); // The examples' outside world speaks there.
  ledgers = await toldLedgers();
  vi.restoreAllMocks();
  decoder = await ensureOtlpDecoder();
}, 10 * 60_000);

function decode(path: string, body: string): unknown {
  const { stdout, stderr, status } = spawnSync(path, { input: body, encoding: "utf8", maxBuffer: 2 ** 28 });
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

test("the Collector reads the spans of every example as they are", ({ skip }) => {
  if ("missing" in decoder) return skip(decoder.missing);
  const telling = {
    resource: { "service.name": "desk", "deployment.environment.name": "test" },
    version: "0.1.0",
  };
  for (const [name, { turns }] of Object.entries(ledgers)) {
    const reader = createSpanReader({ content: true });
    const spans = turns.flatMap((turn) => reader.take(turn));
    expect(spans.length, name).toBeGreaterThan(0);
    const request = tracesRequest(spans, telling);
    const read = decode(decoder.path, JSON.stringify(request));
    expect(plain(read), name).toEqual(plain(request));
  }
});

test("the Collector refuses what is none of its protocol's ids", ({ skip }) => {
  if ("missing" in decoder) return skip(decoder.missing);
  const bad = { resourceSpans: [{ scopeSpans: [{ spans: [{ traceId: "not hexadecimal" }] }] }] };
  expect(spawnSync(decoder.path, { input: JSON.stringify(bad) }).status).toBe(1);
});
