/**
 * Processes: two hosts and a worker, as children of the demo's, and another process in the place of each that was killed.
 *
 * DP1 What was started here is ended here, whatever happened in between; a child ends by itself when its channel to the
 *     demo closes.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MeshError } from "../../protocol/errors.ts";
import { ownFile } from "../process/own-file.ts";
import { pidOf } from "../runtime/system.ts";

/** What starting them takes. */
export interface ProcessesOptions {
  /** Folder of the children's logs, one file each. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly tell: (line: string) => void;
  /** Told of each process: it may be killed from now on. */
  readonly onStart: (pid: number) => void;
}

/** The processes of one run. */
export interface Processes {
  /** Resolves when the first three serve. Throws UNAVAILABLE. */
  readonly serving: Promise<void>;
  /** What the story calls a process, by its number or its incarnation. */
  nameOf(this: void, who: number | string): string;
  /** Aborted when one has ended that was not killed. */
  readonly failed: AbortSignal;
  close(this: void): Promise<void>;
}

interface Member {
  readonly role: "host" | "worker";
  readonly name: string;
  readonly pid: number;
  readonly child: ChildProcess;
  /** Throws UNAVAILABLE if it ends before it serves, or does not serve in time. */
  readonly ready: Promise<unknown>;
  readonly ended: Promise<NodeJS.Signals | null>;
}

const readyWithinMs = 60_000;
const endWithinMs = 1_500;

/** Starts all three. */
export function startProcesses({ folder, environment, tell, onStart }: ProcessesOptions): Processes {
  const members: Member[] = [];
  const failed = new AbortController();
  let isClosing = false;

  const start = (role: Member["role"]): Member => {
    const name = `${role} ${members.filter((one) => one.role === role).length + 1}`;
    const member = startMember(role, name, folder, environment);
    members.push(member);
    onStart(member.pid);
    void member.ended.then((by) => isClosing || replace(member, by));
    return member;
  };

  const replace = (dead: Member, by: NodeJS.Signals | null): void => {
    if (by !== "SIGKILL") {
      const remedy = "--data keeps its log.";
      return failed.abort(new MeshError("UNAVAILABLE", `${dead.name} has ended by itself`, { remedy }));
    }
    const { name, pid, ready } = start(dead.role);
    ready.then(
      () => tell(`${name} (process ${pid}) serves in the place of ${dead.name}`),
      () => undefined, // It was killed in turn, and replaced.
    );
  };

  const first = (["host", "host", "worker"] as const).map(start);
  return {
    serving: Promise.all(first.map(({ ready }) => ready)).then(() =>
      tell(`processes: ${first.map(({ name, pid }) => `${name} (${pid})`).join(", ")}`),
    ),
    nameOf: (who) => {
      const pid = typeof who === "number" ? who : pidOf(who);
      const name = who === "outside" ? "the outside world" : String(who);
      return members.find((one) => one.pid === pid)?.name ?? name;
    },
    failed: failed.signal,
    close: async () => {
      isClosing = true;
      await Promise.all(members.map(end));
    },
  };
}

function startMember(
  role: Member["role"],
  name: string,
  folder: string,
  environment: Readonly<Record<string, string>>,
): Member {
  const script = fileURLToPath(ownFile("services/demo/process"));
  const logFile = join(folder, `${name.replace(" ", "-")}.log`);
  const log = openSync(logFile, "a");
  const child = spawn(process.execPath, [...process.execArgv, script, role], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", log, log, "ipc"],
    detached: true, // A group of its own: Ctrl-C reaches the demo alone, and the demo ends the rest.
  });
  closeSync(log); // The child has its own.
  const ended = once(child, "exit").then(
    ([, by]) => by as NodeJS.Signals | null,
    () => null, // It could not be started.
  );
  const ready = Promise.race([
    once(child, "message", { signal: AbortSignal.timeout(readyWithinMs) }),
    ended.then((by) => Promise.reject(new Error(`ended: ${by ?? "by itself"}`))),
  ]).catch((cause: unknown) => {
    const remedy = `--data keeps its log, ${logFile}.`;
    throw new MeshError("UNAVAILABLE", `${name} does not serve`, { remedy, cause });
  });
  return { role, name, pid: child.pid ?? 0, child, ended, ready };
}

/** DP1. */
async function end({ child, ended }: Member): Promise<void> {
  if (child.connected) child.disconnect();
  const timer = setTimeout(() => child.kill("SIGKILL"), endWithinMs);
  await ended;
  clearTimeout(timer);
}
