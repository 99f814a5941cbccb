/**
 * Early exits: commands that end before they have done anything, as often as one likes, each with how long it took and
 * whether the exit's guard had to end it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { packedEnv } from "./packed.ts";

export interface EarlyExit {
  readonly command: string;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** From its start. */
  readonly ms: number;
  /** From the last that it said. On a machine that is short of processors this tells a hang from a slow start. */
  readonly exitMs: number;
  /** Whether its exit hung, and its guard ended it. */
  readonly isForced: boolean;
}

/** Longer than any exit may take. */
export const exitMsMax = 5_000;
/** Then it is given up, and killed. */
const hangsMs = 60_000;

/** What the guard of an exit says. */
const forced = "did not exit within";

/** A server address where nothing listens. */
const nowhere = ["--server", "nats://127.0.0.1:1"];

/** By name: the words, and the code with which the command ends. */
const commands: Readonly<Record<string, { readonly words: readonly string[]; readonly code: number }>> = {
  "host, no app": { words: ["host", "--app", "broken.mjs"], code: 1 },
  "host, throws": { words: ["host", "--app", "throws.mjs"], code: 1 },
  "up, no app": { words: ["up", "--app", "broken.mjs", "--data", "data"], code: 1 },
  "worker, throws": { words: ["worker", "--app", "throws.mjs"], code: 1 },
  "host, no server": { words: ["host", "--app", "app.mjs", ...nowhere], code: 1 },
  "start, no server": { words: ["start", "unknown", "--input", "{}", ...nowhere], code: 1 },
  "bad usage": { words: ["inspect"], code: 2 },
  help: { words: ["--help"], code: 0 },
};

/** The names of the commands that end early. */
export const earlyCommands: readonly string[] = Object.keys(commands);

/** The code that a command is to end with. */
export const codeOf = (command: string): number | undefined => commands[command]?.code;

/** Writes what the commands name into the folder. */
export async function writeEarlyApps(folder: string): Promise<void> {
  await writeFile(join(folder, "broken.mjs"), `export default { type: "something else" };\n`);
  await writeFile(join(folder, "throws.mjs"), `throw new Error("broken");\n`);
  const app = `import { defineApp, defineSaga } from "sagamesh";
import { setup } from "xstate";
import { z } from "zod";
const machine = setup({}).createMachine({ initial: "done", states: { done: { type: "final" } }, output: {} });
const saga = defineSaga({ name: "one", version: 1, input: z.object({}), output: z.object({}), signals: {}, machine });
export default defineApp({ sagas: [saga] });
`;
  await writeFile(join(folder, "app.mjs"), app);
}

/** Runs a command to its end as the installed package's first line starts it. */
export async function exitEarly(main: string, folder: string, command: string): Promise<EarlyExit> {
  const beganAt = performance.now();
  const words = ["--max-semi-space-size=16", main, ...(commands[command]?.words ?? [])];
  const child = spawn(process.execPath, words, {
    cwd: folder,
    env: { ...packedEnv, MALLOC_ARENA_MAX: "2" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let saidAt = beganAt;
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      if (!text.includes(forced)) saidAt = performance.now();
      said += text;
    });
  const hanging = setTimeout(() => child.kill("SIGKILL"), hangsMs);
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  clearTimeout(hanging);
  const now = performance.now();
  return { command, code, signal, ms: now - beganAt, exitMs: now - saidAt, isForced: said.includes(forced) };
}
