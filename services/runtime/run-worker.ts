/**
 * Run worker: the composition of a worker process.
 */
import { type App, assertServable } from "../app.ts";
import { startWorker } from "../worker/worker.ts";
import { type Part, serve, type ServeOptions, type Service } from "./serve.ts";
import { graceMs } from "./shutdown.ts";

/** Starts a worker as part of a process. Throws APP_INVALID, and TOOL_UNSERVED for a tool without a body. */
export async function workerPart(service: Service, app: App, tools?: readonly string[]): Promise<Part> {
  assertServable(app, "worker");
  return startWorker({ ...service, incarnation: service.incarnation("worker") }, app, tools);
}

/** Runs a worker until the signal, for every tool with a body or for the ones named. */
export const runWorker = (
  options: ServeOptions,
  app: App,
  tools: readonly string[] | undefined,
  onReady: (service: Service) => void,
): Promise<void> =>
  serve(options, graceMs, async (service) => {
    const parts = [await workerPart(service, app, tools)];
    onReady(service);
    return parts;
  });
