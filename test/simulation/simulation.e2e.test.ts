/**
 * A thousand seeds of crashes, lost and late messages, and what must hold of each.
 *
 * Method: the command `npm run test:simulation`, in two processes. A failure names the seed and how to run it
 * again with every step shown.
 */
import { describe, test } from "vitest";
import { runSimulation } from "./child.ts";

const seedsEach = 500;

describe("simulation", () => {
  test.concurrent.for([1, 1 + seedsEach])(
    "no promise is broken in 500 seeds from %i on",
    { timeout: 600_000 },
    async (from, { expect }) => {
      const { report, text } = await runSimulation(["--seeds", String(seedsEach), "--from", String(from)]);
      expect(report.found, text).toEqual([]);
      expect(report.ran).toBe(seedsEach);
    },
  );
});
