/**
 * Mark: the durable note on what was delivered before and is taken again. It is evidence once the process that put it is
 * gone: a host or worker that still lives, and is done, takes its mark away.
 *
 * MK1 A count of deliveries proves nothing: what is given back counts as well.
 */
import { z } from "zod";
import { limits } from "../../protocol/limits.ts";
import type { SuspectPort } from "../wire/ports.ts";

/** What a mark says. Only a process that is gone cannot take its own away. */
export const Mark = z.object({
  /** The incarnation that has it. */
  by: z.string(),
  /** Milliseconds since the epoch. */
  at: z.number(),
  /** The process that had it before died or froze with it. */
  isSuspect: z.boolean(),
  /** A child process died that had it and others. */
  isAlone: z.boolean(),
  /** Child processes that died by themselves with nothing but it. */
  victims: z.int().nonnegative(),
});
export type Mark = z.infer<typeof Mark>;

/** The mark on a key and its revision. One that cannot be read counts as none. Throws UNAVAILABLE. */
export async function readMark(
  suspects: SuspectPort,
  key: string,
): Promise<{ mark: Mark; revision: number } | undefined> {
  const entry = await suspects.get(key);
  if (entry === undefined) return undefined;
  try {
    return { mark: Mark.parse(JSON.parse(Buffer.from(entry.data).toString())), revision: entry.revision };
  } catch {
    return undefined;
  }
}

/** Puts a mark and returns its revision. It vanishes by itself after a day. Throws UNAVAILABLE, STORAGE_FULL. */
export const writeMark = (suspects: SuspectPort, key: string, mark: Mark): Promise<number> =>
  suspects.put(key, Buffer.from(JSON.stringify(mark)), limits.markTtlMs);
