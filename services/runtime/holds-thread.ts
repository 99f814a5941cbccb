/**
 * Holds thread: looks at the loop of its process, started by watch-holds.ts. While the loop stands nothing of it can be used:
 * what the thread says goes to stderr by itself, and it has a connection of its own.
 *
 * XE1 The process says where it is held, and ends with its exit code: its inspector breaks into the loop for that. Where that
 *     does not answer it is killed.
 */
import { readFileSync, writeSync } from "node:fs";
import { workerData } from "node:worker_threads";
import { describeError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { type Hold, readHold } from "../process/holding.ts";
import { createHeldJudge } from "../suspects/held.ts";
import type { WatchOrder } from "./watch-holds.ts";

/** As the system's own word for a fault of the program (EX_SOFTWARE). */
const endCode = 70;
/** A shell's for a process that was killed. */
const killedCode = 137;
/** For the mark to be stored, and for the inspector to answer. */
const lastMs = 1_000;

const { memory, maxMs, marking } = workerData as WatchOrder; // Proof: watch-holds.ts starts it.

const judge = createHeldJudge({ suspectMs: limits.heldSuspectMs, endMs: maxMs });
/** Takes the mark away; undefined while there is none. */
let marked: Promise<(() => Promise<void>) | undefined> | undefined;
let isEnding = false;

setInterval(() => {
  const verdict = judge(readHold(memory), ranMs());
  if (verdict.type === "suspect") marked = mark(verdict.hold);
  else if (verdict.type === "over") void unmark();
  else if (verdict.type === "end" && !isEnding) void end(verdict.hold, verdict.heldMs);
}, limits.heldLookMs);

/** How long the main thread has run, milliseconds; where the system does not tell of threads, all of the process. */
function ranMs(): number {
  try {
    const [ran = ""] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
    return Number(ran) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  }
}

type Tell = (fields: Record<string, unknown>, sentence: string) => void;

const writingTo = (sink: (line: string) => void) => {
  const at =
    (level: string): Tell =>
    (fields, msg) =>
      sink(JSON.stringify({ level, time: new Date().toISOString(), service: "sagamesh", ...fields, msg }));
  return { warn: at("warn"), error: at("error") };
};

const stderrLog = writingTo((line) => {
  try {
    writeSync(2, `${line}\n`);
  } catch {
    // A log that cannot be written ends nothing, and holds nothing up.
  }
});

async function mark(hold: Hold): Promise<(() => Promise<void>) | undefined> {
  if (marking === undefined) return undefined;
  try {
    const { markHeld } = await import("./mark-held.ts");
    return await markHeld(marking, hold.key);
  } catch (error) {
    const log = stderrLog;
    log.warn({ suspect: hold.key, input: hold.what, reason: describeError(error) }, "mark not written");
    return undefined;
  }
}

async function unmark(): Promise<void> {
  const present = marked;
  marked = undefined;
  await (await present)?.().catch(() => undefined);
}

/** XE1. What is on the ledger stays; a loop that is given back meanwhile is ended all the same. */
async function end(hold: Hold, heldMs: number): Promise<void> {
  isEnding = true;
  const enough = new Promise<undefined>((resolve) => void setTimeout(() => resolve(undefined), lastMs));
  await Promise.race([(marked ??= mark(hold)), enough]);
  const tellTo = (log: typeof stderrLog, code: number) => tellEnd(log, hold, heldMs, code);
  setTimeout(() => {
    tellTo(stderrLog, killedCode);
    process.kill(process.pid, "SIGKILL");
  }, lastMs);
  try {
    const { Session } = await import("node:inspector");
    const session = new Session();
    session.connectToMainThread();
    const say = writingTo((line) => session.post("Runtime.evaluate", { expression: lastWords(line) }));
    tellTo(say, endCode);
  } catch {
    // A Node without an inspector: it is killed.
  }
}

/** `where` is known to the main thread alone. */
function tellEnd(
  log: typeof stderrLog,
  { key: suspect, what: input }: Hold,
  ms: number,
  exitCode: number,
): void {
  const heldMs = Math.round(ms);
  const remedy =
    "One decision of this saga never ended. Start the process again: the saga is tried in a process of its own, and its input set " +
    "aside as POISON if that dies of it, too. Then mend the loop and retry the dead letter, or cancel the saga.";
  log.error(
    { suspect, input, heldMs, exitCode, remedy, where: [] },
    "one saga holds the loop: the process ends",
  );
}

/** What the main thread runs in the middle of its loop: the line, with where it is, and the end. */
const lastWords = (line: string): string => `{
  const where = (new Error().stack ?? "").split("\\n").slice(2, 12).map((frame) => frame.trim());
  const line = JSON.stringify({ ...${line}, where }) + "\\n";
  try { process.getBuiltinModule("node:fs").writeSync(2, line); } finally { process.reallyExit(${endCode}); }
}`;
