/**
 * Run up: host and worker in one process, for development.
 */
import { type App, assertServable } from "../app.ts";
import { hostPart } from "./run-host.ts";
import { workerPart } from "./run-worker.ts";
import { serve, type ServeOptions, type Service } from "./serve.ts";

/** Development ends at once when asked: what runs gets this long. */
const devGraceMs = 2_000;

/** Runs a host and a worker until the signal. Throws APP_INVALID before anything is started. */
export async function runUp(
  options: ServeOptions,
  app: App,
  onReady: (service: Service) => void,
): Promise<void> {
  for (const role of ["host", "worker"] as const) assertServable(app, role);
  await serve({ logLevel: "warn", ...options }, devGraceMs, async (service) => {
    const parts = [await hostPart(service, app), await workerPart(service, app)];
    onReady(service);
    return parts;
  });
}
