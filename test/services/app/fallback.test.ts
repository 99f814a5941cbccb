/**
 * Goal: models that stand in for one another do so in their order, at once on an overload, on record, and alike on
 * every host; what one provider asks for holds for it alone. Method: the choice by itself; agents on a test mesh
 * whose models are overloaded, broken or wrong, read by their ledgers; a crash at each boundary.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent, defineApp } from "sagamesh";
import { modelFallback, ModelFailure, type ModelPort } from "sagamesh/models";
import { crashMatrix, scriptedModel, testMesh, type TestMesh } from "sagamesh/testing";
import { foldLedger } from "../../../actors/kernel/replay.ts";
import type { Intent } from "../../../protocol/intent.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Result } from "../../../protocol/result.ts";
import { assertServable } from "../../../services/app/app.ts";
import { chooseModel, fallbackMax, routed } from "../../../services/app/fallback.ts";

const writer = defineAgent({
  ...{ name: "writer", version: 1, description: "Writes.", model: "best", instructions: "Write." },
  ...{ input: z.json(), output: z.string(), signals: { more: z.null() }, tools: [] },
});
const order = ["big", "middle", "small"];

/** A model that says its name, unless `fails` throws; and how often it was asked. */
function modelNamed(name: string, fails: (asked: number) => void = () => undefined) {
  const count = { asked: 0, at: [] as number[] };
  const port = scriptedModel(name, ({ now }) => {
    count.at.push(now);
    fails(++count.asked);
    return { text: `${name} wrote` };
  });
  return { port, count };
}
const overloaded = (retryAfterMs?: number) => () => {
  throw new ModelFailure("wait", "529 overloaded", { retryAfterMs });
};
const broken = () => {
  throw new ModelFailure("retry", "500 broken");
};
const rejecting = () => {
  throw new ModelFailure("fail", "401 no such key");
};

const appOf = (models: Readonly<Record<string, ModelPort>>, names = Object.keys(models)) =>
  defineApp({ sagas: [writer], models: { ...models, best: modelFallback(...names) } });

async function run(t: TestMesh, id = "w-1") {
  const from = t.now();
  const end = await (await t.start(writer, {}, { id })).result();
  const turns = await t.anySaga(id).ledger();
  const steps = turns.flatMap(({ steps: all }) => all);
  const results = steps.flatMap(({ event }) => (event.type === "result" ? [event.result] : []));
  const retries = steps.flatMap(({ intents }) =>
    intents.filter((intent): intent is Extract<Intent, { kind: "retry" }> => intent.kind === "retry"),
  );
  return { end, turns, results, retries, tookMs: t.now() - from };
}

/** Of a result: how it ended, and by whom. */
const told = (result: Result) => {
  const route =
    result.outcome === "succeeded"
      ? (result.output as { route?: unknown }).route
      : result.outcome === "failed"
        ? result.route
        : undefined;
  return { outcome: result.outcome, ...(result.outcome === "failed" ? { code: result.code } : {}), route };
};

