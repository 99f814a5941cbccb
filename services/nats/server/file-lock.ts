/**
 * One process at a time, over a file: for work that two processes of one user must not do at once.
 *
 * Owns: taking, keeping alive, stealing and releasing the lock. Does not own: what is protected.
 * Node has no lock that the operating system releases, so a holder proves itself by a heartbeat. `proper-lockfile`
 * judges by silence alone, so it takes the lock of a process that was only stopped, and its two thieves can both win.
 *
 * FC1 A lock is stolen only if its holder is dead and has been silent for a while, or silent for very long:
 *     a process id alone may be reused, or be of another container that shares the folder.
 * FC2 Only one process at a time may steal, and it looks again before it does; otherwise the second of
 *     two thieves would remove the fresh lock of the first.
 * FC3 A lock is removed only by the process whose token is in it, or by a thief.
 */
import { randomUUID } from "node:crypto";
import { readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const heartbeatMs = 500;
const silentMs = 3_000;
const silentMsMax = 60_000;
const pollMs = 100;

export interface LockOptions {
  /** The lock file. Its folder exists. */
  readonly path: string;
  /** Called once if another process holds the lock. */
  readonly onWait?: () => void;
  readonly signal?: AbortSignal;
}

/** Does the work while this process holds the lock. Waits for it as long as its holder lives. */
export const withFileLock = async <T>(options: LockOptions, work: () => Promise<T>): Promise<T> => {
  const token = randomUUID();
  await take(options, token);
  const heartbeat = setInterval(() => {
    const now = new Date();
    // A failed touch is no harm: the next one comes, and only a long silence counts.
    utimes(options.path, now, now).catch(() => undefined);
  }, heartbeatMs);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    if ((await readHolder(options.path))?.token === token) await rm(options.path, { force: true }); // FC3
  }
};

const take = async ({ path, onWait, signal }: LockOptions, token: string): Promise<void> => {
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    if (await create(path, JSON.stringify({ pid: process.pid, token }))) return;
    if (attempt === 0) onWait?.();
    if (await isStale(path)) await steal(path);
    else await sleep(pollMs, undefined, signal ? { signal } : undefined);
  }
};

const create = async (path: string, content: string): Promise<boolean> => {
  try {
    await writeFile(path, content, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
};

const steal = async (path: string): Promise<void> => {
  const right = `${path}.steal`;
  if (!(await create(right, ""))) {
    // FC2. A thief that died in its few lines leaves the right behind; it is void once it is old.
    if ((await silenceMs(right)) > silentMs) await rm(right, { force: true });
    await sleep(pollMs);
    return;
  }
  try {
    if (await isStale(path)) await rm(path, { force: true });
  } finally {
    await rm(right, { force: true });
  }
};

const isStale = async (path: string): Promise<boolean> => {
  const silence = await silenceMs(path);
  if (silence > silentMsMax) return true;
  if (silence <= silentMs) return false;
  const holder = await readHolder(path);
  return holder === undefined || !isAlive(holder.pid); // FC1
};

const silenceMs = async (path: string): Promise<number> => {
  const found = await stat(path).catch(() => undefined);
  return found === undefined ? 0 : Date.now() - found.mtimeMs;
};

const readHolder = async (path: string): Promise<{ pid: number; token: string } | undefined> => {
  try {
    const { pid, token } = JSON.parse(await readFile(path, "utf8")) as { pid?: unknown; token?: unknown };
    return typeof pid === "number" && typeof token === "string" ? { pid, token } : undefined;
  } catch {
    return undefined; // Gone, or its writer has not written yet: there is no holder to ask about.
  }
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
};
