/**
 * Goal: the spans of a ledger are what it says: one for all that took time, in one tree, told as it ends and never otherwise later.
 * Method: ledgers of the examples, crashes, forks and people included, and random stories; each is read whole, turn by turn, and by
 * a reader that remembers next to nothing.
 */
import fc from "fast-check";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { SpanDocument } from "../../../protocol/documents/trace.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { spanIdOf, traceIdOf } from "../../../protocol/trace.ts";
import * as names from "../../../services/traces/names.ts";
import { createSpanReader, type SpanOptions } from "../../../services/traces/spans.ts";
import type { Span } from "../../../services/traces/spanning.ts";
import {
  failed,
  given,
  inDoubt,
  replied,
  signalled,
  started,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { storyWith } from "../../support/story.ts";
import { type ToldLedger, toldLedgers } from "../../support/told-ledgers.ts";
import { agentOf, call, calling, finish, hold } from "../../support/workbench.ts";

let ledgers: Readonly<Record<string, ToldLedger>>;
beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined); // The examples' outside world speaks there.
  ledgers = await toldLedgers();
  vi.restoreAllMocks();
});

function read(turns: readonly Turn[], options?: SpanOptions): { over: Span[]; open: readonly Span[] } {
  const reader = createSpanReader(options);
  return { over: turns.flatMap((turn) => reader.take(turn)), open: reader.open() };
}
const spansNamed = (name: string): Span[] => read(ledgers[name]?.turns ?? []).over;
const named = (spans: readonly Span[], name: string): Span[] => spans.filter((span) => span.name === name);

const spanned = new Set(["tool", "model", "saga", "timer", "task", "signal"]);
const known = new Set<string>([
  ...Object.values(names.attribute),
  ...Object.values(names.contentAttribute),
  names.linkAttribute,
]);

/** What the spans of any ledger are. */
function assertWhole(turns: readonly Turn[]): void {
  const { over, open } = read(turns);
  const all = [...over, ...open];
  const saga = turns[0]!.saga;
  const inherited = firstOwn(turns);
  for (const span of all) {
    expect(SpanDocument.parse(span)).toEqual(span);
    for (const of of [span, ...span.events, ...span.links])
      for (const name of Object.keys(of.attributes)) expect(known, name).toContain(name);
  }
  expect(new Set(all.map(({ spanId }) => spanId)).size).toBe(all.length);
  expect(new Set(all.map(({ traceId }) => traceId)).size).toBeLessThanOrEqual(1);
  const own = all.filter(({ spanId }) => spanId === spanIdOf(saga));
  const begun = turns.find(({ turn }) => turn > inherited);
  expect(own.map(({ start }) => start)).toEqual(begun === undefined ? [] : [begun.at]);
  const ids = new Set(all.map(({ spanId }) => spanId));
  for (const span of all) {
    if (span.spanId === spanIdOf(saga)) continue;
    expect(ids, `the parent of ${span.name}`).toContain(span.parentSpanId);
    expect(span.start).toBeGreaterThanOrEqual(own[0]!.start);
    if (span.end !== undefined) expect(span.end).toBeGreaterThanOrEqual(span.start);
  }
  for (const { end } of over) expect(end).toBeDefined();
  for (const { end } of open) expect(end).toBeUndefined();
  const intents = turns
    .filter(({ turn }) => turn > inherited)
    .flatMap(({ steps }) => steps.flatMap((step) => step.intents));
  for (const { kind, id } of intents)
    if (spanned.has(kind)) expect(ids, `${kind} ${id}`).toContain(spanIdOf(saga, id));
}

const firstOwn = (turns: readonly Turn[]): number => {
  const start = turns[0]?.steps[0]?.event;
  return start?.type === "start" ? (start.fork?.turn ?? 0) : 0;
};

/** Whoever reads it turn by turn tells what who reads the whole tells, and nothing is taken back. */
function assertGrows(turns: readonly Turn[]): void {
  const whole = read(turns).over;
  const reader = createSpanReader({ remembers: 1 });
  const live: Span[] = [];
  for (const [k, turn] of turns.entries()) {
    live.push(...reader.take(turn));
    if (turns.length <= 40 || k % 10 === 0) expect(read(turns.slice(0, k + 1)).over).toEqual(live);
    expect(whole.slice(0, live.length)).toEqual(live);
  }
  expect(live).toEqual(whole);
}

describe("the spans of the examples", () => {
  test("are whole: one for each intent that took time, in one tree, none before its saga", () => {
    for (const { turns } of Object.values(ledgers)) assertWhole(turns);
  });

  test("grow with the ledger: those of its first turns are the first of the whole", () => {
    for (const { turns } of Object.values(ledgers)) assertGrows(turns);
  });
});

describe("the spans of a random story", () => {
  const happening = fc.constantFrom(
    signalled("note", { text: "a" }),
    signalled("cancel"),
    signalled("pause"),
    signalled("resume"),
    signalled("flagged", "bad"),
  );
  const reply = fc.constantFrom(
    replied({ calls: [call("hold"), call("look")] }),
    replied({ calls: [call("charge_ask")] }),
    inDoubt("charge_ask"),
    failed("hold", { code: "DOWN", reason: "down" }),
    failed("hold", { code: "FULL", reason: "full", retry: false }),
    succeeded("hold", { id: "1" }),
    succeeded("look", { seen: 1 }),
    voted("doubt", "answer", { by: "bea", answer: { outcome: "did_not_happen" } }),
    replied({ calls: [call("wait", { forMs: 5_000 })] }),
    replied({ calls: [call("ask", { question: "really?" })] }),
    replied({ text: "hm" }),
    replied(finish),
  );
  test("are whole, and grow with it", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(happening, reply), { maxLength: 9 }), (past) => {
        const story = storyWith(given(agentOf({ whenFlagged: "pause" }), started({ of: "x" })), past);
        assertWhole(story.turns);
        assertGrows(story.turns);
      }),
      { numRuns: 80 },
    );
  });
});

