/**
 * The closing line: the last thing a run of the tests prints is `N passed, N failed`, alone on its line,
 * with `, N skipped` where something was skipped. Before it each file with a failure is named: `red: FILE`.
 *
 * What could not run is not passed over: a file that does not load, a hook that throws, a test that was
 * started and never ended and an error nobody caught each count as one failure.
 */
import type { Reporter, SerializedError, TestModule } from "vitest/node";

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

export function createClosingLine(): Reporter {
  let lines = ["0 passed, 1 failed"]; // stands if the run dies before it ends
  return {
    onInit() {
      // Every reporter prints its summary at the end of the run, in no promised order; this comes after.
      process.once("exit", () => process.stdout.write(`${lines.join("\n")}\n`));
    },
    onTestRunEnd(modules, unhandledErrors, reason) {
      const counts = count(modules, unhandledErrors);
      if (reason !== "passed" || modules.length === 0) counts.failed ||= 1; // no test file, or interrupted
      const red = modules
        .filter((module) => !module.ok())
        .map(({ relativeModuleId }) => `red: ${relativeModuleId}`);
      lines = [...new Set(red), closingLine(counts)];
    },
  };
}

function closingLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

function count(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): Counts {
  const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
  for (const module of modules) {
    for (const suite of [module, ...module.children.allSuites()])
      if (suite.errors().length > 0) counts.failed++;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      counts[state === "pending" ? "failed" : state]++;
    }
  }
  return counts;
}
