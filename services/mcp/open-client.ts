/**
 * Open client: one try to reach a server, from reading its secrets to the list of its tools.
 *
 * OL1 The library is loaded here, when a connection is opened: a host that has no server has none of it.
 * OL2 What leaves this file, errors and log included, holds no secret.
 */
import type { Client } from "@modelcontextprotocol/client";
import type { BodyLog } from "../../actors/contract/tool.ts";
import { describeError, isMeshError, MeshError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import { type Listing, readListing } from "./listing.ts";
import { readSecrets, type Secrets } from "./secrets.ts";
import type { ServerConfig } from "./server.ts";

const probeMs = 5_000;
const listMs = 30_000;

export interface Ready {
  readonly client: Client;
  /** The code of an error that the server answered by JSON-RPC; undefined for any other. */
  readonly protocolCodeOf: (error: unknown) => number | undefined;
  readonly secrets: Secrets;
}

export interface Opened extends Ready {
  readonly listing: Listing;
}

export interface Opening {
  readonly name: string;
  readonly server: ServerConfig;
  readonly connectMs: number;
  /** Aborted when the server is not needed any more; with a MeshError as its reason. */
  readonly signal: AbortSignal;
  readonly log: () => BodyLog;
}

/** Opens a client and lists the server's tools. Throws TOOL_UNAVAILABLE, or the code that the secrets or listing have. */
export async function openClient(opening: Opening): Promise<Opened> {
  const { name, server, log } = opening;
  const secrets = readSecrets(name, server);
  let client: Client | undefined;
  try {
    client = await attempt(opening, "auto", secrets).catch((error: unknown) => {
      // Some older servers end when they hear a word before `initialize`.
      if ("url" in server || isMeshError(error)) throw error;
      return attempt(opening, "legacy", secrets);
    });
    const listing = await listTools(client, secrets);
    const { protocolCodeOf } = await import("./transport.ts");
    const { version, protocol } = listing.server;
    log().info({ server: name, version, protocol, tools: listing.tools.length }, "mcp server connected");
    for (const reason of listing.leftOut) log().warn({ server: name, reason }, "mcp tool left out");
    return { client, secrets, protocolCodeOf, listing };
  } catch (error) {
    await client?.close().catch(() => undefined);
    throw unavailable(name, error, secrets);
  }
}

async function attempt(
  { name, server, connectMs, signal, log }: Opening,
  mode: "auto" | "legacy",
  secrets: Secrets,
): Promise<Client> {
  const { newClient, openTransport } = await import("./transport.ts"); // OL1
  signal.throwIfAborted();
  const client = newClient(mode, probeMs);
  client.onerror = (error) =>
    log().debug({ server: name, reason: secrets.redact(describeError(error)) }, "mcp connection troubled");
  const transport = openTransport(server, secrets, (line) =>
    log().info({ server: name, line }, "mcp server says"),
  );
  const late = new MeshError("TOOL_UNAVAILABLE", `it did not answer within ${connectMs} ms`);
  const given = Promise.withResolvers<never>();
  const giveUp = () => given.reject(signal.reason as Error);
  const patience = setTimeout(() => given.reject(late), connectMs);
  signal.addEventListener("abort", giveUp);
  try {
    await Promise.race([client.connect(transport, { timeout: connectMs }), given.promise]);
    return client;
  } catch (error) {
    await client.close().catch(() => undefined);
    throw error;
  } finally {
    clearTimeout(patience);
    signal.removeEventListener("abort", giveUp);
  }
}

/** What the server's tools are now, without what it repeats of its secrets. */
export async function listTools(client: Client, secrets: Secrets): Promise<Listing> {
  const { tools } = await client.listTools(undefined, { cacheMode: "refresh", timeout: listMs });
  const { name = "", version = "" } = client.getServerVersion() ?? {};
  const protocol = client.getNegotiatedProtocolVersion() ?? "";
  return readListing(
    { name, version, protocol },
    tools.map((tool) => secrets.redactJson(JSON.parse(JSON.stringify(tool)) as Json)),
  );
}

/** What failed with a server, as an error that may be shown (OL2). */
export function unavailable(name: string, error: unknown, secrets: Secrets): MeshError {
  const text = secrets.redact(describeError(error)).replace(/^\[\w+\] /, "");
  return isMeshError(error)
    ? new MeshError(error.code, text, { remedy: error.remedy })
    : new MeshError("TOOL_UNAVAILABLE", `the MCP server ${name} cannot be used: ${text}`);
}
