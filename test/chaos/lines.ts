/** Lines: files that are only appended to, a line of JSON each, on the disk before the call returns. */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";

export interface Lines<T> {
  write(line: T): void;
  close(): void;
}

export function appendLines<T>(path: string): Lines<T> {
  const file = openSync(path, "a");
  return {
    write: (line) => {
      writeSync(file, `${JSON.stringify(line)}\n`);
      fsyncSync(file);
    },
    close: () => closeSync(file),
  };
}

/** Every whole line, in order; none if there is no file. The last one may be half written by who was killed. */
export function readLines<T>(path: string): T[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.slice(0, -1).map((line) => JSON.parse(line) as T); // Written by appendLines alone.
}
