/**
 * Processes: two hosts and a worker, as children of the demo's, and another process in the place of each that was killed.
 *
 * DP1 What was started here is ended here, whatever happened in between; a child ends by itself when its channel to the
 *     demo closes.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { MeshError } from "../../protocol/errors.ts";

/** What a process tells the demo: its name in ledgers, before it takes anything; that it serves. */
export type Letter = { readonly incarnation: string } | "ready";

export interface ProcessesOptions {
  /** Folder of the children's logs, one file each. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly tell: (line: string) => void;
  /** Told of each process: it may be killed from now on. */
  readonly onStart: (pid: number) => void;
}

export interface Processes {
  /** Starts all three and resolves when they serve. Throws UNAVAILABLE. */
  enter(): Promise<void>;
  /** What the story calls a process, by its number or its incarnation. */
  nameOf(this: void, who: number | string): string;
  incarnationOf(this: void, pid: number): string;
  /** Aborted when one has ended that was not killed. */
  readonly failed: AbortSignal;
  close(): Promise<void>;
}

interface Member {
  readonly role: string;
  readonly name: string;
  readonly child: ChildProcess;
  incarnation: string;
  /** Throws UNAVAILABLE if it ends before it serves, or is not ready in time. */
  readonly ready: Promise<void>;
  readonly ended: Promise<NodeJS.Signals | null>;
}

const readyWithinMs = 60_000;
const endWithinMs = 1_500;

export function openProcesses({ folder, environment, tell, onStart }: ProcessesOptions): Processes {
  const members: Member[] = [];
  const failed = new AbortController();
  let closing = false;

  const start = (role: string): Member => {
    const name = `${role} ${members.filter((one) => one.role === role).length + 1}`;
    const logFile = join(folder, `${name.replace(" ", "-")}.log`);
    const child = spawnChild(role, logFile, environment);
    const ended = new Promise<NodeJS.Signals | null>((resolve) =>
      child.once("exit", (_, signal) => resolve(signal)),
    );
    const ready = Promise.withResolvers<void>();
    const member: Member = { role, name, child, incarnation: "", ready: ready.promise, ended };
    members.push(member);
    onStart(pidOf(member));
    child.on("message", (letter: Letter) => {
      if (letter === "ready") ready.resolve();
      else member.incarnation = letter.incarnation;
    });
    const fail = (what: string) =>
      ready.reject(
        new MeshError("UNAVAILABLE", `${name} ${what}`, { remedy: `--data keeps its log, ${logFile}.` }),
      );
    const timer = setTimeout(() => fail(`was not ready within ${readyWithinMs / 1_000} s`), readyWithinMs);
    ready.promise.then(
      () => clearTimeout(timer),
      () => clearTimeout(timer), // The process that takes its place may be the only one to hear of it.
    );
    void ended.then((signal) => {
      fail(`ended before it was ready (${signal ?? "by itself"})`);
      if (!closing) replace(member, signal);
    });
    return member;
  };

  const replace = (dead: Member, signal: NodeJS.Signals | null): void => {
    if (signal !== "SIGKILL")
      return failed.abort(
        new MeshError("UNAVAILABLE", `${dead.name} has ended by itself`, { remedy: "--data keeps its log." }),
      );
    const member = start(dead.role);
    member.ready.then(
      () => tell(`${member.name} (process ${pidOf(member)}) serves in the place of ${dead.name}`),
      () => undefined, // It was killed in turn, and replaced.
    );
  };

  return {
    enter: async () => {
      const started = ["host", "host", "worker"].map(start);
      await Promise.all(started.map(({ ready }) => ready));
      tell(`processes: ${started.map((one) => `${one.name} (${pidOf(one)})`).join(", ")}`);
    },
    nameOf: (who) =>
      members.find((one) => one.incarnation === who || one.child.pid === who)?.name ??
      (who === "outside" ? "the outside world" : String(who)),
    incarnationOf: (pid) => members.find((one) => one.child.pid === pid)?.incarnation ?? "",
    failed: failed.signal,
    close: async () => {
      closing = true;
      await Promise.all(members.map(end));
    },
  };
}

const pidOf = ({ child }: Member): number => child.pid ?? 0;

function spawnChild(
  role: string,
  logFile: string,
  environment: Readonly<Record<string, string>>,
): ChildProcess {
  // The script has the form of this file: .ts in the sources, .js in the package.
  const script = fileURLToPath(new URL(`./process${extname(import.meta.url)}`, import.meta.url));
  const log = openSync(logFile, "a");
  try {
    return spawn(process.execPath, [...process.execArgv, script, role], {
      env: { ...process.env, ...environment },
      stdio: ["ignore", log, log, "ipc"],
      detached: true, // A group of its own: Ctrl-C reaches the demo alone, and the demo ends the rest.
    });
  } finally {
    closeSync(log); // The child has its own.
  }
}

/** DP1. */
async function end({ child, ended }: Member): Promise<void> {
  if (child.connected) child.disconnect();
  const timer = setTimeout(() => child.kill("SIGKILL"), endWithinMs);
  await ended;
  clearTimeout(timer);
}
