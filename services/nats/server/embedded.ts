/**
 * The NATS server that sagamesh runs itself: one per data folder, found again by every later command.
 *
 * Owns: start, reuse and stop. Does not own: the binary (binary.ts), the process (process.ts), what is on record
 * (state.ts), which processes use it (users.ts), when a lost one is asked for again (revival.ts). Called by the
 * commands that need a server and were given none.
 *
 * EM1 One data folder, at most one server: two on one store would destroy it. Starting is done under the
 *     folder's lock; the record holds the process before it holds the address; and a recorded process that
 *     still lives is waited for, never started beside.
 * EM2 The server outlives the process that started it, also one that was killed. The process that leaves last ends
 *     it, also one that only found it: so a server whose users were all killed is ended by the next that comes and
 *     goes.
 * EM3 A server that is reused gives what was asked for, or the call is refused: durability is never less than
 *     the caller believes.
 * EM4 The folder's server comes back on the port it had last, so a process that has lost it finds it there.
 *     It takes another only if that one is taken.
 * EM5 A restart is one hold of the lock, and is judged again under it: of several processes that see its need one does it.
 *     One that dies in between leaves a folder without a server, which the next process starts.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { describeError, MeshError } from "../../../protocol/errors.ts";
import { withFileLock } from "./file-lock.ts";
import { type Report, withProgress } from "../progress.ts";
import { ensureServerBinary } from "./binary.ts";
import { checkServerInfo } from "../server-check.ts";
import { renderServerConfig } from "./config.ts";
import { diskOf } from "./disk.ts";
import { awaitReady, endServer, readLogTail, type ReadyServer, spawnServer } from "./process.ts";
import {
  isServerProcess,
  probe,
  readPort,
  readRecord,
  removeRecord,
  serverFiles,
  type ServerRecord,
  writePort,
  writeRecord,
} from "./state.ts";
import { enterAsUser, type ServerUser, usersOf } from "./users.ts";
import { dataFolder, type Environment, makeFolder } from "./user-folders.ts";

/** A store is recovered before the server answers; one of many gigabytes takes its time. */
const startTimeoutMs = 10 * 60_000;
/** A server that lives and does not answer: paused, or still starting for a process that died. */
const silentTimeoutMs = 30_000;

export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  readonly dataDir: string;
  readonly version: string;
  /** True: every write is on the disk before it is acked. */
  readonly syncAlways: boolean;
}

export interface EmbeddedServer extends RunningServer {
  /** True if this call started it. */
  readonly started: boolean;
  /** The folder's server now: the one that runs, or, if it was lost, a new one. Throws as the start does. */
  revive(signal?: AbortSignal): Promise<RunningServer>;
  /**
   * Ends the folder's server and starts it again, where `isNeeded` says so once no other process can do the same; else false.
   * It keeps its durability, and its port if that stays free. Throws as the start does; then `revive` brings it back.
   */
  restart(isNeeded: () => Promise<boolean>, signal?: AbortSignal): Promise<boolean>;
  /** Takes the use back, and ends the server if no other process uses it (EM2). May be called again. */
  stop(): Promise<void>;
}

export interface EmbeddedServerOptions {
  /** Default: `server` in the user's data folder, or in `SAGAMESH_DATA`. Made if absent. */
  readonly dataDir?: string;
  readonly report: Report;
  /** Ends the wait for the start; a server that was just spawned is taken down again. */
  readonly signal?: AbortSignal;
  /** Default false: the server flushes within two minutes, and a power cut may lose that much. */
  readonly syncAlways?: boolean;
  /** More lines of the server's own configuration language. Not for a server that runs already. */
  readonly extraConfig?: string;
  /** Default: the port of the folder's last server if it is free, else any (EM4). */
  readonly port?: number;
  /** Where the binary is cached; default as in ensureServerBinary. */
  readonly cacheDir?: string;
  readonly env?: Environment;
}

/**
 * The server of the data folder: the running one, or a new one. Of two callers at once, one starts it and
 * both get it. After a crash in the middle the next call finds the half-started server and waits for it.
 *
 * @throws MeshError SERVER_MISSING, SERVER_TOO_OLD, SERVER_MISCONFIGURED (EM3), STORAGE_FULL, UNAVAILABLE
 */
