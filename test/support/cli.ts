/**
 * The command line as a person runs it: a process of its own, with what it wrote and how it ended.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

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

/** Starts `sagamesh` from the sources. Nothing of the caller's environment that names a mesh reaches it. */
export function startCli(args: readonly string[], options: CliOptions = {}): RunningCli {
  const {
    NATS_URL: _url,
    SAGAMESH_DATA: _data,
    SAGAMESH_GATEWAY_URL: _gateway,
    SAGAMESH_GATEWAY_SECRET: _secret,
    LOG_LEVEL: _level,
    ANTHROPIC_API_KEY: _key,
    ...inherited
  } = process.env;
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

/** Runs a command to its end. */
export const runCli = (args: readonly string[], options?: CliOptions): Promise<Ended> =>
  startCli(args, options).ended;
