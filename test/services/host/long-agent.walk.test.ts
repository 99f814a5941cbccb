/**
 * A long saga under fire: 200 steps, one request or effect in a hundred fails, and hosts and workers are killed
 * at random. It ends completed, and the model was asked exactly as often as the ledger can explain.
 *
 * Method: a hundred seeds, or a share of them, on the memory mesh in virtual time (test/support/long-run.ts). The seed of
 * a failing run is in its name; LONG_AGENT_SEED=<n> runs that seed alone.
 */
import { describe, expect, test } from "vitest";
import { expectExplained, type LongRun, runInMemory } from "../../support/long-run.ts";
import { share } from "../../support/share.ts";

describe("a saga of 200 steps with 1 % injected failures and kills", () => {
  const only = process.env["LONG_AGENT_SEED"];
  const count = share(5, 100);
  const seeds = only === undefined ? Array.from({ length: count }, (_, i) => i + 1) : [Number(only)];
  const runs: LongRun[] = [];

  test.each(seeds)(
    "ends completed, and the number of model requests is exactly decisions + recorded retries + calls that a kill hit while open (seed %i)",
    async (seed) => {
      const run = await runInMemory(seed);
      runs.push(run);
      expectExplained(run);
    },
  );

  test.skipIf(only !== undefined)(
    "was retried, killed and hit in the middle of calls: the runs are not all calm",
    () => {
      const sum = (of: (run: LongRun) => number) => runs.reduce((total, run) => total + of(run), 0);
      expect(sum((run) => run.retries)).toBeGreaterThan(count / 2);
      expect(sum((run) => run.kills)).toBeGreaterThan(3 * count);
      expect(sum((run) => run.hit)).toBeGreaterThan(count / 2);
    },
  );
});
