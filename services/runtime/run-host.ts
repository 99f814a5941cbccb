/**
 * Run host: the composition of a host process.
 */
import { decodeHostEntry } from "../../protocol/host-entry.ts";
import { type App, assertServable } from "../app/app.ts";
import { type HostBounds, startHost } from "../host/host.ts";
import { serve, type ServeOptions, type Service } from "./serve.ts";
import type { Part } from "./health/part.ts";
import { graceMs } from "./shutdown.ts";

export type { HostBounds };

/** Starts a host as part of a process. Throws APP_INVALID. */
export async function hostPart(service: Service, app: App, bounds: HostBounds = {}): Promise<Part> {
  const { health, ports } = service;
  const observe = health === undefined ? {} : { observe: health.observers.host };
  const own = { incarnation: service.incarnation("host"), isolate: service.isolate("host") };
  const host = await startHost({ ...service, ...bounds, ...observe, ...own }, app);
  return {
    ...host,
    whyNotReady: async () =>
      host.partitions().length > 0 || (await isSpare(ports))
        ? undefined
        : "no partition has been taken up yet",
  };
}

/** Of more hosts than partitions some have none, and are ready to take over. */
async function isSpare({ membership, inbox }: Service["ports"]): Promise<boolean> {
  const entries = (await membership.hosts()).map(({ data }) => decodeHostEntry(data));
  return entries.filter((entry) => entry?.draining === false).length > inbox.partitions;
}

/**
 * Runs a host until the signal. `onReady` is called when it serves. Throws APP_INVALID before anything is
 * started.
 */
export async function runHost(
  options: ServeOptions,
  app: App,
  onReady: (service: Service) => void,
  bounds: HostBounds = {},
): Promise<void> {
  assertServable(app, "host");
  await serve(options, graceMs, async (service) => {
    const parts = [await hostPart(service, app, bounds)];
    onReady(service);
    return parts;
  });
}
