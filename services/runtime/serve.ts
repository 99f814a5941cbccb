/**
 * Serve: what hosts, workers and gateways have in common. The mesh is opened once, parts run on it, all is closed.
 */
import { MeshError } from "../../protocol/errors.ts";
import { outliveLeftAlone } from "../perform/left-alone.ts";
import type { Log } from "../process/log.ts";
import type { Chance, Clock, Ports } from "../wire/ports.ts";
import type { CallbackUrlOf } from "../wire/settlement-token.ts";
import type { CheckSignature, Signer } from "../wire/signing.ts";
import { openCallbackUrls } from "./callback-urls.ts";
import { type Config, describeConfig, type LogLevel } from "./config.ts";
import { openGatewayConfig } from "./gateway-secret.ts";
import { giveBack } from "./give-back.ts";
import type { Health } from "./health/health.ts";
import type { Isolate } from "../suspects/child.ts";
import { forkIsolated } from "./isolate.ts";
import { createLogger } from "./logger.ts";
import { linesLost } from "./outlet.ts";
import { openMesh, type OpenMesh } from "./mesh.ts";
import type { Part, UnderWay } from "./health/part.ts";
import { whyNotReady } from "./health/readiness.ts";
import { checkSignature, openSigner } from "./signing.ts";
import { newIncarnation, systemChance } from "./system.ts";
import { packageVersion } from "./version.ts";
import { type Watch, watchHolds } from "./watch-holds.ts";
import { whileFull, type WhenStored } from "./while-full.ts";

/** What opening takes. */
export interface OpenOptions {
  readonly config: Config;
  /** Gives up opening. */
  readonly signal?: AbortSignal | undefined;
  /** Takes lines for a person. */
  readonly report: (line: string) => void;
  /** The application's file, which a process started for a suspect loads, too. Without it nothing is suspected. */
  readonly appFile?: string | undefined;
  /** The log's level unless LOG_LEVEL names one. */
  readonly logLevel?: LogLevel | undefined;
}

/** What serving until a signal takes. */
export interface ServeOptions extends OpenOptions {
  /** Ends it; what runs gets the grace. */
  readonly signal: AbortSignal;
  /** A person's or the system's wish to end it, where the signal may also come of itself. */
  readonly wish?: AbortSignal;
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
  /** Watches what holds the loop, for a host of this name. */
  readonly watch: (incarnation: string) => Watch;
  /** What is kept for what runs; undefined: the default. */
  readonly reserveBytes: number | undefined;
  /** Begins what stores before it serves, and waits for a server that stores nothing. */
  readonly whenStored: WhenStored;
  /** Where the process shows its health, and what counts for it, if anything asks. */
  readonly health: Pick<Health, "url" | "observers"> | undefined;
}

