/**
 * Goal: a saga's place in a trace follows from its ledger alone, and what is no traceparent changes nothing.
 * Method: the examples of W3C's recommendation and what it forbids; properties over drawn origins.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import {
  originOf,
  readTraceparent,
  recordedTrace,
  spanIdOf,
  traceIdOf,
  traceOf,
  traceOfForked,
  traceparentIn,
  traceparentOf,
  traceparentOfIntent,
} from "../../protocol/trace.ts";

const w3c = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const root = "hire-41" as SagaId;
const child = "ask-1" as SagaId;
const intent = "3-0" as IntentId;

describe("a traceparent", () => {
  test("of the recommendation is read, and written as it was", () => {
    const place = readTraceparent(w3c);
    expect(place).toEqual({
      traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
      spanId: "00f067aa0ba902b7",
      flags: "01",
    });
    expect(traceparentOf(place!)).toBe(w3c);
  });

  test.each([
    ["nothing", undefined],
    ["an empty text", ""],
    ["a short one", "00-zz"],
    ["capitals", w3c.toUpperCase()],
    ["a trace of zeros", `00-${"0".repeat(32)}-00f067aa0ba902b7-01`],
    ["a span of zeros", `00-4bf92f3577b34da6a3ce929d0e0e4736-${"0".repeat(16)}-01`],
    ["the forbidden version", w3c.replace(/^00/, "ff")],
    ["more behind version 00", `${w3c}-more`],
    ["a line behind it", `${w3c}\n`],
  ])("that is %s is none", (_, text) => {
    expect(traceparentIn(text)).toBeUndefined();
    expect(recordedTrace(text, { saga: root })).toEqual({});
  });

  test("of a later version is read as far as this one goes", () => {
    expect(traceparentIn(`${w3c.replace(/^00/, "01")}-more`)).toBe(w3c);
  });
});

describe("a saga's place", () => {
  const parent = { saga: root, intent };

  test("is in its own trace, and its children's is below the intents that began them", () => {
    const above = traceOf({ saga: root });
    expect(above).toEqual({ traceId: traceIdOf(root), spanId: spanIdOf(root), flags: "01" });
    const below = traceOf({ saga: child, parent, tree: { root } });
    expect(below).toMatchObject({ traceId: above.traceId, parentSpanId: spanIdOf(root, intent) });
    expect(below.spanId).not.toBe(above.spanId);
  });

  test("is in the trace that it was started in, and so are its children's", () => {
    const started = { saga: root, ...recordedTrace(w3c, { saga: root }) };
    expect(traceOf(started)).toMatchObject({
      traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
      parentSpanId: "00f067aa0ba902b7",
      spanId: spanIdOf(root),
    });
    const header = traceparentOfIntent(started, intent);
    const place = { saga: child, parent, tree: { root } };
    const below = { ...place, ...recordedTrace(header, place) };
    expect(below.traceparent).toBe(header);
    expect(traceOf(below)).toMatchObject({
      traceId: traceOf(started).traceId,
      parentSpanId: spanIdOf(root, intent),
    });
  });

  test("costs a child's ledger nothing where it follows from its parent", () => {
    const header = traceparentOfIntent({ saga: root }, intent);
    expect(recordedTrace(header, { saga: child, parent, tree: { root } })).toEqual({});
  });

  test("of a fork is its own, and names where its origin is", () => {
    const start = { traceparent: w3c, parent, tree: { root }, fork: { saga: child } };
    const fork = "fork-1" as SagaId;
    expect(traceOf(originOf(fork, start))).toEqual({
      traceId: traceIdOf(fork),
      spanId: spanIdOf(fork),
      flags: "01",
    });
    expect(traceOfForked({ saga: child }, start)).toMatchObject({
      traceId: traceIdOf(root),
      spanId: spanIdOf(child),
    });
    expect(traceOfForked({ saga: child, before: [{}] }, start).traceId).toBe(traceIdOf(child));
  });

  test("is the same whoever works it out, and no two parts of a saga share a span", () => {
    const parts = fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 99 }), fc.nat({ max: 9 })), {
      selector: String,
    });
    fc.assert(
      fc.property(parts, (drawn) => {
        const ids = drawn.map(([turn, k]) => spanIdOf(root, `${turn}-${k}` as IntentId));
        expect(new Set([...ids, spanIdOf(root)]).size).toBe(ids.length + 1);
        for (const id of ids) expect(id).toMatch(/^[0-9a-f]{16}$/);
      }),
    );
  });
});
