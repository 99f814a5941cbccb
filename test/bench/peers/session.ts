/**
 * A session: one peer's servers, app and client, fresh, for one case of one round, and everything gone afterwards.
 */
import { once } from "node:events";
import { join } from "node:path";
import type { Sync } from "../bench-mesh.ts";
import type { Asked, Peer, Servers } from "./peer.ts";
import { startAsked, tailOf, temporaryFolder, weigh, workOf } from "./processes.ts";

export interface Session {
  readonly peer: Peer;
  readonly servers: Servers;
  /** Effects begin here. Another one after `restart`. */
  app(): Asked;
  /** Starts, waits and signals: the app itself, where there is no other. */
  client(): Asked;
  /** Ends the app as asked, or kills it, and starts another; resolves to that once it is forked and ready. */
  restart(how: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** Only the first half and the second half of that. */
  end(how: "SIGTERM" | "SIGKILL"): Promise<void>;
  begin(): Promise<void>;
  memory(): Promise<{ servers: number; app: number; appPeak: number }>;
  /** Microseconds of processor time so far; the client's are the app's where that is the client. */
  work(): Promise<{ servers: number; app: number; client: number }>;
}

/** Runs with a session. Whatever happens, nothing of it is left. */
export async function withSession<T>(
  { peer, folder, sync }: { peer: Peer; folder: string; sync: Sync },
  run: (session: Session) => Promise<T>,
): Promise<T> {
  const { path: data, remove } = await temporaryFolder(`sagamesh-peers-${peer.name}-`);
  const asked: { app?: Asked; client?: Asked } = {};
  let servers: Servers | undefined;
  try {
    const own = (servers = await peer.start({ folder, data, sync }));
    const log = join(data, "processes.log");
    const lost = Promise.withResolvers<never>();
    lost.promise.catch(() => undefined);
    let isWanted = true;
    const begin = async () => {
      asked.app = await startAsked(own.app, folder, log);
      isWanted = true;
      asked.app.child.once("exit", () => isWanted && lost.reject(new Error("the app ended by itself")));
    };
    const end = async (how: "SIGTERM" | "SIGKILL") => {
      const { child } = appOf(asked);
      isWanted = false;
      const exited = once(child, "exit");
      child.kill(how);
      const giveUp = setTimeout(() => child.kill("SIGKILL"), 20_000);
      await exited;
      clearTimeout(giveUp);
    };
    await begin();
    await own.introduce?.();
    if (own.client) asked.client = await startAsked(own.client, folder, log);
    const ran = run({
      peer,
      servers: own,
      app: () => appOf(asked),
      client: () => asked.client ?? appOf(asked),
      begin,
      end,
      restart: async (how) => {
        await end(how);
        await begin();
      },
      memory: async () => {
        const { child, ask } = appOf(asked);
        const [ofServers, app] = await Promise.all([weigh(own.pids), weigh([child.pid ?? 0])]);
        return { servers: ofServers, app, appPeak: await ask<number>("peakBytes") };
      },
      work: async () => {
        const of = (one: Asked | undefined) => workOf(one ? [one.child.pid ?? 0] : []);
        return { servers: await workOf(own.pids), app: await of(asked.app), client: await of(asked.client) };
      },
    });
    return await Promise.race([ran, lost.promise]);
  } catch (error) {
    // What its processes said last goes with the failure: the folder does not outlive it.
    const said = await tailOf(join(data, "processes.log"));
    throw said === ""
      ? error
      : Object.assign(error as Error, { message: `${(error as Error).message}\n${said}` });
  } finally {
    await asked.client?.kill();
    await asked.app?.kill();
    await servers?.stop();
    await remove();
  }
}

function appOf({ app }: { app?: Asked }): Asked {
  if (!app) throw new Error("no app was started");
  return app;
}
