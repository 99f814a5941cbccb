/**
 * Goal: a span as OTLP's JSON has it, where that differs from what one would write.
 * Method: one span with one of each; what other people's readers make of whole traces is collector.e2e.test.ts's matter.
 */
import { expect, test } from "vitest";
import { type SpanDocument, SpanDocument as Schema } from "../../../protocol/documents/trace.ts";
import { nanos, tracesRequest } from "../../../services/otlp/encode.ts";

const span: SpanDocument = Schema.parse({
  traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
  spanId: "00f067aa0ba902b7",
  parentSpanId: "00f067aa0ba902b8",
  flags: "01",
  name: "chat m",
  kind: "client",
  saga: "a",
  intent: "1-0",
  start: 1_767_225_600_000.25,
  end: 1_767_225_600_001,
  status: "error",
  message: "DOWN",
  attributes: { text: "t", whole: 3, part: 0.5, "spent.usd": 2, "usage.cost": 3, yes: true, list: ["a"] },
  events: [{ name: "retry", at: 1_767_225_600_000, attributes: { n: 2 } }],
  droppedEvents: 4,
  links: [{ traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b9", attributes: {} }],
});

test("ids are hexadecimal, 64-bit numbers are texts, and money is a fraction also where it is whole", () => {
  const telling = { resource: { "service.name": "desk" }, version: "0.1.0" };
  const { resourceSpans } = tracesRequest([span, { ...span, end: undefined }], telling);
  expect(resourceSpans).toEqual([
    {
      resource: { attributes: [{ key: "service.name", value: { stringValue: "desk" } }] },
      scopeSpans: [
        {
          scope: { name: "sagamesh", version: "0.1.0" },
          spans: [
            {
              traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
              spanId: "00f067aa0ba902b7",
              parentSpanId: "00f067aa0ba902b8",
              flags: 1,
              name: "chat m",
              kind: 3,
              startTimeUnixNano: "1767225600000250000",
              endTimeUnixNano: "1767225600001000000",
              attributes: [
                { key: "text", value: { stringValue: "t" } },
                { key: "whole", value: { intValue: "3" } },
                { key: "part", value: { doubleValue: 0.5 } },
                { key: "spent.usd", value: { doubleValue: 2 } },
                { key: "usage.cost", value: { doubleValue: 3 } },
                { key: "yes", value: { boolValue: true } },
                { key: "list", value: { arrayValue: { values: [{ stringValue: "a" }] } } },
              ],
              events: [
                {
                  name: "retry",
                  timeUnixNano: "1767225600000000000",
                  attributes: [{ key: "n", value: { intValue: "2" } }],
                },
              ],
              droppedEventsCount: 4,
              links: [
                { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b9", attributes: [] },
              ],
              status: { code: 2, message: "DOWN" },
            },
          ],
        },
      ],
    },
  ]);
});

test("a time keeps its microseconds", () => {
  expect(nanos(1_767_225_600_123.456)).toBe("1767225600123456000");
});
