/**
 * Connection: one process's way to one server. Opened when it is first needed, opened again after it was lost, closed
 * with the process that serves its tools.
 *
 * MN1 A tool is called only after this connection has listed it as it was agreed to; a server that says "my tools
 *     changed", and any after a minute, is asked again first.
 */
import { NotPerformed, type BodyLog } from "../../actors/contract/tool.ts";
import { type ErrorCode, isMeshError, MeshError } from "../../protocol/errors.ts";
import { changeOf, type ListedTool, type Listing } from "./listing.ts";
import { listTools, openClient, type Opened, type Ready, unavailable } from "./open-client.ts";
import type { ServerConfig } from "./server.ts";

/** A server that is got by a package runner is downloaded first. */
export const connectMsDefault = 60_000;
const listingAgeMsMax = 60_000;
/** Where no process serves the tools: a test, a child for suspects. */
const unservedIdleMs = 1_000;

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

interface Open extends Opened {
  listing: Listing;
  listedAt: number;
  isStale: boolean;
  /** The asking again that is under way. */
  relisting: Promise<void> | undefined;
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
  let log = silent;
  /** Ends the connecting that is under way. */
  let connecting = new AbortController();

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
    connecting = new AbortController();
    const { signal } = connecting;
    const fresh = await openClient({ name, server, connectMs, signal, log: () => log });
    const opened: Open = { ...fresh, listedAt: Date.now(), isStale: false, relisting: undefined };
    watch(opened);
    return opened;
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

  const close = async (): Promise<void> => {
    uses.stop();
    const closing = opening;
    opening = undefined;
    connecting.abort(new MeshError("TOOL_UNAVAILABLE", "the process that serves it is stopping"));
    const opened = await closing?.catch(() => undefined); // What never opened is closed.
    await opened?.client.close();
  };
  const uses = createUses(close);

  return {
    name,
    ready: async (tool, signal) => {
      try {
        const opened = await abortable(open(), signal);
        await abortable(refresh(name, opened), signal);
        const change = changeSince(agreed.get(tool), opened.listing);
        if (change !== undefined) throw changed(name, tool, change, log);
        return opened;
      } catch (error) {
        if (signal.aborted || !isMeshError(error)) throw error;
        throw notPerformed(error.code, error.message.replace(/^\[\w+\] /, ""), true);
      }
    },
    list: async () => (await open()).listing,
    during: uses.during,
    forget: () => {
      const lost = opening;
      opening = undefined;
      void lost?.then(({ client }) => client.close()).catch(() => undefined);
    },
    serve: (own) => {
      log = own;
      return uses.serve();
    },
    close,
  };
}

/** MN1 */
async function refresh(name: string, opened: Open): Promise<void> {
  if (!opened.isStale && Date.now() - opened.listedAt < listingAgeMsMax) return;
  opened.relisting ??= (async () => {
    opened.isStale = false;
    try {
      opened.listing = await listTools(opened.client, opened.secrets);
      opened.listedAt = Date.now();
    } catch (error) {
      opened.isStale = true;
      throw unavailable(name, error, opened.secrets);
    }
  })().finally(() => {
    opened.relisting = undefined;
  });
  await opened.relisting;
}

/** Counts what uses a connection, and closes one that nothing does: a served one at once, any other after a while. */
function createUses(close: () => Promise<void>) {
  let serving = 0;
  let calls = 0;
  let idle: NodeJS.Timeout | undefined;
  const stop = () => clearTimeout(idle);
  return {
    stop,
    during: async <T>(call: () => Promise<T>): Promise<T> => {
      calls += 1;
      stop();
      try {
        return await call();
      } finally {
        calls -= 1;
        if (calls === 0 && serving === 0)
          idle = setTimeout(() => void close().catch(() => undefined), unservedIdleMs).unref();
      }
    },
    serve: (): (() => Promise<void>) => {
      serving += 1;
      let isServing = true;
      return async () => {
        if (!isServing) return;
        isServing = false;
        serving -= 1;
        if (serving === 0) await close();
      };
    },
  };
}

function changed(name: string, tool: string, change: string, log: BodyLog): NotPerformed {
  log.error({ server: name, tool, change }, "mcp tool changed");
  const text = `${tool} of the MCP server ${name} is not what was agreed to: ${change}`;
  return notPerformed("TOOL_CHANGED", text, false);
}

/** How a tool differs from what was agreed to; undefined where it does not, or there is no agreement yet. */
const changeSince = (agreed: ListedTool | undefined, { tools }: Listing): string | undefined =>
  agreed === undefined
    ? undefined
    : changeOf(
        agreed,
        tools.find(({ name }) => name === agreed.name),
      );

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
