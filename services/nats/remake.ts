/**
 * Remake: a stream that is gone, or a consumer of a queue, is made again by a process that uses it.
 *
 * Owns: when to look, and that one look is under way at a time. Does not own: what is made (queues.ts), and LEDGER and the
 * claims, which only a person's word makes anew (identity.ts, IY1).
 *
 * QM1 What was deleted is made again while hosts and workers run: what was in it is gone, what comes next is taken. What is
 *     open and was lost with a queue the audit hands on again (services/host/audit.ts).
 * QM2 A stream that is made again numbers its messages from the microsecond it is made in. An ack that is on its way for
 *     the stream before, an id of a signal that is its number, and a note about a number mean no message of the new one.
 */
import { type ErrorCode, isMeshError } from "../../protocol/errors.ts";
import type { Report } from "./progress.ts";

/** What is looked after: whether it is there, and making what is missing of it. Both may throw UNAVAILABLE. */
export interface Remade {
  readonly what: string;
  readonly isThere: () => Promise<boolean>;
  readonly make: () => Promise<void>;
  /** What is gone with it, in words. */
  readonly lost?: string;
  readonly report: Report;
}

/** In an election the server says the same as of what is gone, so it is asked now and then. */
const lookAgainMs = 1_000;

/**
 * Looks, and makes what is missing. Resolves when that is done, at once where it was looked at just now; never rejects: a
 * server that does not answer, or refuses, is asked again by the next call.
 */
export function createRemake({
  what,
  isThere,
  make,
  lost = "what was in it and not taken yet",
  report,
}: Remade): () => Promise<void> {
  let said: string | undefined;
  let looking: Promise<void> | undefined;
  let nextAt = Number.NEGATIVE_INFINITY;
  const look = async () => {
    try {
      if (await isThere()) return;
      await make();
      said = undefined;
      report(`${what} was gone and is made again: lost is ${lost}`);
    } catch (error) {
      if (!isMeshError(error)) throw error;
      if (passing.has(error.code) || said === error.message) return;
      said = error.message;
      report(`${what} is gone and cannot be made again: ${said}`);
    }
  };
  return () => {
    if (looking === undefined && performance.now() < nextAt) return Promise.resolve();
    looking ??= look().finally(() => {
      looking = undefined;
      nextAt = performance.now() + lookAgainMs;
    });
    return looking;
  };
}

/** What has a stream made again. */
export interface Remaking {
  /**
   * Looks for the stream of this name, and makes it again if it is gone; false for one that is not made so. Never rejects.
   * Absent where nothing is made: for who only reads.
   */
  readonly remake?: ((stream: string) => Promise<boolean>) | undefined;
}

/**
 * Runs what needs a stream. Where the server knows none it is made again, and then this is run once more; where nothing
 * answered it is looked for meanwhile, and the caller's next try finds it.
 */
export async function withStream<T>({ remake }: Remaking, stream: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (remake === undefined) throw error;
    if (isMeshError(error, "UNAVAILABLE")) void remake(stream);
    if (!isMeshError(error, "SERVER_MISCONFIGURED")) throw error;
    if (!(await remake(stream))) throw error;
    return run();
  }
}

const passing: ReadonlySet<ErrorCode> = new Set(["UNAVAILABLE"]);

/** QM2: beyond whatever a stream of that name has counted, as long as it stores less than a million messages a second. */
export const laterNumbers = (): { first_seq: number } => ({ first_seq: Date.now() * 1_000 });
