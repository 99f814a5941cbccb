/**
 * Run up: host, worker, gateway and console in one process, for development.
 */
import { type App, assertServable } from "../app/app.ts";
import type { Config } from "./config.ts";
import { withProvidedModels } from "./provided-models.ts";
import type { HostTelling } from "../host/host.ts";
import type { Part } from "./health/part.ts";
import { hostPart, type HostPlace } from "./run-host.ts";
import type { OwnGateway } from "./run-gateway.ts";
import { workerPart } from "./run-worker.ts";
import { serve, type ServeOptions, type Service } from "./serve.ts";

/** Development ends at once when asked: what runs gets this long. */
const devGraceMs = 2_000;

/** The gateway's port, or the console's; undefined: the usual one, or a free one. `"none"`: no such part. */
export type DoorChoice = number | undefined | "none";

/** The doors that are opened beside host and worker. */
export interface Doors {
  readonly gateway: DoorChoice;
  readonly console: DoorChoice;
}

/** The application with the models that need no port of its own. Throws APP_INVALID unless both can serve it. */
export async function servedByUp(bare: App, config: Config): Promise<App> {
  const app = await withProvidedModels(bare, config);
  for (const role of ["host", "worker"] as const) assertServable(app, role);
  return app;
}

/** Spans go where OpenTelemetry's variables say; where they say nothing, nothing of it is loaded. */
async function exportedSpans(
  service: Service,
  config: Config,
  report: (line: string) => void,
): Promise<Part | undefined> {
  if (Object.keys(config.otel).length === 0) return undefined;
  const { tracePart } = await import("./run-traces.ts");
  return tracePart(service, config, report);
}

/**
 * Runs a host, a worker, a gateway and a console until the signal. `onReady` is told where these two are. Throws
 * APP_INVALID before anything is started, USAGE where one of them cannot listen.
 */
export async function runUp(
  { beside, ...options }: ServeOptions & HostPlace,
  bare: App,
  onReady: (service: Service, at: { gateway: string | undefined; console: string | undefined }) => void,
  doors: Doors,
): Promise<void> {
  const app = await servedByUp(bare, options.config);
  // Its log shows only what goes wrong; what an author has a machine log is meant to be seen.
  const onLogged: HostTelling["onLogged"] = ({ saga, definition: { name, version }, text }) =>
    options.report(`${saga} (${name}@${version}) logs: ${text}`);
  const { gateway: gatewayPort, console: consolePort } = doors;
  const door = gatewayPort === "none" ? undefined : await import("./run-gateway.ts");
  const own = gatewayPort === "none" ? undefined : await door?.startOwnGateway(options.config, gatewayPort);
  const shown = consolePort === "none" ? undefined : await openConsole(consolePort, own);
  try {
    const config = own?.config ?? options.config;
    await serve({ logLevel: "warn", ...options, config }, devGraceMs, async (service) => {
      const parts = [
        await hostPart(service, app, { beside, foldsTwice: true, onLogged }),
        await workerPart(service, app),
      ];
      if (door !== undefined && own !== undefined)
        parts.push(door.gatewayPart(service, own.gateway, own.secrets));
      const spans = await exportedSpans(service, config, options.report);
      if (spans !== undefined) parts.push(spans);
      if (shown !== undefined) parts.push(shown.part(service, config, app));
      onReady(service, { gateway: own?.config.gateway.url, console: shown?.url });
      return parts;
    });
  } finally {
    await own?.gateway.close(0);
    await shown?.close();
  }
}

/** A console that listens; the gateway that is open already is closed where it cannot. Throws USAGE. */
async function openConsole(port: number | undefined, beside: OwnGateway | undefined) {
  const { consolePart, startOwnConsole } = await import("./run-console.ts");
  try {
    const console = await startOwnConsole(port);
    const part = (service: Service, config: Config, app: App) => consolePart(service, console, config, app);
    return { url: console.url, part, close: () => console.close(0) };
  } catch (error) {
    await beside?.gateway.close(0);
    throw error;
  }
}
