/**
 * The first seeds of crashes, lost and late messages, and what must hold of each; and that a seed is a run.
 *
 * Method: the command `npm run test:simulation`, as simulation.e2e.test.ts runs it for a thousand seeds. A failure names
 * the seed and how to run it again with every step shown.
 */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { runSimulation } from "./child.ts";
import { simulate } from "./simulator.ts";

describe("simulation", () => {
  test("no promise is broken in the first 80 seeds", async () => {
    const { report, text } = await runSimulation(["--seeds", "80", "--from", "1"]);
    expect(report.found, text).toEqual([]);
    expect(report.ran).toBe(80);
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
