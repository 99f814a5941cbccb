/** File: a text file that a command is given by its name. */
import { readFile } from "node:fs/promises";
import { describeError, MeshError } from "../../../protocol/errors.ts";

/** Its text. `what` is the word that names it. Throws FILE_UNREADABLE. */
export async function readTextFile(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new MeshError("FILE_UNREADABLE", `${what}: ${path} cannot be read: ${describeError(error)}`, {
      cause: error,
    });
  }
}
