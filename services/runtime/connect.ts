/**
 * Connect: a client of the mesh, for applications.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { Mesh } from "../client/mesh.ts";
import { readConfig } from "./config.ts";
import { openClientMesh } from "./mesh.ts";

/** Which mesh, and who speaks. */
export interface ConnectOptions {
  /** `nats://host:port`; NATS_URL unless given, else the embedded server of this user, started if need be. */
  readonly servers?: string;
  /** Folder of the embedded server; SAGAMESH_DATA unless given, else the user's data folder. */
  readonly dataDir?: string;
  /** Who speaks; recorded with signals and votes. The user's name unless given. */
  readonly from?: string;
}

const known: readonly string[] = ["servers", "dataDir", "from"] satisfies (keyof ConnectOptions)[];

/** Throws USAGE. An option that is misspelt would otherwise start a server of its own in place of the one meant. */
function assertOptions(options: unknown): asserts options is ConnectOptions {
  if (typeof options !== "object" || options === null)
    throw new MeshError("USAGE", "connect takes one object: connect({ servers })");
  for (const [key, value] of Object.entries(options)) {
    const fault = !known.includes(key)
      ? `Unrecognized key: "${key}"`
      : value === undefined || typeof value === "string"
        ? undefined
        : `${key}: expected a text`;
    if (fault !== undefined)
      throw new MeshError("USAGE", `connect: ${fault}`, { remedy: `It takes ${known.join(", ")}.` });
  }
}

/**
 * Connects to the mesh. `await using mesh = await connect()` closes by itself. Throws USAGE for a bad option, and
 * UNAVAILABLE, SERVER_TOO_OLD, SERVER_MISSING or SERVER_MISCONFIGURED with a remedy. A client that dies in the middle of
 * a call leaves its message stored or not; the same call again, with the same id, counts once.
 */
export async function connect(options: ConnectOptions = {}): Promise<Mesh> {
  assertOptions(options);
  // An application's file names `connect` and its hosts never call it: the client takes megabytes of schemas.
  const { createClient } = await import("../client/mesh.ts");
  const { servers, serverDir, from } = readConfig({
    server: options.servers,
    serverFrom: "servers",
    data: options.dataDir,
    from: options.from,
  });
  const { ports, clock, chance, close } = await openClientMesh({
    servers,
    dataDir: serverDir,
    name: `sagamesh client ${from}`,
    reading: true,
    report: () => undefined,
  });
  return createClient({ ports, clock, chance, from }, close);
}
