/**
 * What a burst of work has left to the engine goes back to the system once the process does next to nothing.
 *
 * Method: a process of its own makes a hundred megabytes and more of small objects, drops them, and tells its resident size.
 */
import { fork } from "node:child_process";
import { expect, test } from "vitest";
import { until } from "../../support/real-mesh.ts";

test.skipIf(Number.parseInt(process.versions.node, 10) < 24)(
  "a process that had much in memory is half as large soon after its work is done",
  async () => {
    const child = fork(new URL("../../support/giving-back-process.ts", import.meta.url), {
      execArgv: ["--conditions=sagamesh-source", "--max-semi-space-size=16"],
    });
    const sizes: number[] = [];
    child.on("message", (size) => sizes.push(size as number));
    try {
      await until("it made all", () => sizes.length > 0, 60_000);
      const most = sizes[0]!;
      expect(most).toBeGreaterThan(150e6);
      await until("half of that is given back", () => sizes.at(-1)! < most / 2, 60_000);
    } finally {
      child.kill();
    }
  },
);
