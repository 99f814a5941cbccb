/**
 * Mesh: the way to a server. The one that NATS_URL or `--server` names, else an embedded one that is started,
 * reused while it runs, started again when it is lost or its full disk has room again, and stopped by the last process that uses it.
 */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describeError, MeshError } from "../../protocol/errors.ts";
import type { Capacity } from "../../protocol/storage.ts";
import { connectNats } from "../nats/connection.ts";
import { capacitiesIn } from "../nats/server/disk.ts";
import { type EmbeddedServer, endAbandonedServer, startEmbeddedServer } from "../nats/server/embedded.ts";
import type { MeshHealth } from "../nats/health.ts";
import { openNatsPorts } from "../nats/open.ts";
import { reviveServer } from "../nats/server/revival.ts";
import { watchRoom } from "../nats/server/room.ts";
import { serverFiles } from "../nats/server/state.ts";
import { withinMs } from "../nats/within-ms.ts";
import { withPatientReads } from "../wire/patient-ports.ts";
import type { Chance, Clock, Ports } from "../wire/ports.ts";
import { readConfig } from "./config.ts";
import { withTrust } from "./trusting.ts";
import { openMeshClock } from "./mesh-clock.ts";
import { systemChance } from "./system.ts";

/** For a connection that is to be closed: its last words are on their way by then, or there is no one to take them. */
const drainMs = 2_000;

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
  /** Streams of ledgers of a new mesh. */
  readonly shards?: number | undefined;
  /** Of a new mesh. */
  readonly partitions?: number | undefined;
  /** Fsync before each ack, for an embedded server that is started now. */
  readonly syncAlways?: boolean | undefined;
  /** Nothing is performed on it: opened also where the claims are gone, and not watched. False unless given. */
  readonly reading?: boolean;
  /** Takes lines for a person. */
  readonly report: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface OpenMesh {
  readonly ports: Ports;
  /** The identity of the mesh. */
  readonly meshId: string;
  /** The server's time. */
  readonly clock: Clock;
  /** What others need to reach the same server. */
  readonly url: string;
  readonly version: string;
  readonly dataDir: string | undefined;
  /** Settles when the connection has ended for good, with the reason if there was one. */
  readonly closed: Promise<string | undefined>;
  /** What the mesh lacks now, for which nothing that needs it begins. */
  readonly fault: () => MeshError | undefined;
  /** What the server has of the mesh. Throws UNAVAILABLE. */
  readonly readHealth: () => Promise<MeshHealth>;
  /** What is left of the limits that can be known from here. Throws UNAVAILABLE. */
  readonly readCapacities: () => Promise<Capacity[]>;
  readonly close: () => Promise<void>;
}

/**
 * Connects, starting a server if none is named. Throws UNAVAILABLE, SERVER_TOO_OLD, SERVER_MISSING,
 * SERVER_MISCONFIGURED, STORAGE_FULL, MESH_INCOMPLETE or MESH_MIXED, each with its remedy. Nothing keeps running after a failure.
 */
export async function openMesh(options: MeshOptions): Promise<OpenMesh> {
  const { name, report, replicas, shards, partitions, signal, reading = false } = options;
  const server = await openServer(options);
  try {
    const { url, dataDir, embedded } = server;
    const nc = await connectNats({
      servers: url.split(","),
      name,
      report,
      ...(signal === undefined ? {} : { signal }),
    });
    const revival = embedded && reviveServer(nc, embedded, report);
    const room = embedded && !reading ? watchRoom(nc, embedded, report) : undefined;
    /** Before the connection is closed, or that would be a loss. */
    const stopKeeping = () => Promise.all([revival?.stop(), room?.stop()]);
    try {
      const made = {
        ...(replicas === undefined ? {} : { replicas }),
        ...(shards === undefined ? {} : { shards }),
        ...(partitions === undefined ? {} : { partitions }),
      };
      const opened = await openNatsPorts(nc, { report, reading, signal, ...made });
      const { clock, stop } = await openMeshClock(() => opened.claims.now(), { report });
      const { ports, forget } = await withTrust(opened, clock, report).catch(async (error: unknown) => {
        stop();
        await opened.close();
        throw error;
      });
      return {
        ports,
        meshId: opened.mesh,
        clock,
        url,
        version: nc.info?.version ?? "unknown",
        dataDir,
        fault: () => opened.fault(),
        readHealth: async () => (await import("../nats/health.ts")).readHealth(nc),
        readCapacities: async () => {
          const { readCapacities } = await import("../nats/capacity.ts");
          const known = await readCapacities(nc);
          return [...known, ...(dataDir === undefined ? [] : await capacitiesIn(dataDir))];
        },
        closed: nc.closed().then((why) => (why === undefined ? undefined : describeError(why))),
        close: async () => {
          stop();
          forget();
          await stopKeeping();
          await opened.close();
          // What was sent leaves; a server that is lost, or stands still, takes nothing, and has no more to say.
          await withinMs(drainMs, nc.drain());
          await nc.close();
          await server[Symbol.asyncDispose]();
        },
      };
    } catch (error) {
      await stopKeeping();
      await nc.close();
      throw error;
    }
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
}

/**
 * What a client, or the host of one command, lives on: a mesh whose reads wait for a server that is away, and the
 * machine's chance.
 */
export interface ClientMesh extends OpenMesh {
  readonly chance: Chance;
}

/**
 * Opens a mesh for a client; throws as `openMesh`. Processes that serve open theirs without patience, and judge each
 * failed read themselves.
 */
export async function openClientMesh(options: MeshOptions): Promise<ClientMesh> {
  const mesh = await openMesh(options);
  const ports = withPatientReads(mesh.ports, mesh.clock);
  return { ...mesh, ports, chance: systemChance };
}

export interface OpenServer extends AsyncDisposable {
  readonly url: string;
  readonly dataDir: string | undefined;
  /** Undefined: the server was named. */
  readonly embedded: EmbeddedServer | undefined;
}

/** The server that is named, or an embedded one. Disposing of it stops it if no other process uses it. */
export async function openServer(
  options: Pick<MeshOptions, "servers" | "dataDir" | "mustExist" | "report" | "syncAlways" | "signal">,
): Promise<OpenServer> {
  const { servers, report, syncAlways, signal } = options;
  if (servers !== undefined)
    return {
      url: servers,
      dataDir: undefined,
      embedded: undefined,
      [Symbol.asyncDispose]: async () => undefined,
    };
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
    embedded: server,
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

/**
 * Removes a folder whose embedded server, in this subfolder, is used by no process any more, and ends that server if
 * it runs. False, and nothing is changed, for every other folder. Throws UNAVAILABLE if the server does not end.
 */
export async function removeAbandoned(folder: string, subfolder: string): Promise<boolean> {
  if (!(await endAbandonedServer(join(folder, subfolder)))) return false;
  await rm(folder, { recursive: true, force: true });
  return true;
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
