/**
 * Run worker: a worker on an open mesh, and one in a program of one's own.
 */
import { z } from "zod";
import { type App, assertServable, workerTools } from "../app/app.ts";
import { startWorker } from "../worker/worker.ts";
import type { Part } from "./health/part.ts";
import { readOptions, type Running, type ServedOptions, startRunning } from "./running.ts";
import type { Service } from "./serve.ts";

/** Starts a worker as part of a process. Throws APP_INVALID, and TOOL_UNSERVED for a tool without a body. */
export async function workerPart(service: Service, app: App, tools?: readonly string[]): Promise<Part> {
  assertServable(app, "worker");
  const observe = service.health === undefined ? {} : { observe: service.health.observers.worker };
  const own = { incarnation: service.incarnation("worker"), isolate: service.isolate("worker") };
  const worker = await startWorker({ ...service, ...observe, ...own }, app, tools);
  return { ...worker, underWay: () => ({ sagas: 0, effects: worker.running() }) };
}

/** What `startWorker` takes. */
export interface StartWorkerOptions extends ServedOptions {
  /** The names of the tools it performs; every tool of the application that has a body unless given. */
  readonly tools?: readonly string[] | undefined;
}

/** `startWorker`, which says the rest (start.ts). */
export async function runWorker(options: StartWorkerOptions): Promise<Running> {
  readOptions("startWorker", options, { tools: z.array(z.string()).min(1).optional() });
  const { app, tools } = options;
  assertServable(app, "worker");
  workerTools(app, tools);
  return startRunning(options, (service) => workerPart(service, app, tools));
}
