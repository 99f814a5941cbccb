/**
 * Goal: a run over many sagas keeps to its bounds whatever dies, and its figures say how far they may be trusted.
 *
 * Method: the run's own saga on the mesh in memory, its one tool answered by the test; figures against known values.
 */
import { describe, expect, test } from "vitest";
import { implement } from "../../../actors/contract/tool.ts";
import type { SagaRow } from "../../../protocol/documents/saga.ts";
import { type SagaId, parseSagaId } from "../../../protocol/ids.ts";
import type { ReplayedOrFault } from "../../../protocol/documents/replay.ts";
import { defineApp } from "../../../services/app/app.ts";
import { parseQuery } from "../../../services/views/query.ts";
import { replayOne, replayRun } from "../../../services/replay/batch.ts";
import { runDocument, sampleBySeed } from "../../../services/replay/batch-report.ts";
import { meanOf, rateOf } from "../../../services/replay/interval.ts";
import { testMesh } from "../../../services/testing/test-mesh.ts";

const sagas = Array.from({ length: 9 }, (_, k) => parseSagaId(`s-${k}`));
const cost = { calls: 1, inputTokens: 90, outputTokens: 10, usd: 0.5, unpriced: 0 };
const kept = (saga: SagaId): ReplayedOrFault => ({
  ...{ saga, same: 1, different: 0, skipped: 0, failed: 0, beyond: 0, policiesDiffer: false },
  agreement: { compared: 1, sameOrder: 1, sameSet: 1, sameArguments: 1, exact: 1 },
  outcome: { equal: true, recorded: { status: "completed" }, got: { status: "completed" } },
  cost: { recorded: cost, got: cost },
});
const appOf = (body: (saga: SagaId) => Promise<ReplayedOrFault>) =>
  defineApp({
    sagas: [replayRun],
    implementations: [implement(replayOne, { perform: ({ saga }) => body(saga) })],
  });
const head = {
  run: parseSagaId("r"),
  mode: "free-run",
  model: "m",
  seed: "1",
  meant: 9,
  sampled: 9,
  folder: "f",
  conditions: [],
} as const;

describe("a run", () => {
  test("replays each saga once, in spite of crashes, and never more at once than it may", async () => {
    let open = 0;
    let most = 0;
    const seen: string[] = [];
    const app = appOf(async (saga) => {
      most = Math.max(most, ++open);
      seen.push(saga);
      await Promise.resolve();
      open--;
      return kept(saga);
    });
    await using t = testMesh(app, { seed: 3 });
    const run = await t.start(replayRun, { sagas, parallel: 3, limits: {} }, { id: "r" });
    await t.crash();
    expect(await run.result()).toMatchObject({ status: "completed", output: { replayed: 9, missing: 0 } });
    expect(new Set(seen)).toEqual(new Set(sagas));
    expect(most).toBeLessThanOrEqual(3);
    expect(runDocument(await run.ledger(), head)).toMatchObject({ done: 9, missing: 0, faults: [] });
  });

  test("begins no more once its limit is reached, and says so", async () => {
    await using t = testMesh(appOf(async (saga) => kept(saga)));
    const run = await t.start(replayRun, { sagas, parallel: 2, limits: { tokens: 250 } }, { id: "r" });
    const { output } = (await run.result()) as { output: { replayed: number; stopped: string } };
    expect(output.replayed).toBeGreaterThanOrEqual(3);
    expect(output.replayed).toBeLessThanOrEqual(4);
    expect(output.stopped).toContain("its limit was reached");
    const document = runDocument(await run.ledger(), head);
    expect(document.missing).toBe(9 - output.replayed);
    expect(document.stopped).toBe(output.stopped);
  });

  test("a saga that cannot be replayed, or whose replay throws to the end, is its own fault alone", async () => {
    const app = appOf(async (saga) => {
      if (saga === "s-1") return { saga, fault: { code: "VERSION_UNSERVED", message: "not here" } };
      if (saga === "s-2") throw new Error("the disk is full");
      return kept(saga);
    });
    await using t = testMesh(app);
    const run = await t.start(replayRun, { sagas, parallel: 4, limits: {} }, { id: "r" });
    expect(await run.result()).toMatchObject({ status: "completed" });
    const { faults, done } = runDocument(await run.ledger(), head);
    expect(done).toBe(7);
    expect(faults.map(({ saga }) => saga).sort()).toEqual(["s-1", "s-2"]);
  });
});

describe("figures", () => {
  test("a share has Wilson's bounds", () => {
    const { low, high } = rateOf("x", 8, 10);
    expect([low.toFixed(4), high.toFixed(4)]).toEqual(["0.4902", "0.9433"]);
    expect(rateOf("x", 0, 10)).toMatchObject({ low: 0, high: expect.closeTo(0.2775, 4) });
    expect(rateOf("x", 10, 10)).toMatchObject({ low: expect.closeTo(0.7225, 4), high: 1 });
    expect(rateOf("x", 0, 0)).toMatchObject({ low: 0, high: 1 });
  });

  test("a mean has the normal ones, and of one value none", () => {
    expect(meanOf("x", [1, 2, 3, 4])).toMatchObject({
      n: 4,
      mean: 2.5,
      low: expect.closeTo(1.2348, 3),
      high: expect.closeTo(3.7652, 3),
    });
    expect(meanOf("x", [1])).toEqual({ what: "x", n: 1, mean: 1 });
    expect(meanOf("x", [])).toBeUndefined();
  });

  test("a sample is the same for the same seed whatever the order, and another for another", () => {
    const some = sampleBySeed(sagas, 4, "a");
    expect(sampleBySeed([...sagas].reverse(), 4, "a")).toEqual(some);
    expect(sampleBySeed(sagas, 4, "b")).not.toEqual(some);
    expect(sampleBySeed(sagas, 99, "a")).toHaveLength(9);
  });
});

describe("a query", () => {
  const now = Date.UTC(2026, 5, 10);
  const row = (more: Partial<SagaRow> = {}): SagaRow => ({
    ...{
      saga: parseSagaId("hire-41"),
      name: "hire_for_role",
      version: 2,
      hash: "",
      status: "completed",
      turns: 9,
      waitsFor: [],
    },
    ...{ startedAt: Date.UTC(2026, 5, 1), updatedAt: Date.UTC(2026, 5, 9), ...more },
  });

  test.each([
    ["agent=hire_for_role and status=completed", true],
    ["name=hire_* AND id=hire-*", true],
    ["id=hire-4", false],
    ["status!=failed and version>=2 and turns<10", true],
    ["version=1", false],
    ["started>2026-05-31 and ended<2026-06-10", true],
    ["started>7d", false],
    ["ended>2d", true],
    ['name="hire_for_role"', true],
  ])("%s means it: %s", (query, means) => {
    expect(parseQuery(query, now)(row())).toBe(means);
  });

  test("nothing is said of when a running saga ended, and one that cannot be read is never meant", () => {
    expect(parseQuery("ended>2020-01-01", now)(row({ status: "running" }))).toBe(false);
    expect(parseQuery("status=completed", now)(row({ fault: "broken" }))).toBe(false);
  });

  test.each([
    "",
    "colour=red",
    "status=done",
    "status>failed",
    "version=two",
    "started>soon",
    "agent = a or status=b",
    "agent",
  ])("%j is refused and says what may stand there", (query) => {
    expect(() => parseQuery(query, now)).toThrow(expect.objectContaining({ code: "USAGE" }));
  });
});
