/**
 * Connect: a client of the mesh, for applications.
 */
import type { Mesh } from "../client/mesh.ts";
import { withPatientReads } from "../wire/patient-ports.ts";
import { readConfig } from "./config.ts";
import { openMesh } from "./mesh.ts";
import { systemChance, systemClock } from "./system.ts";

export interface ConnectOptions {
  /** `nats://host:port`; NATS_URL unless given, else the embedded server of this user, started if need be. */
  readonly servers?: string;
  /** Folder of the embedded server; SAGAMESH_DATA unless given, else the user's data folder. */
  readonly dataDir?: string;
  /** Who speaks; recorded with signals and votes. The user's name unless given. */
  readonly from?: string;
}

/**
 * Connects to the mesh. `await using mesh = await connect()` closes by itself. Throws UNAVAILABLE,
 * SERVER_TOO_OLD or SERVER_MISSING with a remedy.
 */
export async function connect(options: ConnectOptions = {}): Promise<Mesh> {
  // An application's file names `connect` and its hosts never call it: the client takes megabytes of schemas.
  const { createClient } = await import("../client/mesh.ts");
  const { servers, serverDir, from } = readConfig({
    server: options.servers,
    data: options.dataDir,
    from: options.from,
  });
  const mesh = await openMesh({
    servers,
    dataDir: serverDir,
    name: `sagamesh client ${from}`,
    report: () => undefined,
  });
  const ports = withPatientReads(mesh.ports, systemClock);
  return createClient({ ports, clock: systemClock, chance: systemChance, from }, mesh.close);
}
