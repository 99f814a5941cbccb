/**
 * Runs another program to its end and gives what it printed.
 *
 * Owns: the time limit, the abort and the words of the failure. Does not own: what the output means.
 */
import { execFile } from "node:child_process";
import { access, constants, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import type { Environment } from "./user-folders.ts";

const outputBytesMax = 16 * 1024 * 1024;
const shownLinesMax = 4;

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Environment;
  readonly timeoutMs: number;
  readonly cwd?: string;
  readonly signal?: AbortSignal;
}

/** Standard output of a program that ended with 0; otherwise an Error with the end of what it printed. */
export const runCommand = ({ file, args, env, timeoutMs, cwd, signal }: Command): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = { cwd, env: { ...env }, signal, timeout: timeoutMs, maxBuffer: outputBytesMax };
    execFile(file, args, options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      if (signal?.aborted) return reject(signal.reason);
      const words = lastLines(stderr || stdout) || error.message;
      const ending = error.killed
        ? `did not end within ${timeoutMs / 1000} s`
        : `ended with ${error.code ?? error.signal ?? "an error"}`;
      reject(new Error(`${file} ${args[0] ?? ""} ${ending}: ${words}`, { cause: error }));
    });
  });

/**
 * The executables of this name on the PATH, in its order. Relative entries are left out: what runs must
 * not depend on the folder a person stands in.
 */
export const findOnPath = async (name: string, env: Environment): Promise<string[]> => {
  const candidates = (env.PATH ?? "")
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, name));
  const found: string[] = [];
  for (const path of new Set(candidates)) if (await isExecutable(path)) found.push(path);
  return found;
};

const isExecutable = async (path: string): Promise<boolean> => {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false; // Not there or not ours to run: the same to a search.
  }
};

const lastLines = (text: string): string =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .slice(-shownLinesMax)
    .join(" / ");
