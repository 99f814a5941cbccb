/**
 * Given: a value that a person does not type but names: `@FILE`, or `-` for standard input.
 *
 * GJ1 Wherever a command takes JSON, by what the command declares, so that none can forget it.
 * GJ2 A text that begins with an @ is written with two.
 */
import type { Command } from "./command.ts";
import { readTextFile } from "./file.ts";
import { readStdin } from "./stdin.ts";

/** A command's arguments with what they name in its place. Throws FILE_UNREADABLE. */
export async function readGiven(
  command: Command,
  args: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const declared = Object.entries({ ...command.positionals, ...command.options });
  const taken = declared.flatMap(([name, { json }]) => (json === undefined ? [] : [{ name, json }]));
  const read = { ...args };
  for (const { name, json } of taken) {
    const value = args[name];
    const given = async (word: string) => {
      const at = json === "pair" ? word.indexOf("=") + 1 : 0;
      const isPair = json !== "pair" || at > 0;
      return isPair ? word.slice(0, at) + (await textOf(word.slice(at), name, signal)) : word;
    };
    if (typeof value === "string") read[name] = await given(value);
    if (Array.isArray(value)) {
      const texts: string[] = [];
      for (const word of value as readonly string[]) texts.push(await given(word)); // In order: only one can be stdin.
      read[name] = texts;
    }
  }
  return read;
}

async function textOf(word: string, name: string, signal: AbortSignal): Promise<string> {
  if (word === "-") return Buffer.from(await readStdin(signal)).toString();
  if (!word.startsWith("@")) return word;
  if (word.startsWith("@@")) return word.slice(1); // GJ2
  return readTextFile(word.slice(1), name);
}