describe("an overload", () => {
  test("of the first passes on to the second at once, and the ledger says who was asked and why", async () => {
    const [big, small] = [modelNamed("big", overloaded(60_000)), modelNamed("small")];
    const { end, results, retries, tookMs } = await run(
      testMesh(appOf({ big: big.port, small: small.port })),
    );
    expect(end).toMatchObject({ status: "completed", output: "small wrote" });
    expect(results.map(told)).toEqual([
      { outcome: "failed", code: "MODEL_OVERLOADED", route: { asked: "big", next: "small" } },
      { outcome: "succeeded", route: { asked: "small" } },
    ]);
    expect(results[0]).toMatchObject({ reason: "529 overloaded", retryAfterMs: 60_000 });
    expect(results[1]).toMatchObject({ output: { model: "small" } });
    expect(retries).toMatchObject([{ attempt: 2, ask: "small" }]);
    expect(tookMs).toBeLessThan(limits.retryBackoffMs / 2);
  });

  test("of all of them in turn asks each once, and then the first again after the usual wait", async () => {
    const big = modelNamed("big", (asked) => (asked === 1 ? overloaded()() : undefined));
    const [middle, small] = [modelNamed("middle", overloaded()), modelNamed("small", overloaded())];
    const models = { big: big.port, middle: middle.port, small: small.port };
    const { end, results, retries, tookMs } = await run(testMesh(appOf(models)));
    expect(end).toMatchObject({ status: "completed", output: "big wrote" });
    expect(results.map((result) => told(result).route)).toEqual([
      { asked: "big", next: "middle" },
      { asked: "middle", next: "small" },
      { asked: "small" },
      { asked: "big" },
    ]);
    expect(retries.map(({ ask }) => ask)).toEqual(["middle", "small", undefined]);
    expect(tookMs).toBeGreaterThan(limits.retryBackoffMs);
  });

  test("of a provider that asked to be left alone passes it over, on record, until its time is over", async () => {
    const big = modelNamed("big", (asked) => (asked === 1 ? overloaded(60_000)() : undefined));
    const small = modelNamed("small");
    const t = testMesh(appOf({ big: big.port, small: small.port }));
    await run(t, "w-1");
    const second = await run(t, "w-2");
    expect(second.results.map(told)).toEqual([
      {
        outcome: "succeeded",
        route: { asked: "small", passed: { big: expect.stringMatching(/^slowed down for \d+ ms$/) } },
      },
    ]);
    expect([big.count.asked, small.count.asked]).toEqual([1, 2]);
    await t.advance("61s");
    const third = await run(t, "w-3");
    expect(third.end).toMatchObject({ output: "big wrote" });
  });

  test("of all who asked to be left alone waits for the one who is free first, and costs no attempt", async () => {
    const [big, small] = [
      modelNamed("big", (asked) => (asked === 1 ? overloaded(600_000)() : undefined)),
      modelNamed("small", (asked) => (asked === 1 ? overloaded(40_000)() : undefined)),
    ];
    const { results, tookMs } = await run(testMesh(appOf({ big: big.port, small: small.port })));
    expect(results.map((result) => told(result).route)).toMatchObject([
      { asked: "big", next: "small" },
      { asked: "small" },
      { asked: "small", passed: { big: expect.stringContaining("slowed down") } },
    ]);
    expect(tookMs).toBeGreaterThan(39_000);
    expect(tookMs).toBeLessThan(60_000);
  });

  test("slows down its own provider only: an agent that asks the other by its own name is not held up", async () => {
    const [big, small] = [modelNamed("big", overloaded(60_000)), modelNamed("small")];
    const direct = defineAgent({
      ...{ name: "direct", version: 1, description: "Writes.", model: "small", instructions: "Write." },
      ...{ input: z.json(), output: z.string(), signals: {}, tools: [] },
    });
    const app = defineApp({
      sagas: [writer, direct],
      models: { big: big.port, small: small.port, best: modelFallback("big", "small") },
    });
    const t = testMesh(app);
    await run(t, "w-1");
    const from = t.now();
    expect(await (await t.start(direct, {}, { id: "d-1" })).result()).toMatchObject({
      output: "small wrote",
    });
    expect(t.now() - from).toBeLessThan(1_000);
    const [turn] = (await t.anySaga("d-1").ledger()).slice(1);
    expect(JSON.stringify(turn)).not.toContain("route");
  });

  test("that never ends fails with a code that says so, after no more attempts than any model call has", async () => {
    const [big, small] = [modelNamed("big", overloaded()), modelNamed("small", overloaded())];
    const { end, results } = await run(testMesh(appOf({ big: big.port, small: small.port })));
    expect(end).toMatchObject({ status: "failed" });
    expect(results.at(-1)).toMatchObject({ code: "MODEL_OVERLOADED" });
    expect(big.count.asked + small.count.asked).toBe(limits.retryAttemptsMax);
  });
});

describe("another failure", () => {
  test("once is tried again with the same model, a second time with the next", async () => {
    const once = modelNamed("big", (asked) => (asked === 1 ? broken() : undefined));
    const small = modelNamed("small");
    const first = await run(testMesh(appOf({ big: once.port, small: small.port })));
    expect(first.end).toMatchObject({ output: "big wrote" });
    expect(small.count.asked).toBe(0);
    const always = modelNamed("big", broken);
    const second = await run(testMesh(appOf({ big: always.port, small: small.port })));
    expect(second.end).toMatchObject({ output: "small wrote" });
    expect(second.results.map((result) => told(result).route)).toEqual([
      { asked: "big" },
      { asked: "big", next: "small" },
      { asked: "small" },
    ]);
  });

  test("that no repetition mends ends the decision if it is the first's: nobody hides a wrong key", async () => {
    const [big, small] = [modelNamed("big", rejecting), modelNamed("small")];
    const { end, results } = await run(testMesh(appOf({ big: big.port, small: small.port })));
    expect(end).toMatchObject({ status: "failed", reason: "401 no such key" });
    expect(results.map(told)).toEqual([
      { outcome: "failed", code: "MODEL_REJECTED", route: { asked: "big" } },
    ]);
    expect(small.count.asked).toBe(0);
  });

  test("that no repetition mends rules out a stand-in alone: the others are asked", async () => {
    const big = modelNamed("big", (asked) => (asked === 1 ? overloaded()() : undefined));
    const [middle, small] = [modelNamed("middle", rejecting), modelNamed("small", rejecting)];
    const models = { big: big.port, middle: middle.port, small: small.port };
    const { end, results } = await run(testMesh(appOf(models)));
    expect(end).toMatchObject({ status: "completed", output: "big wrote" });
    expect(results.map((result) => told(result).route)).toMatchObject([
      { asked: "big", next: "middle" },
      { asked: "middle", next: "small" },
      { asked: "small" },
      { asked: "big" },
    ]);
  });
});

