/**
 * Processes of this machine: which one an entry of a host names, and whether that has ended.
 *
 * KX1 A number of a process means nothing without the machine's boot, the namespace it is counted in and when the process
 *     began: numbers are given again, and containers count apart.
 * KX2 What cannot be told has not ended: another user's process may be hidden, and only Linux tells all of it.
 */
import { readFileSync, readlinkSync } from "node:fs";
import type { ProcessMark } from "../../protocol/host-entry.ts";
import type { Processes } from "../host/bury.ts";

/** Undefined where processes cannot be told apart for certain. */
export function openProcesses(): Processes | undefined {
  const machine = machineOf();
  const began = machine === undefined ? undefined : beganOf(process.pid);
  if (machine === undefined || began === undefined) return undefined;
  const own: ProcessMark = { machine, pid: process.pid, began: began.at };
  return { own, hasEnded: (mark) => mark.machine === machine && hasEnded(mark) };
}

/** KX1. */
function machineOf(): string | undefined {
  try {
    if (readlinkSync("/proc/self") !== String(process.pid)) return undefined; // Shown is another namespace.
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return undefined;
  }
}

function hasEnded({ pid, began }: ProcessMark): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH"; // KX2: else it is another user's.
  }
  const found = beganOf(pid);
  return found !== undefined && (found.at !== began || found.isOver);
}

/** When a process began, in ticks since the boot, and whether only its number is left. */
function beganOf(pid: number): { at: string; isOver: boolean } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state = "", ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const at = fields[18]; // The 22nd of all, `state` being the third.
    return at === undefined ? undefined : { at, isOver: state === "Z" || state === "X" };
  } catch {
    return undefined;
  }
}