/** Parts that run on an open mesh. */
export interface Serving {
  readonly service: Service;
  readonly parts: readonly Part[];
  /** Settles when the connection has ended for good although it was not closed here, with what to throw. */
  readonly lost: Promise<MeshError>;
  /** Of all parts together. */
  underWay(): UnderWay;
  /** Undefined: it can do its work now. Never throws. */
  whyNotReady(): Promise<string | undefined>;
  /** Stops the parts: nothing new is taken, and what runs gets the grace. A second call waits for the first. */
  drain(graceMs: number): Promise<void>;
  /** Drains and closes the mesh. A second call waits for the first. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Opens the mesh and starts the parts. Throws what opening or starting throws; then nothing is left running. A process
 * that dies leaves nothing to be closed: its server's other clients take over.
 */
export async function openServing(
  options: OpenOptions,
  start: (service: Service) => Promise<Part[]>,
): Promise<Serving> {
  const signer = openSigner(options.config.hostNkey, "SAGAMESH_HOST_NKEY");
  const log = createLogger({ level: levelOf(options), fields: { service: "sagamesh" } });
  const health = await openHealth(options.config, log); // Before the mesh: a process that waits for its server is alive, and not ready.
  let mesh: OpenMesh | undefined;
  let isServing = false;
  const endOutliving = outliveLeftAlone(log);
  const closeAll = async () => {
    endOutliving();
    if (isServing) await health?.sendLast(); // It has what only an open mesh tells.
    await mesh?.close();
    await health?.close();
    log.info({}, "stopped");
  };
  try {
    const { config, signal } = options;
    // Until it serves a person may be waiting; from then on it is a matter for the log.
    const report = (line: string) =>
      isServing ? log.warn({ detail: line }, "server heard") : options.report(line);
    const { servers, serverDir: dataDir, replicas, shards, partitions } = config;
    const made = { replicas, shards, partitions };
    const opening = { servers, dataDir, ...made, name: `sagamesh ${process.pid}`, report, signal };
    const waiting = { report, signal, waits: (why: MeshError | undefined) => health?.waits(why) };
    mesh = await whileFull(waiting, () => openMesh(opening));
    const whenStored: WhenStored = (begin) => whileFull(waiting, begin);
    const service = await serviceOn(mesh, options, { log, health, signer, whenStored });
    const parts = await start(service);
    health?.serving(mesh, parts);
    isServing = true;
    return servingOf({ service, parts, closeAll, log, health });
  } catch (error) {
    await closeAll();
    throw error;
  }
}

const levelOf = ({ config, logLevel = "info" }: OpenOptions): LogLevel => config.logLevel ?? logLevel;

/** What every part is given, on this mesh. */
async function serviceOn(
  mesh: OpenMesh,
  options: OpenOptions,
  {
    health,
    ...given
  }: Pick<Service, "log" | "signer" | "whenStored"> & { readonly health: Health | undefined },
): Promise<Service> {
  const { config, appFile } = options;
  const { log, signer } = given;
  const { version: serverVersion, url: servers } = mesh;
  log.info(
    { config: describeConfig(config), pid: process.pid, serverVersion, signsAs: signer?.publicKey },
    "starting",
  );
  const own = { clock: mesh.clock, chance: systemChance, log };
  const gateway = await openGatewayConfig(config);
  const { callbackBase } = config;
  const callbackUrlOf = await openCallbackUrls({ callbackBase, gateway }, own);
  const isolate = (role: "host" | "worker") =>
    appFile === undefined
      ? undefined
      : forkIsolated({ role, appFile, servers, logLevel: levelOf(options), gateway });
  const { ports } = mesh;
  const watch = (by: string) => watchHolds({ maxMs: config.heldMaxMs, marking: { by, servers } }, log);
  const incarnation = newIncarnation;
  return {
    ...own,
    ...given,
    ...{
      mesh,
      ports,
      checkSignature,
      reserveBytes: config.reserveBytes,
      callbackBase,
      callbackUrlOf,
      incarnation,
      isolate,
      watch,
      health,
    },
  };
}

interface Opened {
  readonly service: Service;
  readonly parts: readonly Part[];
  readonly closeAll: () => Promise<void>;
  readonly log: Log;
  readonly health: Health | undefined;
}

function servingOf({ service, parts, closeAll, log, health }: Opened): Serving {
  const { mesh } = service;
  let draining: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;
  const underWay = () => {
    const all = parts.flatMap((part) => part.underWay?.() ?? []);
    const sum = (of: keyof UnderWay) => all.reduce((total, one) => total + one[of], 0);
    return { sagas: sum("sagas"), effects: sum("effects") };
  };
  const drain = (graceMs: number) =>
    (draining ??= (async () => {
      health?.draining();
      const { sagas, effects } = underWay();
      log.info({ graceMs, sagas, effects }, "stopping");
      await Promise.all(parts.map((part) => part.stop(graceMs)));
    })());
  return {
    service,
    ...{ parts, underWay },
    lost: new Promise((resolve) => {
      void mesh.closed.then((why) => stopping ?? resolve(lostConnection(why)));
    }),
    whyNotReady: () =>
      whyNotReady(draining === undefined ? { kind: "serving", mesh, parts } : { kind: "draining" }),
    drain,
    stop: (graceMs) => (stopping ??= drain(graceMs).finally(closeAll)),
  };
}

/** The client looks for a lost server for ever; a connection that ends all the same will not come back. */
const lostConnection = (why: string | undefined): MeshError =>
  new MeshError(
    "UNAVAILABLE",
    `the connection to the NATS server has ended${why === undefined ? "" : `: ${why}`}`,
  );

/**
 * Opens the mesh, starts the parts, and resolves once the signal came and everything is down. Throws what
 * opening or starting throws, and UNAVAILABLE if the connection ends for good.
 */
export async function serve(
  options: ServeOptions,
  graceMs: number,
  start: (service: Service) => Promise<Part[]>,
): Promise<void> {
  const serving = await openServing(options, start);
  const over = new AbortController();
  const { clock, log } = serving.service;
  const givingBack = giveBack({ clock, log, signal: over.signal });
  try {
    const lost = await Promise.race([aborted(options.signal), serving.lost]);
    if (lost !== undefined) throw lost;
    if ((options.wish ?? options.signal).aborted) options.report(drainLine(serving.underWay(), graceMs));
  } finally {
    over.abort();
    await Promise.all([serving.stop(graceMs), givingBack]);
  }
}

/** What a person reads who has asked for an end. */
export function drainLine({ sagas, effects }: UnderWay, graceMs: number): string {
  const awaited = [
    ...(sagas === 0 ? [] : [`${sagas} running ${sagas === 1 ? "saga" : "sagas"}`]),
    ...(effects === 0 ? [] : [`${effects} ${effects === 1 ? "effect" : "effects"} under way`]),
  ];
  return awaited.length === 0
    ? "stops: nothing is under way"
    : `drains: waits at most ${graceMs / 1_000} s for ${awaited.join(" and ")}; a second signal (Ctrl-C) exits at once`;
}

/** Loaded only where it is asked for: an HTTP server is not for nothing, nor is a client. */
async function openHealth(config: Config, log: Log): Promise<Health | undefined> {
  const { host, port } = config.health;
  const isTold = Object.keys(config.otel).length > 0;
  const push = isTold ? (await import("./push-metrics.ts")).metricsPush(config, log) : undefined;
  if (port === undefined && push === undefined) return undefined;
  return (await import("./health/health.ts")).startHealth({
    ...{ host, port, push, linesLost },
    version: packageVersion(),
  });
}

/** Resolves when the signal comes. */
export const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
