/** Many things done a few at a time: all, in order, never more at once, and nothing after a failure. */
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { until } from "../../support/real-mesh.ts";
import { eachOf } from "../../../services/process/each-of.ts";

test("each is run once, no more at once than there may be, and the results keep the order", async () => {
  let running = 0;
  let most = 0;
  const all = Array.from({ length: 50 }, (_, at) => at);
  const results = await eachOf(all, 4, async (one) => {
    most = Math.max(most, ++running);
    await delay((one * 7) % 5);
    running -= 1;
    return one * 2;
  });
  expect(results).toEqual(all.map((one) => one * 2));
  expect(most).toBe(4);
});

test("after a failure nothing more is begun", async () => {
  const begun: number[] = [];
  let ended = 0;
  const all = Array.from({ length: 50 }, (_, at) => at);
  const work = eachOf(all, 4, async (one) => {
    begun.push(one);
    await delay(1);
    ended += 1;
    if (one === 5) throw new Error("five");
  });
  await expect(work).rejects.toThrow("five");
  await until("what was under way has ended", () => ended === begun.length);
  expect(Math.max(...begun)).toBeLessThan(12);
});