export const startEmbeddedServer = async (options: EmbeddedServerOptions): Promise<EmbeddedServer> => {
  const env = options.env ?? process.env;
  const dataDir = resolve(options.dataDir ?? defaultDataDir(env));
  await makeFolder(dataDir, { code: "UNAVAILABLE", variable: "SAGAMESH_DATA" });
  const user = await enterAsUser(dataDir); // EM2: before the server is looked for, or it might end meanwhile.
  try {
    const obtained = await obtain(dataDir, { ...options, env });
    let left: Promise<void> | undefined;
    return {
      ...obtained,
      revive: (signal) => obtain(dataDir, { ...options, env, ...(signal && { signal }) }),
      restart: (isNeeded, signal) =>
        restart(dataDir, { ...options, env, ...(signal && { signal }) }, isNeeded),
      stop: () => (left ??= leave(user, dataDir)),
    };
  } catch (error) {
    await user.leave();
    throw withoutSpace(error, dataDir);
  }
};

/** What the operating system says of a folder that takes nothing more, in our words. */
const withoutSpace = (error: unknown, dataDir: string): unknown =>
  ["ENOSPC", "EDQUOT"].includes((error as NodeJS.ErrnoException).code ?? "")
    ? new MeshError("STORAGE_FULL", `nats-server cannot be started in ${dataDir}: ${describeError(error)}`, {
        cause: error,
        remedy: "Free space on that disk; nothing that was stored is lost.",
      })
    : error;

/** The folder of the embedded server if none is named. */
export const defaultDataDir = (env: Environment): string => join(dataFolder(env), "server");

/** The server that runs for this folder and answers, or undefined. Changes nothing. */
export const findRunningServer = async (dataDir: string): Promise<RunningServer | undefined> => {
  const folder = resolve(dataDir);
  const record = await readRecord(folder);
  if (record?.url === undefined) return undefined;
  const info = await probe(record.url, record.nonce);
  return info && describe(record, { url: record.url, info }, folder);
};

/**
 * Ends the server of this folder, also while processes use it. False if none runs. The store stays.
 *
 * @throws MeshError UNAVAILABLE if the process cannot be ended
 */
export const stopEmbeddedServer = async (dataDir: string): Promise<boolean> => {
  const folder = resolve(dataDir);
  const record = await readRecord(folder);
  if (record === undefined) return false;
  const wasAlive = await isServerProcess(record);
  await underLock(folder, {}, () => end(record, folder));
  return wasAlive;
};

/** The server that runs, or a new one, under the folder's lock: it cannot be stopped in between. */
const obtain = async (
  dataDir: string,
  options: EmbeddedServerOptions,
): Promise<RunningServer & { readonly started: boolean }> => {
  // Getting the binary may take minutes, in which other processes need not wait for the lock.
  const binary = (await findRunningServer(dataDir)) ? undefined : await ensureServerBinary(options);
  return underLock(dataDir, options, async () => {
    const record = await readRecord(dataDir);
    const survivor = record && (await awaitSurvivor(record, dataDir, options)); // EM1
    if (survivor !== undefined) return { ...reuse(survivor, options), started: false };
    const { path } = binary ?? (await ensureServerBinary(options));
    return { ...(await start(path, dataDir, options)), started: true };
  });
};

/** EM5. */
const restart = async (
  dataDir: string,
  options: EmbeddedServerOptions,
  isNeeded: () => Promise<boolean>,
): Promise<boolean> => {
  const { path } = await ensureServerBinary(options); // Before anything is ended.
  return underLock(dataDir, options, async () => {
    const record = await readRecord(dataDir);
    if (record === undefined || !(await isNeeded())) return false;
    await writeRecord(dataDir, record); // A folder that takes nothing would take no start.
    await end(record, dataDir);
    await start(path, dataDir, { ...options, syncAlways: record.syncAlways });
    return true;
  });
};

/**
 * Ends the server of a folder whose users have all died, if it runs. False, and nothing is changed, if
 * a process may still use it, or none is known to have used it.
 *
 * @throws MeshError UNAVAILABLE if the process cannot be ended
 */
export const endAbandonedServer = async (dataDir: string): Promise<boolean> => {
  const folder = resolve(dataDir);
  const isAbandoned = async () => {
    const { living, dead } = await usersOf(folder);
    return living.length === 0 && dead.length > 0;
  };
  if (!(await isAbandoned())) return false; // No folder of ours, perhaps: not even a lock is made in it.
  return underLock(folder, {}, async () => {
    if (!(await isAbandoned())) return false;
    const record = await readRecord(folder);
    if (record !== undefined) await end(record, folder);
    return true;
  });
};

/** EM2. */
const leave = async (user: ServerUser, dataDir: string): Promise<void> => {
  if (!existsSync(dataDir)) return;
  await underLock(dataDir, {}, async () => {
    await user.leave();
    const { living, dead } = await usersOf(dataDir);
    await Promise.all(dead.map((path) => rm(path, { force: true })));
    const record = await readRecord(dataDir);
    if (living.length === 0 && record !== undefined) await end(record, dataDir);
  });
};

