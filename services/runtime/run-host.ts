/**
 * Run host: a host on an open mesh, and one in a program of one's own.
 */
import { z } from "zod";
import { HostWeight } from "../../protocol/host-weight.ts";
import { limits } from "../../protocol/limits.ts";
import { type App, assertServable } from "../app/app.ts";
import { takingHosts } from "../deployments/served.ts";
import { type HostBounds, type HostPlace, type HostTelling, startHost } from "../host/host.ts";
import { registerAgain } from "../host/register.ts";
import { every } from "../process/every.ts";
import { withSchedules } from "../schedules/with-schedules.ts";
import { readConfig } from "./config.ts";
import { openProcesses } from "./processes.ts";
import type { Part } from "./health/part.ts";
import { withProvidedModels } from "./provided-models.ts";
import { linesLost } from "./outlet.ts";
import { readOptions, type Running, type ServedOptions, startRunning } from "./running.ts";
import type { Service } from "./serve.ts";
import { watchStorageLeft } from "./storage-watch.ts";

export type { HostBounds, HostPlace };

/** Starts a host as part of a process. Throws APP_INVALID, DEFINITION_CHANGED. */
export async function hostPart(
  service: Service,
  given: App,
  bounds: HostBounds & HostPlace & HostTelling = {},
): Promise<Part> {
  const { health, ports } = service;
  const app = withSchedules(given, service);
  for (const note of app.notes) service.log.info({ note }, "likely a slip in the application");
  const observe = health === undefined ? {} : { observe: health.observers.host };
  const own = {
    incarnation: service.incarnation("host"),
    isolate: service.isolate("host"),
    linesLost,
    processes: openProcesses(),
  };
  // Without a process to try it in, what holds the loop is not told from what is only long.
  const watch = own.isolate && service.watch(own.incarnation);
  const storage = watchStorageLeft(service, () => service.mesh.readCapacities());
  const telling = { holding: watch?.holding, storageLeft: storage.left, loopUse: loopUseOf(performance) };
  const host = await service
    .whenStored(() => startHost({ ...service, ...bounds, ...observe, ...own, ...telling }, app))
    .catch(async (error: unknown) => {
      await Promise.all([watch?.stop(), storage.stop()]);
      throw error;
    });
  const over = new AbortController();
  const repetition = { ...service, signal: over.signal };
  const repeating = every(repetition, limits.registerEveryMs, "telling again what is served", () =>
    registerAgain(service, app),
  );
  return {
    ...host,
    storage: storage.all,
    stop: async (graceMs) => {
      over.abort();
      await host.stop(graceMs);
      await repeating;
      await Promise.all([watch?.stop(), storage.stop()]);
    },
    whyNotReady: async () =>
      host.partitions().length > 0 || (await isSpare(ports))
        ? undefined
        : "no partition has been taken up yet",
  };
}

/** How much of the time between two questions the loop was not waiting: also while it had no processor. */
function loopUseOf({ eventLoopUtilization }: Pick<typeof performance, "eventLoopUtilization">): () => number {
  let last = eventLoopUtilization();
  return () => {
    const before = last;
    last = eventLoopUtilization();
    const { utilization } = eventLoopUtilization(last, before);
    return Number.isFinite(utilization) ? utilization : 0; // No time lies between.
  };
}

/** Of more hosts than partitions some have none, and are ready to take over. */
const isSpare = async ({ membership, inbox }: Service["ports"]): Promise<boolean> =>
  (await takingHosts(membership)).length > inbox.partitions;

/** What `startHost` takes. */
export interface StartHostOptions extends ServedOptions, HostBounds, HostPlace {}

const bound = z.int().min(1).max(999_999).optional();

/** `startHost`, which says the rest (start.ts). */
export async function runHost(options: StartHostOptions): Promise<Running> {
  readOptions("startHost", options, {
    ...{ sagasMax: bound, effectsMax: bound },
    ...{ beside: z.boolean().optional(), foldsTwice: z.boolean().optional() },
    auditEveryMs: z.int().min(1_000).max(86_400_000).optional(),
    weight: HostWeight.optional(),
  });
  const config = readConfig();
  const { sagasMax, effectsMax, auditEveryMs, beside } = options;
  const { foldsTwice = config.foldsTwice, weight = config.weight } = options;
  const app = await withProvidedModels(options.app, config);
  assertServable(app, "host");
  return startRunning(options, (service) =>
    hostPart(service, app, { sagasMax, effectsMax, auditEveryMs, weight, beside, foldsTwice }),
  );
}
