/**
 * Serve: what hosts and workers have in common as processes. Connects, runs until asked to end, closes.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { Log } from "../log.ts";
import type { Chance, Clock, Ports } from "../ports.ts";
import { type Config, describeConfig } from "./config.ts";
import { createLogger } from "./logger.ts";
import { openMesh, type OpenMesh } from "./mesh.ts";
import { newIncarnation, systemChance, systemClock } from "./system.ts";

export interface ServeOptions {
  readonly config: Config;
  /** Ends the process's service; what runs gets the grace. */
  readonly signal: AbortSignal;
  /** Takes lines for a person. */
  readonly report: (line: string) => void;
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
  readonly incarnation: (role: string) => string;
}

/** A part that runs: a host, a worker. */
export interface Part {
  stop(graceMs: number): Promise<void>;
}

/**
 * Opens the mesh, starts the parts, and resolves once the signal came and everything is down. Throws what
 * opening or starting throws, and UNAVAILABLE if the connection ends for good.
 */
export async function serve(
  { config, signal, report, logLevel = "info" }: ServeOptions,
  graceMs: number,
  start: (service: Service) => Promise<Part[]>,
): Promise<void> {
  const log = createLogger({ level: config.logLevel ?? logLevel, fields: { service: "sagamesh" } });
  const mesh = await openMesh({
    servers: config.servers,
    dataDir: config.serverDir,
    name: `sagamesh ${process.pid}`,
    report,
    signal,
  });
  try {
    const { ports } = mesh;
    log.info({ config: describeConfig(config), pid: process.pid, serverVersion: mesh.version }, "starting");
    const base = { clock: systemClock, chance: systemChance, log, callbackBase: config.callbackBase };
    const parts = await start({ ...base, mesh, ports, incarnation: newIncarnation });
    try {
      await Promise.race([aborted(signal), lost(mesh)]);
    } finally {
      log.info({ graceMs }, "stopping");
      await Promise.all(parts.map((part) => part.stop(graceMs)));
    }
  } finally {
    await mesh.close();
    log.info({}, "stopped");
  }
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