describe("the record", () => {
  test("folds alike on a host whose application knows neither the order nor the models", async () => {
    const [big, small] = [modelNamed("big", overloaded(60_000)), modelNamed("small")];
    const { turns } = await run(testMesh(appOf({ big: big.port, small: small.port })));
    const other = defineApp({ sagas: [writer], models: {} });
    const [definition] = other.definitions;
    expect(foldLedger(definition!, turns).state.phase).toMatchObject({ kind: "ended" });
  });

  test("leads whoever takes over to the same end, wherever a host dies", async () => {
    const counts = { big: 0, small: 0 };
    const models = {
      big: scriptedModel("big", () => {
        counts.big += 1;
        throw new ModelFailure("wait", "529");
      }),
      small: scriptedModel("small", () => {
        counts.small += 1;
        return { text: "small wrote" };
      }),
    };
    const report = await crashMatrix(appOf(models), async (t) => {
      Object.assign(counts, { big: 0, small: 0 });
      const { end, results } = await run(t);
      // A call whose result was lost with its host may be made again, once.
      expect([counts.big, counts.small].every((count) => count >= 1 && count <= 2)).toBe(true);
      return [end, results.map((result) => told(result).route)];
    });
    expect(report.rows.length).toBeGreaterThan(4);
    expect(report.faults, report.text).toEqual([]);
  });
});

describe("the choice", () => {
  const free = async () => 0;

  test("begins with whom the ledger names, or with the first where the order has no such name any more", async () => {
    expect(await chooseModel(order, undefined, free)).toEqual({ asked: "big" });
    expect(await chooseModel(order, "middle", free)).toEqual({ asked: "middle" });
    expect(await chooseModel(order, "gone", free)).toEqual({ asked: "big" });
  });

  test("asks nobody who takes nothing while somebody does, and else whoever does soonest", async () => {
    const waits = fc.array(fc.oneof(fc.constant(0), fc.nat(1_000), fc.constant(Infinity)), {
      minLength: 3,
      maxLength: 3,
    });
    await fc.assert(
      fc.asyncProperty(waits, fc.constantFrom(undefined, ...order), async (ms, from) => {
        const closedFor = async (model: string) => ms[order.indexOf(model)] ?? 0;
        const { asked, passed = {} } = await chooseModel(order, from, closedFor);
        const chosen = await closedFor(asked);
        expect(chosen).toBe(ms.includes(0) ? 0 : Math.min(...ms));
        for (const model of Object.keys(passed)) expect(await closedFor(model)).not.toBe(0);
        expect(passed).not.toHaveProperty(asked);
      }),
    );
  });

  test("leads through the whole order within a decision's attempts, whatever fails how", () => {
    const failing = fc.array(fc.constantFrom("MODEL_OVERLOADED", "MODEL_FAILED"), {
      minLength: limits.retryAttemptsMax,
      maxLength: limits.retryAttemptsMax,
    });
    const longest = Array.from({ length: fallbackMax }, (_, k) => `m${k}`);
    fc.assert(
      fc.property(failing, (codes) => {
        const asked: string[] = [];
        let from: string | undefined;
        for (const [index, code] of codes.entries()) {
          const name: string = from ?? longest[0]!;
          asked.push(name);
          const failed: Result = { outcome: "failed", code, reason: "r", retry: true };
          const result = routed(longest, { asked: name }, index + 1, failed);
          from = result.outcome === "failed" ? result.route?.next : undefined;
        }
        expect(new Set(asked)).toEqual(new Set(longest));
      }),
    );
  });
});

test.each<[string, string[], string]>([
  ["no model", [], 'models: fallback "best" names no model'],
  [
    "who is not there",
    ["ghost"],
    'models: fallback "best" names "ghost", which is no model port under models',
  ],
  [
    "another fallback",
    ["other"],
    'models: fallback "best" names "other", which is no model port under models',
  ],
  ["a model twice", ["big", "big"], 'models: fallback "best" names a model twice'],
  [
    "more than one decision can ask",
    ["a", "b", "c", "d", "e"],
    'models: fallback "best" names 5 models; at most 4 can be asked in one decision',
  ],
])("P8: a fallback that names %s is told at load", (_, names, fault) => {
  const { port } = modelNamed("big");
  const app = defineApp({
    sagas: [writer],
    models: {
      ...{ big: port, a: port, b: port, c: port, d: port, e: port },
      ...{ best: modelFallback(...names), other: modelFallback("big") },
    },
  });
  expect(app.faults).toEqual([fault]);
  expect(() => assertServable(app, "host")).toThrow(fault);
});
