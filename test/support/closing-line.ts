/**
 * The closing line: the last thing a run of the tests prints is `N passed, N failed`, alone on its line,
 * with `, N skipped` where something was skipped. Before it each file with a failure is named, `red: FILE`, and under it
 * what failed: a log of thousands of lines is often kept by its end alone.
 *
 * What could not run is not passed over: a file that does not load, a hook that throws, a test that was
 * started and never ended and an error nobody caught each count as one failure.
 */
import { stripVTControlCharacters } from "node:util";
import type { Reporter, SerializedError, TestModule } from "vitest/node";

/** Of each failure's message this many lines are said again: the difference of two values fits, a page does not. */
const messageLines = 30;

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
      lines = [
        ...modules.filter((module) => !module.ok()).flatMap(told),
        ...unhandledErrors.map((error) => `red, of no test: ${said(error)}`),
        closingLine(counts),
      ];
    },
  };
}

function closingLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** A red file, and what failed in it. */
function told(module: TestModule): string[] {
  const parts = [module, ...module.children.allSuites(), ...module.children.allTests("failed")];
  const failures = parts.flatMap((part) =>
    (part.type === "test" ? (part.result().errors ?? []) : part.errors()).map(
      (error) => `${part.type === "module" ? "the file itself" : part.fullName}\n${said(error)}`,
    ),
  );
  return [`red: ${module.relativeModuleId}`, ...failures];
}

function said({ message, stack, diff, cause }: SerializedError): string {
  const place = stack
    ?.split("\n")
    .find((line) => line.trimStart().startsWith("at ") && line.includes("/test/"));
  const lines = [message, typeof diff === "string" ? diff : "", place ?? ""].flatMap((text) =>
    text.split("\n"),
  );
  const words = lines.filter((line) => line.trim() !== "").slice(0, messageLines);
  const text = stripVTControlCharacters(words.map((line) => `    ${line}`).join("\n"));
  return cause === undefined ? text : `${text}\n    because of\n${said(cause)}`;
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
