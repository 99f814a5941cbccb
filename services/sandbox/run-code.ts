/**
 * Run code: the tool by which a model computes with code of its own, in a sandbox that has nothing but its input.
 *
 * XR1 The same code and input give the same bytes, on every machine: chance is seeded by both, there is no clock,
 *     the time zone is UTC, and what bounds a run is counted, not measured. Only `timeoutMs`, the backstop behind the
 *     count, is real time.
 * XR2 Code that fails is an answer to the model, not an attempt: it would fail again.
 */
import { z } from "zod";
import { defineTool, NotPerformed, type Tool } from "../../actors/contract/tool.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { Limits } from "./order.ts";
import { assertLimits, defaults } from "./limits.ts";

const Input = z.object({
  code: z.string().min(1).max(100_000).describe("the body of an async function of `input`"),
  input: z.unknown().optional().describe("what the code reads as `input`: any JSON"),
});
const Output = z.object({ value: z.json(), logs: z.array(z.string()) });

/** How much code may use, and what the tool is called. */
export interface RunCodeOptions {
  /** `run_code` unless given. */
  readonly name?: string;
  readonly placement?: "worker" | "host";
  /** Counted work of one run, a step is 10,000 calls or turns of loops, or 100 promises. 10,000 unless given: a few seconds. */
  readonly stepsMax?: number;
  /** The whole memory of a run, 17 MiB of it taken at the start. 64 MiB unless given. */
  readonly memoryBytes?: number;
  /** Of the value and, apart from it, of the logs, each as text. 64 KiB unless given. */
  readonly outputBytes?: number;
  /** Real milliseconds, for work that is not counted: one call of a built-in function. 30 s unless given. */
  readonly timeoutMs?: number;
}

/**
 * The tool `run_code`: JavaScript in QuickJS in WebAssembly, in a thread of its own for each run. No network, no
 * files, no modules, no timers. Class `read`: nothing outside changes, so after a crash it is run again, and gives
 * the same. Nothing of it is loaded before the first run, and nothing stays loaded after the last.
 *
 * What the code throws, and a limit it meets, is the call's failure, in words for the model: TOOL_FAILED, TOO_LARGE
 * for its output, TOOL_TIMEOUT for its steps and its time. Throws APP_INVALID for a limit that cannot be.
 */
export function runCode(options: RunCodeOptions = {}): Tool<typeof Input, typeof Output, "read"> {
  const limits: Limits = {
    stepsMax: options.stepsMax ?? defaults.stepsMax,
    memoryBytes: options.memoryBytes ?? defaults.memoryBytes,
    outputBytes: options.outputBytes ?? defaults.outputBytes,
    timeoutMs: options.timeoutMs ?? defaults.timeoutMs,
  };
  assertLimits(limits);
  const tool = defineTool({
    name: options.name ?? "run_code",
    description,
    effect: "read",
    input: Input,
    output: Output,
    placement: options.placement ?? "worker",
    // A run may wait for its turn as long as it may take.
    timeoutMs: 2 * limits.timeoutMs,
    retry: { attemptsMax: 2, backoffMs: 500 },
    perform: async ({ code, input = null }, { abort }) => {
      const { runInThread } = await import("./run-in-thread.ts");
      const report = await runInThread({ code, input: JSON.stringify(input), limits }, abort);
      if (report.type === "returned") return { value: readValue(report.value), logs: report.logs };
      const { code: why, reason, logs } = report;
      const said = logs.length === 0 ? "" : `\nlogged before:\n${logs.slice(-20).join("\n").slice(-2_000)}`;
      throw new NotPerformed(reason + said, { retry: false, cause: new MeshError(why, reason) }); // XR2
    },
  });
  return { ...tool, body: tool.body === undefined ? undefined : { ...tool.body, realMs: limits.timeoutMs } };
}

/** The value, without the key that would set a prototype where the value is copied. */
const readValue = (text: string): z.infer<typeof Output>["value"] =>
  JSON.parse(text, function (this: object, key, value: unknown) {
    return key === "__proto__" ? undefined : value;
  }) as z.infer<typeof Output>["value"];

const description = [
  "Runs JavaScript in a sandbox and returns what the code returns, as JSON, with what it wrote by console.log.",
  "The code is the body of an async function: write `return`. It reads its data from `input`.",
  "There is no network, no files, no modules, no timers and no clock: pass times in `input`.",
  "Math.random is seeded, so the same code and input always give the same result.",
].join(" ");
