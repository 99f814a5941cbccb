/**
 * Goal: what a saga hands on is handed on under the very spans that its ledger tells of, in the trace that it was started in.
 * Method: an agent with a child, calls performed by hosts and by workers, on the mesh in memory; what bodies were handed is held
 * against the spans of the ledgers.
 */
import { describe, expect, test } from "vitest";
import type { SagaId } from "../../../protocol/ids.ts";
import { headers } from "../../../protocol/subjects.ts";
import { readTraceparent, spanIdOf, traceIdOf } from "../../../protocol/trace.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { testMesh, type TestMesh } from "../../../services/testing/index.ts";
import { openTestMesh } from "../../../services/testing/test-mesh.ts";
import { createSpanReader } from "../../../services/traces/spans.ts";
import type { Span } from "../../../services/traces/spanning.ts";
import { type Handed, tracedApp } from "../../support/traced-app.ts";

const caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const id = "lead-1" as SagaId;

const spansOf = (turns: readonly Turn[]): Span[] => {
  const reader = createSpanReader();
  return turns.flatMap((turn) => reader.take(turn));
};

/** Runs the lead to its end; the spans of its ledger and of its child's. */
async function run(t: TestMesh, lead: ReturnType<typeof tracedApp>["lead"], traceparent?: string) {
  const options = traceparent === undefined ? { id } : { id, traceparent };
  const saga = await t.start(lead, { of: "x" }, options);
  await saga.result();
  const ids = (await t.list()).map((one) => one.saga);
  const ledgers = await Promise.all(ids.map((one) => t.anySaga(one).ledger()));
  return { ledgers, spans: ledgers.flatMap(spansOf) };
}

/** What each body was handed is the span of its call. */
function assertHanded(handed: Handed, spans: readonly Span[]): void {
  expect([...handed.keys()].sort()).toEqual(["far child", "far lead", "near child", "near lead"]);
  for (const [which, traceparent] of handed) {
    const [tool = "", of = ""] = which.split(" ");
    const place = readTraceparent(traceparent);
    const own = spans.find(
      (span) => span.name === `execute_tool ${tool}` && (span.saga === id) === (of === "lead"),
    );
    expect(place, which).toEqual({ traceId: own?.traceId, spanId: own?.spanId, flags: "01" });
  }
}

describe("a tree of sagas", () => {
  test("is one trace of its own, and hands its calls their spans", async () => {
    const handed: Handed = new Map();
    const { app, lead } = tracedApp(handed);
    await using t = testMesh(app);
    const { spans, ledgers } = await run(t, lead);
    assertHanded(handed, spans);
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([traceIdOf(id)]));
    // Nothing of it costs a ledger a byte.
    for (const [first] of ledgers) expect(JSON.stringify(first)).not.toContain("traceparent");
  });

  test("that was started in a trace is in that trace, child included, also after a crash", async () => {
    const handed: Handed = new Map();
    const { app, lead } = tracedApp(handed);
    let appends = 0;
    const hooks = {
      crashesAt: (role: string, port: string, method: string, when: string) =>
        role === "host" && port === "ledger" && method === "append" && when === "after" && ++appends === 2,
    };
    await using t = openTestMesh(app, {}, hooks);
    const { spans } = await run(t, lead, caller);
    assertHanded(handed, spans);
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(
      new Set(["4bf92f3577b34da6a3ce929d0e0e4736"]),
    );
    const own = spans.find(({ saga, intent }) => saga === id && intent === undefined);
    expect(own).toMatchObject({ spanId: spanIdOf(id), parentSpanId: "00f067aa0ba902b7" });
    const child = spans.find(({ saga, intent }) => saga !== id && intent === undefined);
    const asked = spans.find(({ attributes }) => attributes["sagamesh.child"] === child?.saga);
    expect(child?.parentSpanId).toBe(asked?.spanId);
  });

  test("that was started with what is no traceparent has a trace of its own", async () => {
    const { app, lead } = tracedApp();
    await using t = testMesh(app);
    const { spans } = await run(t, lead, "00-zz");
    expect(spans[0]?.traceId).toBe(traceIdOf(id));
  });

  test("passes on that its trace is not sampled", async () => {
    const handed: Handed = new Map();
    const { app, lead } = tracedApp(handed);
    await using t = testMesh(app);
    const { spans } = await run(t, lead, caller.replace(/01$/, "00"));
    for (const traceparent of handed.values()) expect(traceparent).toMatch(/-00$/);
    for (const { flags } of spans) expect(flags).toBe("00");
  });
});

test("a fork of a saga that was started in a trace is a trace of its own, and says nothing of its origin's", async () => {
  const handed: Handed = new Map();
  const { app, lead } = tracedApp(handed);
  await using t = testMesh(app);
  await run(t, lead, caller);
  handed.clear();
  const fork = await t.fork(lead, id, { from: 2, id: "fork-1", effects: "live" });
  await fork.result();
  const turns = await fork.ledger();
  expect(JSON.stringify(turns)).not.toContain("4bf92f3577b34da6a3ce929d0e0e4736");
  const own = traceIdOf("fork-1" as SagaId);
  expect(new Set(spansOf(turns).map(({ traceId }) => traceId))).toEqual(new Set([own]));
  for (const traceparent of handed.values()) expect(readTraceparent(traceparent)?.traceId).toBe(own);
});

test("the header of a call is W3C's", () => {
  expect(headers.trace).toBe("traceparent");
});
