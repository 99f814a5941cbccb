/**
 * A long saga under fire: 200 steps, one request or effect in a hundred fails, and hosts and workers are killed
 * at random.
 *
 * Method: a few seeds on the memory mesh in virtual time; test/end-to-end/long-agent.test.ts has a hundred of them, and
 * real processes.
 */
import { describe, expect, test } from "vitest";
import { expectExplained, type LongRun, runInMemory } from "../../support/long-run.ts";

describe("a saga of 200 steps with 1 % injected failures and kills", () => {
  const runs: LongRun[] = [];

  test.each([1, 2, 3, 4, 5])(
    "ends completed, and the number of model requests is exactly decisions + recorded retries + calls that a kill hit while open (seed %i)",
    async (seed) => {
      const run = await runInMemory(seed);
      runs.push(run);
      expectExplained(run);
    },
  );

  test("was retried, killed and hit in the middle of calls: the runs are not all calm", () => {
    const sum = (of: (run: LongRun) => number) => runs.reduce((total, run) => total + of(run), 0);
    expect(sum((run) => run.retries)).toBeGreaterThan(3);
    expect(sum((run) => run.kills)).toBeGreaterThan(12);
    expect(sum((run) => run.hit)).toBeGreaterThan(2);
  });
});
