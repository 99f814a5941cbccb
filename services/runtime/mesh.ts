/**
 * Mesh: the way to a server. The one that NATS_URL or `--server` names, else an embedded one that is started,
 * reused while it runs, and stopped by the process that started it.
 */
import { existsSync } from "node:fs";
import { describeError, MeshError } from "../../protocol/errors.ts";
import { connectNats } from "../nats/connection.ts";
import { startEmbeddedServer } from "../nats/embedded-server.ts";
import { openNatsPorts } from "../nats/open.ts";
import { serverFiles } from "../nats/server-state.ts";
import type { Ports } from "../ports.ts";
import { readConfig } from "./config.ts";

export interface MeshOptions {
  /** `nats://host:port`, several separated by commas. Undefined: an embedded server. */
  readonly servers?: string | undefined;
  /** Folder of the embedded server; a folder under the user's data directory unless given. */
  readonly dataDir?: string | undefined;
  /** Start an embedded server only on a store that is there: for commands that read. */
  readonly mustExist?: boolean | undefined;
  readonly name: string;
  /** Copies of streams of a new mesh. */
  readonly replicas?: number | undefined;
  /** Fsync before each ack, for an embedded server that is started now. */
  readonly syncAlways?: boolean | undefined;
  /** Takes lines for a person. */
  readonly report: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface OpenMesh {
  readonly ports: Ports;
  /** What others need to reach the same server. */
  readonly url: string;
  readonly version: string;
  readonly dataDir: string | undefined;
  /** This process started the server, and `close` stops it. */
  readonly owned: boolean;
  /** Settles when the connection has ended for good, with the reason if there was one. */
  readonly closed: Promise<string | undefined>;
  readonly close: () => Promise<void>;
}

/**
 * Connects, starting a server if none is named. Throws UNAVAILABLE, SERVER_TOO_OLD, SERVER_MISSING or
 * SERVER_MISCONFIGURED, each with its remedy. Nothing keeps running after a failure.
 */
export async function openMesh(options: MeshOptions): Promise<OpenMesh> {
  const { name, report, replicas, signal } = options;
  const server = await openServer(options);
  try {
    const { url, dataDir, owned } = server;
    const nc = await connectNats({
      servers: url.split(","),
      name,
      report,
      ...(signal === undefined ? {} : { signal }),
    });
    try {
      const ports = await openNatsPorts(nc, { report, ...(replicas === undefined ? {} : { replicas }) });
      return {
        ports,
        url,
        version: nc.info?.version ?? "unknown",
        dataDir,
        owned,
        closed: nc.closed().then((why) => (why === undefined ? undefined : describeError(why))),
        close: async () => {
          await ports.close();
          await nc.drain().catch(() => nc.close()); // A lost connection cannot be drained.
          await server[Symbol.asyncDispose]();
        },
      };
    } catch (error) {
      await nc.close();
      throw error;
    }
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
}

export interface OpenServer extends AsyncDisposable {
  readonly url: string;
  readonly dataDir: string | undefined;
  readonly owned: boolean;
}

/** The server that is named, or an embedded one. Disposing of it stops it if this call started it. */
export async function openServer(
  options: Pick<MeshOptions, "servers" | "dataDir" | "mustExist" | "report" | "syncAlways" | "signal">,
): Promise<OpenServer> {
  const { servers, report, syncAlways, signal } = options;
  if (servers !== undefined)
    return { url: servers, dataDir: undefined, owned: false, [Symbol.asyncDispose]: async () => undefined };
  const dataDir = options.dataDir ?? readConfig().serverDir;
  if (options.mustExist === true) assertStarted(dataDir);
  const server = await startEmbeddedServer({
    dataDir,
    report,
    ...(syncAlways === undefined ? {} : { syncAlways }),
    ...(signal === undefined ? {} : { signal }),
  });
  return {
    url: server.url,
    dataDir: server.dataDir,
    owned: server.owned,
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

/** Throws UNAVAILABLE if no server ever ran in the folder: there is nothing to read. */
function assertStarted(dataDir: string): void {
  if (existsSync(serverFiles(dataDir).store)) return;
  throw new MeshError(
    "UNAVAILABLE",
    `nothing was ever started here: there is no store in ${dataDir} and no server is named`,
    {
      remedy:
        "Start something with `sagamesh up --app FILE` or `sagamesh demo`, or name a server with --server or NATS_URL.",
    },
  );
}
