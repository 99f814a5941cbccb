/**
 * Finds a nats-server that is new enough, or gets one once and keeps it in the user's cache folder.
 *
 * Owns: the order of the search, the cache, and that a binary is proven before it is kept. Does not own:
 * how one is got (release.ts, go.ts, debian.ts), nor running it as a server.
 *
 * BI1 A binary enters the cache by a rename, after it ran there and told a version that is new enough. So a
 *     process that dies in the middle leaves a folder that the next one clears, never a broken binary.
 * BI2 One process gets a binary at a time; the others wait and use what it got.
 * BI3 The version is asked of the binary each time; nothing is believed from an earlier run.
 */
import { chmod, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { describeError, describeWithRemedy, MeshError } from "../../../protocol/errors.ts";
import { findOnPath, runCommand } from "./command.ts";
import { withFileLock } from "./file-lock.ts";
import type { Report } from "../progress.ts";
import { isNewEnough, serverVersionFloor } from "../server-check.ts";
import { debianWay } from "./debian.ts";
import { goWay } from "./go.ts";
import { releaseWay } from "./release.ts";
import type { ServerWay } from "./way.ts";
import { cacheFolder, type Environment, makeFolder } from "./user-folders.ts";

const versionTimeoutMs = 10_000;
const workPrefix = "work-";

export interface ServerBinary {
  /** Absolute path of the executable. */
  readonly path: string;
  /** What it says of itself, for example `2.14.5`. */
  readonly version: string;
  /** `PATH`, `cache`, or the name of the way it was just got by. */
  readonly from: string;
}

export interface ServerBinaryOptions {
  readonly report: Report;
  /** Default: the user's cache folder, or `SAGAMESH_CACHE`. */
  readonly cacheDir?: string;
  readonly env?: Environment;
  readonly signal?: AbortSignal;
  /** Tried in this order. Default: the official release, `go install`, Debian's newer package. */
  readonly ways?: readonly ServerWay[];
}

/**
 * The first that is there: the `nats-server` on the PATH, the cached copy, what the first way that succeeds
 * brings. May take minutes, and says so through `report`. A crash in the middle leaves the cache as it was.
 *
 * @throws MeshError SERVER_MISSING with what was tried and why each failed
 */
export const ensureServerBinary = async (options: ServerBinaryOptions): Promise<ServerBinary> => {
  const { report, env = process.env, signal, ways = [releaseWay, goWay, debianWay] } = options;
  const cacheDir = options.cacheDir ?? cacheFolder(env);
  const search = { report, env, signal, ways, cacheDir, cached: join(cacheDir, "nats-server") };

  const found = (await findSuitable(search)) ?? (await readCache(search));
  if (found !== undefined) return found;

  await makeFolder(cacheDir, { code: "SERVER_MISSING", variable: "SAGAMESH_CACHE" });
  const lock = {
    path: join(cacheDir, "nats-server.lock"),
    onWait: () => report("Another process is getting nats-server; waiting for it."),
    signal,
  };
  return withFileLock(lock, async () => (await readCache(search)) ?? (await getFirst(search))); // BI2
};

interface Search {
  readonly report: Report;
  readonly env: Environment;
  readonly signal: AbortSignal | undefined;
  readonly ways: readonly ServerWay[];
  readonly cacheDir: string;
  readonly cached: string;
}

const findSuitable = async ({ report, env, signal }: Search): Promise<ServerBinary | undefined> => {
  for (const path of await findOnPath("nats-server", env)) {
    const version = await askVersion(path, env, signal).catch(describeError);
    signal?.throwIfAborted();
    if (isNewEnough(version)) return { path, version, from: "PATH" };
    report(
      `The nats-server on the PATH is passed over: expected ${serverVersionFloor} or newer, got ${version}.`,
    );
  }
  return undefined;
};

const readCache = async ({ cached, env, signal }: Search): Promise<ServerBinary | undefined> => {
  // Whatever is wrong with the cached copy (absent, old, of another machine), the remedy is to get one.
  const version = await askVersion(cached, env, signal).catch(() => "");
  signal?.throwIfAborted();
  return isNewEnough(version) ? { path: cached, version, from: "cache" } : undefined;
};

const getFirst = async (search: Search): Promise<ServerBinary> => {
  const { report, ways, cacheDir, signal } = search;
  await clearWork(cacheDir);
  const failures: string[] = [];
  for (const way of ways) {
    try {
      return await getBy(way, search);
    } catch (error) {
      signal?.throwIfAborted();
      failures.push(`${way.name}: ${describeWithRemedy(error).replace(/^\[\w+\] /, "")}`);
      report(`  That did not do: ${failures.at(-1)}`);
    }
  }
  throw new MeshError(
    "SERVER_MISSING",
    `no nats-server ${serverVersionFloor} or newer is on the PATH or in the cache, and none could be got:` +
      failures.map((failure) => `\n  - ${failure}`).join(""),
  );
};

const getBy = async (
  way: ServerWay,
  { report, env, signal, cacheDir, cached }: Search,
): Promise<ServerBinary> => {
  const workDir = await mkdtemp(join(cacheDir, workPrefix));
  try {
    const got = await way.get({ workDir, report, env, signal });
    await chmod(got, 0o755);
    const version = await askVersion(got, env, signal);
    if (!isNewEnough(version))
      throw new Error(`it brought version ${version}, older than ${serverVersionFloor}`);
    await rename(got, cached); // BI1
    report(`Got nats-server ${version} (${way.name}); it is kept at ${cached}.`);
    return { path: cached, version, from: way.name };
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
};

/** BI1: what an earlier process left. Called under the lock, so no living process works there. */
const clearWork = async (cacheDir: string): Promise<void> => {
  for (const name of await readdir(cacheDir))
    if (name.startsWith(workPrefix)) await rm(join(cacheDir, name), { recursive: true, force: true });
};

const askVersion = async (
  path: string,
  env: Environment,
  signal: AbortSignal | undefined,
): Promise<string> => {
  const text = await runCommand({
    file: path,
    args: ["--version"],
    env,
    timeoutMs: versionTimeoutMs,
    signal,
  });
  const version = /\bv?(\d+\.\d+\.\d+\S*)/.exec(text)?.[1];
  if (version === undefined) throw new Error(`its --version names none: ${text.trim().slice(0, 80)}`);
  return version;
};
