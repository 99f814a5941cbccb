/**
 * Thread: one run of one order. Loads QuickJS, runs the code, reports, ends.
 *
 * XT1 No clock and no time zone of this machine reaches the code: QuickJS asks this thread's Date, which has neither.
 * XT2 The memory is WebAssembly's own, with a maximum. QuickJS's own limit does not see all it allocates.
 */
import { parentPort, workerData } from "node:worker_threads";
import variant from "@jitl/quickjs-wasmfile-release-sync";
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
} from "quickjs-emscripten-core";
import { createHash } from "node:crypto";
import { memoryBytesMin } from "./limits.ts";
import type { Order, Report } from "./order.ts";
import { prelude } from "./prelude.ts";

const quickjs = variant as unknown as QuickJSSyncVariant; // Its types are for CommonJS; what is imported is the module.
/** The library's types of Node leave it out. */
const { WebAssembly } = globalThis as unknown as {
  WebAssembly: { Memory: new (size: { initial: number; maximum: number }) => never };
};
/** QuickJS's own; deeper recursion is an error that the code sees. Small enough for V8's stack (run-in-thread.ts). */
const stackBytes = 256 * 1024;
const pageBytes = 64 * 1024;
/** What promises set going counts, too: QuickJS itself does not count it. So many jobs are a step. */
const jobsPerStep = 100;
const logLinesMax = 200;

/** XT1 */
function freezeTime(): void {
  const date = Date.prototype as unknown as Record<string, unknown>;
  for (const part of ["FullYear", "Month", "Date", "Day", "Hours", "Minutes", "Seconds", "Milliseconds"])
    date[`get${part}`] = date[`getUTC${part}`];
  date["getTimezoneOffset"] = () => 0;
  Date.now = () => 0;
}

async function report({ code, input, limits }: Order): Promise<Report> {
  const wasmMemory = new WebAssembly.Memory({
    initial: memoryBytesMin / pageBytes,
    maximum: Math.floor(limits.memoryBytes / pageBytes),
  });
  const module = await newQuickJSWASMModuleFromVariant(newVariant(quickjs, { wasmMemory }));
  const runtime = module.newRuntime();
  runtime.setMaxStackSize(stackBytes);
  let steps = 0;
  runtime.setInterruptHandler(() => ++steps > limits.stepsMax);
  const context = runtime.newContext();
  const logs = new Logs(limits.outputBytes);
  const heard: Heard = { logs, outputBytes: limits.outputBytes };
  const isOut = () => steps > limits.stepsMax;
  const failed = (code: Extract<Report, { type: "failed" }>["code"], reason: string): Report => ({
    type: "failed",
    code,
    reason,
    logs: logs.lines,
  });
  try {
    begin(context, heard, { code, input });
    for (; heard.report === undefined && !isOut() && runtime.hasPendingJob(); steps++)
      runtime.executePendingJobs(jobsPerStep).dispose();
  } catch (error) {
    // QuickJS itself gave up: no memory for the error it would throw, or no stack.
    heard.report ??= failed("TOOL_FAILED", `the sandbox is out of memory or stack (${nameOf(error)})`);
  }
  if (isOut())
    return failed(
      "TOOL_TIMEOUT",
      `the code took more than ${limits.stepsMax} steps: it never ends, or does too much`,
    );
  return heard.report ?? failed("TOOL_FAILED", "the code waits for a promise that nothing will settle");
}

interface Heard {
  readonly logs: Logs;
  readonly outputBytes: number;
  report?: Report;
}

/** Calls the code. What comes of it is heard at once, or while jobs run. */
function begin(context: QuickJSContext, heard: Heard, { code, input }: Pick<Order, "code" | "input">): void {
  const say = hear(context, "say", (line) => heard.logs.add(line));
  const done = hear(context, "done", (value) => {
    heard.report ??= sized(value, heard);
  });
  const fail = hear(context, "fail", (reason) => {
    heard.report ??= { type: "failed", code: "TOOL_FAILED", reason: placed(reason), logs: heard.logs.lines };
  });
  const seed = createHash("sha256").update(code).update("\0").update(input).digest();
  const words = [0, 4, 8, 12].map((at) => context.newNumber(seed.readUInt32LE(at)));
  const run = context.unwrapResult(context.evalCode(prelude, "sandbox.js"));
  const texts = [code, input].map((text) => context.newString(text));
  context.unwrapResult(context.callFunction(run, context.undefined, ...texts, say, done, fail, ...words));
}

/** A function for the prelude that takes a text. What is too long is cut before it is copied out. */
const hear = (context: QuickJSContext, name: string, take: (text: string) => void): QuickJSHandle =>
  context.newFunction(name, (text) => take(context.getString(text)));

function sized(value: string, { logs, outputBytes }: Heard): Report {
  const bytes = Buffer.byteLength(value);
  if (bytes <= outputBytes) return { type: "returned", value, logs: logs.lines };
  const reason = `its value is ${bytes} bytes as JSON, more than ${outputBytes}: return less`;
  return { type: "failed", code: "TOO_LARGE", reason, logs: logs.lines };
}

/** A stack in lines of the code as it was given: without the prelude's frames and the head that QuickJS adds. */
const placed = (reason: string): string =>
  reason
    .split("\n")
    .filter((line) => !line.includes("(sandbox.js:") && line.trim() !== "")
    .join("\n")
    .replaceAll(/<input>:(\d+):/g, (_, number: string) => `line ${Number(number) - 2}:`);

/** What the code wrote, as far as it is kept. */
class Logs {
  readonly lines: string[] = [];
  #room: number;
  #isFull = false;

  constructor(bytes: number) {
    this.#room = bytes;
  }

  add(line: string): void {
    if (this.#isFull) return;
    this.#room -= Buffer.byteLength(line);
    this.#isFull = this.#room < 0 || this.lines.length === logLinesMax;
    this.lines.push(this.#isFull ? "[more was logged and is not kept]" : line);
  }
}

const nameOf = (error: unknown): string =>
  (error instanceof Error ? error.message || error.name : "unknown").slice(0, 200);

freezeTime();
const order = workerData as Order; // Proof: only run-in-thread.ts starts this file.
parentPort?.postMessage(await report(order));
