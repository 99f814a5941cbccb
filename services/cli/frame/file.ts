/** File: text files that a command is given by their names, to read or to write. */
import { writeFileSync } from "node:fs";
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

/** Writes it, over what is there unless `isNew`. Throws USAGE. */
export function writeTextFile(path: string, text: string, { isNew = false } = {}): void {
  try {
    writeFileSync(path, text, { flag: isNew ? "wx" : "w" });
  } catch (error) {
    throw new MeshError("USAGE", `${path} cannot be written: ${describeError(error)}`);
  }
}
