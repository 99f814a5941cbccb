/** Open isolated: the composition of a process for suspects. */
import type { Clock } from "../wire/ports.ts";
import type { Log } from "../process/log.ts";
import { serveIsolated as serveSagas } from "../host/isolated.ts";
import type { Isolated } from "../suspects/isolated.ts";
import { serveIsolated as serveCalls } from "../worker/worker.ts";
import { outliveLeftAlone } from "../perform/left-alone.ts";
import { withSchedules } from "../schedules/with-schedules.ts";
import { openCallbackUrls } from "./callback-urls.ts";
import { readConfig } from "./config.ts";
import type { IsolateOrder } from "./isolate.ts";
import { loadApp } from "./load-app.ts";
import { createLogger } from "./logger.ts";
import { openMesh } from "./mesh.ts";
import { withProvidedModels } from "./provided-models.ts";
import { checkSignature, openSigner } from "./signing.ts";
import { newIncarnation, systemChance } from "./system.ts";
import { watchHolds } from "./watch-holds.ts";

/** Loads the application and connects to the server. Throws APP_INVALID, UNAVAILABLE. `lost`: the connection ended. */
export async function openIsolated(
  { role, appFile, servers, logLevel, gateway }: IsolateOrder,
  quiet: (key: string) => void,
): Promise<{ isolated: Isolated; clock: Clock; log: Log; lost: Promise<string | undefined> }> {
  const log = createLogger({ level: logLevel, fields: { service: "sagamesh" } });
  outliveLeftAlone(log);
  const config = readConfig();
  const { callbackBase, heldMaxMs, hostNkey } = config;
  const app = await withProvidedModels(await loadApp(appFile), config);
  const signer = role === "host" ? openSigner(hostNkey, "SAGAMESH_HOST_NKEY") : undefined;
  const mesh = await openMesh({
    servers,
    name: `sagamesh ${process.pid}`,
    report: (line) => log.warn({ detail: line }, "server heard"),
  });
  const { ports, clock } = mesh;
  const own = { clock, chance: systemChance, log };
  const callbackUrlOf = await openCallbackUrls({ callbackBase, gateway }, own);
  const incarnation = newIncarnation(role);
  const options = { ...own, ports, incarnation, callbackBase, callbackUrlOf, signer, checkSignature };
  const isolated =
    role === "worker"
      ? serveCalls(options, app, quiet)
      : serveSagas(
          { ...options, holding: watchHolds({ maxMs: heldMaxMs, marking: undefined }, log).holding },
          withSchedules(app, options),
          quiet,
        );
  return { isolated, clock, log, lost: mesh.closed };
}
