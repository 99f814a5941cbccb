/**
 * Run host: the composition of a host process.
 */
import type { App } from "../app.ts";
import { startHost } from "../host/host.ts";
import { type Part, serve, type ServeOptions, type Service } from "./serve.ts";
import { graceMs } from "./shutdown.ts";

/** Starts a host as part of a process. Throws APP_INVALID. */
export const hostPart = (service: Service, app: App): Promise<Part> =>
  startHost({ ...service, incarnation: service.incarnation("host") }, app);

/** Runs a host until the signal. `onReady` is called when it serves. */
export const runHost = (
  options: ServeOptions,
  app: App,
  onReady: (service: Service) => void,
): Promise<void> =>
  serve(options, graceMs, async (service) => {
    const parts = [await hostPart(service, app)];
    onReady(service);
    return parts;
  });
