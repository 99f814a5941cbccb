/**
 * Processes: the demo's own children. Starts them, hears them, says when one has died, and ends them by their
 * number.
 *
 * P1 What was started here is ended here, whatever happened in between; a child ends by itself when its channel
 *    to the demo closes.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { MeshError } from "../../protocol/errors.ts";
import type { ToDemo, ToWorld } from "./letters.ts";

export interface Launch {
  readonly role: string;
  /** What the story calls it: `host 1`. */
  readonly name: string;
  /** A sibling of this file, without its extension. */
  readonly file: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export interface Member {
  readonly role: string;
  readonly name: string;
  readonly pid: number;
  /** Resolves when it serves. Throws UNAVAILABLE if it dies before, or is not ready in time. */
  readonly ready: Promise<void>;
  /** Its name in ledgers; empty until it has told it. */
  incarnation(this: void): string;
  /** Where its door is; empty for all but the outside world. */
  url(this: void): string;
  tell(this: void, letter: ToWorld): void;
}

export interface ProcessesOptions {
  /** Folder of the children's logs, one file each. */
  readonly logFolder: string;
  readonly onLetter: (letter: ToDemo) => void;
  /** A child has ended that was not told to. */
  readonly onDeath: (member: Member, signal: NodeJS.Signals | null) => void;
}

export interface Processes {
  start(launch: Launch): Member;
  /** Ends everything. May be called again. */
  stop(): Promise<void>;
}

const readyWithinMs = 60_000;
const endWithinMs = 1_500;

export function createProcesses({ logFolder, onLetter, onDeath }: ProcessesOptions): Processes {
  const running = new Map<ChildProcess, Promise<void>>();
  let stopping = false;

  function start(launch: Launch): Member {
    const { role, name } = launch;
    if (stopping) throw new MeshError("CANCELLED", "the demo is ending");
    const logFile = join(logFolder, `${name.replaceAll(" ", "-")}.log`);
    const child = spawnChild(launch, logFile);
    const { pid } = child;
    if (pid === undefined) throw new MeshError("UNAVAILABLE", `${name} could not be started`);
    const said = { incarnation: "", url: "" };
    const ready = Promise.withResolvers<void>();
    ready.promise.catch(() => undefined); // Whoever waits hears of it; a process that is killed may have nobody.
    const fail = (what: string) =>
      ready.reject(
        new MeshError("UNAVAILABLE", `${name} ${what}`, {
          remedy: `Read its log, ${logFile}; --data keeps it.`,
        }),
      );
    const timer = setTimeout(() => fail(`was not ready within ${readyWithinMs / 1_000} s`), readyWithinMs);
    const tell = (letter: ToWorld) => {
      if (child.connected) child.send(letter);
    };
    const member = {
      role,
      name,
      pid,
      ready: ready.promise,
      incarnation: () => said.incarnation,
      url: () => said.url,
      tell,
    };
    child.on("message", (letter: ToDemo) => {
      if (letter.type === "born") said.incarnation = letter.incarnation;
      if (letter.type === "ready") {
        said.url = letter.url ?? "";
        clearTimeout(timer);
        ready.resolve();
      }
      onLetter(letter);
    });
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    running.set(child, ended);
    child.once("exit", (code, signal) => {
      running.delete(child);
      clearTimeout(timer);
      fail(`ended before it was ready (${signal ?? `exit code ${code ?? "unknown"}`})`);
      if (!stopping) onDeath(member, signal);
    });
    return member;
  }

  return {
    start,
    stop: async () => {
      stopping = true;
      await Promise.all([...running].map(([child, ended]) => end(child, ended)));
    },
  };
}

function spawnChild({ file, arguments: args, environment }: Launch, logFile: string): ChildProcess {
  // The script has the form of this file: .ts in the sources, .js in the package.
  const script = fileURLToPath(new URL(`./${file}${extname(import.meta.url)}`, import.meta.url));
  const log = openSync(logFile, "a");
  try {
    return spawn(process.execPath, [...process.execArgv, script, ...args], {
      env: { ...process.env, ...environment },
      stdio: ["ignore", log, log, "ipc"],
      detached: true, // A group of its own: Ctrl-C reaches the demo alone, and the demo ends the rest.
    });
  } finally {
    closeSync(log); // The child has its own.
  }
}

/** P1. */
async function end(child: ChildProcess, ended: Promise<void>): Promise<void> {
  if (child.connected) child.disconnect();
  const timer = setTimeout(() => child.kill("SIGKILL"), endWithinMs);
  await ended;
  clearTimeout(timer);
}
