/**
 * Folders: where a demo without --data keeps its server's store and its logs for as long as it runs, and what is
 * left of demos that were killed with SIGKILL.
 *
 * DO1 What is cleared away was made by a demo of this user, and every process that used its server is known to be
 *     dead, by its number and the time it began. A demo that runs, and whatever else has such a name, is left alone.
 */
import { lstat, mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeError } from "../../protocol/errors.ts";
import { removeAbandoned } from "../runtime/mesh.ts";

const prefix = "sagamesh-demo-";
/** Folder of the server, in the folder of a demo. */
export const serverFolder = "server";

export const makeTemporaryFolder = (): Promise<string> => mkdtemp(join(tmpdir(), prefix));

/** DO1. What cannot be cleared away is told, and is no reason not to go on. */
export async function clearLeftovers(tell: (line: string) => void): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names.filter((one) => one.startsWith(prefix))) {
    const folder = join(tmpdir(), name);
    try {
      if ((await isOwn(folder)) && (await removeAbandoned(folder, serverFolder)))
        tell(`cleared away what a killed demo left: its server, and ${folder}`);
    } catch (error) {
      tell(`a killed demo has left ${folder}, which cannot be cleared away: ${describeError(error)}`);
    }
  }
}

/** In a folder that all may write to, a name proves nothing. */
const isOwn = async (folder: string): Promise<boolean> => {
  const found = await lstat(folder);
  return found.isDirectory() && found.uid === process.getuid?.();
};
