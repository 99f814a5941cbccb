/**
 * Monitor: what a server's monitoring endpoint says of its disk. No client is told how a server syncs, so this is
 * where it can be known at all.
 */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { z } from "zod";

const patienceMs = 1_000;

const Varz = z.object({
  server_id: z.string(),
  server_name: z.string(),
  jetstream: z
    .object({
      config: z
        .object({
          sync_always: z.boolean().optional(),
          sync_interval: z.number().optional(),
          max_storage: z.number().optional(),
        })
        .optional(),
      stats: z.object({ storage: z.number() }).optional(),
    })
    .optional(),
});

export interface Monitored {
  readonly serverId: string;
  readonly serverName: string;
  /** Undefined: it runs no JetStream. */
  readonly syncAlways: boolean | undefined;
  /** What it holds, and its limit: where none was set, three quarters of what was free when it started. */
  readonly storage: { readonly usedBytes: number; readonly maxBytes: number } | undefined;
}

/** Asks `<url>/varz`. Undefined where nothing answers, or something that is no NATS server. */
export async function readMonitor(url: string): Promise<Monitored | undefined> {
  try {
    const { server_id, server_name, jetstream } = Varz.parse(
      JSON.parse(await answerOf(new URL("/varz", url))),
    );
    const { config, stats } = jetstream ?? {};
    return {
      serverId: server_id,
      serverName: server_name,
      syncAlways: config === undefined ? undefined : config.sync_always === true,
      storage:
        config?.max_storage === undefined || stats === undefined
          ? undefined
          : { usedBytes: stats.storage, maxBytes: config.max_storage },
    };
  } catch {
    return undefined; // Not there, not reachable from here, or another program.
  }
}

/**
 * By what is small: each host asks as it starts, and all that the first `fetch` of a process brings takes 60 ms of processor time,
 * and keeps it from serving meanwhile. So does an `import` of node:http, which reads every name that module has.
 */
async function answerOf(url: URL): Promise<string> {
  const { get } = process.getBuiltinModule(url.protocol === "https:" ? "node:https" : "node:http");
  const asking = get(url, { agent: false, signal: AbortSignal.timeout(patienceMs) });
  const [answer] = (await once(asking, "response")) as [IncomingMessage];
  const said: Buffer[] = [];
  for await (const bytes of answer) said.push(bytes as Buffer);
  return Buffer.concat(said).toString();
}

/** Where servers show it unless told otherwise, on the machine of this address. */
export const usualMonitor = (server: string): string | undefined => {
  const url = server.includes("://") ? server : `nats://${server}`;
  return URL.canParse(url) ? `http://${new URL(url).hostname}:8222` : undefined;
};
