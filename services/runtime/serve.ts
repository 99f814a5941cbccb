/**
 * Serve: what hosts and workers have in common as processes. Connects, runs until asked to end, closes.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { Log } from "../wire/log.ts";
import type { Chance, Clock, Ports } from "../wire/ports.ts";
import type { CallbackUrlOf } from "../wire/settlement-token.ts";
import type { CheckSignature, Signer } from "../wire/signing.ts";
import { openCallbackUrls } from "./callback-urls.ts";
import { type Config, describeConfig } from "./config.ts";
import { openGatewayConfig } from "./gateway-secret.ts";
import type { Health } from "./health/health.ts";
import type { Isolate } from "../suspects/child.ts";
import { forkIsolated } from "./isolate.ts";
import { endLeanStart } from "./lean-start.ts";
import { createLogger } from "./logger.ts";
import { openMesh, type OpenMesh } from "./mesh.ts";
import type { Part } from "./health/part.ts";
import { checkSignature, openSigner } from "./signing.ts";
import { newIncarnation, systemChance, systemClock } from "./system.ts";
import { packageVersion } from "./version.ts";

export interface ServeOptions {
  readonly config: Config;
  /** Ends the process's service; what runs gets the grace. */
  readonly signal: AbortSignal;
  /** Takes lines for a person. */
  readonly report: (line: string) => void;
  /** The application's file, which a process started for a suspect loads, too. Without it nothing is suspected. */
  readonly appFile?: string | undefined;
  /** The log's level unless LOG_LEVEL names one. */
  readonly logLevel?: "info" | "warn" | undefined;
}

/** What every served part is given. */
export interface Service {
  readonly mesh: OpenMesh;
  readonly ports: Ports;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly log: Log;
  readonly callbackBase: string;
  readonly callbackUrlOf: CallbackUrlOf;
  readonly signer: Signer | undefined;
  readonly checkSignature: CheckSignature;
  readonly incarnation: (role: string) => string;
  /** How a process for suspects is started, if one can be. */
  readonly isolate: (role: "host" | "worker") => Isolate | undefined;
  /** Where the process shows its health, if it does. */
  readonly health: Pick<Health, "url" | "observers"> | undefined;
}

/**
 * Opens the mesh, starts the parts, and resolves once the signal came and everything is down. Throws what
 * opening or starting throws, and UNAVAILABLE if the connection ends for good.
 */
export async function serve(
  { config, signal, report, appFile, logLevel = "info" }: ServeOptions,
  graceMs: number,
  start: (service: Service) => Promise<Part[]>,
): Promise<void> {
  const signer = openSigner(config.hostNkey, "SAGAMESH_HOST_NKEY");
  const log = createLogger({ level: config.logLevel ?? logLevel, fields: { service: "sagamesh" } });
  const health = await openHealth(config); // Before the mesh: a process that waits for its server is alive, and not ready.
  let isServing = false;
  const mesh = await openMesh({
    servers: config.servers,
    dataDir: config.serverDir,
    replicas: config.replicas,
    name: `sagamesh ${process.pid}`,
    // Until it serves a person may be waiting; from then on it is a matter for the log.
    report: (line) => (isServing ? log.warn({ detail: line }, "server heard") : report(line)),
    signal,
  }).catch(async (error: unknown) => {
    await health?.close();
    throw error;
  });
  try {
    const { ports } = mesh;
    log.info(
      {
        config: describeConfig(config),
        pid: process.pid,
        serverVersion: mesh.version,
        signsAs: signer?.publicKey,
      },
      "starting",
    );
    const gateway = await openGatewayConfig(config);
    const base = {
      signer,
      checkSignature,
      clock: systemClock,
      chance: systemChance,
      log,
      callbackBase: config.callbackBase,
      callbackUrlOf: await openCallbackUrls(
        { ...config, gateway },
        { clock: systemClock, chance: systemChance, log },
      ),
    };
    const isolate = (role: "host" | "worker") =>
      appFile === undefined
        ? undefined
        : forkIsolated({ role, appFile, servers: mesh.url, logLevel: config.logLevel ?? logLevel, gateway });
    const parts = await start({ ...base, mesh, ports, incarnation: newIncarnation, isolate, health });
    endLeanStart();
    health?.serving(mesh, parts);
    isServing = true;
    try {
      await Promise.race([aborted(signal), lost(mesh)]);
    } finally {
      health?.draining();
      log.info({ graceMs }, "stopping");
      await Promise.all(parts.map((part) => part.stop(graceMs)));
    }
  } finally {
    await mesh.close();
    await health?.close();
    log.info({}, "stopped");
  }
}

/** Loaded only where it is asked for: an HTTP server is not for nothing. */
async function openHealth({ health }: Config): Promise<Health | undefined> {
  const { host, port } = health;
  if (port === undefined) return undefined;
  return (await import("./health/health.ts")).startHealth({ host, port, version: packageVersion() });
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

/** The client looks for a lost server for ever; a connection that ends all the same will not come back. */
async function lost(mesh: OpenMesh): Promise<never> {
  const why = await mesh.closed;
  throw new MeshError(
    "UNAVAILABLE",
    `the connection to the NATS server has ended${why === undefined ? "" : `: ${why}`}`,
  );
}
