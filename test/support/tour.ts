/**
 * Tour: a README followed as its reader follows it. Its changes are made, its commands typed in their order; what serves
 * goes on in a terminal of its own.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** Commands to type, or lines of a file to change. */
export type Step =
  | {
      readonly kind: "commands";
      readonly chapter: string;
      readonly lines: readonly string[];
      readonly after?: "crash";
    }
  | {
      readonly kind: "change";
      readonly chapter: string;
      readonly file: string;
      readonly from: string;
      readonly to: string;
    };

/** What a README's blocks of `sh` and `diff` ask for, in their order. */
export function stepsOf(readme: string): Step[] {
  return [...readme.matchAll(/^```(sh|diff)(?: file=(\S+)| (crash))?\n([\s\S]*?)^```$/gm)].map(
    ({ 1: language, 2: file, 3: crash, 4: block = "", index }): Step => {
      const chapter = [...readme.slice(0, index).matchAll(/^## (.*)$/gm)].at(-1)?.[1] ?? "";
      const lines = block.trimEnd().split("\n");
      if (language === "sh")
        return { kind: "commands", chapter, lines, ...(crash === undefined ? {} : { after: "crash" }) };
      const side = (sign: string) => {
        const of = lines.filter((line) => line.startsWith(sign)).map((line) => line.slice(1));
        return of.join("\n");
      };
      return { kind: "change", chapter, file: file ?? "", from: side("-"), to: side("+") };
    },
  );
}

/** What was typed, and what it said. */
export interface Typed {
  readonly chapter: string;
  readonly line: string;
  readonly stdout: string;
}

export interface TourOptions {
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What the reader types in the place of an example's address. */
  readonly instead: Readonly<Record<string, string>>;
}

const serving = /^(npm start|npx sagamesh (up|host|worker)\b)/;

/** Follows the steps. Throws what a command that failed said. What serves is stopped at the end. */
export async function follow(
  steps: readonly Step[],
  { folder, env: given, instead }: TourOptions,
): Promise<Typed[]> {
  const env = { ...given };
  const typed: Typed[] = [];
  const terminals = new Map<string, ChildProcess>();
  const end = async (name: string, signal: NodeJS.Signals) => {
    const running = terminals.get(name);
    terminals.delete(name);
    if (running?.pid === undefined || running.exitCode !== null) return;
    const ended = new Promise((resolve) => running.once("exit", resolve));
    process.kill(-running.pid, signal); // As a terminal's key reaches all that runs in it.
    await ended;
  };
  try {
    for (const step of steps) {
      if (step.kind === "change") await change(join(folder, step.file), step);
      else
        for (const written of step.lines) {
          const line = Object.entries(instead).reduce(
            (text, [from, to]) => text.replaceAll(from, to),
            written,
          );
          const [, name, value] = /^export (\w+)=(.*)$/.exec(line) ?? [];
          if (name !== undefined) env[name] = value;
          else if (serving.test(line)) {
            if (line.startsWith("npm start")) await end(line, step.after === "crash" ? "SIGKILL" : "SIGINT");
            terminals.set(line, await serve(line, folder, env));
          } else typed.push({ chapter: step.chapter, line, ...(await type(line, folder, env)) });
        }
    }
    return typed;
  } finally {
    for (const name of [...terminals.keys()].toReversed()) await end(name, "SIGINT");
  }
}

async function change(file: string, { from, to }: { from: string; to: string }): Promise<void> {
  const text = await readFile(file, "utf8");
  if (text.split(from).length !== 2) throw new Error(`${file} does not hold once: ${from}`);
  await writeFile(file, text.replace(from, to));
}

const run = promisify(execFile);

async function type(line: string, cwd: string, env: TourOptions["env"]): Promise<{ stdout: string }> {
  try {
    return await run("sh", ["-c", line], { cwd, env: env, timeout: 60_000 });
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${line}\n${stdout}\n${stderr}`, { cause: error });
  }
}

/** A terminal in which this line serves, once it does. */
function serve(line: string, cwd: string, env: TourOptions["env"]): Promise<ChildProcess> {
  const child = spawn("sh", ["-c", line], {
    cwd,
    env: env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  return new Promise((resolve, reject) => {
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        if (/\bserves\b|\bperforms\b/.test(said)) resolve(child);
      });
    child.once("exit", (code) => reject(new Error(`${line} ended with ${code}: ${said}`)));
  });
}
