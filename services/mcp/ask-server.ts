/**
 * Ask server: what a server's tools are now, for a command that calls none of them.
 */
import { connectMsDefault, createConnection } from "./connection.ts";
import type { Listing } from "./listing.ts";
import type { ServerConfig } from "./server.ts";

/** Opens a connection, lists, closes. Throws TOOL_UNAVAILABLE. */
export async function askServer(
  name: string,
  server: ServerConfig,
  connectMs = connectMsDefault,
): Promise<Listing> {
  const connection = createConnection({ name, server, connectMs, agreed: new Map() });
  try {
    return await connection.list();
  } finally {
    await connection.close();
  }
}
