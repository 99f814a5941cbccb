/**
 * Run worker: the composition of a worker process.
 */
import { type App, assertServable, workerTools } from "../app/app.ts";
import { startWorker } from "../worker/worker.ts";
import { serve, type ServeOptions, type Service } from "./serve.ts";
import type { Part } from "./health/part.ts";
import { graceMs } from "./shutdown.ts";

/** Starts a worker as part of a process. Throws APP_INVALID, and TOOL_UNSERVED for a tool without a body. */
export async function workerPart(service: Service, app: App, tools?: readonly string[]): Promise<Part> {
  assertServable(app, "worker");
  const observe = service.health === undefined ? {} : { observe: service.health.observers.worker };
  const own = { incarnation: service.incarnation("worker"), isolate: service.isolate("worker") };
  return startWorker({ ...service, ...observe, ...own }, app, tools);
}

/**
 * Runs a worker until the signal, for every tool with a body or for the ones named. Throws APP_INVALID and
 * TOOL_UNSERVED before anything is started.
 */
export async function runWorker(
  options: ServeOptions,
  app: App,
  tools: readonly string[] | undefined,
  onReady: (service: Service) => void,
): Promise<void> {
  assertServable(app, "worker");
  workerTools(app, tools);
  await serve(options, graceMs, async (service) => {
    const parts = [await workerPart(service, app, tools)];
    onReady(service);
    return parts;
  });
}