/** Under the folder's lock. */
const start = async (
  binary: string,
  dataDir: string,
  options: EmbeddedServerOptions,
): Promise<RunningServer> => {
  const { report, signal, syncAlways = false } = options;
  const files = serverFiles(dataDir);
  const nonce = randomBytes(8).toString("hex");
  const config = {
    port: options.port ?? (await choosePort(dataDir)),
    storeDir: files.store,
    storeBytesMax: (await diskOf(files.store)).storeBytesMax,
    portsDir: files.ports,
    logFile: files.log,
    syncAlways,
    extra: options.extraConfig ?? "",
  };
  await rm(files.ports, { recursive: true, force: true });
  await mkdir(files.ports, { mode: 0o700 });
  await writeFile(files.config, renderServerConfig(config), { mode: 0o600 });

  const record: ServerRecord = { pid: await spawnServer(binary, dataDir, nonce), nonce, syncAlways };
  await writeRecord(dataDir, record); // EM1: the process first
  try {
    const line = (seconds: number) => `  nats-server is starting: ${seconds} s`;
    const ready = await withProgress(report, line, () =>
      awaitReady({ ...record, dataDir }, { timeoutMs: startTimeoutMs, signal }),
    );
    if (ready === undefined) throw await startFailed(dataDir);
    checkServerInfo(ready.info);
    await writePort(dataDir, ready.url); // EM4
    await writeRecord(dataDir, { ...record, url: ready.url });
    report(`nats-server ${ready.info.version} runs at ${ready.url} (process ${record.pid}).`);
    return describe(record, ready, dataDir);
  } catch (error) {
    await end(record, dataDir);
    throw error;
  }
};

/** EM1: the recorded server if its process lives, as soon as it answers. */
const awaitSurvivor = async (
  record: ServerRecord,
  dataDir: string,
  { report, signal }: EmbeddedServerOptions,
): Promise<RunningServer | undefined> => {
  const limit = { timeoutMs: record.url === undefined ? startTimeoutMs : silentTimeoutMs, signal };
  const line = (seconds: number) =>
    `  waiting for nats-server (process ${record.pid}) to answer: ${seconds} s`;
  const ready = await withProgress(report, line, () => awaitReady({ ...record, dataDir }, limit));
  if (ready !== undefined) {
    if (record.url === undefined) await writeRecord(dataDir, { ...record, url: ready.url });
    return describe(record, ready, dataDir);
  }
  if (await isServerProcess(record))
    throw new MeshError(
      "UNAVAILABLE",
      `nats-server (process ${record.pid}) holds ${dataDir} and does not answer`,
      {
        remedy: `If it stays so, end process ${record.pid} and try again.`,
      },
    );
  return undefined;
};

const reuse = (running: RunningServer, { report, syncAlways }: EmbeddedServerOptions): RunningServer => {
  if (syncAlways === true && !running.syncAlways)
    // EM3
    throw new MeshError(
      "SERVER_MISCONFIGURED",
      `the server at ${running.url} runs without sync_interval: always`,
      {
        remedy: `Stop it (process ${running.pid}) and start again, or do not ask for it.`,
      },
    );
  report(`Using the nats-server that runs at ${running.url} (process ${running.pid}).`);
  return running;
};

/** Under the folder's lock. */
const end = async (record: ServerRecord, dataDir: string): Promise<void> => {
  await endServer(record);
  await removeRecord(dataDir, record.nonce);
};

const describe = (record: ServerRecord, ready: ReadyServer, dataDir: string): RunningServer => ({
  url: ready.url,
  pid: record.pid,
  dataDir,
  version: ready.info.version,
  syncAlways: record.syncAlways,
});

const underLock = <T>(
  dataDir: string,
  { report, signal }: Partial<EmbeddedServerOptions>,
  work: () => Promise<T>,
): Promise<T> =>
  withFileLock(
    {
      path: serverFiles(dataDir).lock,
      onWait: () => report?.("Another process is starting or stopping the nats-server; waiting for it."),
      signal,
    },
    work,
  );

const startFailed = async (dataDir: string): Promise<MeshError> =>
  new MeshError("UNAVAILABLE", `nats-server ended while it started: ${await readLogTail(dataDir)}`, {
    remedy: `Read ${serverFiles(dataDir).log}.`,
  });

/** EM4. */
const choosePort = async (dataDir: string): Promise<number> => {
  const port = await readPort(dataDir);
  return port !== undefined && (await isFree(port)) ? port : -1;
};

const isFree = (port: number): Promise<boolean> =>
  new Promise((settle) => {
    const server = createServer();
    server.once("error", () => settle(false));
    server.listen(port, "127.0.0.1", () => server.close(() => settle(true)));
  });
