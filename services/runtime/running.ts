/**
 * Running: a host or a worker inside a program of one's own, and what its options are.
 */
import { z } from "zod";
import { MeshError } from "../../protocol/errors.ts";
import type { App } from "../app/app.ts";
import { type Config, LogLevel, redactUrl, readConfig } from "./config.ts";
import type { Part } from "./health/part.ts";
import { openServing, type OpenOptions, type Serving, type Service } from "./serve.ts";
import { graceMs } from "./shutdown.ts";

/**
 * What a host or worker is started with. What is left out is read from the environment, as the commands do: NATS_URL,
 * SAGAMESH_DATA, SAGAMESH_REPLICAS, SAGAMESH_HEALTH_PORT, SAGAMESH_GATEWAY_URL and the others of the README.
 */
export interface ServedOptions {
  /** What it serves: what `defineApp` made. */
  readonly app: App;
  /**
   * The path of the file that exports `app`. A saga or call whose process died of it is tried again in a process of its
   * own, which loads this file; without it nothing is tried apart, and what kills every process kills the next one.
   */
  readonly appFile?: string | undefined;
  /** `nats://host:port`, several separated by commas; else an embedded server of this user, started if need be. */
  readonly servers?: string | undefined;
  /** The data folder of the embedded server. */
  readonly dataDir?: string | undefined;
  /** Copies of each stream: 1, 3 or 5; as many as there are unless given, 1 for a new mesh. */
  readonly replicas?: number | undefined;
  /** Shows /healthz, /readyz and /metrics over HTTP here; 0: any free port. `host` is 127.0.0.1 unless given. */
  readonly healthPort?: number | undefined;
  readonly healthHost?: string | undefined;
  /** Of the log, JSON lines on stderr; `warn` unless given. LOG_LEVEL comes before it. */
  readonly logLevel?: LogLevel | undefined;
  /** Takes lines for a person while it starts, such as that a server is started; dropped unless given. */
  readonly report?: ((line: string) => void) | undefined;
  /** Gives up starting. Once it has started only `drain` and `stop` end it. */
  readonly signal?: AbortSignal | undefined;
}

/** How a host or worker is now. */
export interface RunningHealth {
  /** `draining`: takes nothing new; `stopped`: its connection is closed, or lost for good. */
  readonly phase: "serving" | "draining" | "stopped";
  /** Undefined: it can do its work now. */
  readonly whyNotReady: string | undefined;
  /** Of a host: sagas in its memory. A saga that waits is in none. */
  readonly sagas?: number;
  /** Of a host: how many partitions of the inbox it takes inputs of. */
  readonly partitions?: number;
}

/** How long what runs gets, milliseconds; 10 s unless given. What is not done by then is given back to the mesh. */
export interface EndOptions {
  readonly graceMs?: number;
}

/** A host or a worker that runs in this process. `await using` stops it at the end of the block. */
export interface Running extends AsyncDisposable {
  /** The server it is connected to, without password; `dataDir` where it is embedded. */
  readonly server: { readonly url: string; readonly version: string; readonly dataDir?: string };
  /** Where it shows its health over HTTP, if it does. */
  readonly healthUrl: string | undefined;
  /** Resolves when the connection has ended for good although nothing here closed it (UNAVAILABLE): stop, start anew. */
  readonly lost: Promise<MeshError>;
  /** What it has begun and not ended, which a stop waits for: sagas that do not wait, and model calls and tools. */
  underWay(): { readonly sagas: number; readonly effects: number };
  /** How it is now. Never throws; a server that gives no answer for a second is a reason. */
  health(): Promise<RunningHealth>;
  /**
   * Takes nothing new from now on, and resolves when what runs has settled or was given back, for others to go on with.
   * The connection stays. Again: the same.
   */
  drain(options?: EndOptions): Promise<void>;
  /** Drains and closes the connection, and the embedded server if no other process uses it. Again: the same. */
  stop(options?: EndOptions): Promise<void>;
}

const Shape = z.strictObject({
  app: z.custom<App>(
    (app) => (app as App | null | undefined)?.type === "sagamesh.app",
    "expected what defineApp made",
  ),
  appFile: z.string().min(1).optional(),
  servers: z.string().min(1).optional(),
  dataDir: z.string().min(1).optional(),
  replicas: z.union([z.literal(1), z.literal(3), z.literal(5)], "expected 1, 3 or 5").optional(),
  healthPort: z.int().min(0).max(65_535).optional(),
  healthHost: z.string().min(1).optional(),
  logLevel: LogLevel.optional(),
  report: z
    .custom<(line: string) => void>((one) => typeof one === "function", "expected a function")
    .optional(),
  signal: z.instanceof(AbortSignal).optional(),
});

/**
 * Reads options, those that all take and `own`. Throws USAGE with every fault, an option that there is not included.
 */
export function readOptions(caller: string, options: unknown, own: z.ZodRawShape): void {
  const read = Shape.extend(own).safeParse(options);
  if (read.success) return;
  throw new MeshError("USAGE", `${caller}: ${z.prettifyError(read.error)}`, {
    remedy: `For example await ${caller}({ app }), where app is what defineApp made.`,
  });
}

/** Starts a part as what runs in a program. Throws what opening throws; then nothing is left running. */
export async function startRunning(
  options: ServedOptions,
  start: (service: Service) => Promise<Part>,
): Promise<Running> {
  const serving = await openServing(openOptions(options), async (service) => [await start(service)]);
  const { service } = serving;
  const running: { phase: RunningHealth["phase"] } = { phase: "serving" };
  void serving.lost.then(() => (running.phase = "stopped"));
  const drain = async ({ graceMs: grace = graceMs }: EndOptions = {}) => {
    if (running.phase === "serving") running.phase = "draining";
    await serving.drain(grace);
  };
  const stop = async ({ graceMs: grace = graceMs }: EndOptions = {}) => {
    if (running.phase === "serving") running.phase = "draining";
    await serving.stop(grace);
    running.phase = "stopped";
  };
  return {
    ...whereabouts(service),
    lost: serving.lost,
    underWay: () => serving.underWay(),
    health: () => healthOf(serving, running.phase),
    drain,
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

/** Where a process that serves is found. */
export const whereabouts = ({
  mesh: { url, version, dataDir },
  health,
}: Pick<Service, "mesh" | "health">): Pick<Running, "server" | "healthUrl"> => ({
  server: { url: redactUrl(url), version, ...(dataDir === undefined ? {} : { dataDir }) },
  healthUrl: health?.url,
});

async function healthOf(serving: Serving, phase: RunningHealth["phase"]): Promise<RunningHealth> {
  if (phase === "stopped") return { phase, whyNotReady: "stopped: its connection is closed" };
  const whyNotReady = await serving.whyNotReady();
  const [part] = serving.parts;
  return {
    phase,
    whyNotReady,
    ...(part?.resident === undefined ? {} : { sagas: part.resident() }),
    ...(part?.partitions === undefined ? {} : { partitions: part.partitions().length }),
  };
}

function openOptions(options: ServedOptions): OpenOptions {
  const { servers: server, dataDir: data, appFile, signal, logLevel = "warn", report } = options;
  const config = readConfig({ server, serverFrom: "servers", data });
  return {
    config: {
      ...config,
      replicas: options.replicas ?? config.replicas,
      health: {
        host: options.healthHost ?? config.health.host,
        port: options.healthPort ?? config.health.port,
      },
    } satisfies Config,
    ...{ appFile, signal, logLevel, report: report ?? (() => undefined) },
  };
}
