/**
 * Context: what a command is given, and the ways to a mesh.
 */
import type { ClientDeps } from "../../client/send.ts";
import type { Config } from "../../runtime/config.ts";
import { openClientMesh, type OpenMesh } from "../../runtime/mesh.ts";
import type { Output } from "./output.ts";

export interface CommandContext {
  readonly config: Config;
  readonly output: Output;
  /** Aborted when the person or the system asks for an end, or the reader of the output has gone. */
  readonly signal: AbortSignal;
}

export interface CommandMesh extends OpenMesh {
  readonly deps: ClientDeps;
}

/**
 * Runs a command that drives or reads a mesh which is there: the server named, or the embedded one on its
 * folder. Throws UNAVAILABLE if nothing was ever started.
 */
export async function withMesh<T>(
  context: CommandContext,
  run: (mesh: CommandMesh) => Promise<T>,
): Promise<T> {
  const { config, output, signal } = context;
  const report = (line: string) => {
    if (!line.startsWith("Using the nats-server")) output.note(line); // Said for each command, it would be noise.
  };
  const options = {
    servers: config.servers,
    dataDir: config.serverDir,
    mustExist: true,
    name: "sagamesh cli",
    reading: true,
  };
  const mesh = await openClientMesh({ ...options, report, signal });
  try {
    const { ports, clock, chance } = mesh;
    return await run({ ...mesh, deps: { ports, clock, chance, from: config.from } });
  } finally {
    await mesh.close();
  }
}
