/**
 * Account: what the outside world wrote down of the requests it got, one line of JSON each, never changed.
 *
 * The demo's table is made of this file, not of anything that sagamesh says of itself.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { z } from "zod";

export const Entry = z.object({
  at: z.number(),
  tool: z.string(),
  key: z.string(),
  /** `performed`: done now. `remembered`: the key was known, nothing was done. `read`: nothing to do. */
  did: z.enum(["performed", "remembered", "read"]),
  input: z.json(),
  output: z.json(),
});
export type Entry = z.infer<typeof Entry>;

/** Appends one line. */
export const writeEntry = (file: string, entry: Entry): void =>
  appendFileSync(file, `${JSON.stringify(entry)}\n`);

/** Every line so far, in order. */
export function readAccount(file: string): Entry[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => Entry.parse(JSON.parse(line)));
}
