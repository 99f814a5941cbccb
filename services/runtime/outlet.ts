/**
 * Outlet: this process's stdout and stderr, which may be full, closed, or a pipe that nobody reads.
 *
 * ZX1 What cannot be written is counted and dropped: it ends no process, holds up no work and fills no memory.
 * ZX2 A file that takes again is written to again, from the start of a line.
 */
import { isatty } from "node:tty";

export interface Outlet {
  /** Writes a line or several. Never throws and never waits. */
  readonly write: (text: string) => void;
  /** How many writes were lost. */
  readonly lost: () => number;
  /** Why the last one was lost. */
  readonly failure: () => Error | undefined;
  /** Drops what is beyond a megabyte that waits to be read: for what lasts. Else it is kept until it is read. */
  readonly bound: () => void;
  /** Calls once the reader has gone. */
  readonly whenClosed: (call: () => void) => void;
}

/** What may wait for a slow reader of a log: some thousand lines. */
const keptBytesMax = 1024 * 1024;

const outlets = new Map<1 | 2, Outlet>();

/** The one outlet of stdout (1) or stderr (2). */
export function outletOf(fd: 1 | 2): Outlet {
  const outlet = outlets.get(fd) ?? (isStored(fd) ? toFile(fd) : toReader(fd));
  outlets.set(fd, outlet);
  return outlet;
}

/** Lines and results that this process could not write, to wherever. */
export const linesLost = (): number => [...outlets.values()].reduce((sum, outlet) => sum + outlet.lost(), 0);

// An import would read every member of the module; a process that only shows its help writes to one outlet.
const fs = process.getBuiltinModule("node:fs");

/** A file, or a device such as /dev/full: a write is over at once. */
function isStored(fd: number): boolean {
  try {
    const stat = fs.fstatSync(fd);
    return stat.isFile() || (stat.isCharacterDevice() && !isatty(fd));
  } catch {
    return false; // Not open at all: the stream of Node knows what to do.
  }
}

function toFile(fd: 1 | 2): Outlet {
  let lost = 0;
  let failure: Error | undefined;
  let isTorn = false;
  const write = (text: string) => {
    const bytes = Buffer.from(isTorn ? `\n${text}` : text); // ZX2
    let written = 0;
    try {
      while (written < bytes.length) written += fs.writeSync(fd, bytes, written);
      isTorn = false;
    } catch (error) {
      lost += 1;
      failure = error as Error;
      isTorn ||= written > 0;
    }
  };
  const nothing = () => undefined;
  return { write, lost: () => lost, failure: () => failure, bound: nothing, whenClosed: nothing };
}

/** A pipe, a socket or a terminal: Node writes what it takes at once, and keeps the rest. */
function toReader(fd: 1 | 2): Outlet {
  const stream = fd === 1 ? process.stdout : process.stderr;
  let bytesMax = Number.POSITIVE_INFINITY;
  let lost = 0;
  let failure: Error | undefined;
  const fail = (error: Error) => {
    lost += 1;
    failure = error;
  };
  const calls: (() => void)[] = [];
  stream.on("error", (error: Error) => {
    failure = error;
    for (const call of calls.splice(0)) call();
  });
  return {
    write: (text) => {
      if (stream.destroyed || stream.errored !== null) return void (lost += 1);
      if (stream.writableLength > bytesMax) return fail(new Error("nobody reads it"));
      stream.write(text, (error) => {
        if (error !== null && error !== undefined) fail(error);
      });
    },
    lost: () => lost,
    failure: () => failure,
    bound: () => void (bytesMax = keptBytesMax),
    whenClosed: (call) => {
      if (stream.errored === null) calls.push(call);
      else call();
    },
  };
}
