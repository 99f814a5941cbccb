/**
 * Processes of the comparison: started, asked, weighed, and never left behind.
 *
 * Whatever is started here is killed when this process ends. Where it is killed itself, a shell that waits for the end of a
 * pipe does it, and removes the folder.
 */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { createWriteStream, rmSync } from "node:fs";
import { chmod, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../services/runtime/system.ts";
import type { Asked, Command } from "./peer.ts";

const living = new Set<ChildProcess>();
const folders = new Set<string>();
process.on("exit", () => {
  for (const child of living) child.kill("SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});

/** Ends this process in the usual way when it is asked to end, so that what it started ends with it. */
export function endWhenAsked(): void {
  process.once("SIGINT", () => process.exit(130));
  process.once("SIGTERM", () => process.exit(143));
}

/** What a case waits for at most; what takes longer is said to have taken longer. */
export const patienceMs = 240_000;

/** Something took longer than a case waits. */
export class TooSlow extends Error {}

export interface ServerProcess {
  readonly pid: number;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

interface ServerOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: { readonly uid: number; readonly gid: number };
  readonly log: string;
}

/** A server that a peer needs. Its words are in the file `log`. */
export function startServer(file: string, args: readonly string[], options: ServerOptions): ServerProcess {
  const child = spawn(file, args, {
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
    ...options.user,
  });
  const log = createWriteStream(options.log);
  log.on("error", () => undefined); // The folder may go first.
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const gone = goneOf(child);
  const guard = guardOf(`kill -9 "$1"`, `${child.pid ?? 0}`);
  const stop = async (signal: NodeJS.Signals = "SIGKILL") => {
    child.kill(signal);
    const giveUp = setTimeout(() => child.kill("SIGKILL"), 10_000);
    await gone;
    clearTimeout(giveUp);
    guard.kill("SIGKILL");
    log.end();
  };
  return { pid: child.pid ?? 0, stop };
}

/** Resolves once the child is gone, or could not be started. */
function goneOf(child: ChildProcess): Promise<void> {
  living.add(child);
  return new Promise((resolve) => {
    const end = () => {
      living.delete(child);
      resolve();
    };
    child.once("exit", end);
    child.once("error", end);
  });
}

/** A shell that runs this, with the word as its `$1`, once this process is gone, however it went. */
function guardOf(script: string, word: string): ChildProcess {
  const guard = spawn("/bin/sh", ["-c", `cat >/dev/null; ${script}`, "bench-guard", word], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  guard.unref();
  guard.stdin.on("error", () => undefined);
  (guard.stdin as unknown as { unref(): void }).unref();
  return guard;
}

/** Starts a process of ours and waits until it is ready. It ends when this one does. */
export async function startAsked(command: Command, folder: string, log: string): Promise<Asked> {
  const child = fork(command.file, [...(command.args ?? [])], {
    execArgv: [...(command.flags ?? [])],
    env: { ...ownEnv(), PEER_FOLDER: folder, NODE_ENV: "production", ...command.env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    serialization: "advanced",
  });
  const words = createWriteStream(log, { flags: "a" });
  words.on("error", () => undefined);
  child.stdout?.pipe(words, { end: false });
  child.stderr?.pipe(words, { end: false });
  const gone = goneOf(child).then(() => words.end());
  const asked = new Map<number, { resolve: (value: any) => void; reject: (error: Error) => void }>();
  const ready = new Promise<void>((resolve, reject) => {
    child.on("message", (message: { ready?: true; id?: number; value?: unknown; error?: string }) => {
      if (message.ready) return resolve();
      const one = asked.get(message.id ?? -1);
      asked.delete(message.id ?? -1);
      if (message.error === undefined) one?.resolve(message.value);
      else one?.reject(new Error(message.error));
    });
    void gone.then(() => {
      const error = new Error(
        `${command.file} ended (${child.exitCode ?? child.signalCode ?? "not started"})`,
      );
      reject(error);
      for (const one of asked.values()) one.reject(error);
      asked.clear();
    });
  });
  let calls = 0;
  const ask = <T>(call: string, args?: unknown, withinMs = patienceMs): Promise<T> =>
    within(
      `${call} of ${command.file}`,
      withinMs,
      new Promise<T>((resolve, reject) => {
        const id = (calls += 1);
        asked.set(id, { resolve, reject });
        child.send({ id, call, args }, (error) => error && reject(error));
      }),
    );
  const kill = async () => {
    child.kill("SIGKILL");
    await gone;
  };
  try {
    await within(`the start of ${command.file}`, 60_000, ready);
  } catch (error) {
    await kill();
    throw error;
  }
  return { child, ask, kill };
}

/** Without what names a mesh of the caller. */
function ownEnv(): NodeJS.ProcessEnv {
  const { NATS_URL: _url, SAGAMESH_DATA: _data, NODE_OPTIONS: _options, ...env } = process.env;
  return env;
}

/** The last lines of a log. */
export const tailOf = (log: string): Promise<string> =>
  readFile(log, "utf8").then(
    (text) => text.trimEnd().split("\n").slice(-12).join("\n"),
    () => "",
  );

/** @throws TooSlow */
export async function within<T>(what: string, ms: number, promise: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = systemClock.sleep(ms, timer.signal).then(
    () => Promise.reject(new TooSlow(`over ${Math.round(ms / 1_000)} s: ${what}`)),
    () => new Promise<never>(() => undefined),
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
  }
}

/** Asks until it holds. @throws TooSlow */
export async function untilTrue(what: string, holds: () => Promise<boolean>, ms = patienceMs): Promise<void> {
  const giveUpAt = performance.now() + ms;
  while (!(await holds().catch(() => false))) {
    if (performance.now() > giveUpAt) throw new TooSlow(`over ${Math.round(ms / 1_000)} s: ${what}`);
    await systemClock.sleep(20);
  }
}

/** Bytes of the processes and of all that they started, shared pages counted once (PSS). Linux only: elsewhere 0. */
export async function weigh(pids: readonly number[]): Promise<number> {
  let bytes = 0;
  for (const pid of await familyOf(pids)) {
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
    bytes += Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0) * 1024;
  }
  return bytes;
}

/** Microseconds of processor time that the processes and all that they started have used. Linux only: elsewhere 0. */
export async function workOf(pids: readonly number[]): Promise<number> {
  let ticks = 0;
  for (const pid of await familyOf(pids)) {
    const [user = 0, system = 0] = (await statOf(pid)).slice(11, 13).map(Number);
    ticks += user + system;
  }
  return ticks * 10_000; // A tick is a hundredth of a second on every Linux that Node runs on.
}

/** These processes and all that they started. */
async function familyOf(pids: readonly number[]): Promise<number[]> {
  const parents = new Map<number, number>();
  for (const name of await readdir("/proc").catch(() => []))
    if (/^\d+$/.test(name)) parents.set(Number(name), Number((await statOf(Number(name)))[1]));
  const isOurs = (pid: number): boolean => pids.includes(pid) || (pid > 1 && isOurs(parents.get(pid) ?? 0));
  return [...parents.keys()].filter(isOurs);
}

/** What Linux tells of a process, from its state on: its name before that may hold anything. */
async function statOf(pid: number): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

/** Bytes of all files below, as long as they say they are: what is reserved and not written does not count. */
export async function bytesBelow(
  folder: string,
  counts: (path: string) => boolean = () => true,
): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || !counts(path)) continue;
    bytes += await stat(path).then(
      ({ size }) => size,
      () => 0,
    );
  }
  return bytes;
}

export const removeFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 5 });

/** A new folder of this user that others may read, and that does not outlive this process. */
export async function temporaryFolder(name: string): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), name));
  folders.add(path);
  const guard = guardOf('rm -rf "$1"', path);
  await chmod(path, 0o755); // A server may run as another user.
  const remove = async () => {
    await removeFolder(path);
    folders.delete(path);
    guard.kill("SIGKILL");
  };
  return { path, remove };
}
