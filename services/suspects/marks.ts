/**
 * Marks: those that this process puts, and taking them away again. One that cannot be read, written or removed is told
 * in the log and stops nothing: it is evidence that is missing, or a suspicion that a trial clears.
 */
import { limits } from "../../protocol/limits.ts";
import type { Log } from "../process/log.ts";
import { createRoom } from "../process/room.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, Ports } from "../wire/ports.ts";
import { type Mark, readMark, writeMark } from "./mark.ts";

/** The marks, as one process sees them. */
export interface Marks {
  /** The mark on a key; undefined if there is none, or none that can be read. */
  look(key: string): Promise<Mark | undefined>;
  /** Puts a mark and returns its revision; undefined if it could not be put. */
  write(key: string, mark: Mark): Promise<number | undefined>;
  /** Takes this revision of a mark away; nothing without a revision. */
  remove(key: string, revision: number | undefined): Promise<void>;
  /** Remembers a mark on what this process takes itself, so that `forget` and `tidy` take it away. */
  keep(key: string, group: number, revision: number | undefined): void;
  isKept(key: string): boolean;
  /** Takes a kept mark away. */
  unmark(key: string): Promise<void>;
  /** Takes the kept marks of a group away, or all. */
  forget(group?: number): Promise<void>;
  /** Takes the kept marks away of what is done with. */
  tidy(isBusy: (key: string) => boolean): void;
}

/** All that waits is let in: what ends lets the next one in. */
const forever = new AbortController().signal;

/** Marks with none kept. */
export function createMarks(ports: Pick<Ports, "suspects">, clock: Clock, log: Log): Marks {
  const kept = new Map<string, { readonly revision: number; readonly group: number }>();
  const room = createRoom(limits.marksAtOnceMax);

  /** A few at a time: after the death of a host there may be thousands. */
  async function inTurn<T>(act: () => Promise<T>): Promise<T> {
    const wait = room.enter({ signal: forever });
    if (wait !== undefined) await wait;
    try {
      return await act();
    } finally {
      room.leave();
    }
  }

  async function remove(key: string, revision: number | undefined): Promise<void> {
    if (revision === undefined) return;
    await inTurn(() => ports.suspects.remove(key, revision)).catch((error: unknown) =>
      log.debug({ err: error, suspect: key }, "mark not removed"),
    );
  }

  async function unmark(key: string): Promise<void> {
    const mark = kept.get(key);
    kept.delete(key);
    await remove(key, mark?.revision);
  }

  return {
    look: async (key) => {
      try {
        return (await inTurn(() => patiently(clock, () => readMark(ports.suspects, key))))?.mark;
      } catch (error) {
        log.debug({ err: error, suspect: key }, "mark not read");
        return undefined;
      }
    },
    write: async (key, mark) => {
      try {
        return await inTurn(() => patiently(clock, () => writeMark(ports.suspects, key, mark)));
      } catch (error) {
        log.warn({ err: error, suspect: key }, "mark not written");
        return undefined;
      }
    },
    remove,
    keep: (key, group, revision) => {
      if (revision !== undefined) kept.set(key, { revision, group });
    },
    isKept: (key) => kept.has(key),
    unmark,
    forget: async (group) => {
      const own = [...kept].filter(([, mark]) => group === undefined || mark.group === group);
      await Promise.all(own.map(([key]) => unmark(key)));
    },
    tidy: (isBusy) => {
      for (const key of kept.keys()) if (!isBusy(key)) void unmark(key);
    },
  };
}
