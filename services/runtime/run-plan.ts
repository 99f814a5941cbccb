/**
 * Run plan: a plan's saga, served by the hosts of the mesh, or by this process where there are none.
 *
 * RP1 Hosts that serve something else are left alone: a host beside them that knows the plan would get only a share of
 *     the starts, and the rest would wait for ever.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { MeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { type App, assertServable } from "../app/app.ts";
import { takingHosts } from "../deployments/served.ts";
import type { Ports } from "../wire/ports.ts";
import { withProvidedModels } from "./provided-models.ts";
import { hostPart } from "./run-host.ts";
import { workerPart } from "./run-worker.ts";
import { serve, type ServeOptions, type Service } from "./serve.ts";
import { systemClock } from "./system.ts";

const graceMs = 2_000;
/** Heartbeats that a host may be late by. */
const looksMax = 3;

/**
 * Opens the mesh, serves the plan unless hosts there do, and runs `drive` beside it, until that ends or the signal comes.
 * Throws APP_INVALID before anything is started, and VERSION_UNSERVED (RP1).
 */
export async function runPlan(
  options: ServeOptions,
  bare: App,
  definition: Definition,
  drive: (service: Service, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const app = await withProvidedModels(bare, options.config);
  for (const role of ["host", "worker"] as const) assertServable(app, role);
  const own = new AbortController();
  const signal = AbortSignal.any([options.signal, own.signal]);
  let driving = Promise.resolve();
  await serve({ logLevel: "warn", ...options, signal, wish: options.signal }, graceMs, async (service) => {
    const isServed = await isServedElsewhere(service.ports, definition, options.signal);
    const parts = isServed ? [] : [await hostPart(service, app), await workerPart(service, app)];
    driving = drive(service, signal).finally(() => own.abort());
    driving.catch(() => undefined); // Awaited below, once all is down.
    return parts;
  });
  await driving;
}

async function isServedElsewhere(
  { membership, registry }: Ports,
  { name, version, hash }: Definition,
  signal: AbortSignal,
): Promise<boolean> {
  const isAnyLive = async () => (await takingHosts(membership)).length > 0;
  if (!(await isAnyLive())) return false;
  // One that was killed a moment ago still counts until its word expires; one that is slow says it again.
  await systemClock.sleep(limits.hostTtlMs, signal);
  let isLive = false;
  for (let looks = 0; looks < looksMax && !isLive; looks++) {
    await systemClock.sleep(limits.hostBeatMs, signal);
    isLive = await isAnyLive();
  }
  if (!isLive) return false;
  const key = `saga.${name}.${version}.${hash}`;
  if ((await registry.list()).some((entry) => entry.key === key)) return true;
  throw new MeshError("VERSION_UNSERVED", `hosts serve here, and none of them this plan ("${name}")`, {
    remedy:
      "List it under `plans` in the application file that they serve, or run it on a mesh of its own with --data DIR.",
  });
}
