/**
 * End with parent: a process for suspects is gone once its parent is, whatever it is doing.
 *
 * JH1 A suspect may hold the loop for ever, and then its process never hears that the channel to its parent has closed. A
 *     thread of its own looks for the parent, and ends the process where that has gone.
 */
import { Worker } from "node:worker_threads";

const lookEveryMs = 500;
/** What such a thread starts with, and some more. */
const heapMb = 16;

const look = `const { workerData: { parent, everyMs } } = require("node:worker_threads");
setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, "SIGKILL"); }, everyMs);`;

/** Looks for the parent from now on. It keeps nothing running. */
export function endWithParent(parent: number): void {
  const thread = new Worker(look, {
    eval: true,
    workerData: { parent, everyMs: lookEveryMs },
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
  });
  thread.on("error", () => undefined); // Then it ends as before: when it hears of its parent's end.
  thread.unref();
}
