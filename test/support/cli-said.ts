/** What a command said, read: its documents by their schema, its errors by code and exit code. */
import { expect } from "vitest";
import type { z } from "zod";
import type { Ended } from "./cli.ts";

/** The lines of stdout as documents of one schema. */
export const documents = <S extends z.ZodType>(schema: S, { stdout }: Ended): z.infer<S>[] =>
  stdout
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => schema.parse(JSON.parse(line)));
/** The one document that a command said. */
export const document = <S extends z.ZodType>(schema: S, ended: Ended): z.infer<S> => {
  const all = documents(schema, ended);
  expect(all).toHaveLength(1);
  return all[0] as z.infer<S>;
};

/** Runs the command until its output satisfies, for what the mesh needs a moment for. */
export async function until<T>(read: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  for (const giveUpAt = Date.now() + 15_000; ;) {
    const value = await read();
    if (holds(value)) return value;
    if (Date.now() > giveUpAt) throw new Error(`it never held: ${JSON.stringify(value)}`);
  }
}

/** The command said nothing but one coded line and its remedy, and ended with this code. */
export function expectError(ended: Ended, code: string, exitCode: 1 | 2): void {
  expect(ended.stderr).toMatch(new RegExp(`^error: \\[${code}\\] .+\\nremedy: .+\\n$`));
  expect(ended.stdout).toBe("");
  expect(ended.code).toBe(exitCode);
}
