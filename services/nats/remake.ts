/**
 * Remake: a queue that is gone, INBOX, WORK or a consumer of one, is made again by a process that uses it.
 *
 * Owns: when to look, and that one look is under way at a time. Does not own: what is made.
 *
 * QM1 A queue that was deleted is made again while hosts and workers run: what was in it is gone, what comes next is
 *     taken. What is open and was lost with it the audit hands on again (services/host/audit.ts).
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
  readonly report: Report;
}

/** In an election the server says the same as of what is gone, so it is asked now and then. */
const lookAgainMs = 1_000;

/**
 * Looks, and makes what is missing. Resolves when that is done, at once where it was looked at just now; never rejects: a
 * server that does not answer, or refuses, is asked again by the next call.
 */
export function createRemake({ what, isThere, make, report }: Remade): () => Promise<void> {
  let looking: Promise<void> | undefined;
  let nextAt = Number.NEGATIVE_INFINITY;
  const look = async () => {
    try {
      if (await isThere()) return;
      await make();
      report(`${what} was gone and is made again: what was in it and not taken yet is lost`);
    } catch (error) {
      if (!isMeshError(error)) throw error;
      if (!passing.has(error.code)) report(`${what} is gone and cannot be made again: ${error.message}`);
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

const passing: ReadonlySet<ErrorCode> = new Set(["UNAVAILABLE"]);

/** QM2: beyond whatever a stream of that name has counted, as long as it stores less than a million messages a second. */
export const laterNumbers = (): { first_seq: number } => ({ first_seq: Date.now() * 1_000 });
