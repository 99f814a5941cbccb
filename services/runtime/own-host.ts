/**
 * Own host: a server in a folder of its own, and one host on it, for as long as a command's own saga runs. It hosts nothing
 * else, so no mesh's sagas come here and none of it goes there.
 */
import { join } from "node:path";
import type { App } from "../app/app.ts";
import { createClient } from "../client/mesh.ts";
import { startHost } from "../host/host.ts";
import { silentLog } from "../process/log.ts";
import type { Ports } from "../wire/ports.ts";
import { openClientMesh } from "./mesh.ts";
import { newIncarnation } from "./system.ts";

export interface OwnHostOptions {
  /** What it is for, a word: who connects, and who decided, is named by it. */
  readonly name: string;
  readonly app: App;
  /** The server is in it. */
  readonly folder: string;
  /** How long what is under way gets when the command is called off, milliseconds. */
  readonly graceMs: number;
  readonly signal: AbortSignal;
  readonly report: (line: string) => void;
}

/** What a command has of its host. */
export interface OwnHost {
  readonly ports: Ports;
  readonly client: ReturnType<typeof createClient>;
}

/**
 * Runs `work` beside the host, and what comes `after` once the host has stopped and the server is still there. That the
 * signal came in the middle of the work is no error. Throws what opening a server, the work and what comes after throw.
 */
export async function withOwnHost<T>(
  { name, app, folder, graceMs, signal, report }: OwnHostOptions,
  work: (own: OwnHost) => Promise<void>,
  after: (own: OwnHost) => Promise<T>,
): Promise<T> {
  const mesh = await openClientMesh({
    dataDir: join(folder, "server"),
    name: `sagamesh ${name} ${process.pid}`,
    report,
    signal,
  });
  const { ports, clock, chance } = mesh;
  const common = { ports, clock, chance };
  try {
    // Runs that were left under another version of sagamesh keep none from beginning.
    const alone = {
      log: silentLog,
      incarnation: newIncarnation(name),
      callbackBase: "sagamesh:",
      beside: true,
    };
    const host = await startHost({ ...common, ...alone }, app);
    const own = { ports, client: createClient({ ...common, from: name }, () => Promise.resolve()) };
    try {
      await work(own);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await host.stop(graceMs);
    }
    return await after(own);
  } finally {
    await mesh.close();
  }
}
