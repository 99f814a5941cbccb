/**
 * A thousand seeds of crashes, lost and late messages, or a share of them, and what must hold of each; and that a seed
 * is a run.
 *
 * Method: the command `npm run test:simulation`, in two processes. A failure names the seed and how to run it again
 * with every step shown.
 */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { share } from "../support/share.ts";
import { runSimulation } from "./child.ts";
import { simulate } from "./simulator.ts";

const seedsEach = share(25, 500);

describe("simulation", () => {
  test.concurrent.for([1, 1 + seedsEach])(
    `no promise is broken in ${seedsEach} seeds from %i on`,
    { timeout: 600_000 },
    async (from, { expect }) => {
      const { report, text } = await runSimulation(["--seeds", String(seedsEach), "--from", String(from)]);
      expect(report.found, text).toEqual([]);
      expect(report.ran).toBe(seedsEach);
    },
  );

  test("no promise is broken where most children stand in line", { timeout: 600_000 }, async ({ expect }) => {
    const profile = JSON.stringify({ crowds: 2, journeys: 0, planners: 0 });
    const seeds = String(share(15, 400));
    const { report, text } = await runSimulation(["--seeds", seeds, "--profile", profile]);
    expect(report.found, text).toEqual([]);
  });

  test("the same seed is the same run, line by line", async () => {
    for (const seed of [11, 12, 13]) {
      const [one, other] = [await traceOf(seed), await traceOf(seed)];
      expect(one.lines).toBeGreaterThan(100);
      expect(other).toEqual(one);
    }
    expect(await traceOf(11)).not.toEqual(await traceOf(12));
  });
});

async function traceOf(seed: number): Promise<{ lines: number; digest: string }> {
  const hash = createHash("sha256");
  let lines = 0;
  await simulate(seed, {
    trace: (at, process, what) => {
      lines += 1;
      hash.update(`${at} ${process} ${what}\n`);
    },
  });
  return { lines, digest: hash.digest("hex") };
}
