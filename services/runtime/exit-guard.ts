/**
 * Exit guard: a process of ours that was to exit is gone 2 s later, whatever holds it.
 *
 * An exit can hang where no JavaScript runs any more: V8 has joined a thread below `process.exit` that waits for a
 * collection, and a handler of "exit" may never return. Nothing in the process can end it then: its other threads are
 * stopped first, and its signal handlers are functions of the loop that has ended.
 *
 * EG1 Every way out passes "exit": a command's end, a signal's, an exception that was not caught. There a shell is
 *     started that waits for the end of this process, at most 2 s, and then kills it.
 * EG2 The exit code is the one that was decided, unless the process had to be killed: then the system's, 137.
 * EG3 The shell knows this process by a pipe that only this process holds: it leaves with it, at once, and can kill no
 *     other that was given the same number.
 */

const forcedAfterSeconds = 2;

/**
 * Lets no exit of this process hang; to be called first, once. `sayIn` makes the line on stderr that tells of a forced
 * exit. A machine without /bin/sh has no guard, and the first process of a container (PID 1) cannot be killed from
 * within: run it below an init.
 */
export function guardExit(sayIn: (line: string) => string = (line) => line): void {
  process.once("exit", (code) => {
    const line = sayIn(
      `it had ended with code ${code}, and did not exit within ${forcedAfterSeconds} s: killed`,
    );
    // An import takes time at a command's start, and cannot be awaited at its end.
    const { spawn } = process.getBuiltinModule("node:child_process");
    const words = ["-c", guard, "sagamesh-exit-guard", String(process.pid), String(forcedAfterSeconds), line];
    try {
      spawn("/bin/sh", words, { stdio: ["pipe", "ignore", "inherit"], detached: true });
    } catch {
      // No process or file is to be had: the exit goes on unguarded.
    }
  });
}

/**
 * EG3: `cat` ends with the pipe, and ends the sleep; only a sleep that ran its time kills. Stderr is kept open for the
 * line, until both have gone.
 */
const guard = `exec 3<&0 </dev/null 4>&2 2>/dev/null
sleep "$2" 3<&- 4>&- & sleeping=$!
{ cat <&3; kill "$sleeping"; } 4>&- & watching=$!
wait "$sleeping" && { kill "$watching"; kill -9 "$1" && printf '%s\\n' "$3" >&4; }`;
