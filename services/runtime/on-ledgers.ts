/**
 * On ledgers: what a command does with a mesh's ledgers and streams themselves, on a connection of its own on which nothing is made.
 */
import { checkServer, dial } from "../nats/connection.ts";
import { withLedgers } from "../nats/ledgers.ts";
import type { Config } from "./config.ts";
import { openServer } from "./mesh.ts";

/** What opening takes. */
export interface OnLedgersOptions {
  /** Takes lines for a person. */
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Lasts as long as `run` takes; `name` is how the server knows the connection. Throws what opening and `run` throw. */
export async function onLedgers<T>(
  name: string,
  { servers, serverDir }: Config,
  { report, signal }: OnLedgersOptions,
  run: Parameters<typeof withLedgers<T>>[1],
): Promise<T> {
  await using server = await openServer({ servers, dataDir: serverDir, mustExist: true, report, signal });
  const nc = await dial({ servers: server.url.split(","), name, report, signal });
  try {
    checkServer(nc);
    return await withLedgers(nc, run);
  } finally {
    await nc.close();
  }
}
