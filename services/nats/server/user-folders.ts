/**
 * Where sagamesh keeps its own files on a person's machine.
 *
 * Owns: the overrides of the two folders, and making one. Does not own: what is in them, and where a platform keeps
 * such folders: `env-paths` knows that.
 *
 * UF1 What is in the cache folder can be deleted at any time and is got again; what is in the data
 *     folder is the only copy.
 */
import { access, constants, mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import envPaths from "env-paths";
import { describeError, MeshError } from "../../../protocol/errors.ts";

/** The variables of a process, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

const usual = envPaths("sagamesh", { suffix: "" });

/** `SAGAMESH_CACHE`, else the user's cache folder. May not exist yet. */
export const cacheFolder = ({ SAGAMESH_CACHE: own }: Environment): string => resolve(own || usual.cache);

/** `SAGAMESH_DATA`, else the user's data folder. May not exist yet. */
export const dataFolder = ({ SAGAMESH_DATA: own }: Environment): string => resolve(own || usual.data);

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
  }: {
    code: "SERVER_MISSING" | "UNAVAILABLE" | "INDEX_UNUSABLE";
    variable: "SAGAMESH_CACHE" | "SAGAMESH_DATA";
  },
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
    if (!(await isFolder(path))) throw error; // Else another process has made it meanwhile.
  }
};

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