describe("a saga's span", () => {
  test("of an agent is invoke_agent, with what it used; of a machine invoke_workflow", () => {
    const [agent] = named(spansNamed("waited dinner"), "invoke_agent dinner");
    expect(agent).toMatchObject({
      kind: "internal",
      status: "unset",
      attributes: {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "dinner",
        "gen_ai.conversation.id": "dinner-1",
        "sagamesh.outcome": "completed",
        "sagamesh.spent.input_tokens": 400,
      },
    });
    expect(agent?.parentSpanId).toBeUndefined();
    expect(named(spansNamed("refused weekend"), "invoke_workflow weekend")).toMatchObject([
      { attributes: { "gen_ai.workflow.name": "weekend", "sagamesh.outcome": "failed" }, status: "error" },
    ]);
  });

  test("names the host that took it over", () => {
    const [agent] = named(spansNamed("waited dinner"), "invoke_agent dinner");
    expect(agent?.events.map(({ name }) => name)).toContain("taken_over");
  });

  test("of a child lies below the parent's intent, in the root's trace", () => {
    const lead = spansNamed("research lead");
    const researcher = spansNamed("research that ran out");
    const [own] = researcher.filter(({ intent, name }) => intent === undefined && name.startsWith("invoke"));
    const [asked] = lead.filter(({ attributes }) => attributes["sagamesh.child"] === own?.saga);
    expect(own).toMatchObject({ traceId: lead[0]?.traceId, parentSpanId: asked?.spanId });
    expect(own!.start).toBeGreaterThanOrEqual(asked!.start);
  });

  test("of a fork begins where it leaves, in a trace of its own, linked to its origin's", () => {
    const { turns } = ledgers["forked dinner"]!;
    const spans = spansNamed("forked dinner");
    const [own] = named(spans, "invoke_agent dinner");
    expect(own?.traceId).toBe(traceIdOf(turns[0]!.saga));
    expect(own?.links).toMatchObject([
      { traceId: traceIdOf("dinner-1" as never), spanId: spanIdOf("dinner-1" as never) },
    ]);
    expect(own?.start).toBe(turns.find(({ turn }) => turn > firstOwn(turns))?.at);
  });
});

describe("an intent's span", () => {
  test("of a model has its tokens, cached ones among the input, and why it stopped", () => {
    const usage = { inputTokens: 5, outputTokens: 2, cacheReadTokens: 90, cacheWriteTokens: 5, usd: 0.25 };
    const { turns } = given(
      agentOf(),
      started({ of: "x" }),
      replied({ ...finish, usage, stop: "calls", model: "claude-sonnet-5" }),
    );
    const [chat] = read(turns).over.filter(({ name }) => name.startsWith("chat "));
    expect(chat).toMatchObject({
      kind: "client",
      attributes: {
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.usage.cache_read.input_tokens": 90,
        "gen_ai.response.finish_reasons": ["calls"],
        "gen_ai.response.model": "claude-sonnet-5",
        "sagamesh.usage.usd": 0.25,
        "gen_ai.usage.cost": 0.25,
        "sagamesh.decision": 1,
      },
    });
  });

  test("has its retries as events, with what went wrong", () => {
    const { turns } = given(
      calling(hold),
      started({ of: "x" }),
      failed("hold", { code: "DOWN", reason: "down" }),
      succeeded("hold", { id: "1" }),
    );
    const [held] = named(read(turns).over, "execute_tool hold");
    expect(held).toMatchObject({
      status: "unset",
      attributes: { "sagamesh.attempts": 2, "gen_ai.tool.name": "hold" },
      events: [{ name: "retry", attributes: { "sagamesh.attempt": 2, "sagamesh.code": "DOWN" } }],
    });
  });

  test("in doubt is an error, and what settled the doubt a span below it", () => {
    const spans = spansNamed("doubtful helper");
    const [doubt] = named(spans, "execute_tool charge_ask");
    expect(doubt).toMatchObject({ status: "error", attributes: { "sagamesh.outcome": "in_doubt" } });
    expect(named(spans, "corrected execute_tool charge_ask")).toMatchObject([
      { parentSpanId: doubt?.spanId, status: "unset", attributes: { "sagamesh.outcome": "succeeded" } },
    ]);
  });

  test("of what undoes is linked to what it undoes", () => {
    const spans = spansNamed("undone trip");
    const undone = named(spans, "execute_tool cancel_booking").map(({ links }) => links[0]?.spanId);
    const booked = ["book_hotel", "book_flight"].map(
      (tool) => named(spans, `execute_tool ${tool}`)[0]?.spanId,
    );
    expect(undone.sort()).toEqual(booked.sort());
  });

  test("of a refusal takes no time and is an error", () => {
    const [refused] = spansNamed("waited dinner").filter(
      ({ attributes }) => attributes["sagamesh.intent.kind"] === "denied",
    );
    expect(refused).toMatchObject({
      name: "execute_tool pay_deposit",
      status: "error",
      message: "POLICY_DENIED",
    });
    expect(refused?.end).toBe(refused?.start);
  });

  test("keeps so many events and counts the rest", () => {
    const notes = Array.from({ length: 200 }, (_, k) => signalled("note", { text: `${k}` }));
    const { turns } = given(agentOf(), started({ of: "x" }), ...notes);
    const own = read(turns).open.at(-1);
    expect(own?.events).toHaveLength(128);
    expect(own?.droppedEvents).toBe(72);
  });
});
