/**
 * Room: an embedded server that stores no more is restarted once it has room again, by the processes that serve on it. Space
 * alone does not help: a stream whose write failed takes nothing until its server is restarted, and a server keeps the limit
 * that it was started with.
 *
 * Owns: when it is restarted. Does not own: restarting once, however many see its need (embedded.ts).
 *
 * ZL1 Restarted is a server that was asked just now and does not store, and where so much is free that it is not full again at
 *     once: a write that failed needs some space, a limit that is reached a larger limit.
 * ZL2 After a restart the next one waits longer and longer: on a disk that goes on filling none is spent in vain each second.
 */
import type { NatsConnection } from "@nats-io/nats-core";
import { describeError, describeWithRemedy, type MeshError } from "../../../protocol/errors.ts";
import type { Report } from "../progress.ts";
import { translated } from "../errors.ts";
import { managerOf } from "../manager.ts";
import { createRequests } from "../requests.ts";
import { sleep } from "../sleep.ts";
import { serverLimitReached, writeErrorOf } from "../storage.ts";
import { isOfMesh } from "../streams.ts";
import { diskOf, limitIn, type Space, spaceOf } from "./disk.ts";
import type { EmbeddedServer } from "./embedded.ts";
import { serverFiles } from "./state.ts";

const lookEveryMs = 1_000;
/** While the disk has had room all the time: some thirty questions on this machine. */
const askEveryMsDefault = 15_000;
const pauseMs = 10_000;
const pauseMsMax = 10 * 60_000;

/** So much is not full again at once, on a disk of any size. */
const enoughBytes = 64 * 1024 * 1024;
const enoughShare = 0.05;
/** How much larger a limit has to become. */
const limitGrowth = 1.1;

/** True: what a server on this disk needs to go on for a while. */
export const hasRoom = ({ freeBytes, sizeBytes }: Pick<Space, "freeBytes" | "sizeBytes">): boolean =>
  freeBytes >= Math.min(enoughBytes, sizeBytes * enoughShare);

export interface RoomWatch {
  /** Ends it; a restart under way is given up. To be called before the connection is closed. */
  stop(): Promise<void>;
}

/** Sees to it for as long as the connection is open. Says why it restarts, and that it could not. */
export function watchRoom(
  nc: NatsConnection,
  server: EmbeddedServer,
  report: Report,
  { askEveryMs = askEveryMsDefault }: { readonly askEveryMs?: number } = {},
): RoomWatch {
  const { store, config } = serverFiles(server.dataDir);
  const requests = createRequests(nc);
  const stopping = new AbortController();
  let isSuspect = true;
  let askedAt = Number.NEGATIVE_INFINITY;
  let pause = pauseMs;
  let notBefore = Number.NEGATIVE_INFINITY;

  /** What keeps the server from storing and a restart would end now (ZL1). */
  const curable = async (): Promise<MeshError | undefined> => {
    if (!hasRoom(await spaceOf(store))) return undefined;
    const failed = await Promise.all((await namesOf(nc)).map((name) => writeErrorOf(requests, name)));
    const failure = failed.find((one) => one !== undefined);
    if (failure !== undefined) return failure;
    const reached = await serverLimitReached(nc);
    const limit = reached && (await limitIn(config));
    if (limit === undefined) return undefined;
    return (await diskOf(store)).storeBytesMax >= limit * limitGrowth ? reached : undefined;
  };

  const look = async (): Promise<void> => {
    const now = performance.now();
    if (!hasRoom(await spaceOf(store))) return void (isSuspect = true);
    if (nc.isClosed() || now < notBefore || (!isSuspect && now - askedAt < askEveryMs)) return;
    askedAt = now;
    const why = await curable();
    isSuspect = why !== undefined;
    if (why === undefined && now > notBefore + pauseMsMax) pause = pauseMs;
    if (why === undefined) return;
    report(`there is room again, so the nats-server is restarted: ${describeError(why)}`);
    const isDone = await server.restart(async () => (await curable()) !== undefined, stopping.signal);
    notBefore = performance.now() + pause; // ZL2
    pause = Math.min(pause * 2, pauseMsMax);
    if (isDone) report("the nats-server was restarted and stores again");
  };

  const watching = (async () => {
    while (!stopping.signal.aborted) {
      await look().catch((error: unknown) => {
        if (!stopping.signal.aborted)
          report(`the nats-server could not be restarted: ${describeWithRemedy(error)}`);
      });
      await sleep(lookEveryMs, stopping.signal);
    }
  })();
  return {
    stop: async () => {
      stopping.abort(new Error("no longer needed"));
      await watching;
      requests.close();
    },
  };
}

/** The streams of a mesh that are there; none where nothing is answered, as of each of them then. */
async function namesOf(nc: NatsConnection): Promise<string[]> {
  const all: string[] = [];
  const read = async () => {
    const jsm = await managerOf(nc);
    for await (const name of jsm.streams.names()) if (isOfMesh(name)) all.push(name);
  };
  await translated("the streams", read).catch(() => undefined);
  return all;
}
