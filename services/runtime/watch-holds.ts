/**
 * Watch holds: a thread that looks at what holds this process's event loop, while the process serves sagas.
 *
 * XW1 A loop that never comes back can say nothing and give nothing back. The thread marks the saga that has it before the
 *     leases end, so that no other host takes it but in a child process; and ends the process, so that all else goes on.
 * XW2 It is told of by holdings alone: what is no saga's may hold the loop as long as it likes.
 */
import { Worker } from "node:worker_threads";
import { type Holding, holdMemory, tellHolds, unwatched } from "../process/holding.ts";
import type { Log } from "../process/log.ts";
import { ownFile } from "../process/own-file.ts";
import type { Marking } from "./mark-held.ts";

/** What the thread is given. */
export interface WatchOrder {
  readonly memory: SharedArrayBuffer;
  /** After so long in one holding the process is ended, milliseconds. */
  readonly maxMs: number;
  /** Undefined in a process for suspects: they are marked already. */
  readonly marking: Marking | undefined;
}

/** A process that is watched. */
export interface Watch {
  readonly holding: Holding;
  stop(): Promise<void>;
}

/** It loads what marks and what it is judged by, and no application. */
const heapMb = 48;

const entry = ownFile("services/runtime/holds-thread");

/** A process that a person debugs stands still by their wish. */
const isDebugged = (): boolean =>
  [...process.execArgv, process.env["NODE_OPTIONS"] ?? ""].some((word) => word.includes("--inspect"));

/** Watches from now on. It keeps nothing running, and where it fails the process goes on unwatched. */
export function watchHolds(order: Omit<WatchOrder, "memory">, log: Log): Watch {
  if (isDebugged()) return { holding: unwatched, stop: async () => undefined };
  const memory = holdMemory();
  const thread = new Worker(entry, {
    workerData: { ...order, memory } satisfies WatchOrder,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
  });
  thread.on("error", (error: unknown) => log.warn({ err: error }, "not watched for what holds the loop"));
  thread.unref();
  return {
    holding: tellHolds(memory),
    stop: async () => {
      await thread.terminate();
    },
  };
}
