/**
 * Where sagamesh keeps its own files on a person's machine.
 *
 * Owns: the two folders, their overrides, and making one. Does not own: what is in them. The environment
 * and the platform are arguments.
 *
 * UF1 What is in the cache folder can be deleted at any time and is got again; what is in the data
 *    folder is the only copy.
 */
import { access, constants, mkdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { describeError, MeshError } from "../../../protocol/errors.ts";

/** The variables of a process, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** `SAGAMESH_CACHE`, else the user's cache folder. May not exist yet. */
export const cacheFolder = (env: Environment, platform: NodeJS.Platform = process.platform): string => {
  if (env.SAGAMESH_CACHE) return resolve(env.SAGAMESH_CACHE);
  if (platform === "darwin") return join(home(env), "Library", "Caches", "sagamesh");
  return join(env.XDG_CACHE_HOME || join(home(env), ".cache"), "sagamesh");
};

/** `SAGAMESH_DATA`, else the user's data folder. May not exist yet. */
export const dataFolder = (env: Environment, platform: NodeJS.Platform = process.platform): string => {
  if (env.SAGAMESH_DATA) return resolve(env.SAGAMESH_DATA);
  if (platform === "darwin") return join(home(env), "Library", "Application Support", "sagamesh");
  return join(env.XDG_DATA_HOME || join(home(env), ".local", "share"), "sagamesh");
};

/**
 * Makes the folder, for this user alone, unless it is there.
 *
 * @throws MeshError of this code if it cannot be made or written to; the remedy names the variable
 */
export const makeFolder = async (
  path: string,
  {
    code,
    variable,
  }: { code: "SERVER_MISSING" | "UNAVAILABLE"; variable: "SAGAMESH_CACHE" | "SAGAMESH_DATA" },
): Promise<void> => {
  try {
    await makeEach(path);
    await access(path, constants.W_OK);
  } catch (error) {
    throw new MeshError(code, `a folder cannot be written to: ${describeError(error)}`, {
      cause: error,
      remedy: `Set ${variable} to a folder that this user may write to.`,
    });
  }
};

/** Node's own `recursive` asks for ever where the parent is there and takes no folder: `/proc/x`. */
const makeEach = async (path: string): Promise<void> => {
  if (await isFolder(path)) return;
  if (dirname(path) !== path) await makeEach(dirname(path));
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (!(await isFolder(path))) throw error; // Else somebody has made it meanwhile.
  }
};

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

const home = (env: Environment): string => env.HOME || homedir();
