/** Goal: when the next attempt may begin. Method: properties of the backoff, which is pure. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { backoffMs } from "../../../actors/values/retry.ts";
import { limits } from "../../../protocol/limits.ts";

const policy = { attemptsMax: 5, backoffMs: 500 };

test("an attempt's backoff is the same on every host", () => {
  expect(backoffMs(policy, 2, "s/1-0")).toBe(backoffMs(policy, 2, "s/1-0"));
});

test("two intents that fail at once are not tried again at once", () => {
  const waits = Array.from({ length: 20 }, (_, k) => backoffMs(policy, 2, `s/1-${k}`));
  expect(new Set(waits).size).toBeGreaterThan(15);
});

test("a backoff doubles with each attempt, within half and one and a half of its base and under its ceiling", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 2_000 }), fc.string(), (attempt, seed) => {
      const base = Math.min(policy.backoffMs * 2 ** (attempt - 2), limits.retryBackoffMaxMs);
      const wait = backoffMs(policy, attempt, seed);
      expect(wait).toBeGreaterThanOrEqual(Math.floor(base * 0.5));
      expect(wait).toBeLessThanOrEqual(Math.ceil(base * 1.5));
    }),
    { seed: 20261121 },
  );
});

test("a backoff is never shorter than the outside asked for", () => {
  expect(backoffMs(policy, 2, "s", 60_000)).toBe(60_000);
});
