/** Child: a process of the run, with its log in the run's folder. It dies with the run, however that ends. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

export interface Child {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly log: string;
  /** The first line on its standard output, parsed. Rejects if it ends without one. */
  readonly said: Promise<unknown>;
  /** The signal that ended it, or its exit code. */
  readonly ended: Promise<string>;
}

export interface ChildOptions {
  readonly name: string;
  /** Of the logs. */
  readonly folder: string;
  /** From the root of the repository. */
  readonly script: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Loaded before the script. */
  readonly first?: readonly string[];
  readonly onEnd: (how: string) => void;
}

export function startChild(options: ChildOptions): Child {
  const { name, folder, script, environment, first = [], onEnd } = options;
  const log = join(folder, `${name}.log`);
  const err = openSync(log, "a");
  const child = spawn(
    process.execPath,
    [
      "--conditions=sagamesh-source",
      ...first.flatMap((script) => ["--import", join(root, script)]),
      join(root, script),
      ...options.arguments,
    ],
    {
      cwd: root,
      env: { ...process.env, NODE_COMPILE_CACHE: join(root, "node_modules/.cache/sagamesh"), ...environment },
      stdio: ["ignore", "pipe", err, "ipc"],
      detached: true, // A group of its own: Ctrl-C reaches the run alone, and the run ends the rest.
    },
  );
  closeSync(err); // The child has its own.
  const kill = () => void child.kill("SIGKILL");
  process.once("exit", kill);
  const ended = new Promise<string>((resolve) =>
    child.once("exit", (code, signal) => {
      process.off("exit", kill);
      resolve(signal ?? `exit code ${code ?? "unknown"}`);
    }),
  );
  const said = new Promise<unknown>((resolve, reject) => {
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const end = text.indexOf("\n");
      if (end >= 0) resolve(JSON.parse(text.slice(0, end)));
    });
    void ended.then((how) => reject(new Error(`${name} ended (${how}) before it served: see ${log}`)));
  });
  said.catch(() => undefined); // Who was killed early has nobody who waits for it.
  void ended.then(onEnd);
  if (child.pid === undefined) throw new Error(`${name} could not be started`);
  return { process: child, pid: child.pid, log, said, ended };
}
