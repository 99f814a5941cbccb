/**
 * That the simulator can find anything: each rule of the protocol, broken in the product's own source, is found
 * within a thousand seeds.
 *
 * Method: each plant runs in a process of its own, two at a time, from the seed that found it last, else from seed 1,
 * to the first violation.
 */
import { describe, test } from "vitest";
import { runSimulation } from "./child.ts";
import { plants } from "./plants.ts";

const seedsMax = 1_000;

describe("planted faults", () => {
  // The time includes that of waiting for a turn.
  test.concurrent.for(plants)(
    "$name is found",
    { timeout: 900_000 },
    async ({ name, from = 1, profile }, { expect }) => {
      const runs = profile === undefined ? [] : ["--profile", JSON.stringify(profile)];
      const where = ["--from", String(from), "--seeds", String(seedsMax), ...runs];
      const { report } = await runSimulation(["--fault", name, ...where, "--stop"]);
      expect(report.fault).toBe(name);
      expect(report.found).toHaveLength(1);
      // A plant that merely broke the code would prove nothing.
      expect(report.found[0]?.violations.filter(({ promise }) => promise === "CODE")).toEqual([]);
    },
  );
});
