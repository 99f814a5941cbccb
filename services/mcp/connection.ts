/**
 * Connection: one process's way to one server. Opened when it is first needed, opened again after it was lost, closed
 * with the process that serves its tools.
 *
 * MN1 A tool is called only after this connection has listed it as it was agreed to; a server that says "my tools
 *     changed", and any after a minute, is asked again first.
 * MN2 The library is loaded when a connection is opened: a host that has no server has none of it.
 * MN3 What leaves this file, errors and log included, holds no secret.
 */
import type { Client } from "@modelcontextprotocol/client";
import { NotPerformed, type BodyLog } from "../../actors/contract/tool.ts";
import { describeError, type ErrorCode, isMeshError, MeshError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import { changeOf, type ListedTool, type Listing, readListing } from "./listing.ts";
import { readSecrets, type Secrets } from "./secrets.ts";
import type { ServerConfig } from "./server.ts";

/** A server that is got by a package runner is downloaded first. */
export const connectMsDefault = 60_000;
const probeMs = 5_000;
const listMs = 30_000;
const listingAgeMsMax = 60_000;
/** Where no process serves the tools: a test, a child for suspects. */
const unservedIdleMs = 1_000;

export interface Ready {
  readonly client: Client;
  /** The code of an error that the server answered by JSON-RPC; undefined for any other. */
  readonly protocolCodeOf: (error: unknown) => number | undefined;
  readonly secrets: Secrets;
}

export interface Connection {
  readonly name: string;
  /** A client whose server has the tool as agreed. Throws NotPerformed (TOOL_UNAVAILABLE, TOOL_CHANGED). */
  ready(tool: string, signal: AbortSignal): Promise<Ready>;
  /** What the server's tools are now. Throws TOOL_UNAVAILABLE. */
  list(): Promise<Listing>;
  /** Counts a call, so that an idle connection is closed where no worker serves its tools. */
  during<T>(call: () => Promise<T>): Promise<T>;
  /** The session is over at the server: the next call opens another. */
  forget(): void;
  /** From now on the connection stays open, and says what it has to say; ended by the function. */
  serve(log: BodyLog): () => Promise<void>;
  close(): Promise<void>;
}

interface Open extends Ready {
  listing: Listing;
  listedAt: number;
  isStale: boolean;
}

export interface ConnectionOptions {
  readonly name: string;
  readonly server: ServerConfig;
  readonly connectMs: number;
  /** The tools as agreed; empty before there is an agreement. */
  readonly agreed: ReadonlyMap<string, ListedTool>;
}

const silent: BodyLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export function createConnection({ name, server, connectMs, agreed }: ConnectionOptions): Connection {
  let opening: Promise<Open> | undefined;
  let relisting: Promise<void> | undefined;
  let log = silent;
  let serving = 0;
  let calls = 0;
  let idle: NodeJS.Timeout | undefined;
  /** Ends the connecting that is under way. */
  let giveUp: ((reason: Error) => void) | undefined;

  const open = (): Promise<Open> => {
    if (opening !== undefined) return opening;
    const mine: Promise<Open> = connect().catch((error: unknown) => {
      if (opening === mine) opening = undefined;
      throw error;
    });
    opening = mine;
    return mine;
  };

  async function connect(): Promise<Open> {
    const secrets = readSecrets(name, server);
    let client: Client | undefined;
    try {
      client = await attempt("auto", secrets).catch((error: unknown) => {
        // Some older servers end when they hear a word before `initialize`.
        if ("url" in server || isMeshError(error)) throw error;
        return attempt("legacy", secrets);
      });
      const listing = await listWith(client, secrets);
      const { protocolCodeOf } = await import("./transport.ts");
      const opened: Open = { client, secrets, protocolCodeOf, listing, listedAt: Date.now(), isStale: false };
      watch(opened);
      const { version, protocol } = listing.server;
      log.info({ server: name, version, protocol, tools: listing.tools.length }, "mcp server connected");
      for (const reason of listing.leftOut) log.warn({ server: name, reason }, "mcp tool left out");
      return opened;
    } catch (error) {
      await client?.close().catch(() => undefined);
      throw unavailable(error, secrets);
    }
  }

  async function attempt(mode: "auto" | "legacy", secrets: Secrets): Promise<Client> {
    const { newClient, openTransport } = await import("./transport.ts"); // MN2
    const client = newClient(mode, probeMs);
    client.onerror = (error) =>
      log.debug({ server: name, reason: secrets.redact(describeError(error)) }, "mcp connection troubled");
    const transport = openTransport(server, secrets, (line) =>
      log.info({ server: name, line }, "mcp server says"),
    );
    const late = new MeshError("TOOL_UNAVAILABLE", `it did not answer within ${connectMs} ms`);
    let patience: NodeJS.Timeout | undefined;
    const cut = new Promise<never>((_, reject) => {
      giveUp = reject;
      patience = setTimeout(() => reject(late), connectMs);
    });
    try {
      await Promise.race([client.connect(transport, { timeout: connectMs }), cut]);
      return client;
    } catch (error) {
      await client.close().catch(() => undefined);
      throw error;
    } finally {
      clearTimeout(patience);
      giveUp = undefined;
    }
  }

  async function listWith(client: Client, secrets: Secrets): Promise<Listing> {
    const { tools } = await client.listTools(undefined, { cacheMode: "refresh", timeout: listMs });
    const { name: own = "", version = "" } = client.getServerVersion() ?? {};
    const protocol = client.getNegotiatedProtocolVersion() ?? "";
    return readListing(
      { name: own, version, protocol },
      tools.map((tool) => secrets.redactJson(JSON.parse(JSON.stringify(tool)) as Json)),
    );
  }

  function watch(opened: Open): void {
    const { client } = opened;
    client.onclose = () => {
      if (opening === undefined) return; // Closed on purpose.
      opening = undefined;
      log.warn({ server: name }, "mcp server lost");
    };
    client.setNotificationHandler("notifications/tools/list_changed", () => {
      opened.isStale = true;
    });
  }

  /** MN1 */
  async function refresh(opened: Open): Promise<void> {
    if (!opened.isStale && Date.now() - opened.listedAt < listingAgeMsMax) return;
    relisting ??= (async () => {
      opened.isStale = false;
      try {
        opened.listing = await listWith(opened.client, opened.secrets);
        opened.listedAt = Date.now();
      } catch (error) {
        opened.isStale = true;
        throw unavailable(error, opened.secrets);
      }
    })().finally(() => {
      relisting = undefined;
    });
    await relisting;
  }

  const unavailable = (error: unknown, secrets: Secrets): MeshError => {
    const text = secrets.redact(describeError(error)).replace(/^\[\w+\] /, "");
    return isMeshError(error)
      ? new MeshError(error.code, text, { remedy: error.remedy })
      : new MeshError("TOOL_UNAVAILABLE", `the MCP server ${name} cannot be used: ${text}`);
  };

  const assertAsAgreed = ({ listing }: Open, tool: string): void => {
    const before = agreed.get(tool);
    if (before === undefined) return;
    const change = changeOf(
      before,
      listing.tools.find((one) => one.name === tool),
    );
    if (change === undefined) return;
    log.error({ server: name, tool, change }, "mcp tool changed");
    throw notPerformed(
      "TOOL_CHANGED",
      `${tool} of the MCP server ${name} is not what was agreed to: ${change}`,
      false,
    );
  };

  const close = async (): Promise<void> => {
    clearTimeout(idle);
    const closing = opening;
    opening = undefined;
    giveUp?.(new MeshError("TOOL_UNAVAILABLE", "the process that serves it is stopping"));
    const opened = await closing?.catch(() => undefined); // What never opened is closed.
    await opened?.client.close();
  };

  return {
    name,
    ready: async (tool, signal) => {
      try {
        const opened = await abortable(open(), signal);
        await abortable(refresh(opened), signal);
        assertAsAgreed(opened, tool);
        return opened;
      } catch (error) {
        if (signal.aborted || !isMeshError(error)) throw error;
        throw notPerformed(error.code, error.message.replace(/^\[\w+\] /, ""), true);
      }
    },
    list: async () => (await open()).listing,
    during: async (call) => {
      calls += 1;
      clearTimeout(idle);
      try {
        return await call();
      } finally {
        calls -= 1;
        if (calls === 0 && serving === 0)
          idle = setTimeout(() => void close().catch(() => undefined), unservedIdleMs).unref();
      }
    },
    forget: () => {
      const lost = opening;
      opening = undefined;
      void lost?.then(({ client }) => client.close()).catch(() => undefined);
    },
    serve: (own) => {
      serving += 1;
      log = own;
      let isServing = true;
      return async () => {
        if (!isServing) return;
        isServing = false;
        serving -= 1;
        if (serving === 0) await close();
      };
    },
    close,
  };
}

export const notPerformed = (code: ErrorCode, text: string, retry: boolean): NotPerformed =>
  new NotPerformed(text, { retry, cause: new MeshError(code, text) });

/** The promise, or the signal's reason; what was waited for goes on for others. */
const abortable = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
