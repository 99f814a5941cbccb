/**
 * The command line as a person runs it: a process of its own, with what it wrote and how it ended; or the same command
 * in the test's own process, which is there at once.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { commands } from "../../services/cli/commands.ts";
import { runWords } from "../../services/cli/frame/run.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const main = fileURLToPath(new URL("../../services/cli/main.ts", import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCli {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves once stdout or stderr holds the text; rejects if the process ends without it. */
  says(text: string | RegExp, stream?: "stdout" | "stderr"): Promise<string>;
}

export interface CliOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stdin?: string | Uint8Array;
  readonly cwd?: string;
}

/** What names a mesh, or changes how a command speaks. */
const ownVariables = [
  ...["NATS_URL", "SAGAMESH_DATA", "SAGAMESH_GATEWAY_URL", "SAGAMESH_GATEWAY_SECRET"],
  ...["LOG_LEVEL", "ANTHROPIC_API_KEY", "FORCE_COLOR", "NO_COLOR"],
];

/** Starts `sagamesh` from the sources. Nothing of the caller's environment that names a mesh reaches it. */
export function startCli(args: readonly string[], options: CliOptions = {}): RunningCli {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !ownVariables.includes(name)),
  );
  const child = spawn(process.execPath, ["--conditions=sagamesh-source", main, ...args], {
    cwd: options.cwd ?? root,
    env: { ...inherited, ...options.env },
    stdio: "pipe",
  });
  const written = { stdout: "", stderr: "" };
  const waiters = new Set<() => void>();
  for (const stream of ["stdout", "stderr"] as const)
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      written[stream] += text;
      for (const wake of waiters) wake();
    });
  child.stdin.on("error", () => undefined); // It may end without reading.
  child.stdin.end(options.stdin);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, ...written }));
  });
  const says = (text: string | RegExp, stream: "stdout" | "stderr" = "stdout") =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        const found = typeof text === "string" ? written[stream].includes(text) : text.test(written[stream]);
        if (!found) return;
        waiters.delete(look);
        resolve(written[stream]);
      };
      waiters.add(look);
      look();
      ended.then(
        ({ code }) =>
          reject(
            new Error(
              `ended with ${code} and never said ${String(text)}: ${written.stdout}${written.stderr}`,
            ),
          ),
        reject,
      );
    });
  return { process: child, ended, says };
}

/**
 * Runs a command to its end in this process: what it says and its exit code are those of the process it would be. Not
 * for what listens to signals, reads stdin or writes a log.
 */
export async function runHere(args: readonly string[]): Promise<Ended> {
  for (const name of ownVariables) delete process.env[name];
  const said = { stdout: "", stderr: "" };
  const streams = {
    out: (text: string) => void (said.stdout += text),
    err: (text: string) => void (said.stderr += text),
  };
  const code = await runWords(commands, args, streams, new AbortController().signal);
  return { code, signal: null, ...said };
}

/** Runs a command to its end. */
export const runCli = (args: readonly string[], options?: CliOptions): Promise<Ended> =>
  startCli(args, options).ended;
