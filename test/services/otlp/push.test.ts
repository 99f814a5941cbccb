/**
 * Goal: metrics are pushed as long as their process lives, and no receiver holds it up: not one that hangs, dies, refuses or returns.
 * Method: receivers over real HTTP that answer badly; time is the test's own, but for what a hanging request takes.
 */
import { describe, expect, test } from "vitest";
import type { MetricRead } from "../../../services/otlp/metrics.ts";
import { type Pushing, pushMetrics, type PushOptions } from "../../../services/otlp/push.ts";
import { systemClock } from "../../../services/runtime/system.ts";
import { type OtlpAnswer, type OtlpReceiver, startOtlpReceiver } from "../../support/otlp-receiver.ts";
import { until } from "../../support/real-mesh.ts";

const everyMs = 20;

/** Pushes a number that grows with each reading. */
function pushTo(
  url: string,
  options: Partial<PushOptions> = {},
): { pushing: Pushing; said: string[]; reads: () => number } {
  const said: string[] = [];
  let reads = 0;
  const read = (): Promise<MetricRead[]> => {
    reads += 1;
    return Promise.resolve([
      { type: "counter", name: "reads_total", help: "R.", points: [{ labels: {}, value: reads }] },
    ]);
  };
  const endpoint = {
    url: `${url}/v1/metrics`,
    headers: { authorization: "planted" },
    timeoutMs: 200,
    gzip: false,
  };
  const pushing = pushMetrics({
    ...{ clock: systemClock, chance: { random: () => 0.5 }, endpoint, everyMs, read },
    ...{ resource: { "service.name": "desk" }, version: "0.1.0" },
    onChange: (why) => said.push(why ?? "taken"),
    ...options,
  });
  return { pushing, said, reads: () => reads };
}

const countsIn = ({ requests }: OtlpReceiver): number[] =>
  requests.map(({ body }) => Number(/"asDouble":(\d+)/.exec(body)?.[1]));

test("they come every so often, each with all that was counted, with the headers; and once more at the end", async () => {
  await using receiver = await startOtlpReceiver();
  const { pushing, said } = pushTo(receiver.url);
  await until("three requests", () => receiver.requests.length >= 3);
  await pushing.last(1_000);
  const counts = countsIn(receiver);
  expect(counts.slice(0, 3)).toEqual([1, 2, 3]);
  expect(receiver.requests[0]?.headers["authorization"]).toBe("planted");
  expect(receiver.requests[0]?.path).toBe("/v1/metrics");
  expect(said).toEqual([]);
  await systemClock.sleep(5 * everyMs);
  pushing.stop();
  await pushing.last(1_000); // A fact that comes after: only what was asked for came.
  expect(countsIn(receiver).length).toBe(counts.length + 1);
});

describe("a receiver that", () => {
  test("hangs has one request at a time, and holds an end for as long as was said", async () => {
    await using receiver = await startOtlpReceiver(() => ({ status: 200, hang: true }));
    const { pushing, said, reads } = pushTo(receiver.url);
    await until("a second request", () => receiver.requests.length >= 2);
    expect(reads()).toBeLessThanOrEqual(receiver.requests.length + 1);
    const from = performance.now();
    await pushing.last(150);
    expect(performance.now() - from).toBeLessThan(2_000);
    expect(said).toHaveLength(1);
    expect(said[0]).toContain("does not answer");
  });

  test("is not there, and one that refuses, is told of once, and when it takes them again; what was missed is in the next", async () => {
    const badly: OtlpAnswer[] = [{ status: 503 }, { status: 404, body: "none" }, { status: 400 }];
    await using receiver = await startOtlpReceiver((k) => badly[k] ?? { status: 200 });
    const { pushing, said } = pushTo(receiver.url);
    await until("it is taken", () => said.includes("taken"));
    await pushing.last(1_000);
    expect(said).toHaveLength(2);
    expect(said[0]).toContain("answered 503");
    expect(said.join()).not.toContain("planted");
    expect(countsIn(receiver).slice(0, 4)).toEqual([1, 2, 3, 4]); // None is sent twice.
  });

  test("takes some of it is told of", async () => {
    const body = JSON.stringify({ partialSuccess: { rejectedDataPoints: "7", errorMessage: "too old" } });
    await using receiver = await startOtlpReceiver(() => ({ status: 200, body }));
    const { pushing, said } = pushTo(receiver.url);
    await until("it is told", () => said.length > 0);
    pushing.stop();
    expect(said).toEqual(["7 values were refused: too old"]);
  });
});

test("a reading that never ends holds no end", async () => {
  await using receiver = await startOtlpReceiver();
  const { pushing } = pushTo(receiver.url, { read: () => new Promise(() => undefined) });
  const from = performance.now();
  await pushing.last(100);
  expect(performance.now() - from).toBeLessThan(2_000);
  expect(receiver.requests).toEqual([]);
});
