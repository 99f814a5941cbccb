/**
 * Run in thread: one run, in a thread that is made for it and ends with it.
 *
 * XI1 What runs shares nothing with this process: the thread has no environment and gets text; nothing of one run is
 *     left for the next. A thread that does not come back is ended, whatever it is doing.
 */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { ownFile } from "../process/own-file.ts";
import { createWaitingLine } from "../process/waiting-line.ts";
import type { Order, Report } from "./order.ts";

/** V8's stack in the thread. QuickJS counts its own use of 256 KiB, which takes up to 8 MB of it. */
const stackSizeMb = 32;
/** What the thread needs beside QuickJS's own memory: its code, and an output twice. */
const heapSizeMb = 96;

const entry = ownFile("services/sandbox/thread");
const line = createWaitingLine<undefined>();
let running = 0;

/** Runs it when there is room: as many at once as there are processors. Throws the signal's reason. */
export async function runInThread(order: Order, signal: AbortSignal): Promise<Report> {
  if (running >= availableParallelism()) await line.wait(signal);
  else running += 1;
  try {
    signal.throwIfAborted();
    return await run(order, signal);
  } finally {
    if (!line.letIn(undefined)) running -= 1; // Else the next one has this one's place.
  }
}

async function run(order: Order, signal: AbortSignal): Promise<Report> {
  const thread = new Worker(entry, {
    workerData: order,
    env: {},
    execArgv: [],
    // Swallowed: what code logs is in its report.
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: heapSizeMb, stackSizeMb },
  });
  let stop: (() => void) | undefined;
  try {
    return await new Promise<Report>((resolve, reject) => {
      const { timeoutMs } = order.limits;
      const backstop = setTimeout(() => resolve(tooLong(timeoutMs)), timeoutMs);
      const abort = () => reject(signal.reason as Error);
      signal.addEventListener("abort", abort, { once: true });
      stop = () => {
        clearTimeout(backstop);
        signal.removeEventListener("abort", abort);
      };
      thread.once("message", (report: Report) => resolve(report));
      thread.once("error", reject);
      thread.once("exit", (code) => reject(new Error(`the sandbox ended with ${code} before it answered`)));
    });
  } finally {
    stop?.();
    thread.removeAllListeners();
    await thread.terminate(); // XI1
  }
}

const tooLong = (timeoutMs: number): Report => ({
  type: "failed",
  code: "TOOL_TIMEOUT",
  reason: `the code did not end within ${timeoutMs} ms`,
  logs: [],
});
